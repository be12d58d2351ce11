"""Operations of the rows on registers, over the units of the register file.

A single may be half of a pair, and a pair may have been set as a double. Who asks for bits gets those that MIPS would
have made: the guards make a value canonical before (guards.py).
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from ..lift.units import PAIR, Unit, Units
from .guards import Guards
from .register_file import RegisterFile
from .state_words import StateWords
from .types import PASSED, TYPES
from .writer import Value, Writer, text


class GuestRegisters:
    """Implements isa.meaning.RegisterOperations for one function."""

    def __init__(self, writer: Writer, units: Units, file: RegisterFile, state: StateWords, guards: Guards) -> None:
        self._writer = writer
        self._units = units
        self._file = file
        self._state = state
        self._guards = guards

    def gpr(self, number: int) -> Value:
        return self._file.get(self._units.gpr[number]) if number else 0

    def current_gprs(self, numbers: Sequence[int], at_hand: Container[int]) -> list[Value]:
        """Return registers as calls pass them: those `at_hand` that this function has in SSA from there, others from
        the state."""
        units, file, present = self._units.gpr, self._file, self._units.all
        is_here = [number in at_hand and units[number] in present for number in numbers]
        found = iter(file.as_passed([units[number] for number, here in zip(numbers, is_here, strict=True) if here]))
        return [
            next(found) if here else self._state.gpr(number, PASSED[number])
            for number, here in zip(numbers, is_here, strict=True)
        ]

    def set_gpr(self, number: int, value: Value) -> None:
        if number:
            self._file.set(self._units.gpr[number], value)

    def hilo(self, number: int) -> Value:
        return self._file.get(self._units.hilo[number])

    def set_hilo(self, number: int, value: Value) -> None:
        self._file.set(self._units.hilo[number], value)

    def dsp_control(self) -> Value:
        return self._file.get(self._units.dsp_control)

    def set_dsp_control(self, value: Value) -> None:
        self._file.set(self._units.dsp_control, value)

    def fcc(self, number: int) -> Value:
        return self._file.get(self._units.fcc[number])

    def set_fcc(self, number: int, value: Value) -> None:
        self._file.set(self._units.fcc[number], value)

    def _part(self, number: int) -> int:
        """Return which half of its pair a single is."""
        return 0 if self._units.fr else number & 1

    def word(self, number: int) -> Value:
        return self._writer.value(f"bitcast float {self._guards.canonical(self.single(number))} to i32")

    def _canonical_unit(self, unit: Unit) -> Value:
        """Return a unit whose bits are wanted."""
        view = self._file.view(unit)
        if unit.type != PAIR:
            self._guards.canonical(self._file.get(unit))
        elif view is not None:
            self._guards.canonical(view)
        for index in (0, 1):
            self._guards.canonical(self._file.halves.get(unit, {}).get(index, ""))
        return self._file.get(unit)

    def set_word(self, number: int, value: Value) -> None:
        self.set_single(number, self._writer.value(f"bitcast i32 {text(value)} to float"))

    def single(self, number: int) -> str:
        unit = self._units.fpr[number]
        if unit.type == "single":
            return str(self._file.get(unit))
        return self._half(unit, self._part(number))

    def _half(self, unit: Unit, index: int) -> str:
        """Return half of a pair."""
        view = self._file.view(unit)
        if view is not None and index not in self._file.halves.get(unit, {}):
            self._guards.canonical(view)
        return str(self._file.half(unit, index))

    def set_single(self, number: int, value: Value) -> None:
        unit = self._units.fpr[number]
        if unit.type == "single":
            self._file.set(unit, value)
        else:
            self._file.set_half(unit, self._part(number), value)

    def long(self, number: int) -> str:
        unit = self._units.fpr[number]
        value = self._canonical_unit(unit)
        return self._writer.value(f"bitcast {TYPES[unit.type]} {value} to i64")

    def set_long(self, number: int, value: Value) -> None:
        unit = self._units.fpr[number]
        self._file.set(unit, self._writer.value(f"bitcast i64 {value} to {TYPES[unit.type]}"))

    def double(self, number: int) -> str:
        unit = self._units.fpr[number]
        if unit.type == "double":
            return str(self._file.get(unit))
        view = self._file.view(unit)
        if view is not None and unit not in self._file.halves:
            return str(view)
        return self._writer.value(f"bitcast {TYPES[unit.type]} {self._canonical_unit(unit)} to double")

    def set_double(self, number: int, value: Value) -> None:
        unit = self._units.fpr[number]
        if unit.type == "double":
            self._file.set(unit, value)
        else:
            self._file.set_view(unit, value)

    def high(self, number: int) -> str:
        half = self._guards.canonical(self._half(self._units.fpr[number], 1))
        return self._writer.value(f"bitcast float {half} to i32")

    def set_high(self, number: int, value: Value) -> None:
        word = self._writer.value(f"bitcast i32 {text(value)} to float")
        self._file.set_half(self._units.fpr[number], 1, word)

    def tls(self) -> str:
        return self._state.word("tls")
