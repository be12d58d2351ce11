"""Operations of the rows on i64, made of two i32; nothing is undefined where the guest's result is defined."""

from __future__ import annotations

from .integers import Integers, binary
from .writer import Value, Writer, text


class WideIntegers:
    """Implements isa.meaning.WideOperations. Divisions are guarded."""

    def __init__(self, writer: Writer, integers: Integers) -> None:
        self._writer = writer
        self._integers = integers

    def extended(self, a: Value, signed: bool) -> str:
        return self._writer.value(f"{'sext' if signed else 'zext'} i32 {text(a)} to i64")

    def product(self, a: Value, b: Value, signed: bool) -> str:
        return self._writer.value(f"mul i64 {self.extended(a, signed)}, {self.extended(b, signed)}")

    def add64(self, a: Value, b: Value) -> str:
        return self._writer.value(f"add i64 {a}, {b}")

    def sub64(self, a: Value, b: Value) -> str:
        return self._writer.value(f"sub i64 {a}, {b}")

    def low(self, a64: Value) -> str:
        return self._writer.value(f"trunc i64 {a64} to i32")

    def upper(self, a64: Value) -> str:
        shifted = self._writer.value(f"lshr i64 {a64}, 32")
        return self._writer.value(f"trunc i64 {shifted} to i32")

    def pack(self, high: Value, low: Value) -> str:
        shifted = self._writer.value(f"shl i64 {self.extended(high, False)}, 32")
        return self._writer.value(f"or i64 {shifted}, {self.extended(low, False)}")

    def _shifted(self, operation: str, a64: Value, amount: Value) -> str:
        wide = self.extended(amount, False)
        return self._writer.value(f"{operation} i64 {a64}, {self._writer.value(f'and i64 {wide}, 63')}")

    def shl64(self, a64: Value, amount: Value) -> str:
        return self._shifted("shl", a64, amount)

    def lshr64(self, a64: Value, amount: Value) -> str:
        return self._shifted("lshr", a64, amount)

    def ashr64(self, a64: Value, amount: Value) -> str:
        return self._shifted("ashr", a64, amount)

    def select64(self, flag: Value, a64: Value, b64: Value) -> str:
        return self._writer.value(f"select i1 {flag}, i64 {a64}, i64 {b64}")

    def divide(self, a: Value, b: Value, signed: bool) -> str:
        """Divide without undefined cases: by zero, and INT_MIN by -1, as qemu does, which divides by 1 then."""
        writer, integers = self._writer, self._integers
        unusual = integers.eq(b, 0)
        if signed:
            minimum, minus_one = integers.eq(a, 0x80000000), integers.eq(b, 0xFFFFFFFF)
            overflow = writer.value(f"and i1 {minimum}, {minus_one}")
            unusual = writer.value(f"or i1 {unusual}, {overflow}")
        divisor = integers.select(unusual, 1, b)
        sign = "s" if signed else "u"
        return self.pack(binary(writer, f"{sign}rem", a, divisor), binary(writer, f"{sign}div", a, divisor))
