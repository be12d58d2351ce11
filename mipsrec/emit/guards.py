"""What guards the results of floating point: the interface between what computes and what takes care of NaNs.

The NaNs that this machine makes and passes on have other bits than MIPS's, and make other operations invalid. A
recompiled function looks at its results late and together (nans.py), a stencil at each as it is computed.
"""

from __future__ import annotations

from typing import Protocol

from .writer import Value


class Guards(Protocol):
    """Takes in results, and gives them back canonical: with the bits that MIPS would have made."""

    def note(self, *operands: tuple[Value, str]) -> None:
        """Make the current instruction the last one that computed."""

    def pend(
        self, result: str, type_: str, *operands: tuple[Value, str], condition: str = "", computes: bool = True
    ) -> str:
        """Take in the current instruction's operation, which is wrong under `condition`, or if its result is a NaN.

        Return the result's name. What does not compute leaves FCSR's causes alone.
        """
        ...

    def canonical(self, value: Value) -> Value:
        """Return a value whose bits are MIPS's."""

    def canonical_both(self, a: Value, b: Value) -> tuple[Value, Value]:
        """Return two values whose bits are MIPS's."""
        ...

    def convert_by_host(self, type_: str, value: Value, source: str) -> str:
        """Return the result of a conversion that compilers do not generate, or only beside writes to FCSR."""
        ...
