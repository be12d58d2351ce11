"""Operations of the rows on i32 and i1."""

from __future__ import annotations

from .constants import Constants
from .current import Current
from .wide_shifts import WideShifts
from .writer import Value, Writer, text


def binary(writer: Writer, operation: str, a: Value, b: Value) -> str:
    """Return the result of an LLVM instruction on two i32."""
    return writer.value(f"{operation} i32 {text(a)}, {text(b)}")


class Integers:
    """Implements isa.meaning.IntegerOperations. Additions and the like of constants are folded."""

    def __init__(self, writer: Writer, current: Current, constants: Constants) -> None:
        self._writer = writer
        self._current = current
        self._constants = constants
        self._wide_shifts = WideShifts(writer)

    def const(self, value: int) -> int:
        return value & 0xFFFFFFFF

    def _noted(self, operation: str, a: Value, b: Value) -> str:
        """Return the result of an operation that may be part of a shift of 64 bits."""
        value = binary(self._writer, operation, a, b)
        self._wide_shifts.note(operation, a, b, value)
        return value

    def _shifted(self, operation: str, a: Value, amount: Value) -> Value:
        if amount == 0:
            return a
        value = binary(self._writer, operation, a, self._amount(amount))
        self._wide_shifts.note(operation, a, amount, value)
        return value

    def add(self, a: Value, b: Value) -> Value:
        b = self._constants.operand(b)
        if b == 0:
            return a
        if a == 0:
            return b
        if isinstance(a, int) and isinstance(b, int):
            return (a + b) & 0xFFFFFFFF
        if self._current.op.no_wrap and isinstance(b, int):
            return binary(self._writer, "add nsw" if b & 0x80000000 else "add nuw nsw", a, b)
        return binary(self._writer, "add", a, b)

    def sub(self, a: Value, b: Value) -> Value:
        return a if b == 0 else binary(self._writer, "sub", a, b)

    def mul(self, a: Value, b: Value) -> Value:
        return binary(self._writer, "mul", a, b)

    def and_(self, a: Value, b: Value) -> Value:
        return self._noted("and", a, self._constants.operand(b))

    def or_(self, a: Value, b: Value) -> Value:
        if isinstance(a, int) and isinstance(b, int):
            return a | b
        return a if b == 0 else b if a == 0 else self._noted("or", a, b)

    def xor(self, a: Value, b: Value) -> Value:
        return binary(self._writer, "xor", a, b)

    def nor(self, a: Value, b: Value) -> Value:
        return self._noted("xor", self.or_(a, b), 0xFFFFFFFF)

    def _amount(self, amount: Value) -> Value:
        return amount & 31 if isinstance(amount, int) else binary(self._writer, "and", amount, 31)

    def shl(self, a: Value, amount: Value) -> Value:
        return self._shifted("shl", a, amount)

    def lshr(self, a: Value, amount: Value) -> Value:
        return self._shifted("lshr", a, amount)

    def ashr(self, a: Value, amount: Value) -> Value:
        return self._shifted("ashr", a, amount)

    def rotr(self, a: Value, amount: Value) -> Value:
        value = text(a)
        return self._writer.value(f"call i32 @llvm.fshr.i32(i32 {value}, i32 {value}, i32 {text(amount)})")

    def count_leading_zeros(self, a: Value) -> Value:
        return self._writer.value(f"call i32 @llvm.ctlz.i32(i32 {text(a)}, i1 false)")

    def swap_bytes(self, a: Value) -> Value:
        return self._writer.value(f"call i32 @llvm.bswap.i32(i32 {text(a)})")

    def reverse_bits(self, a: Value) -> Value:
        return self._writer.value(f"call i32 @llvm.bitreverse.i32(i32 {text(a)})")

    def sign_extend(self, a: Value, bits: int) -> Value:
        narrow = self._writer.value(f"trunc i32 {text(a)} to i{bits}")
        return self._writer.value(f"sext i{bits} {narrow} to i32")

    def eq(self, a: Value, b: Value) -> str:
        if self._constants.are_equal(a, b):
            return "true"
        return self._noted("icmp eq", a, self._constants.compared(a, b))

    def ne(self, a: Value, b: Value) -> str:
        if self._constants.are_equal(a, b):
            return "false"
        return self._noted("icmp ne", a, self._constants.compared(a, b))

    def slt(self, a: Value, b: Value) -> str:
        return binary(self._writer, "icmp slt", a, self._constants.compared(a, b))

    def ult(self, a: Value, b: Value) -> str:
        return binary(self._writer, "icmp ult", a, self._constants.compared(a, b))

    def invert(self, flag: Value) -> str:
        return self._writer.value(f"xor i1 {flag}, true")

    def zext1(self, flag: Value) -> str:
        return self._writer.value(f"zext i1 {flag} to i32")

    def select(self, flag: Value, a: Value, b: Value) -> str:
        wide = self._wide_shifts.selected(flag, a, b)
        return wide or self._writer.value(f"select i1 {flag}, i32 {text(a)}, i32 {text(b)}")

    def _overflows(self, operation: str, a: Value, b: Value) -> str:
        pair = self._writer.value(
            f"call {{ i32, i1 }} @llvm.{operation}.with.overflow.i32(i32 {text(a)}, i32 {text(b)})"
        )
        return self._writer.value(f"extractvalue {{ i32, i1 }} {pair}, 1")

    def add_overflows(self, a: Value, b: Value) -> str:
        return self._overflows("sadd", a, b)

    def sub_overflows(self, a: Value, b: Value) -> str:
        return self._overflows("ssub", a, b)
