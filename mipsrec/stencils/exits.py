"""Where a stencil leaves for the interpreter: in rare cases, and before it has written anything to the state."""

from __future__ import annotations

from typing import NoReturn

from ..emit.writer import UNLIKELY, Value, Writer
from .registers import StencilRegisters


class Unsupported(Exception):
    """The row does something that a stencil leaves to the interpreter."""


class Exits:
    """Implements isa.meaning.ControlOperations: whatever would leave the code, or call the host."""

    def __init__(self, writer: Writer, registers: StencilRegisters) -> None:
        self._writer = writer
        self._registers = registers
        self.are_used = False
        """Whether the stencil may leave for the interpreter."""

    def leave_if(self, flag: Value) -> None:
        assert not self._registers.written, "the interpreter would perform half an instruction twice"
        self.are_used = True
        stay = self._writer.fresh_label()
        self._writer.void(f"br i1 {flag}, label %leave, label %{stay}, {UNLIKELY}")
        self._writer.label(stay)

    def trap_if(self, flag: Value, cause: str) -> None:
        self.leave_if(flag)

    def _refuse(self, *operands: object) -> NoReturn:
        raise Unsupported

    raise_always = read_hardware = read_control = write_control = sync_code = code_address = _refuse


class ExitGuards:
    """Implements emit.guards.Guards: results are looked at as they are computed, so all have MIPS's bits."""

    def __init__(self, writer: Writer, exits: Exits) -> None:
        self._writer = writer
        self._exits = exits

    def note(self, *operands: tuple[Value, str]) -> None:
        """The translator has the record of the last instruction that computed stored."""

    def pend(
        self, result: str, type_: str, *operands: tuple[Value, str], condition: str = "", computes: bool = True
    ) -> str:
        """Leave for the interpreter where the result may not be MIPS's."""
        self._exits.leave_if(self._writer.value(condition or f"fcmp uno {type_} {result}, {result}"))
        return result

    def canonical(self, value: Value) -> Value:
        return value

    def canonical_both(self, a: Value, b: Value) -> tuple[Value, Value]:
        return a, b

    def convert_by_host(self, type_: str, value: Value, source: str) -> NoReturn:
        raise Unsupported
