"""The guest part of a plan's text, both ways: what the plan of a function is made from, before anything is decided.

Enters: a plan, or lines. Leaves: lines, or a `GuestPart`, from which build.py makes the undecided plan.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ...analysis import Block, End, Function
from ...analysis.model import JumpTable
from ...isa import Instruction
from ...options import CALL_MODELS, MEMORY_MODELS
from ...state import GPR_NAMES
from ..convention import Callee
from ..ir import FunctionPlan
from ..options import LiftOptions
from .words import Line, line_text, pcs_text, quoted, registers_text, some


@dataclass
class GuestPart:
    """What an undecided plan is made from. `callees` has what is known of the functions that it may lead to."""

    symbol: str
    function: Function
    options: LiftOptions
    entries: list[int]
    memory_resident: int = 0
    callees: dict[int, Callee] = field(default_factory=dict)


def head_line(plan: FunctionPlan, symbol: str) -> str:
    """Return the first line of a plan."""
    options = plan.options
    fields = {
        "entries": pcs_text(plan.graph.entries),
        "order": "big" if options.big_endian else "little",
        "fr": str(options.fr) if options.fr else "",
        "memory": options.memory,
        "calls": options.calls,
        "nan2008": options.nan2008,
        "relocatable": options.relocatable,
        "file": quoted(options.file_name) if options.file_name else "",
        "resident": some(plan.memory_resident),
    }
    return line_text(f"plan {symbol}", fields)


def guest_lines(plan: FunctionPlan) -> Iterator[str]:
    """Yield the lines about a function and what it leads to, but for its blocks."""
    function = plan.function
    fields = {
        "start": f"{function.start:08x}",
        "limit": f"{function.limit:08x}",
        "entries": pcs_text(sorted(function.entries)),
        "resumes": pcs_text(sorted(function.resume_points)),
        "guarded": " ".join(f"{start:08x}-{end:08x}" for start, end in function.guarded),
    }
    yield line_text(f"function {quoted(function.name)}", fields)
    for pc, guess in function.guesses.items():
        yield f"  guess {pc:08x}: leads {guess:08x}"
    for pc, table in function.jump_tables.items():
        yield line_text(f"  table {pc:08x}", _table_fields(table))
    for pc, callee in _callees(plan).items():
        yield line_text(f"  callee {pc:08x} {callee.symbol}", _callee_fields(callee))


def _callees(plan: FunctionPlan) -> dict[int, Callee]:
    """Return what is known of the functions that a plan may lead to."""
    function = plan.function
    pcs = {function.start, *function.guesses.values()}
    for block in function.blocks.values():
        goes_on = block.end in (End.FALL, End.JUMP, End.BRANCH, End.CALL, End.SYSCALL)
        pcs.update(pc for pc in (block.target, block.next_pc if goes_on else None) if pc is not None)
    found = ((pc, plan.convention.callee(pc)) for pc in sorted(pcs))
    return {pc: callee for pc, callee in found if callee is not None}


def _callee_fields(callee: Callee) -> dict[str, str | bool]:
    return {
        "takes": registers_text(callee.takes),
        "copied": callee.copied,
        "tiny": callee.tiny,
        "cold": callee.cold,
        "resident": some(callee.memory_resident),
        "overwrites": some(callee.overwrites),
        "ignores": some(callee.ignores & ~callee.overwrites),
    }


def _table_fields(table: JumpTable) -> dict[str, str | bool]:
    return {
        "load": f"{table.load_pc:08x}" if table.load_pc is not None else "",
        "index": f"{GPR_NAMES[table.index[0]]} {table.index[1]}" if table.index is not None else "",
        "writable": table.writable,
        "added": str(table.added) if table.added is not None else "",
        "cases": " ".join(f"{address:08x}/{target:08x}" for address, target in table.cases),
    }


def block_fields(block: Block) -> dict[str, str | bool]:
    """Return how a block ends, as fields of its line."""
    is_known = block.terminator is not None or block.end is End.FALL or not block.terminator_pc
    return {
        "to": f"{block.target:08x}" if block.target is not None else "",
        "next": f"{block.next_pc:08x}" if block.next_pc else "",
        "ends": "" if is_known else f"{block.terminator_pc:08x}",
        "slot-of": f"{block.slot_of:08x}" if block.slot_of is not None else "",
    }


# ---- reading ----


def read_head(line: Line, after: Line) -> GuestPart:
    """Return the guest part that the first two lines of a plan begin."""
    symbol, entries = line.word(1), line.pcs("entries")
    orders, memory, calls = ("little", "big"), line.value("memory") or "", line.value("calls") or ""
    order, fr = line.value("order"), line.value("fr") or "0"
    if order not in orders or memory not in MEMORY_MODELS or calls not in CALL_MODELS or fr not in ("0", "1"):
        line.refuse("an option of this value is not known")
    options = LiftOptions(
        order == "big", int(fr), memory, calls, nan2008=line.has("nan2008"), relocatable=line.has("relocatable"),
        file_name=line.name(line.value("file") or ""),
    )  # fmt: skip
    return GuestPart(symbol, _read_function(after), options, entries, line.registers("resident"))


def _read_function(line: Line) -> Function:
    if line.word(0) != "function":
        line.refuse("the line of the function is missing")
    start, limit = line.one_pc("start"), line.one_pc("limit")
    if start is None or limit is None:
        line.refuse("its start or limit is missing")
    function = Function(start, limit, line.name(line.word(1)), entries=set(line.pcs("entries")))
    function.resume_points = set(line.pcs("resumes"))
    for word in line.words("guarded"):
        first, _, end = word.partition("-")
        function.guarded.append((line.pc(first), line.pc(end)))
    return function


def read_guest_line(part: GuestPart, line: Line) -> bool:
    """Add what a line says to a guest part; return whether it is of one."""
    kind = line.word(0)
    if kind == "guess":
        part.function.guesses[line.pc(line.word(1))] = line.pc(line.value("leads") or "")
    elif kind == "table":
        part.function.jump_tables[line.pc(line.word(1))] = _read_table(line)
    elif kind == "callee":
        part.callees[line.pc(line.word(1))] = _read_callee(line)
    else:
        return False
    return True


def _read_table(line: Line) -> JumpTable:
    index, added, cases = line.words("index"), line.value("added"), []
    for word in line.words("cases"):
        address, _, target = word.partition("/")
        cases.append((line.pc(address), line.pc(target)))
    if index and len(index) != 2:
        line.refuse("an index is a register and a shift")
    scaled = (line.register(index[0]), line.integer(index[1])) if index else None
    return JumpTable(
        line.one_pc("load"), tuple(cases), scaled, line.has("writable"),
        line.integer(added) if added is not None else None,
    )  # fmt: skip


def _read_callee(line: Line) -> Callee:
    takes, copied, tiny, cold = line.registers("takes"), line.has("copied"), line.has("tiny"), line.has("cold")
    resident, overwrites = line.registers("resident"), line.registers("overwrites")
    ignores = line.registers("ignores") | overwrites
    return Callee(line.word(2), takes, copied, tiny, cold, resident, overwrites, ignores)


def read_block(line: Line) -> Block:
    """Return the block that a line begins: without instructions."""
    ends = {end.value: end for end in End}
    at = line.head.index("block") + 1
    start, end = line.pc(line.word(at)), ends.get(line.word(at + 1))
    if end is None:
        line.refuse(f"a block ends in one of these: {', '.join(ends)}")
    target, next_pc = line.one_pc("to"), line.one_pc("next") or 0
    block = Block(start, [], end, target=target, next_pc=next_pc, terminator_pc=line.one_pc("ends") or 0)
    block.slot_of = line.one_pc("slot-of")
    if end is End.FALL:
        block.terminator_pc = next_pc
    return block


def add_instruction(block: Block, line: Line, instruction: Instruction) -> None:
    """Put an instruction into a block: a terminator, a delay slot, or the next of the body."""
    if line.has("terminator"):
        block.terminator, block.terminator_pc = instruction, line.pc(line.word(0))
    elif line.has("delay-slot"):
        block.delay_slot = instruction
    else:
        block.body.append(instruction)
