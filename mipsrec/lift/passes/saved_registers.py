"""Frames: the registers that a function saves on its stack before all else, and loads back before it returns.

A call of such a function need not take them through the state. The caller stores them where the callee would have,
calls the callee's body, and loads from the stack what it needs again; between them nothing is stored twice. The
memory is at every moment what the guest would have made it, so that whoever looks at a frame (an unwinder, a debugger,
a stray pointer) sees nothing else, and a value that was overwritten on the stack arrives overwritten.

The rules that make this exact:

- sp changes by constants only, and is at a return what it was at the entry. Callees put sp back, which is checked.
- A save counts if it lies in the block at the start, which runs once, before its register is written and before any
  other store: what is stored in between might go to the same place, and the caller's stores come first. A load in
  between may read the place early; it lies below the sp of the caller, where nothing is kept for anybody.
- A return counts if on all ways to it these registers are loaded from where they are, and nothing is stored afterwards
  that might go there. Stores in the block of the return are looked at when they are made: if one goes near the slots,
  the function returns as those do that have no frame. So do returns that do not count: they make the state complete.
- Functions that jump to other functions, or make system calls, have no frame here: what comes after that is not
  theirs to say.
"""

from __future__ import annotations

from ...analysis import Block, End, Function
from ...isa import Instruction
from ...isa.uses import masks, writes_memory
from ..convention import moves_sp
from ..ir import Frame, Slot

_SP, _RA = 29, 31
_SAVED = frozenset((*range(16, 24), 28, 30, _RA))
MAX_FRAME_BYTES = 32768 - 64
"""Saves further down are not looked for: displacements of loads and stores have 16 bits."""


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
    if not common or not counting or (_RA not in common and _writes_ra(function, moved)):
        return None
    slots = tuple(saves[register] for register in sorted(common))
    return Frame(slots, {pc: stores for pc, (_, stores) in counting.items()})


def _saves(block: Block) -> dict[int, Slot]:
    """Return the saves in the block at the start of a function, by register."""
    found: dict[int, Slot] = {}
    taken: list[range] = []
    written = displacement = 0
    for pc, instruction in _always_run(block):
        writes = masks(instruction, 0)[1]
        if moves_sp(instruction):
            displacement += instruction.imm
        elif writes >> _SP & 1:
            return found
        elif writes_memory(instruction.row):
            place = place_of_store(instruction, displacement)
            if place is None:
                return found
            register = instruction.rt
            inside = displacement <= place.start and place.stop <= 0 and place.start >= -MAX_FRAME_BYTES
            clear = all(place.stop <= other.start or other.stop <= place.start for other in taken)
            if (
                instruction.row.name == "sw"
                and register in _SAVED
                and not written >> register & 1
                and register not in found
                and inside
                and clear
            ):
                found[register] = Slot(register, place.start, pc)
            taken.append(place)
        written |= writes
    return found


def _always_run(block: Block) -> list[tuple[int, Instruction]]:
    """Return the instructions of a block with their pcs, but for a slot that may be annulled."""
    found = [(block.start + 4 * index, instruction) for index, instruction in enumerate(block.body)]
    if block.terminator is not None:
        found.append((block.terminator_pc, block.terminator))
        if block.delay_slot is not None and not block.is_likely:
            found.append((block.terminator_pc + 4, block.delay_slot))
    return found


_STORE_BYTES = {"sb": 1, "sh": 2, "sw": 4, "swc1": 4, "sdc1": 8}


def place_of_store(instruction: Instruction, displacement: int) -> range | None:
    """Return where a store goes, from the sp of the caller; None if that is not known."""
    size = _STORE_BYTES.get(instruction.row.name)
    if size is None or instruction.rs != _SP:
        return None
    start = displacement + instruction.imm
    return range(start, start + size)


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
                if instruction is block.delay_slot and block.is_likely:
                    return None
                displacement += instruction.imm
            elif masks(instruction, 0)[1] >> _SP & 1:
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
    function: Function, displacements: dict[int, int], saves: dict[int, Slot]
) -> dict[int, tuple[frozenset[int], frozenset[int]]]:
    """Return, by return block, the registers that are loaded from where they are saved, and the stores to look at."""
    at_start: dict[int, frozenset[int]] = {function.start: frozenset()}
    work = [function.start]
    while work:
        block = function.blocks[work.pop()]
        found, _ = _through(block, displacements[block.start], at_start[block.start], saves)
        if block.end is End.CALL or block.is_likely:
            found = frozenset()
        for successor in function.successors(block):
            before = at_start.get(successor)
            after = found if before is None else found & before
            if after != before:
                at_start[successor] = after
                work.append(successor)
    ends = [function.blocks[pc] for pc in displacements if function.blocks[pc].end is End.RETURN]
    return {block.start: _through(block, displacements[block.start], at_start[block.start], saves) for block in ends}


def _through(
    block: Block, displacement: int, before: frozenset[int], saves: dict[int, Slot]
) -> tuple[frozenset[int], frozenset[int]]:
    """Return the registers that hold what is saved of them after a block, and the pcs of stores to look at."""
    found, stores = set(before), set()
    pc = block.start
    late = block.delay_slot if block.end is End.RETURN else None  # jr has read ra before
    for instruction in block.instructions():
        pc = block.terminator_pc if instruction is block.terminator else pc
        if instruction is late and _RA not in found:
            saves = {r: slot for r, slot in saves.items() if r != _RA}
        if moves_sp(instruction):
            displacement += instruction.imm
        elif writes_memory(instruction.row):
            place = place_of_store(instruction, displacement)
            if place is None and block.end is End.RETURN and instruction.row.name in WATCHED_STORES:
                stores |= {pc} if found else set()
            else:
                found = {r for r in found if place is not None and not _overlap(place, saves[r].displacement)}
        else:
            found -= {register for register in found if masks(instruction, 0)[1] >> register & 1}
            slot = saves.get(instruction.rt) if instruction.row.name == "lw" and instruction.rs == _SP else None
            if slot is not None and displacement + instruction.imm == slot.displacement:
                found.add(slot.register)
        pc += 4
    return frozenset(found), frozenset(stores)


def _overlap(place: range, word: int) -> bool:
    return place.start < word + 4 and word < place.stop


WATCHED_STORES = ("sb", "sh", "sw", "swl", "swr", "swc1", "sdc1")
"""Stores at `imm(rs)` that can be looked at when they are made: they go to less than 8 bytes either way from there."""


def _writes_ra(function: Function, blocks: dict[int, int]) -> bool:
    return any(masks(i, 0)[1] >> _RA & 1 for pc in blocks for i in function.blocks[pc].instructions())
