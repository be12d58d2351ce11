"""Runs of words that a block copies, or fills with one register: they are loaded and stored as vectors.

Compilers and C libraries copy and fill memory by four to sixteen words at a time: `lw` of consecutive words into
registers, then `sw` of these in the same order, or `sw` of one register into consecutive words. LLVM joins such
accesses by itself only where nothing reads the registers afterwards; here a later call or the way out mostly does.

The loads of a run are done where its first is: only additions stand between them, so nothing can happen in between
that they or the guest would notice. The stores follow one another directly, the last perhaps in a delay slot.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...analysis import Block, End
from ...isa import Instruction
from ...isa.uses import masks

WIDTHS = (8, 4)
"""Words of a vector. Shorter runs gain nothing."""

_PASSED = frozenset(("addiu", "addu", "or", "sll"))
"""May stand between the loads of a run: they neither trap nor access memory."""


@dataclass(frozen=True)
class Load:
    """Consecutive words from that of the instruction at the first of `indices` on."""

    indices: tuple[int, ...]


@dataclass(frozen=True)
class Store:
    """Stores of consecutive words by `count` instructions: of what a run loaded, or of one register."""

    count: int
    loaded: Load | None


@dataclass(frozen=True)
class Runs:
    """By the index of their first instruction in a block's body and slot."""

    loads: dict[int, Load]
    stores: dict[int, Store]


NONE = Runs({}, {})


def find_runs(block: Block, excluded: set[int], fr: int) -> Runs:
    """Return the runs of a block; instructions with indices in `excluded` are part of none."""
    has_slot = block.end in (End.BRANCH, End.JUMP) and not block.is_likely
    links = block.terminator is not None and block.terminator.link_register() != 0  # the slot may store that
    body = block.body_and_slot() if has_slot and not links else block.body
    words = [instruction.row.name in ("lw", "sw") and at not in excluded for at, instruction in enumerate(body)]
    if sum(words) < WIDTHS[-1]:
        return NONE
    loads: dict[int, Load] = {}
    stores: dict[int, Store] = {}
    at = 0
    while at < len(body):
        for width in WIDTHS:
            found = _store(body, words, at, width, fr)
            if found is not None and not (found.loaded is not None and _overlaps(found.loaded, loads)):
                stores[at] = found
                if found.loaded is not None:
                    loads[found.loaded.indices[0]] = found.loaded
                break
        at += stores[at].count if at in stores else 1
    return Runs(loads, stores)


def _overlaps(load: Load, loads: dict[int, Load]) -> bool:
    """Return whether others, not the same load, have some of its words."""
    taken = {at for other in loads.values() if other != load for at in other.indices}
    return not taken.isdisjoint(load.indices)


def _store(body: list[Instruction], words: list[bool], at: int, width: int, fr: int) -> Store | None:
    """Return the run of `width` stores that begins at an index."""
    stores = body[at : at + width]
    if len(stores) < width or not all(words[at : at + width]):
        return None
    first = stores[0]
    if any(
        store.row.name != "sw" or store.rs != first.rs or store.imm != first.imm + 4 * number
        for number, store in enumerate(stores)
    ):
        return None
    registers = [store.rt for store in stores]
    if len(set(registers)) == 1:
        return Store(width, None) if registers[0] else None  # LLVM joins stores of constants
    load = _load_of(body, words, at, registers, fr)
    return Store(width, load) if load is not None else None


def _load_of(body: list[Instruction], words: list[bool], before: int, registers: list[int], fr: int) -> Load | None:
    """Return the run that loads these registers from consecutive words, and that they hold at an index."""
    indices = []
    for register in registers:
        at = next((at for at in range(before - 1, -1, -1) if masks(body[at], fr)[1] >> register & 1), None)
        if at is None or not words[at] or body[at].row.name != "lw" or body[at].rt != register:
            return None
        indices.append(at)
    if indices != sorted(set(indices)):
        return None
    first = body[indices[0]]
    base, address = first.rs, first.imm
    for at in range(indices[0], indices[-1] + 1):
        instruction = body[at]
        if at in indices:
            if instruction.rs != base or instruction.imm != address + 4 * indices.index(at):
                return None
            if instruction.rt == base and at != indices[-1]:
                return None
        elif instruction.row.name not in _PASSED:
            return None
        elif masks(instruction, fr)[1] >> base & 1:
            if instruction.row.name != "addiu" or instruction.rs != base:
                return None
            address -= instruction.imm
    return Load(tuple(indices))
