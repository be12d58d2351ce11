"""The instructions of a block with what passes have decided about them, both ways.

Enters: the plan of a block, or lines. Leaves: lines, or marks in the plan of a block. What is stored around an
instruction is printed; what the state lacks at it (`on_exit`) only where facts/dirty.py says otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ...architecture import INSTRUCTION_BYTES, is_mips16
from ...isa import Instruction, decode, decode16, is_long
from ...isa.disassembly import disassemble, encoding_text
from ..facts.dirty import with_dirty
from ..ir import BlockPlan, FunctionPlan, MergedAccesses, MergedLoad, MergedStore, Run, UnalignedWord, Variable
from .words import Line, pcs_text, registers_text, some

_MARKS = {
    "volatile": "volatile", "exposed": "exposed", "no-wrap": "no_wrap", "scalar-lanes": "scalar_lanes", "spin": "spin",
}  # fmt: skip
"""Notes, and the fields of Op that they say are True."""
OP_DIVIDER = " ; "
_OP = re.compile(r"\s*[0-9a-f]{8}  [0-9a-f]{4}(?:[0-9a-f]{4}|    )  ")
_NOTES_COLUMN = 54


def is_op(text: str) -> bool:
    """Return whether a line is that of an instruction."""
    return _OP.match(text) is not None


def instruction_of(line: Line) -> Instruction:
    """Return the instruction of a line; raises LiftError where there is none of its word."""
    found = _decoded(line)
    if found is None:
        line.refuse("no instruction has this word")
    return found


def _decoded(line: Line) -> Instruction | None:
    pc, number = line.pc(line.word(0)), line.word(1)
    if not is_mips16(pc):
        return decode(line.pc(number))
    if len(number) not in (4, 8):
        line.refuse(f"{number} is no instruction of MIPS16e code: those have four or eight hexadecimal digits")
    first, second = line.pc(number[:4].rjust(8, "0")), line.pc((number[4:] or "0").rjust(8, "0"))
    return decode16(first, second) if is_long(first) == bool(number[4:]) else None


def op_text(pc: int, instruction: Instruction, notes: Mapping[str, str | bool]) -> str:
    """Return the line of an instruction."""
    text = f"  {pc:08x}  {encoding_text(instruction)}  {disassemble(instruction, pc)}"
    parts = [name if value is True else f"{name} {value}" for name, value in notes.items() if value]
    return f"{text:{_NOTES_COLUMN}}{OP_DIVIDER}{'; '.join(parts)}" if parts else text


def op_lines(plan: FunctionPlan, block: BlockPlan, dirty: int) -> Iterator[str]:
    """Yield the lines of a block's instructions, in order of address, `dirty` being what the state lacks before it."""
    implied = with_dirty(plan, block, dirty).ops
    groups = _group_notes(block)
    lines = []
    for index, (op, usual) in enumerate(zip(block.ops, implied)):
        notes: dict[str, str | bool] = {"delay-slot": op is block.slot}
        notes |= groups.get(index, {})
        notes |= {note: getattr(op, mark) for note, mark in _MARKS.items()}
        notes["promoted"] = op.promoted.name if op.promoted is not None else ""
        notes |= {"stores": some(op.stores), "then-stores": some(op.stores_after)}
        notes["on-exit"] = registers_text(op.on_exit) if op.on_exit != usual.on_exit else ""
        lines.append(op_text(op.pc, op.instruction, notes))
    terminator = block.block.terminator
    if terminator is not None:
        text = op_text(block.block.terminator_pc, terminator, {"terminator": True})
        lines.insert(len(block.body), text)
    elif block.block.delay_slot is not None:  # the interpreter performs both
        at = block.block.terminator_pc + INSTRUCTION_BYTES
        lines.append(op_text(at, block.block.delay_slot, {"delay-slot": True}))
    yield from lines


def _group_notes(block: BlockPlan) -> dict[int, dict[str, str | bool]]:
    """Return, by index, the notes of accesses that are performed together."""
    ops, found = block.ops, dict[int, dict[str, str | bool]]()
    for load in block.merged.loads.values():
        first, *others = load.indices
        found[first] = {"loads-words": str(len(load.indices))}
        found |= {index: {"word-of": f"{ops[first].pc:08x}"} for index in others}
    for index, store in block.merged.stores.items():
        found[index] = {"stores-words": str(store.count)}
        if store.loaded is not None:
            found[index]["loaded-at"] = f"{ops[store.loaded.indices[0]].pc:08x}"
    for index, word in block.unaligned.items():
        found[index] = {"unaligned": str(word.displacement), "second-half": f"{ops[word.second].pc:08x}"}
    for index, run in block.runs.items():
        found[index] = {"run": pcs_text(ops[member].pc for member in run.indices)}
    return found


# ---- reading ----


def read_marks(block: BlockPlan, lines: Mapping[int, Line], variables: Mapping[str, Variable]) -> None:
    """Note what the lines of a block's instructions, by pc, say of them, but for what is stored."""
    loads, stores, unaligned = dict[int, list[int]](), dict[int, MergedStore](), dict[int, UnalignedWord]()
    index_at = {op.pc: index for index, op in enumerate(block.ops)}
    for index, op in enumerate(block.ops):
        line = lines[op.pc]
        for note, mark in _MARKS.items():
            setattr(op, mark, line.has(note))
        name = line.value("promoted")
        if name is not None:
            if name not in variables:
                line.refuse(f"there is no variable {name}")
            op.promoted = variables[name]
        if line.value("loads-words") is not None:
            loads[index] = [index]
        elif (first := line.one_pc("word-of")) is not None:
            loads.setdefault(index_at.get(first, index), []).append(index)
    merged = {index: MergedLoad(tuple(indices)) for index, indices in loads.items()}
    for index, op in enumerate(block.ops):
        line = lines[op.pc]
        count, loaded_at = line.value("stores-words"), line.one_pc("loaded-at")
        if count is not None:
            loaded = merged.get(index_at.get(loaded_at, -1)) if loaded_at is not None else None
            stores[index] = MergedStore(line.integer(count), loaded)
        displacement, second = line.value("unaligned"), line.one_pc("second-half")
        if displacement is not None and second in index_at:
            unaligned[index] = UnalignedWord(index_at[second], line.integer(displacement))
        if line.is_there("run"):
            run = Run(tuple(index_at.get(pc, -1) for pc in line.pcs("run")))
            if not run.indices or run.first != index:
                line.refuse("a run stands at the first of its instructions")
            block.runs[index] = run
    block.merged, block.unaligned = MergedAccesses(merged, stores), unaligned


def read_stores(block: BlockPlan, lines: Mapping[int, Line]) -> None:
    """Note what the same lines say of stores, where facts/dirty.py has noted what is usual."""
    for op in block.ops:
        line = lines[op.pc]
        op.stores, op.stores_after = line.registers("stores"), line.registers("then-stores")
        if line.is_there("on-exit"):
            op.on_exit = line.registers("on-exit")
