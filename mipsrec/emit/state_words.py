"""Words of the state, past every cache: of registers that a function does not have in SSA, and of the host's fields."""

from __future__ import annotations

from ..state import OFFSETS, SLOT_BYTES
from .writer import STATE_TAG, Value, Writer, text


class StateWords:
    """Reads and writes i32 fields of the state."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def pointer(self, field: str, offset: int = 0) -> str:
        return self._writer.value(f"getelementptr i8, ptr %s, i64 {OFFSETS[field] + offset}")

    def word(self, field: str, offset: int = 0) -> str:
        """Return the i32 in a field."""
        return self._writer.value(f"load i32, ptr {self.pointer(field, offset)}, {STATE_TAG}")

    def set_word(self, field: str, value: Value, offset: int = 0) -> None:
        pointer = self.pointer(field, offset)
        self._writer.void(f"store i32 {text(value)}, ptr {pointer}, {STATE_TAG}")

    def gpr(self, number: int, type_: str = "i32") -> str:
        """Return a general-purpose register, as another type of its size if one is given."""
        return self._writer.value(f"load {type_}, ptr {self.pointer('gpr', SLOT_BYTES * number)}, {STATE_TAG}")

    def set_gpr(self, number: int, value: Value, type_: str = "i32") -> None:
        pointer = self.pointer("gpr", SLOT_BYTES * number)
        self._writer.void(f"store {type_} {text(value)}, ptr {pointer}, {STATE_TAG}")
