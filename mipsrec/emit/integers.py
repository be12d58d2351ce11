"""Operations of the rows on integers; nothing is undefined where the guest's result is defined."""

from __future__ import annotations

from ..lift.options import LiftOptions
from ..lift.units import Units
from .memory import Value, text
from .register_file import RegisterOperations
from .wide_shifts import WideShifts
from .writer import Writer


class IntegerOperations(RegisterOperations):
    """i32, i1 and i64 arithmetic. Additions and the like of constants are folded; divisions are guarded."""

    def __init__(self, writer: Writer, units: Units, options: LiftOptions, in_state: bool = False) -> None:
        super().__init__(writer, units, options, in_state)
        self._wide_shifts = WideShifts(writer)

    def start_block(self) -> None:
        super().start_block()
        self._wide_shifts.start_block()

    def const(self, value: int) -> int:
        return value & 0xFFFFFFFF

    def _binary(self, operation: str, a: Value, b: Value) -> str:
        return self.writer.value(f"{operation} i32 {text(a)}, {text(b)}")

    def _noted(self, operation: str, a: Value, b: Value) -> str:
        """Return the result of an operation that may be part of a shift of 64 bits."""
        value = self._binary(operation, a, b)
        self._wide_shifts.note(operation, a, b, value)
        return value

    def _shifted(self, operation: str, a: Value, amount: Value) -> Value:
        if amount == 0:
            return a
        value = self._binary(operation, a, self._amount(amount))
        self._wide_shifts.note(operation, a, amount, value)
        return value

    def add(self, a: Value, b: Value) -> Value:
        if b == 0:
            return a
        if a == 0:
            return b
        if isinstance(a, int) and isinstance(b, int):
            return (a + b) & 0xFFFFFFFF
        if self.op.no_wrap and isinstance(b, int):
            return self._binary("add nsw" if b & 0x80000000 else "add nuw nsw", a, b)
        return self._binary("add", a, b)

    def sub(self, a: Value, b: Value) -> Value:
        return a if b == 0 else self._binary("sub", a, b)

    def mul(self, a: Value, b: Value) -> Value:
        return self._binary("mul", a, b)

    def and_(self, a: Value, b: Value) -> Value:
        return self._noted("and", a, b)

    def or_(self, a: Value, b: Value) -> Value:
        if isinstance(a, int) and isinstance(b, int):
            return a | b
        return a if b == 0 else b if a == 0 else self._noted("or", a, b)

    def xor(self, a: Value, b: Value) -> Value:
        return self._binary("xor", a, b)

    def nor(self, a: Value, b: Value) -> Value:
        return self._noted("xor", self.or_(a, b), 0xFFFFFFFF)

    def _amount(self, amount: Value) -> Value:
        return amount & 31 if isinstance(amount, int) else self._binary("and", amount, 31)

    def shl(self, a: Value, amount: Value) -> Value:
        return self._shifted("shl", a, amount)

    def lshr(self, a: Value, amount: Value) -> Value:
        return self._shifted("lshr", a, amount)

    def ashr(self, a: Value, amount: Value) -> Value:
        return self._shifted("ashr", a, amount)

    def rotr(self, a: Value, amount: Value) -> Value:
        value = text(a)
        return self.writer.value(f"call i32 @llvm.fshr.i32(i32 {value}, i32 {value}, i32 {text(amount)})")

    def count_leading_zeros(self, a: Value) -> Value:
        return self.writer.value(f"call i32 @llvm.ctlz.i32(i32 {text(a)}, i1 false)")

    def swap_bytes(self, a: Value) -> Value:
        return self.writer.value(f"call i32 @llvm.bswap.i32(i32 {text(a)})")

    def sign_extend(self, a: Value, bits: int) -> Value:
        narrow = self.writer.value(f"trunc i32 {text(a)} to i{bits}")
        return self.writer.value(f"sext i{bits} {narrow} to i32")

    def eq(self, a: Value, b: Value) -> str:
        return self._noted("icmp eq", a, b)

    def ne(self, a: Value, b: Value) -> str:
        return self._noted("icmp ne", a, b)

    def slt(self, a: Value, b: Value) -> str:
        return self._binary("icmp slt", a, b)

    def ult(self, a: Value, b: Value) -> str:
        return self._binary("icmp ult", a, b)

    def invert(self, flag: Value) -> str:
        return self.writer.value(f"xor i1 {flag}, true")

    def zext1(self, flag: Value) -> str:
        return self.writer.value(f"zext i1 {flag} to i32")

    def _select(self, type_: str, flag: Value, a: Value, b: Value) -> str:
        return self.writer.value(f"select i1 {flag}, {type_} {text(a)}, {type_} {text(b)}")

    def select(self, flag: Value, a: Value, b: Value) -> str:
        return self._wide_shifts.selected(flag, a, b) or self._select("i32", flag, a, b)

    def select_single(self, flag: Value, a: Value, b: Value) -> str:
        return self._select("float", flag, *self.settled_both(a, b))

    def select_double(self, flag: Value, a: Value, b: Value) -> str:
        return self._select("double", flag, *self.settled_both(a, b))

    def _overflows(self, operation: str, a: Value, b: Value) -> str:
        pair = self.writer.value(
            f"call {{ i32, i1 }} @llvm.{operation}.with.overflow.i32(i32 {text(a)}, i32 {text(b)})"
        )
        return self.writer.value(f"extractvalue {{ i32, i1 }} {pair}, 1")

    def add_overflows(self, a: Value, b: Value) -> str:
        return self._overflows("sadd", a, b)

    def sub_overflows(self, a: Value, b: Value) -> str:
        return self._overflows("ssub", a, b)

    def _wide(self, a: Value, signed: bool) -> str:
        return self.writer.value(f"{'sext' if signed else 'zext'} i32 {text(a)} to i64")

    def product(self, a: Value, b: Value, signed: bool) -> str:
        return self.writer.value(f"mul i64 {self._wide(a, signed)}, {self._wide(b, signed)}")

    def add64(self, a: Value, b: Value) -> str:
        return self.writer.value(f"add i64 {a}, {b}")

    def sub64(self, a: Value, b: Value) -> str:
        return self.writer.value(f"sub i64 {a}, {b}")

    def low(self, a64: Value) -> str:
        return self.writer.value(f"trunc i64 {a64} to i32")

    def upper(self, a64: Value) -> str:
        shifted = self.writer.value(f"lshr i64 {a64}, 32")
        return self.writer.value(f"trunc i64 {shifted} to i32")

    def pack(self, high: Value, low: Value) -> str:
        shifted = self.writer.value(f"shl i64 {self._wide(high, False)}, 32")
        return self.writer.value(f"or i64 {shifted}, {self._wide(low, False)}")

    def divide(self, a: Value, b: Value, signed: bool) -> str:
        """Divide without undefined cases: by zero, and INT_MIN by -1, as qemu does, which divides by 1 then."""
        writer = self.writer
        unusual = self.eq(b, 0)
        if signed:
            minimum, minus_one = self.eq(a, 0x80000000), self.eq(b, 0xFFFFFFFF)
            overflow = writer.value(f"and i1 {minimum}, {minus_one}")
            unusual = writer.value(f"or i1 {unusual}, {overflow}")
        divisor = self.select(unusual, 1, b)
        sign = "s" if signed else "u"
        return self.pack(self._binary(f"{sign}rem", a, divisor), self._binary(f"{sign}div", a, divisor))
