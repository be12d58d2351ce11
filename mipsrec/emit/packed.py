"""Operations of the rows on numbers that share a register, as vectors of LLVM, or as scalars where the plan says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .current import Current
from .integers import Integers
from .single_lanes import SingleLanes
from .writer import Value, Writer, text

_INTRINSICS = ("smin", "smax")
PACKED_DECLARATIONS = "".join(
    f"declare <{count} x i32> @llvm.{name}.v{count}i32(<{count} x i32>, <{count} x i32>)\n"
    for count in (2, 4)
    for name in _INTRINSICS
) + "".join(f"declare i32 @llvm.{name}.i32(i32, i32)\n" for name in _INTRINSICS)


class LaneVector(str):
    """The name of a vector in the IR, and how many lanes it has."""

    size: int

    def __new__(cls, name: str, count: int) -> LaneVector:
        self = super().__new__(cls, name)
        self.size = count
        return self

    @property
    def type(self) -> str:
        return f"<{self.size} x i32>"


class PackedIntegers:
    """Implements isa.meaning.LaneOperations."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def _vector(self, count: int, line: str) -> LaneVector:
        return LaneVector(self._writer.value(line), count)

    def lanes(self, a: Value, bits: int, signed: bool) -> LaneVector:
        count = 32 // bits
        narrow = self._writer.value(f"bitcast i32 {text(a)} to <{count} x i{bits}>")
        return self._vector(count, f"{'sext' if signed else 'zext'} <{count} x i{bits}> {narrow} to <{count} x i32>")

    def splat(self, a: Value, count: int) -> LaneVector:
        first = self._writer.value(f"insertelement <{count} x i32> poison, i32 {text(a)}, i32 0")
        return self._order(LaneVector(first, count), LaneVector("poison", count), (0,) * count)

    def packed(self, lanes: LaneVector) -> str:
        narrow = f"<{lanes.size} x i{32 // lanes.size}>"
        value = self._writer.value(f"trunc {lanes.type} {lanes} to {narrow}")
        return self._writer.value(f"bitcast {narrow} {value} to i32")

    def lane(self, lanes: LaneVector, number: int) -> str:
        return self._writer.value(f"extractelement {lanes.type} {lanes}, i32 {number}")

    def _order(self, a: LaneVector, b: LaneVector, numbers: tuple[int, ...]) -> LaneVector:
        mask = ", ".join(f"i32 {number}" for number in numbers)
        line = f"shufflevector {a.type} {a}, {a.type} {b}, <{len(numbers)} x i32> <{mask}>"
        return self._vector(len(numbers), line)

    def lane_order(self, lanes: LaneVector, numbers: tuple[int, ...]) -> LaneVector:
        return self._order(lanes, LaneVector("poison", lanes.size), numbers)

    def lanes_joined(self, low: LaneVector, high: LaneVector) -> LaneVector:
        return self._order(low, high, tuple(range(low.size + high.size)))

    def lane_op(self, name: str, a: LaneVector, b: LaneVector) -> LaneVector:
        if name in _INTRINSICS:
            return self._vector(a.size, f"call {a.type} @llvm.{name}.v{a.size}i32({a.type} {a}, {a.type} {b})")
        return self._vector(a.size, f"{name} {a.type} {a}, {b}")

    def lane_test(self, name: str, a: LaneVector, b: LaneVector) -> LaneVector:
        return self._vector(a.size, f"icmp {name} {a.type} {a}, {b}")

    def lane_select(self, flags: LaneVector, a: LaneVector, b: LaneVector) -> LaneVector:
        return self._vector(a.size, f"select <{a.size} x i1> {flags}, {a.type} {a}, {a.type} {b}")

    def flag_bits(self, flags: LaneVector) -> str:
        bits = self._writer.value(f"bitcast <{flags.size} x i1> {flags} to i{flags.size}")
        return self._writer.value(f"zext i{flags.size} {bits} to i32")

    def flags(self, a: Value, count: int) -> LaneVector:
        bits = self._writer.value(f"trunc i32 {text(a)} to i{count}")
        return self._vector(count, f"bitcast i{count} {bits} to <{count} x i1>")


def _chosen(name: str) -> Callable[..., Any]:
    def operation(self: ChosenLanes, *operands: Any) -> Any:
        chosen = self.single if self.current.op.scalar_lanes else self.packed_integers
        return getattr(chosen, name)(*operands)

    return operation


class ChosenLanes:
    """Implements isa.meaning.LaneOperations by one of the two. Lanes are never handed on to another instruction."""

    def __init__(self, writer: Writer, current: Current, integers: Integers) -> None:
        self.current = current
        self.single, self.packed_integers = SingleLanes(writer, integers), PackedIntegers(writer)

    lanes, splat, packed, lane, lane_order, lanes_joined = map(
        _chosen, ("lanes", "splat", "packed", "lane", "lane_order", "lanes_joined")
    )
    lane_op, lane_test, lane_select, flag_bits, flags = map(
        _chosen, ("lane_op", "lane_test", "lane_select", "flag_bits", "flags")
    )
