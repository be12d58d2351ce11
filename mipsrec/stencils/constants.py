"""How a stencil has constants: those of the instruction are samples, from which the compiler shall conclude nothing."""

from __future__ import annotations

from ..emit.memory import Value, text
from ..emit.writer import Writer
from .expressions import Expression


class SampleConstants:
    """Implements emit.constants.Constants. `opaque`: the compiler never knows operands (catalogue.OPAQUE)."""

    def __init__(self, writer: Writer, opaque: bool) -> None:
        self._writer = writer
        self._opaque = opaque

    def _hidden(self, value: Value) -> Value:
        """Return a constant that the compiler does not know."""
        return self._writer.value(f'call i32 asm "", "=r,0"(i32 {text(value)})')

    def operand(self, b: Value) -> Value:
        return self._hidden(b) if self._opaque and isinstance(b, Expression) else b

    def compared(self, a: Value, b: Value) -> Value:
        """Return what a constant is compared with: of two constants the samples' order says nothing."""
        return self._hidden(b) if isinstance(a, int) and isinstance(b, Expression) else b

    def are_equal(self, a: Value, b: Value) -> bool:
        return str(a) == str(b)

    def with_sign(self, name: str, type_: str, value: Value) -> str:
        """Return `neg` or `abs` of a float or double, without a constant from memory."""
        writer, bits = self._writer, 32 if type_ == "float" else 64
        integer, sign = f"i{bits}", 1 << bits - 1
        mask = writer.value(f'call {integer} asm "", "=r,0"({integer} {sign if name == "neg" else sign - 1})')
        raw = writer.value(f"bitcast {type_} {value} to {integer}")
        changed = writer.value(f"{'xor' if name == 'neg' else 'and'} {integer} {raw}, {mask}")
        return writer.value(f"bitcast {integer} {changed} to {type_}")
