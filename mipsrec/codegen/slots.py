"""Words of memory that a loop changes in each of its rounds, and what instructions do to memory.

slot_loops.py finds such words and has the rules.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..isa import Instruction
from ..isa.row import Row
from ..isa.uses import FieldNames, once_per_row, perform

SIZES = {"i8": 1, "i16": 2, "i32": 4, "float": 4, "double": 8}


@dataclass(frozen=True)
class Slot:
    """`size` bytes at displacement(base), read and written as values of one LLVM type, with the variable for them."""

    base: int
    displacement: int
    type: str
    name: str = ""

    @property
    def size(self) -> int:
        return SIZES[self.type]

    def overlaps(self, other: Slot) -> bool:
        """Return whether one by the same register touches this."""
        return -other.size < other.displacement - self.displacement < self.size

    def covers(self, other: Slot) -> bool:
        """Return whether all of one is part of this."""
        return self.base == other.base and 0 <= other.displacement - self.displacement <= self.size - other.size


@dataclass
class SlotLoop:
    """A loop and its slots; `pc` is where one of them is loaded."""

    head: int
    body: frozenset[int]
    pc: int
    slots: list[Slot] = field(default_factory=list)

    def touched(self, instruction: Instruction) -> Slot | None:
        """Return the slot that one of its instructions accesses, if it does."""
        access = access_of(instruction)[1]
        return next((slot for slot in self.slots if access and place(slot) == place(access)), None)


def place(slot: Slot) -> tuple[int, int, str]:
    return slot.base, slot.displacement, slot.type


# what instructions do to memory

LOAD, STORE, OTHER = "load", "store", "other"

_OTHERS = frozenset(
    ("store_left", "store_right", "load_linked", "store_conditional", "fence", "sync_code")
    + ("raise_always", "read_hardware", "read_control", "write_control")
)


class _Notes:
    """A Machine that notes the access of a row."""

    def __init__(self) -> None:
        self.kind, self.type = "", ""

    def gpr(self, number: str) -> str:
        return number

    def _note(self, kind: str, base: Any, type_: str) -> int:
        self.kind, self.type = (kind, type_) if base == FieldNames.rs and not self.kind else (OTHER, "")
        return 0

    def load(self, base: Any, displacement: int, bits: int, signed: bool) -> int:
        return self._note(LOAD, base, f"i{bits}") if base == FieldNames.rs else 0

    def load_single(self, base: Any, displacement: int) -> int:
        return self._note(LOAD, base, "float") if base == FieldNames.rs else 0

    def load_double(self, base: Any, displacement: int) -> int:
        return self._note(LOAD, base, "double") if base == FieldNames.rs else 0

    def store(self, base: Any, displacement: int, bits: int, value: Any) -> None:
        self._note(STORE, base, f"i{bits}")

    def store_single(self, base: Any, displacement: int, value: Any) -> None:
        self._note(STORE, base, "float")

    def store_double(self, base: Any, displacement: int, value: Any) -> None:
        self._note(STORE, base, "double")

    def __getattr__(self, name: str) -> Any:
        if name in _OTHERS:
            self.kind = OTHER
        return lambda *operands: 0


@once_per_row
def kind_of(row: Row) -> tuple[str, str]:
    """Return what a row does, and the type of what it loads or stores."""
    notes = _Notes()
    perform(row, notes)
    return notes.kind, notes.type


def access_of(instruction: Instruction) -> tuple[str, Slot | None]:
    kind, type_ = kind_of(instruction.row)
    if kind not in (LOAD, STORE):
        return kind, None
    return kind, Slot(instruction.rs, instruction.imm, type_)
