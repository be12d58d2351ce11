"""Unseen registers: those that a function which calls itself hands to nobody, when it calls or when it returns.

A compiler's function has its temporaries on the stack over a call, and writes them anew after it. Where it calls its
own body (saved_registers.py) they bypass the state: the caller does not store them before, nor the callee when it
returns.

The rules that make this exact, for each of these registers:

- The function writes it before it reads it, and before whatever needs a complete state: a call of anything else, a
  return that is not one of its frame, an exception, the way out of the function. Or it comes in as a parameter, and
  is as good as written at the start.
- After each call of itself control writes it, before it does any of that or returns at all. So nobody sees that the
  state does not have it, wherever the return is met, even if the host's frames are gone by then.
- Nobody else calls the body: `NAME` is the function once more, without a frame.
- The body returns BACK only to where its call was from: it looks itself whether what it has loaded from the stack is
  the ra of its call. To elsewhere it goes with a complete state, so before such a return all have been written too;
  but for ways from the start that are plainly harmless: without calls, and without stores that might go to the slot.
  (A signal handler that changes the slot meanwhile, and goes on elsewhere, finds old values in these registers.)
"""

from __future__ import annotations

from dataclasses import replace

from ...analysis import Block, End, Function
from ...analysis.symbolic import constant_condition
from ...isa import Flow
from ...isa.uses import masks, writes_memory
from ..convention import moves_sp
from ..ir import Frame
from .no_wrap import may_leave
from .saved_registers import displacements, place_of_store

_GPRS = (1 << 32) - 2
_SP, _RA = 29, 31
MIN_UNSEEN = 3
"""Fewer are not worth a second copy of the function."""

_Place = tuple[int, bool]
"""The start of a block, and whether it was reached by a harmless way."""


def calls_in_any_case(block: Block) -> bool:
    """Return whether a block calls without a condition, and the callee finds in ra where it is to return to."""
    instruction, slot = block.terminator, block.delay_slot
    if block.end is not End.CALL or instruction is None or instruction.link_register() != _RA:
        return False
    if instruction.row.flow is Flow.BRANCH and constant_condition(instruction) is None:
        return False
    return slot is None or not masks(slot, 0)[1] >> _RA & 1


def calls_itself(function: Function, block: Block) -> bool:
    """Return whether a block calls its own function, for certain or if a guess is right."""
    return function.likely_target(block) == function.start and calls_in_any_case(block)


def with_unseen(function: Function, frame: Frame, parameters: int) -> Frame:
    """Return a frame with the unseen registers of its function, which takes `parameters`."""
    sites = [block for block in function.blocks.values() if calls_itself(function, block)]
    if not sites:
        return frame
    written = 0
    for block in function.blocks.values():
        for instruction in block.instructions():
            written |= masks(instruction, 0)[1]
    found = written & _GPRS & ~(frame.bits | 1 << _SP | 1 << _RA)
    seen = _Seen(function, None, 0)
    for block in sites:
        found &= ~seen.at_start((block.next_pc, False))
    while found:
        smaller = found & ~_Seen(function, frame, found).at_start((function.start, True)) | found & parameters
        if smaller == found:
            break
        found = smaller
    return replace(frame, unseen=found) if found.bit_count() >= MIN_UNSEEN else frame


class _Seen:
    """Which registers are read before they are written, by the function or by whoever looks at the state.

    Of the body of a function with a `frame` whose `unseen` registers bypass the state; without, of the function.
    """

    def __init__(self, function: Function, frame: Frame | None, unseen: int) -> None:
        self._function = function
        self._frame = frame
        self._unseen = unseen
        self._moved = displacements(function) or {}
        self._found: dict[_Place, int] = {}
        places = [(pc, harmless) for pc in sorted(function.blocks, reverse=True) for harmless in (True, False)]
        changed = True
        while changed:
            changed = False
            for place in places:
                bits = self._before(place)
                if bits != self._found.get(place, 0):
                    self._found[place] = bits
                    changed = True

    def at_start(self, place: _Place) -> int:
        """Return the bits seen from the start of a block on; all, where it is none of this function."""
        return self._found.get(place, 0) if place[0] in self._function.blocks else _GPRS

    def _before(self, place: _Place) -> int:
        block = self._function.blocks[place[0]]
        read = written = 0
        for instruction in block.instructions():
            reads, writes = masks(instruction, 0)
            read |= (_GPRS if may_leave(instruction.row) else reads) & ~written
            if not (block.is_likely and instruction is block.delay_slot):
                written |= writes
        return (self._after(block, place[1] and self._is_harmless(block)) & ~written | read) & _GPRS

    def _after(self, block: Block, harmless: bool) -> int:
        if block.end is End.RETURN:
            return 0 if harmless and self._frame is not None and block.start in self._frame.returns else _GPRS
        if block.end is End.CALL and self._frame is not None and calls_itself(self._function, block):
            return _GPRS if block.target is None else _GPRS & ~self._unseen
        targets: list[int | None] = [block.next_pc] if block.end in (End.FALL, End.BRANCH) else []
        targets += [block.target] if block.end in (End.JUMP, End.BRANCH) else []
        bits = 0 if targets else _GPRS
        for pc in targets:
            if pc is not None:
                bits |= self.at_start((pc, harmless))
        return bits

    def _is_harmless(self, block: Block) -> bool:
        """Return whether ra is not saved, or a block stores at sp alone, and not over the slot of ra after the save."""
        slot = next((slot for slot in self._frame.slots if slot.register == _RA), None) if self._frame else None
        if slot is None:
            return True
        displacement, pc = self._moved.get(block.start, 0), block.start
        for instruction in block.instructions():
            pc = block.terminator_pc if instruction is block.terminator else pc
            if moves_sp(instruction):
                displacement += instruction.imm
            elif writes_memory(instruction.row) and pc != slot.pc:
                place = place_of_store(instruction, displacement)
                if place is None or (place.start < slot.displacement + 4 and slot.displacement < place.stop):
                    return False
            pc += 4
        return True
