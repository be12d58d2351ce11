"""What passes decide, as data: the plan of a function."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Slot:
    """Where a register is saved: `displacement` bytes from the sp of the caller, by the sw at `pc`."""

    register: int
    displacement: int
    pc: int


@dataclass(frozen=True)
class Frame:
    """What the callers of a function do for it.

    `returns`: by start, the return blocks that count, with the pcs of the stores to look at. `unseen`: the registers
    besides that bypass the state (dead_at_self_call.py).
    """

    slots: tuple[Slot, ...]
    returns: dict[int, frozenset[int]]
    unseen: int = 0

    @property
    def bits(self) -> int:
        """The saved registers."""
        return sum(1 << slot.register for slot in self.slots)

    @property
    def extent(self) -> tuple[int, int]:
        """Where the slots begin and end, from the sp of the caller."""
        places = [slot.displacement for slot in self.slots]
        return min(places), max(places) + 4
