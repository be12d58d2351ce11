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

    def gpr(self, number: int) -> str:
        return self.word("gpr", SLOT_BYTES * number)

    def set_gpr(self, number: int, value: Value) -> None:
        self.set_word("gpr", value, SLOT_BYTES * number)
