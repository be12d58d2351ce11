"""What stencils ask of a host's machine code: to take it apart at its jumps, and to write jumps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


class Unfit(Exception):
    """The code does what no stencil may."""


@dataclass(frozen=True)
class Item:
    """An instruction: plain bytes, or a jump under a condition (as the host numbers them) or under none (-1).

    `target` is an exit, or the offset of an instruction in the compiled code. `far`: a jump to what a register holds.
    A condition and its opposite differ in the lowest bit.
    """

    offset: int
    code: bytes = b""
    condition: int = -1
    target: str | int | None = None
    far: bool = False

    @property
    def jumps(self) -> bool:
        return self.target is not None

    @property
    def ends(self) -> bool:
        """Whether nothing goes on behind it."""
        return self.far or (self.jumps and self.condition < 0)


class MachineCode(Protocol):
    """A host's machine code. Jumps are relative to their end, and end with their displacement."""

    short_reach: int
    """How far a short jump goes, in bytes."""

    def items(self, code: bytes, relocations: Mapping[int, str]) -> list[Item]:
        """Return the instructions of compiled code; `relocations` are symbols by offset. Raises Unfit."""

    def jump_bytes(self, condition: int, short: bool) -> int:
        """Return the size of a jump."""

    def jump(self, condition: int, short: bool, displacement: int) -> bytes:
        """Return a jump; a long one has a displacement of 4 bytes."""

    def loses(self, code: bytes, registers: tuple[str, ...], floats: int) -> bool:
        """Return whether one of the registers, or of the first floating-point ones, loses its value too early.

        That is before the last access to guest memory, which may fault.
        """
