"""The memory models of stencils: guest addresses are parameters of 64 bits, so none is widened."""

from __future__ import annotations

from ..emit.memory import FlatMemory
from ..emit.writer import STATE_TAG, Value, Writer
from ..state import OFFSETS
from .convention import CALLS, WIDE


def widened(writer: Writer, value: Value) -> str:
    """Return a value of 32 bits as one of 64: a parameter as it came, or an i64 with 0 above."""
    if isinstance(value, int) or value.lstrip("-").isdigit():
        return str(int(value) & 0xFFFFFFFF)
    if value == "poison":
        return value
    return WIDE[value] if value in WIDE else writer.value(f"zext i32 {value} to i64")


class StencilMemory(FlatMemory):
    """Plain host accesses where guest address 0 is host address 0."""

    def _pointer(self, base: Value, displacement: int) -> str:
        if isinstance(base, int):
            return super()._pointer(base, displacement)
        pointer = self._writer.value(f"getelementptr i8, ptr null, i64 {widened(self._writer, base)}")
        return self._writer.value(f"getelementptr i8, ptr {pointer}, i64 {displacement}") if displacement else pointer


class WindowMemory(FlatMemory):
    """Plain host accesses where guest address 0 is not host address 0."""

    def _pointer(self, base: Value, displacement: int) -> str:
        writer = self._writer
        field = writer.value(f"getelementptr i8, ptr %s, i64 {OFFSETS['base']}")
        window = writer.value(f"load ptr, ptr {field}, {STATE_TAG}")
        base_register, address_register = CALLS.access_registers  # not the register of what is loaded
        window = writer.value(f'call ptr asm "", "={{{base_register}}},0"(ptr {window})')
        wide = writer.value(f'call i64 asm "", "={{{address_register}}},0"(i64 {widened(writer, base)})')
        place = writer.value(f"getelementptr i8, ptr {window}, i64 {wide}")
        return writer.value(f"getelementptr i8, ptr {place}, i64 {displacement}") if displacement else place
