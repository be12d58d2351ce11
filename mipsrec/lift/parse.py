"""Reads plans from text, as text/ writes it.

Enters: text. Leaves: the guest part, from which the undecided plan is made, or the plan with all that is decided. The
plan is printed again and compared, so nothing is passed over. All functions raise LiftError with the number of the line
that is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ..analysis import End
from ..errors import LiftError
from .build import undecided_plan
from .facts.dirty import note_dirty
from .ir import BlockPlan, FunctionPlan, Variable
from .text import plan_text
from .text.ends import Ends
from .text.guest import GuestPart, add_instruction, read_block, read_guest_line, read_head
from .text.loops import read_promoted, read_vectorized
from .text.ops import OP_DIVIDER, instruction_of, is_op, read_marks, read_stores
from .text.words import Line, Lines


@dataclass
class _BlockText:
    """The lines of one block: its instructions by pc, and the others."""

    head: Line
    ops: dict[int, Line] = field(default_factory=dict)
    others: list[Line] = field(default_factory=list)


@dataclass
class _PlanText:
    guest: GuestPart
    head: Line
    last: int
    """The number of the last line."""
    decided: list[Line]
    blocks: dict[int, _BlockText]


def split_plans(text: str) -> Iterator[tuple[int, str]]:
    """Yield the plans in a text, each with the number of the line before it."""
    lines = text.splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith("plan ")]
    for start, end in zip(starts, [*starts[1:], len(lines)]):
        yield start, "\n".join(lines[start:end]) + "\n"


def parse(text: str, where: str = "plan", line_before: int = 0) -> tuple[str, FunctionPlan]:
    """Return the symbol and the plan of a text of one plan. `where` names the text in errors."""
    read = _read(text, where, line_before)
    plan = undecided(read.guest)
    _decide(plan, read)
    printed = plan_text(plan, read.guest.symbol).splitlines()
    for (number, line), again in zip([*_content(text, line_before), (read.last, "")], [*printed, ""]):
        if line != again:
            raise LiftError(f"{where}:{number}: {line or 'the end'!r} should be {again or 'the end'!r}")
    return read.guest.symbol, plan


def parse_guest(text: str, where: str = "plan", line_before: int = 0) -> GuestPart:
    """Return the guest part of a text, whatever it says was decided."""
    return _read(text, where, line_before).guest


def undecided(guest: GuestPart) -> FunctionPlan:
    """Return the plan of a guest part, as the first pass finds it."""
    return undecided_plan(guest.function, guest.entries, guest.options, guest.callees.get, guest.memory_resident)


def _content(text: str, line_before: int) -> list[tuple[int, str]]:
    """Return the lines with their numbers, but for empty ones and comments, which begin with #."""
    numbered = enumerate((line.rstrip() for line in text.splitlines()), line_before + 1)
    return [(number, line) for number, line in numbered if line and not line.startswith("#")]


def _read(text: str, where: str, line_before: int) -> _PlanText:
    """Return the lines of a plan in their places, and the guest part that they say."""
    numbered = _content(text, line_before)
    if len(numbered) < 2 or not numbered[0][1].startswith("plan "):
        raise LiftError(f"{where}:{line_before + 1}: a plan begins with `plan SYMBOL:` and the line of its function")
    first, second, *rest = [Line(number, line, where, OP_DIVIDER if is_op(line) else ": ") for number, line in numbered]
    guest = read_head(first, second)
    found = _PlanText(guest, second, numbered[-1][0], [], {})
    block, here = None, _BlockText(second)
    for line in rest:
        if line.head[:1] == ["block"] or line.head[:2] == ["other", "block"]:
            block = read_block(line)
            guest.function.blocks[block.start] = block
            here = found.blocks.setdefault(block.start, _BlockText(line))
        elif block is None:
            if not read_guest_line(guest, line):
                found.decided.append(line)
        elif is_op(line.text):
            here.ops[line.pc(line.word(0))] = line
            add_instruction(block, line, instruction_of(line))
        else:
            here.others.append(line)
    _check(guest, second)
    return found


def _check(guest: GuestPart, line: Line) -> None:
    """Refuse a guest part from which no plan can be made."""
    blocks = guest.function.blocks
    missing = [pc for pc in (guest.function.start, *guest.entries) if pc not in blocks]
    if missing or not guest.entries:
        line.refuse(f"there is no block at {missing[0]:08x}" if missing else "it has no entries")
    for block in blocks.values():
        has_slot = block.end in (End.BRANCH, End.JUMP, End.CALL, End.RETURN, End.INDIRECT)
        if has_slot and (block.terminator is None or (block.target is None and block.end in (End.BRANCH, End.JUMP))):
            line.refuse(f"the block at {block.start:08x} lacks its terminator or its target")


def _decide(plan: FunctionPlan, read: _PlanText) -> None:
    """Give a plan all that is decided in a text."""
    variables: dict[str, Variable] = {}
    lines, rest = Lines(read.decided, read.head), list[Line]()
    while lines.next_is():
        line = lines.take()
        kind = line.word(0)
        if kind == "promoted":
            variables |= read_promoted(plan, line, lines)
        elif kind == "vectorized":
            read_vectorized(plan, line, lines)
        elif kind != "in-ssa":
            rest.append(line)
    for pc, block in plan.blocks.items():
        text = read.blocks[pc]
        missing = [op.pc for op in block.ops if op.pc not in text.ops]
        if missing:
            text.head.refuse(f"the instruction at {missing[0]:08x} is missing")
        read_marks(block, text.ops, variables)
    note_dirty(plan)
    for pc, block in plan.blocks.items():
        read_stores(block, read.blocks[pc].ops)
    _decide_ends(plan, read, Lines(rest, read.head))


def _decide_ends(plan: FunctionPlan, read: _PlanText, lines: Lines) -> None:
    """Give a plan the nodes that are in a text; `lines` are those before its blocks."""
    ends = Ends(plan, read.guest.callees)
    while lines.next_is():
        line = lines.take()
        if line.word(0) == "begins":
            plan.entry = ends.entry(line)
        elif line.word(0) == "hub":
            ends.hub(line, lines)
        else:
            line.refuse("no line before the blocks begins so")
    for pc, block in plan.blocks.items():
        text = read.blocks[pc]
        others = Lines(_read_block_lines(plan, block, text.others), text.head)
        if others.next_is():
            block.end = ends.end(block, others)
        if others.next_is():
            others.take().refuse("this line is one too many here")


def _read_block_lines(plan: FunctionPlan, block: BlockPlan, lines: list[Line]) -> list[Line]:
    """Read the lines of a block that are not of its end; return the others."""
    rest, pc = [], block.block.start
    for line in lines:
        kind = line.word(0)
        if kind == "two-floats":
            plan.pair_forms.into[pc], plan.pair_forms.out[pc] = line.registers("in"), line.registers("out")
        elif kind == "words":
            plan.word_forms.into[pc], plan.word_forms.out[pc] = line.registers("in"), line.registers("out")
        elif kind == "iterations":
            plan.changing[pc] = line.registers("change")
        elif kind == "switch":
            block.case_weights, block.shares_switch = line.integers("weights"), line.has("shared")
        elif kind == "site":
            plan.sites[pc].exposed = line.has("exposed")
        else:
            rest.append(line)
    return rest
