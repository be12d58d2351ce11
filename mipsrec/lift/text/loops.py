"""Loops that passes have changed, both ways: with promoted variables, and vectorised ones.

Enters: a plan, or lines. Leaves: lines, or what stands in `FunctionPlan.promoted` and `FunctionPlan.vectorized`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...isa.effects import ACCESS_BYTES
from ...state import GPR_NAMES
from ..ir import FunctionPlan, PromotedLoop, Variable
from ..passes.vectorize.iteration import SIZES, Access, Iteration, Step, Sum, Test
from .words import Line, Lines, line_text, pcs_text


def loop_lines(plan: FunctionPlan) -> Iterator[str]:
    """Yield the lines of loops that passes have changed."""
    for head, loop in plan.promoted.items():
        yield line_text(f"  promoted {head:08x}", {"body": pcs_text(sorted(loop.body)), "at": f"{loop.pc:08x}"})
        for one in loop.variables:
            yield f"    variable {one.name}: is {one.type} {one.displacement}({GPR_NAMES[one.base]})"
    for pc, done in plan.vectorized.items():
        yield line_text(f"  vectorized {pc:08x}", _iteration_fields(done))
        for number, access in enumerate(done.accesses):
            yield line_text(f"    access {number}", _access_fields(access))
        for number, step in enumerate(done.steps):
            yield line_text(f"    step {number} {step.name} {step.type or '-'}", _step_fields(step, done))


def _iteration_fields(done: Iteration) -> dict[str, str | bool]:
    return {
        "latch": f"{done.latch:08x}",
        "last-without-latch": done.ends_before_latch,
        "again": f"{done.test.kind} {_sum_text(done.test.a)} {_sum_text(done.test.b)}",
        "advances": " ".join(f"{GPR_NAMES[number]}/{step}" for number, step in done.advances.items()),
        "needed": _numbers(done.needed),
        "stores": " ".join(f"{done.accesses.index(access)}/{number}" for access, number in done.stores),
        "unchecked": _numbers(done.unchecked),
        "limits": _numbers(done.limits),
        "carried": " ".join(f"{number}/{value}" for number, value in done.carried.items()),
        "serial": _numbers(sorted(done.serial)),
    }


def _access_fields(access: Access) -> dict[str, str | bool]:
    return {
        "at": f"{access.pc:08x}",
        "address": _sum_text(access.address),
        "type": access.type,
        "order": str(access.order),
        "in-words": access.in_words,
    }


def _step_fields(step: Step, done: Iteration) -> dict[str, str | bool]:
    return {
        "operands": _numbers(step.operands),
        "access": str(done.accesses.index(step.access)) if step.access is not None else "",
        "number": str(step.number) if step.number else "",
        "sum": _sum_text(step.sum) if step.sum != Sum() else "",
    }


def _numbers(numbers: object) -> str:
    return " ".join(map(str, numbers))  # type: ignore[call-overload]


def _sum_text(value: Sum) -> str:
    """Return a sum as one word: terms with factors, and a constant."""
    return "+".join([*(f"{count}*{GPR_NAMES[number]}" for number, count in value.terms), str(value.constant)])


# ---- reading ----


def read_promoted(plan: FunctionPlan, line: Line, lines: Lines) -> dict[str, Variable]:
    """Read a loop with promoted variables, and these from the front of the lines; return them by name."""
    head, body, pc = line.pc(line.word(1)), frozenset(line.pcs("body")), line.one_pc("at")
    if not body <= plan.blocks.keys() or pc is None:
        line.refuse("its blocks are not all of the function, or no load is named")
    loop = plan.promoted[head] = PromotedLoop(head, body, pc)
    while lines.next_is("variable"):
        one = lines.take()
        type_, _, place = (one.value("is") or "").partition(" ")
        displacement, _, base = place.removesuffix(")").partition("(")
        if type_ not in ACCESS_BYTES:
            one.refuse(f"{type_} is no type of an access")
        loop.variables.append(Variable(one.register(base), one.integer(displacement), type_, one.word(1)))
    return {one.name: one for one in loop.variables}


def read_vectorized(plan: FunctionPlan, line: Line, lines: Lines) -> None:
    """Read a vectorised loop, with its accesses and steps from the front of the lines."""
    done = Iteration()
    while lines.next_is("access"):
        done.accesses.append(_read_access(lines.take()))
    while lines.next_is("step"):
        done.steps.append(_read_step(lines.take(), done))
    again = line.words("again")
    if len(again) != 3:
        line.refuse("it says nowhere when another iteration follows")
    done.test = Test(again[0], _read_sum(line, again[1]), _read_sum(line, again[2]))
    done.latch, done.ends_before_latch = line.one_pc("latch") or 0, line.has("last-without-latch")
    for name, step in _pairs(line, "advances"):
        done.advances[line.register(name)] = line.integer(step)
    done.carried = {line.integer(number): line.integer(value) for number, value in _pairs(line, "carried")}
    done.needed, done.limits = line.integers("needed"), line.integers("limits")
    done.unchecked, done.serial = dict.fromkeys(line.integers("unchecked")), set(line.integers("serial"))
    for access, number in _pairs(line, "stores"):
        done.stores.append((_access(line, access, done), line.integer(number)))
    plan.vectorized[line.pc(line.word(1))] = done


def _pairs(line: Line, name: str) -> Iterator[tuple[str, str]]:
    for word in line.words(name):
        first, _, second = word.partition("/")
        yield first, second


def _access(line: Line, text: str, done: Iteration) -> Access:
    number = line.integer(text)
    if not 0 <= number < len(done.accesses):
        line.refuse(f"there is no access {number}")
    return done.accesses[number]


def _read_access(line: Line) -> Access:
    pc, type_ = line.one_pc("at") or 0, line.value("type") or ""
    if type_ not in SIZES:
        line.refuse(f"{type_ or 'nothing'} is no type of an access")
    address, order = _read_sum(line, line.value("address") or ""), line.integer(line.value("order") or "")
    return Access(address, type_, pc, order, line.has("in-words"))


def _read_step(line: Line, done: Iteration) -> Step:
    name, type_, operands = line.word(2), line.word(3).replace("-", ""), tuple(line.integers("operands"))
    access, number, sum_ = line.value("access"), line.value("number"), line.value("sum")
    return Step(
        name, type_, operands, _access(line, access, done) if access is not None else None,
        line.integer(number) if number is not None else 0, _read_sum(line, sum_) if sum_ is not None else Sum(),
    )  # fmt: skip


def _read_sum(line: Line, text: str) -> Sum:
    *terms, constant = text.split("+")
    found = []
    for term in terms:
        count, _, name = term.partition("*")
        found.append((line.register(name), line.integer(count)))
    return Sum(tuple(found), line.integer(constant))
