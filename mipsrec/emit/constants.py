"""How operations have operands that may be constants: the interface, and how recompiled functions have them."""

from __future__ import annotations

from typing import Protocol

from .types import SUFFIXES
from .writer import Value, Writer


class Constants(Protocol):
    """Says what becomes of the second operand of an operation on two, and of a sign."""

    def operand(self, b: Value) -> Value:
        """Return what is added, or what a number is masked with."""

    def compared(self, a: Value, b: Value) -> Value:
        """Return what `a` is compared with."""

    def are_equal(self, a: Value, b: Value) -> bool:
        """Return whether two values need no comparison."""
        ...

    def with_sign(self, name: str, type_: str, value: Value) -> str:
        """Return `neg` or `abs` of a float or double."""
        ...


class PlainConstants:
    """LLVM sees all constants, and folds what it can."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def operand(self, b: Value) -> Value:
        return b

    def compared(self, a: Value, b: Value) -> Value:
        return b

    def are_equal(self, a: Value, b: Value) -> bool:
        return False

    def with_sign(self, name: str, type_: str, value: Value) -> str:
        if name == "neg":
            return self._writer.value(f"fneg {type_} {value}")
        return self._writer.value(f"call {type_} @llvm.fabs.{SUFFIXES[type_]}({type_} {value})")
