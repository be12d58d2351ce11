"""Additions that cannot wrap around, because their operand or result is the base of an access that did not fault.

Guest memory lies between MR_LOWEST_GUEST and MR_USER_END (runtime/host.h): 0x10000 and 0x7fff0000. A register that is
the base of an access, with a displacement of 16 bits, is therefore from 0x8001 to 0x7fff7fff, and its sum with an
immediate of 16 bits is positive as an i32. So an `addiu` wraps neither as a signed nor as an unsigned number whose
operand has been such a base, or whose result or operand is sure to be one later in its block. Where that access faults
instead, no handler can make it good, and the frame is abandoned: so until then nothing may be stored, which a handler
would see, and which may come of the sum.

LLVM learns from it how often loops run that step through memory, and that their addresses need no wrapping at 32 bits.
"""

from __future__ import annotations

from typing import Any

from ...analysis import Block, End, Function
from ...isa import Instruction
from ...isa.row import Row
from ...isa.uses import FieldNames, masks, once_per_row, perform, writes_memory

_ACCESSES = frozenset(
    ("load", "load_single", "load_double", "load_left", "load_right")
    + ("store", "store_single", "store_double", "store_left", "store_right")
)
_EXITS = frozenset(
    ("trap_if", "raise_always", "read_control", "write_control", "read_hardware", "sync_code")
    + ("load_linked", "store_conditional")
)
_TRAPS = frozenset(("trap_if", "raise_always"))
_BASE, _EXIT, _TRAP = 1, 2, 4
"""What a row does: it uses rs as the base of an access; it may leave the block or call the host before it is done; it
may raise an exception that is no fault of an access."""

_GPRS = (1 << 32) - 2


class _Notes:
    """A Machine that notes these."""

    def __init__(self) -> None:
        self.found = 0

    def gpr(self, number: str) -> str:
        return number

    def _access(self, base: Any, *_: Any) -> int:
        if base == FieldNames.rs:
            self.found |= _BASE
        return 0

    def __getattr__(self, name: str) -> Any:
        if name in _EXITS:
            self.found |= _EXIT
        if name in _TRAPS:
            self.found |= _TRAP
        return self._access if name in _ACCESSES else lambda *operands: 0


@once_per_row
def _kind(row: Row) -> int:
    notes = _Notes()
    perform(row, notes)
    return notes.found


def may_leave(row: Row) -> bool:
    """Return whether an instruction may leave the block, or call the host, other than by the fault of an access."""
    return bool(_kind(row) & _EXIT)


def may_trap(row: Row) -> bool:
    """Return whether an instruction may raise an exception other than by an access, which shows all registers."""
    return bool(_kind(row) & _TRAP)


class KnownAddresses:
    """The general-purpose registers that are known to be bases of accesses, at the starts of the blocks of `order`."""

    def __init__(self, function: Function, entries: list[int], order: list[int], fr: int) -> None:
        self._fr = fr
        self._at_start = dict.fromkeys(order, _GPRS)
        for pc in entries:
            self._at_start[pc] = 0
        work = []
        for pc in reversed(order):
            block = function.blocks[pc]
            successors = function.successors(block)
            if successors:
                work.append((successors, pc, *self._effect(block)))
        changed = True
        while changed:
            changed = False
            for successors, pc, gained, kept in reversed(work):
                unknown = ~(self._at_start[pc] & kept | gained)
                for successor in successors:
                    if self._at_start[successor] & unknown:
                        self._at_start[successor] &= ~unknown
                        changed = True

    def _after(self, instruction: Instruction, known: int) -> int:
        if _kind(instruction.row) & _BASE:
            known |= 1 << instruction.rs
        return known & ~masks(instruction, self._fr)[1]

    def _effect(self, block: Block) -> tuple[int, int]:
        """Return the bits known at the end of a block whatever was known before, and those that stay known."""
        gained, kept = 0, _GPRS
        if block.end in (End.CALL, End.SYSCALL):
            return gained, 0
        annulled = block.delay_slot if block.is_likely else None
        for instruction in block.instructions():
            if instruction is annulled:
                gained &= ~masks(instruction, self._fr)[1]
            else:
                gained = self._after(instruction, gained)
            kept &= ~masks(instruction, self._fr)[1]
        return gained, kept

    def exact_sums(self, block: Block) -> set[int]:
        """Return the indices in body and slot of the `addiu` that do not wrap."""
        instructions = block.instructions()
        sums = {index for index, instruction in enumerate(instructions) if instruction.row.name == "addiu"}
        found: set[int] = set()
        if not sums:
            return found
        known = self._at_start[block.start]
        for index, instruction in enumerate(instructions):
            if index in sums and known >> instruction.rs & 1:
                found.add(index)
            known = self._after(instruction, known)
        known = 0  # what is sure to be the base of an access later in the block
        if block.is_likely:
            instructions.pop()
        for index in range(len(instructions) - 1, -1, -1):
            instruction = instructions[index]
            kind, above = _kind(instruction.row), known & ~masks(instruction, self._fr)[1]
            if index in sums and (known >> instruction.rt | above >> instruction.rs) & 1:
                found.add(index)
            known = 0 if kind & _EXIT or writes_memory(instruction.row) else above
            if kind & _BASE:
                known |= 1 << instruction.rs
        return {min(index, len(block.body)) for index in found}
