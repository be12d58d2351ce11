"""Save merging: big-endian, the saves of registers that the host has in vector registers are stored as vectors.

Needs: the instructions of each block by themselves; the marks of ops, `merged`, `promoted` and `vectorized`.
Sets: `BlockPlan.runs`.
Keeps: what registers and memory have after the last access. All accesses of a run are performed where its first is.
Between stores of a run stand only instructions that load nothing, order nothing and cannot leave the function, and
stores by the same register of other words, whose faults no landing pad guards. None of them changes that register, or
one that is stored later. Between loads of a run stand
only instructions that compute, and loads by the same register, which none of them changes. A fault has the lowest
address and the first pc (docs/limits.md, Faults).
Off when: the guest is little-endian, the memory model is not `flat`, the access has another mark or is part of another
group, the register is in the state between blocks, or the loop has promoted variables or is vectorized.

A function saves s2 to s8 at its start, in words that follow each other, and loads them at its end. Its callers hand it
these in vector registers. Each word by itself is moved to a general-purpose register, since there its bytes are turned.
A vector is turned at once, where it is. Loads go together only where the same words are saved together: else the host
would wait until each store has reached its cache.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...isa.effects import ACCESS_BYTES, LOAD, STORE, based_access, effects, masks, may_leave
from ..convention import CARRIED_FLOATS
from ..ir import BlockPlan, FunctionPlan, Run

WIDTHS = (4, 2)
"""Words of a vector."""

WORD_BYTES = ACCESS_BYTES["word"]

_Place = tuple[int, int, tuple[int, ...]]
"""Of a run: the base, the displacement of the first word, and the registers in order of address."""


class _Window:
    """Accesses by one register that may be performed where the first of them is."""

    def __init__(self, base: int = 0) -> None:
        self.base = base
        self.at: dict[int, int] = {}
        """The indices of accesses that may be in a run, by displacement."""
        self._others: set[int] = set()
        """The displacements of the bytes that other stores touch."""

    def is_free(self, displacement: int, size_bytes: int) -> bool:
        """Return whether no access of the window touches these bytes."""
        touched = range(displacement, displacement + size_bytes)
        return self._others.isdisjoint(touched) and all(
            one + WORD_BYTES <= displacement or displacement + size_bytes <= one for one in self.at
        )

    def add_other(self, displacement: int, size_bytes: int) -> None:
        self._others.update(range(displacement, displacement + size_bytes))


def _store_windows(block: BlockPlan, candidates: set[int], fr: int) -> Iterator[_Window]:
    """Yield the windows of stores of a block."""
    window, written = _Window(), 0
    for index, op in enumerate(block.body):
        instruction, does = op.instruction, effects(op.instruction.row)
        access = based_access(instruction)
        if does.loads or does.fences or may_leave(instruction) or op.exposed or (does.stores and access is None):
            yield window
            window = _Window()
        elif access is not None:
            is_member = index in candidates and access.kind == STORE and not written >> instruction.rt & 1
            if instruction.rs != window.base or not window.is_free(instruction.imm, access.size_bytes):
                yield window
                window = _Window(instruction.rs)
            if is_member:
                window.at[instruction.imm] = index
            else:
                window.add_other(instruction.imm, access.size_bytes)
        changed = masks(instruction, fr)[1]
        written |= changed
        if changed >> window.base & 1:
            yield window
            window = _Window()
    yield window


def _load_windows(block: BlockPlan, candidates: set[int], fr: int) -> Iterator[_Window]:
    """Yield the windows of loads of a block."""
    window = _Window()
    for index, op in enumerate(block.body):
        instruction, does = op.instruction, effects(op.instruction.row)
        access = based_access(instruction)
        if access is not None and access.kind == LOAD and not op.volatile and not op.spin:
            if instruction.rs != window.base or instruction.imm in window.at:
                yield window
                window = _Window(instruction.rs)
            if index in candidates:
                window.at[instruction.imm] = index
        elif not does.is_pure:
            yield window
            window = _Window()
        if masks(instruction, fr)[1] >> window.base & 1:
            yield window
            window = _Window()
    yield window


def _consecutive(block: BlockPlan, window: _Window) -> Iterator[Run]:
    """Yield runs of the stores of a window, each of which stores no register twice."""
    left = sorted(window.at)
    while left:
        for width in WIDTHS:
            found = Run(tuple(window.at[displacement] for displacement in left[:width]))
            is_whole = left[:width] == list(range(left[0], left[0] + WORD_BYTES * width, WORD_BYTES))
            if is_whole and len(set(_place(block, found)[2])) == width:
                yield found
                del left[:width]
                break
        else:
            del left[0]


def _loads_of(block: BlockPlan, window: _Window, saved: set[_Place]) -> Iterator[Run]:
    """Yield runs of the loads of a window from what has been saved together; none has a load of another."""
    left = dict(window.at)
    for base, displacement, registers in sorted(saved, key=lambda place: (-len(place[2]), place)):
        places = range(displacement, displacement + WORD_BYTES * len(registers), WORD_BYTES)
        if base != window.base or any(place not in left for place in places):
            continue
        found = Run(tuple(left[place] for place in places))
        if _place(block, found) == (base, displacement, registers):
            yield found
            for place in places:
                del left[place]


def _place(block: BlockPlan, run: Run) -> _Place:
    members = [block.ops[index].instruction for index in run.indices]
    return members[0].rs, members[0].imm, tuple(member.rt for member in members)


def _candidates(plan: FunctionPlan, block: BlockPlan) -> set[int]:
    """Return the indices of what may be in a run."""
    found = set()
    merged = {index for _, indices in block.merged.groups() for index in indices}
    for index, op in enumerate(block.body):
        access, number = based_access(op.instruction), op.instruction.rt
        if access is None or access.type != "word" or number not in CARRIED_FLOATS or number == op.instruction.rs:
            continue
        is_marked = op.volatile or op.spin or op.exposed or op.promoted is not None
        if not is_marked and index not in merged and plan.in_ssa >> number & 1:
            found.add(index)
    return found


def run(plan: FunctionPlan) -> None:
    """Merge saves, and loads of what was saved so."""
    if plan.options.memory != "flat" or not plan.options.big_endian:
        return
    apart_loops = plan.loops_apart
    found_in = ((block, _candidates(plan, block)) for pc, block in plan.blocks.items() if pc not in apart_loops)
    blocks = [(block, found) for block, found in found_in if len(found) >= WIDTHS[-1]]
    saved: set[_Place] = set()
    for block, found in blocks:
        for window in _store_windows(block, found, plan.options.fr):
            for one in _consecutive(block, window):
                block.runs[one.first] = one
                saved.add(_place(block, one))
    for block, found in blocks if saved else ():
        for window in _load_windows(block, found, plan.options.fr):
            for one in _loads_of(block, window, saved):
                block.runs[one.first] = one
