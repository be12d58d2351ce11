"""Writes the counters of decisions (mipsrec/counters.py).

A counter is volatile: LLVM keeps it between the accesses before and behind it, so a fault finds what was counted until
then. It goes from 255 to 1, so what was executed never looks as if it was not.
"""

from __future__ import annotations

from ..analysis.symbolic import constant_condition
from ..counters import HASH_SHIFT, MAP_BYTES, MULTIPLIER, place
from ..isa import Flow, Instruction
from ..state import RA
from ..target import this_target
from .writer import Value, Writer, text

_POINTER = f"ptr addrspace({this_target().counter_space})"


class Counters:
    """Writes the counters of one function; `seed` is that of its file."""

    def __init__(self, writer: Writer, seed: int) -> None:
        self._writer = writer
        self._seed = seed

    def branch(
        self, instruction: Instruction, pc: int, flag: Value, taken: str, other: str, has_own_slot: bool = False
    ) -> bool:
        """End a block by a branch that counts, to two labels; return False, with nothing written, where it does not.

        `has_own_slot`: the slot is a block of its own, at whose end `taken` counts.
        """
        if constant_condition(instruction) is not None:
            return False
        writer = self._writer
        stay, go = writer.fresh_label(), taken if has_own_slot else writer.fresh_label()
        writer.void(f"br i1 {flag}, label %{go}, label %{stay}")
        writer.label(stay)
        self._add_constant(place(self._seed, pc))
        writer.void(f"br label %{other}")
        if not has_own_slot:
            writer.label(go)
            self.taken(pc)
            writer.void(f"br label %{taken}")
        return True

    def taken(self, pc: int) -> None:
        """Count that the branch at a pc is taken."""
        self._add_constant(place(self._seed, pc) + 1)

    def _add_constant(self, counter: int) -> None:
        self._add(f"inttoptr (i64 {counter} to {_POINTER})")

    def jump(self, instruction: Instruction, pc: int, target: Value) -> None:
        """Count a jump or a call by a register to a target."""
        if instruction.row.flow is not Flow.JUMP_REGISTER or instruction.rs == RA:
            return
        writer = self._writer
        mixed = writer.value(f"mul i32 {text(target)}, {text(MULTIPLIER)}")
        high = writer.value(f"lshr i32 {mixed}, {HASH_SHIFT}")
        moved = writer.value(f"add i32 {high}, {place(self._seed, pc)}")
        inside = writer.value(f"and i32 {moved}, {MAP_BYTES - 1}")
        wide = writer.value(f"zext i32 {inside} to i64")
        self._add(writer.value(f"inttoptr i64 {wide} to {_POINTER}"))

    def _add(self, pointer: str) -> None:
        writer = self._writer
        before = writer.value(f"load volatile i8, {_POINTER} {pointer}")
        more = writer.value(f"add i8 {before}, 1")
        is_over = writer.value(f"icmp eq i8 {before}, -1")  # a carry; of `more` and 0 LLVM makes a maximum with 1
        carry = writer.value(f"zext i1 {is_over} to i8")
        writer.void(f"store volatile i8 {writer.value(f'add i8 {more}, {carry}')}, {_POINTER} {pointer}")
