"""Integers that remember how the host computes them: the sample values of an instruction's fields.

Enters: sample values. Leaves: values that take part in the arithmetic of a row's meaning, each with the C expression of
the guest word (`word`), its address (`pc`) and Status.FR (`fr`) that gives the value for any instruction of the row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar


class Expression(int):
    """A sample value, and `c`, the C expression of type uint32_t that it stands for."""

    c: str
    made: ClassVar[list[Expression]] = []
    """All that were made since the maker last emptied it: what constants in the code may be."""

    def __new__(cls, value: int, c: str) -> Expression:
        self = super().__new__(cls, value)
        self.c = c
        cls.made.append(self)
        return self

    def __and__(self, other: int) -> Expression:
        return self if other == 0xFFFFFFFF and 0 <= self <= other else _both(self, other, "&", int.__and__)

    __rand__ = __and__

    def __or__(self, other: int) -> Expression:
        return _both(self, other, "|", int.__or__)

    __ror__ = __or__

    def __xor__(self, other: int) -> Expression:
        return _both(self, other, "^", int.__xor__)

    __rxor__ = __xor__

    def __add__(self, other: int) -> Expression:
        return _both(self, other, "+", int.__add__)

    __radd__ = __add__

    def __sub__(self, other: int) -> Expression:
        return _both(self, other, "-", int.__sub__)

    def __rsub__(self, other: int) -> Expression:
        return _both(other, self, "-", int.__sub__)

    def __lshift__(self, other: int) -> Expression:
        return _shifted(self, other)

    def __rlshift__(self, other: int) -> Expression:
        return _shifted(other, self)

    def __invert__(self) -> Expression:
        return Expression(~int(self), f"~{self.c}")

    def __neg__(self) -> Expression:
        return Expression(-int(self), f"(0u - {self.c})")


def c_text(value: int) -> str:
    """Return the C expression of a value."""
    return value.c if isinstance(value, Expression) else f"0x{value & 0xFFFFFFFF:x}u"


def _both(a: int, b: int, operator: str, compute: Callable[[int, int], int]) -> Expression:
    return Expression(compute(int(a), int(b)), f"({c_text(a)} {operator} {c_text(b)})")


def _shifted(a: int, amount: int) -> Expression:
    """Return a shift by up to 63, which C gives 32-bit operands no meaning for."""
    return Expression(int(a) << int(amount), f"(uint32_t)((uint64_t){c_text(a)} << {c_text(amount)})")


def bits(value: int, low: int, width: int) -> Expression:
    """Return a field of the guest word, given its sample value."""
    return Expression(value, f"(word >> {low} & 0x{(1 << width) - 1:x}u)")


_VIEWS: tuple[tuple[str, Callable[[int], int]], ...] = (
    ("{}", lambda value: value),
    ("({} + 1)", lambda value: value + 1),
    ("({} - 1)", lambda value: value - 1),
    ("(0u - {})", lambda value: -value),
    ("~{}", lambda value: ~value),
    ("(32 - {})", lambda value: 32 - value),
)
"""What a compiler may have made of a constant, and its C expression."""


def explain(found: list[int], candidates: list[list[Expression]], mask: int) -> str | None:
    """Return the C expression that gives each of the values found, under a mask.

    `candidates[n]` are the expressions of sample n.
    """
    values = [{expression.c: int(expression) for expression in sample} for sample in candidates]
    for c in values[0]:
        for template, view in _VIEWS:
            if all(c in known and view(known[c]) & mask == value for known, value in zip(values, found, strict=True)):
                return template.format(c)
    return None
