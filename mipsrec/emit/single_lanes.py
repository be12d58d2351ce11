"""Operations of the rows on numbers that share a register, one lane after the other.

As vectors they would need constants in memory, which a stencil has none of. LLVM's loop vectorizer takes scalars only.
"""

from __future__ import annotations

from functools import reduce

from .integers import Integers
from .writer import Value, Writer, text

Lanes = tuple[Value, ...]


class SingleLanes:
    """Implements isa.meaning.LaneOperations: lanes are a tuple of i32, and their flags one of i1."""

    def __init__(self, writer: Writer, integers: Integers) -> None:
        self._writer = writer
        self._integers = integers

    def lanes(self, a: Value, bits: int, signed: bool) -> Lanes:
        integers, places = self._integers, range(0, 32, bits)
        if signed:
            to_top = [integers.shl(a, 32 - bits - place) for place in places]
            return tuple(integers.ashr(value, 32 - bits) for value in to_top)
        mask = integers.const((1 << bits) - 1)
        return tuple(integers.and_(integers.lshr(a, place), mask) for place in places)

    def splat(self, a: Value, count: int) -> Lanes:
        return (a,) * count

    def packed(self, lanes: Lanes) -> Value:
        integers, bits = self._integers, 32 // len(lanes)
        mask = integers.const((1 << bits) - 1)
        parts = [integers.shl(integers.and_(lane, mask), bits * number) for number, lane in enumerate(lanes)]
        return reduce(integers.or_, parts)

    def lane(self, lanes: Lanes, number: int) -> Value:
        return lanes[number]

    def lane_order(self, lanes: Lanes, numbers: tuple[int, ...]) -> Lanes:
        return tuple(lanes[number] for number in numbers)

    def lanes_joined(self, low: Lanes, high: Lanes) -> Lanes:
        return low + high

    def _line(self, name: str, a: Value, b: Value) -> str:
        if name in ("smin", "smax"):
            return self._writer.value(f"call i32 @llvm.{name}.i32(i32 {text(a)}, i32 {text(b)})")
        return self._writer.value(f"{name} i32 {text(a)}, {text(b)}")

    def lane_op(self, name: str, a: Lanes, b: Lanes) -> Lanes:
        return tuple(self._line(name, *pair) for pair in zip(a, b, strict=True))

    def lane_test(self, name: str, a: Lanes, b: Lanes) -> Lanes:
        return tuple(self._line(f"icmp {name}", *pair) for pair in zip(a, b, strict=True))

    def lane_select(self, flags: Lanes, a: Lanes, b: Lanes) -> Lanes:
        return tuple(self._integers.select(*three) for three in zip(flags, a, b, strict=True))

    def flag_bits(self, flags: Lanes) -> Value:
        integers = self._integers
        bits = [integers.shl(integers.zext1(flag), number) for number, flag in enumerate(flags)]
        return reduce(integers.or_, bits)

    def flags(self, a: Value, count: int) -> Lanes:
        integers = self._integers
        bits = [integers.and_(a, integers.const(1 << number)) for number in range(count)]
        return tuple(integers.ne(bit, 0) for bit in bits)
