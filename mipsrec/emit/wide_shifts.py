"""Shifts of 64-bit numbers, that MIPS32 code makes of shifts of their halves, as shifts of one i64.

What compilers write for `high:low << n`, with n from 0 to 63 (shifts look at five bits of their amount):

    high = n & 32 ? low << n : high << n | low >> 1 >> ~n
    low = n & 32 ? 0 : low << n

and likewise to the right. It is found at the conditional moves, within a block; for whatever n is, both ways of writing
it give the same bits. Of what it was made of LLVM drops what nothing else needs.
"""

from __future__ import annotations

from .writer import Value, Writer, text

_Made = tuple[str, Value, Value]


class WideShifts:
    """Knows how values of the current block were made."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._made: dict[Value, _Made] = writer.of_block({})
        self._wide: dict[_Made, str] = writer.of_block({})

    def note(self, operation: str, a: Value, b: Value, value: str) -> None:
        """Note how a value was made; the amount of a shift as it was before it was masked."""
        self._made[value] = operation, a, b

    def _parts(self, value: Value) -> _Made:
        return self._made.get(value, ("", 0, 0))

    def selected(self, flag: Value, a: Value, b: Value) -> str | None:
        """Return `flag ? a : b` if it is half of such a shift."""
        comparison, tested, zero = self._parts(flag)
        if comparison not in ("icmp eq", "icmp ne") or zero != 0:
            return None
        mask, amount, bits = self._parts(tested)
        if mask != "and" or bits != 32 or isinstance(amount, int):
            return None
        far, near = (a, b) if comparison == "icmp ne" else (b, a)
        return self._crossing(far, near, amount) or self._leaving(far, near, amount)

    def _crossing(self, far: Value, near: Value, amount: Value) -> str | None:
        """Return the half that bits of the other come into."""
        operation, source, by = self._parts(far)
        if by != amount or operation not in ("shl", "lshr", "ashr"):
            return None
        own, ways = "shl" if operation == "shl" else "lshr", [(near, 0), (0, near)]
        joined, a, b = self._parts(near)
        if joined == "or":
            ways = [(a, b), (b, a)]
        for kept, come in ways:
            shift, target, by = self._parts(kept)
            if kept == 0:
                target = 0
            elif shift != own or by != amount:
                continue
            if self._comes(come, source, own, amount):
                high, low = (target, source) if own == "shl" else (source, target)
                wide = self._shift(operation, self._pack(high, low), amount)
                self._wide[operation, source, amount] = wide
                return self._half(wide, own == "shl")
        return None

    def _comes(self, value: Value, source: Value, own: str, amount: Value) -> bool:
        """Return whether a value is what leaves `source` when it is shifted: shifted back by 32 - amount."""
        back = "lshr" if own == "shl" else "shl"
        shift, by_one, inverted = self._parts(value)
        return (
            shift == back
            and self._parts(by_one) == (back, source, 1)
            and self._parts(inverted) in (("xor", amount, 0xFFFFFFFF), ("xor", 0xFFFFFFFF, amount))
        )

    def _leaving(self, far: Value, near: Value, amount: Value) -> str | None:
        """Return the half that bits leave."""
        operation, source, by = self._parts(near)
        if by != amount or operation not in ("shl", "lshr", "ashr"):
            return None
        if far != 0 if operation != "ashr" else self._parts(far) != ("ashr", source, 31):
            return None
        wide = self._wide.get((operation, source, amount))
        if wide is not None:
            return self._half(wide, operation != "shl")
        extended = self._writer.value(f"{'sext' if operation == 'ashr' else 'zext'} i32 {text(source)} to i64")
        return self._half(self._shift(operation, extended, amount), False)

    def _pack(self, high: Value, low: Value) -> str:
        writer = self._writer
        lower = writer.value(f"zext i32 {text(low)} to i64")
        if high == 0:
            return lower
        upper = writer.value(f"zext i32 {text(high)} to i64")
        shifted = writer.value(f"shl i64 {upper}, 32")
        return shifted if low == 0 else writer.value(f"or i64 {shifted}, {lower}")

    def _shift(self, operation: str, value: str, amount: Value) -> str:
        masked = self._writer.value(f"and i32 {amount}, 63")
        wide = self._writer.value(f"zext i32 {masked} to i64")
        return self._writer.value(f"{operation} i64 {value}, {wide}")

    def _half(self, wide: str, upper: bool) -> str:
        if upper:
            wide = self._writer.value(f"lshr i64 {wide}, 32")
        return self._writer.value(f"trunc i64 {wide} to i32")
