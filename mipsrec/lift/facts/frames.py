"""Frames: which saved registers a function stores on the stack when it begins, and loads again before it returns.

Enters: an analysed function. Leaves: a `Frame`, if there is one by the rules of passes/saved_registers.py.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...analysis import Block, End, Function
from ...flow.graph import Graph
from ...flow.solve import Direction, Meet, solve
from ...isa import Instruction
from ...isa.effects import LOAD, STORE, based_access, effects, masks
from ...state import CALLEE_SAVED, RA, SP
from ..convention import moves_sp
from ..ir import Frame, SavedRegister

_SAVED = frozenset((*CALLEE_SAVED, RA)) - {SP}
MAX_FRAME_BYTES = 32768 - 64
"""Saves further down do not count: displacements of loads and stores have 16 bits."""


def find_frame(function: Function) -> Frame | None:
    """Return the frame of a function, if it has one."""
    saves = _saves(function.blocks[function.start])
    if not saves:
        return None
    moved = displacements(function)
    if moved is None:
        return None
    restored = _restored(function, moved, saves)
    counting = {pc: found for pc, found in restored.items() if found[0]}
    common = frozenset(saves).intersection(*(found for found, _ in counting.values()))
    if not common or not counting or (RA not in common and _writes_ra(function, moved)):
        return None
    saved = tuple(saves[register] for register in sorted(common))
    return Frame(saved, {pc: stores for pc, (_, stores) in counting.items()})


def _saves(block: Block) -> dict[int, SavedRegister]:
    """Return the saves in the block at the start of a function, by register."""
    found: dict[int, SavedRegister] = {}
    taken: list[range] = []
    written = displacement = 0
    for pc, instruction in zip(block.pcs(), block.instructions()):
        writes = masks(instruction, 0)[1]
        if moves_sp(instruction):
            displacement += instruction.imm
        elif writes >> SP & 1:
            return found
        elif effects(instruction.row).stores:
            place = place_of_store(instruction, displacement)
            if place is None:
                return found
            register = instruction.rt
            inside = displacement <= place.start and place.stop <= 0 and place.start >= -MAX_FRAME_BYTES
            clear = all(place.stop <= other.start or other.stop <= place.start for other in taken)
            if (
                _is_word(instruction, STORE)
                and register in _SAVED
                and not written >> register & 1
                and register not in found
                and inside
                and clear
            ):
                found[register] = SavedRegister(register, place.start, pc)
            taken.append(place)
        written |= writes
    return found


def _is_word(instruction: Instruction, kind: str) -> bool:
    """Return whether an instruction loads or stores a word at imm(rs)."""
    access = based_access(instruction)
    return access is not None and (access.kind, access.type) == (kind, "word")


def place_of_store(instruction: Instruction, displacement: int) -> range | None:
    """Return where a store goes, from the sp of the caller; None if that is not known."""
    access = based_access(instruction)
    if access is None or access.kind != STORE or instruction.rs != SP:
        return None
    start = displacement + instruction.imm
    return range(start, start + access.size_bytes)


def displacements(function: Function) -> dict[int, int] | None:
    """Return what sp is at the start of each block, from the sp of the caller; None if the rules are broken."""
    found = {function.start: 0}
    work = [function.start]
    while work:
        block = function.blocks[work.pop()]
        if _leaves(function, block):
            return None
        displacement = found[block.start]
        for instruction in block.instructions():
            if moves_sp(instruction):
                displacement += instruction.imm
            elif masks(instruction, 0)[1] >> SP & 1:
                return None
            if not -MAX_FRAME_BYTES <= displacement <= 0:
                return None
        if block.end is End.RETURN and displacement:
            return None
        for successor in function.successors(block):
            if successor == function.start:
                return None
            if successor not in found:
                found[successor] = displacement
                work.append(successor)
            elif found[successor] != displacement:
                return None
    return found


def _leaves(function: Function, block: Block) -> bool:
    """Return whether a block makes a system call, or jumps to another function."""
    if block.end is End.INDIRECT:
        return function.may_go_anywhere(block)
    wanted: list[int | None] = []
    if block.end in (End.BRANCH, End.JUMP):
        wanted.append(block.target)
    if block.end is End.BRANCH:
        wanted.append(block.next_pc)
    return block.end is End.SYSCALL or any(pc is not None and pc not in function.blocks for pc in wanted)


def _restored(
    function: Function, displacements: dict[int, int], saves: dict[int, SavedRegister]
) -> dict[int, tuple[frozenset[int], frozenset[int]]]:
    """Return, by return block, the registers that are loaded from where they are saved, and the stores to check."""
    graph = Graph(function, list(displacements), [function.start])
    every = frozenset(saves)

    def transfer(block: Block) -> tuple[int, int]:
        if block.end is End.CALL:
            return 0, 0
        added, kept = (_through(block, displacements[block.start], held, saves)[0] for held in (frozenset(), every))
        return _bits(added), _bits(kept)

    transfers = {pc: transfer(function.blocks[pc]) for pc in displacements}
    at_start = solve(graph, Direction.FORWARD, Meet.ALL, transfers, {function.start: 0})
    found = {}
    for pc in displacements:
        if function.blocks[pc].end is End.RETURN:
            held = frozenset(register for register in saves if at_start[pc] >> register & 1)
            found[pc] = _through(function.blocks[pc], displacements[pc], held, saves)
    return found


def _bits(registers: Iterable[int]) -> int:
    return sum(1 << register for register in registers)


def _through(
    block: Block, displacement: int, before: frozenset[int], saves: dict[int, SavedRegister]
) -> tuple[frozenset[int], frozenset[int]]:
    """Return the registers that hold what is saved of them after a block, and the pcs of stores to check."""
    found, stores = set(before), set()
    late = block.delay_slot if block.end is End.RETURN else None  # jr has read ra before
    for pc, instruction in zip(block.pcs(), block.instructions()):
        if instruction is late and RA not in found:
            saves = {register: save for register, save in saves.items() if register != RA}
        if moves_sp(instruction):
            displacement += instruction.imm
        elif effects(instruction.row).stores:
            place = place_of_store(instruction, displacement)
            if place is None and block.end is End.RETURN and _can_be_checked(instruction):
                stores |= {pc} if found else set()
            else:
                found = {r for r in found if place is not None and not _overlap(place, saves[r].displacement)}
        else:
            found -= {register for register in found if masks(instruction, 0)[1] >> register & 1}
            save = saves.get(instruction.rt) if _is_word(instruction, LOAD) and instruction.rs == SP else None
            if save is not None and displacement + instruction.imm == save.displacement:
                found.add(save.register)
    return frozenset(found), frozenset(stores)


def _overlap(place: range, word: int) -> bool:
    return place.start < word + 4 and word < place.stop


def _can_be_checked(instruction: Instruction) -> bool:
    """Return whether a store is at imm(rs), so that code can check its address: it writes less than 8 bytes away."""
    access = effects(instruction.row).access
    return access is not None and access.kind == STORE and access.is_based


def _writes_ra(function: Function, blocks: dict[int, int]) -> bool:
    return any(masks(i, 0)[1] >> RA & 1 for pc in blocks for i in function.blocks[pc].instructions())
