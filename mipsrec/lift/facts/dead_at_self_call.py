"""Dead at self call: registers that a recursive function need not store when it calls itself, nor when it returns.

Needs: a frame (saved_registers), the function's blocks, and its parameters.
Sets: `Frame.dead_at_self_call`; policy.py asks for it before there are plans.
Keeps: no code reads from the state a register that is not there. For each of these registers:

- The function writes it before it reads it, and before whatever needs a complete state: a call of other code, a return
  that is not one of its frame, an exception, the way out of the function. Or it is a parameter, which counts as written
  at the start.
- After each call of itself the function writes it before it does any of that, or returns at all. So no code misses the
  value, wherever the return is met, even if the host's frames are gone by then.
- Only the function itself calls the body: `NAME` is the function once more, without a frame.
- The body returns only to where its call was from: it compares what it has loaded from the stack with the ra of its
  call. To elsewhere it returns with a complete state, so before such a return all have been written too. Paths from the
  start that are harmless need not: those without calls and without stores that might go to the saved ra. (A signal
  handler that changes the saved ra may find old values in these registers, see docs/limits.md.)

Off when: there is no frame, the function does not call itself by an unconditional call, or fewer than
MIN_DEAD_REGISTERS are dead.

A compiler's function holds its temporaries on the stack over a call, and writes them anew after it.
"""

from __future__ import annotations

from dataclasses import replace

from ...analysis import Block, End, Function
from ...analysis.symbolic import constant_condition
from ...flow.graph import Edges
from ...flow.solve import Direction, Meet, reads_and_writes, solve
from ...isa import Flow, Instruction
from ...isa.effects import effects, masks
from ...state import RA, SP
from ..convention import moves_sp
from ..ir import Frame
from .frames import displacements, place_of_store

_GPRS = (1 << 32) - 2
MIN_DEAD_REGISTERS = 3
"""Fewer are not worth a second copy of the function."""

_Place = tuple[int, bool]
"""The start of a block, and whether it was reached by a harmless way."""


def calls_for_certain(block: Block) -> bool:
    """Return whether a block calls without a condition."""
    instruction = block.terminator
    if block.end is not End.CALL or instruction is None:
        return False
    return instruction.row.flow is not Flow.BRANCH or constant_condition(instruction) is not None


def calls_in_any_case(block: Block) -> bool:
    """Return whether a block calls without a condition, and the callee finds in ra where it is to return to."""
    instruction, slot = block.terminator, block.delay_slot
    if not calls_for_certain(block) or instruction is None or instruction.link_register() != RA:
        return False
    return slot is None or not masks(slot, 0)[1] >> RA & 1


def calls_itself(function: Function, block: Block) -> bool:
    """Return whether a block calls its own function, for certain or if a guess is right."""
    return function.likely_target(block) == function.start and calls_in_any_case(block)


def with_dead_registers(function: Function, frame: Frame, parameters: int) -> Frame:
    """Return a frame with the dead registers of its function, which takes `parameters`."""
    sites = [block for block in function.blocks.values() if calls_itself(function, block)]
    if not sites:
        return frame
    written = 0
    for block in function.blocks.values():
        for instruction in block.instructions():
            written |= masks(instruction, 0)[1]
    found = written & _GPRS & ~(frame.bits | 1 << SP | 1 << RA)
    live = _Liveness(function, None, 0)
    for block in sites:
        found &= ~live.at_start((block.next_pc, False))
    while found:
        smaller = found & ~_Liveness(function, frame, found).at_start((function.start, True)) | found & parameters
        if smaller == found:
            break
        found = smaller
    return replace(frame, dead_at_self_call=found) if found.bit_count() >= MIN_DEAD_REGISTERS else frame


def _masks(instruction: Instruction) -> tuple[int, int]:
    """Return what an instruction reads and writes; where it may leave the function, it reads all."""
    reads, writes = masks(instruction, 0)
    return (_GPRS if effects(instruction.row).may_leave else reads), writes


class _Liveness:
    """Which registers are live: the function, or other code that reads the state, reads them before they are written.

    With a `frame` it is the liveness in the body, whose `dead` registers bypass the state; without, in the function.
    """

    def __init__(self, function: Function, frame: Frame | None, dead: int) -> None:
        self._function = function
        self._frame = frame
        self._dead = dead
        self._moved = displacements(function) or {}
        places = [(pc, harmless) for pc in sorted(function.blocks) for harmless in (True, False)]
        edges = Edges(places, {place: self._following(place) for place in places})
        boundary = {place: _GPRS for place in places if self._may_leave(function.blocks[place[0]])}
        transfers = {place: self._transfer(place) for place in places}
        self._found = solve(edges, Direction.BACKWARD, Meet.ANY, transfers, boundary)

    def at_start(self, place: _Place) -> int:
        """Return the bits live from the start of a block on; all, where it is none of this function."""
        return self._found.get(place, 0) if place[0] in self._function.blocks else _GPRS

    def _targets(self, block: Block) -> list[int | None]:
        """Return where a block goes on that does not call, return or jump by a register."""
        targets: list[int | None] = [block.next_pc] if block.end in (End.FALL, End.BRANCH) else []
        return targets + ([block.target] if block.end in (End.JUMP, End.BRANCH) else [])

    def _following(self, place: _Place) -> list[_Place]:
        block = self._function.blocks[place[0]]
        harmless = place[1] and self._is_harmless(block)
        return [(pc, harmless) for pc in self._targets(block) if pc is not None and pc in self._function.blocks]

    def _may_leave(self, block: Block) -> bool:
        targets = self._targets(block)
        return not targets or any(pc is not None and pc not in self._function.blocks for pc in targets)

    def _transfer(self, place: _Place) -> tuple[int, int]:
        """Return the bits that a block reads, and those of what is read after it that it does not write."""
        block = self._function.blocks[place[0]]
        read, written = reads_and_writes(block, _masks)
        live = self._live_after(block, place[1])
        return (read & _GPRS, ~written) if live is None else ((live & ~written | read) & _GPRS, 0)

    def _live_after(self, block: Block, harmless: bool) -> int | None:
        """Return the bits live at the end of a block that returns or calls its own function; None elsewhere."""
        if block.end is End.RETURN:
            counts = self._frame is not None and block.start in self._frame.returns
            return 0 if counts and harmless and self._is_harmless(block) else _GPRS
        if block.end is End.CALL and self._frame is not None and calls_itself(self._function, block):
            return _GPRS if block.target is None else _GPRS & ~self._dead
        return None

    def _is_harmless(self, block: Block) -> bool:
        """Return whether ra is not saved, or a block stores at sp alone, and not over the saved ra after the save."""
        saved = next((one for one in self._frame.saved if one.register == RA), None) if self._frame else None
        if saved is None:
            return True
        displacement = self._moved.get(block.start, 0)
        for pc, instruction in zip(block.pcs(), block.instructions()):
            if moves_sp(instruction):
                displacement += instruction.imm
            elif effects(instruction.row).stores and pc != saved.pc:
                place = place_of_store(instruction, displacement)
                if place is None or (place.start < saved.displacement + 4 and saved.displacement < place.stop):
                    return False
        return True
