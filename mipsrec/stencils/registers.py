"""Operations of the rows on registers in a stencil: they are parameters, or words of the state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..emit.state_words import StateWords
from ..emit.writer import STATE_TAG, Value, Writer, text
from ..state import SLOT_BYTES
from .convention import FLOAT_PINS, MEMORY, PINS, TEMP, UPPER, ZERO, slot_offset
from .expressions import Expression
from .samples import accumulator_number, code_number, register_number


@dataclass(frozen=True)
class Operand:
    """A field of the guest word that names a register: the file (`gpr`, `single`, `double`, `high`), and its class."""

    kind: str
    field: str
    place: int


def _pin_and_half(place: int, kind: str) -> tuple[int, int]:
    """Return the pinned register of a class, and which half of it a `single` or `high` is."""
    return (place - UPPER, 1) if UPPER <= place < MEMORY else (place, int(kind == "high"))


def hidden(writer: Writer, value: Value) -> str:
    """Return a number of which the compiler knows nothing."""
    return writer.value(f'call i32 asm "", "=r,0"(i32 {text(value)})')


class StencilRegisters:
    """Implements isa.meaning.RegisterOperations for one stencil and one of its samples.

    A register is named by its field. What `pins`, `floats`, `temp` and `ftemp` name goes to the next stencil.
    """

    def __init__(
        self, writer: Writer, operands: list[Operand], sample: int, state: StateWords, opaque: bool = False
    ) -> None:
        self._writer = writer
        self._operands = {operand.field: operand for operand in operands}
        self._sample = sample
        self._state = state
        self._opaque = opaque
        self.pins = [f"%pin{number}" for number in range(len(PINS))]
        self.floats = [f"%float{number}" for number in range(len(FLOAT_PINS))]
        self.temp, self.ftemp = "%temp", "%ftemp"
        self.written = False
        """Whether something is in the state that an interpreter would see."""

    def class_of(self, field: str) -> int:
        return self._operands[field].place

    def _pointer(self, displacement: int) -> str:
        return self._writer.value(f"getelementptr i8, ptr %middle, i64 {displacement}")

    def _slot(self, file: str, number: Expression) -> str:
        first = slot_offset(file, 0) & 0xFFFFFFFF
        return self._pointer(Expression(slot_offset(file, int(number)), f"(8u * {number.c} + {first}u)"))

    def gpr_place(self, field: str) -> str:
        return self._slot("gpr", register_number(self._sample, field))

    def fpr_place(self, field: str, kind: str) -> str:
        number = register_number(self._sample, field)
        offset = slot_offset("fpr", int(number)) + (4 if kind == "high" else 0)
        return self._pointer(Expression(offset, f"mr_{kind}_offset({number.c}, fr)"))

    def _fcc_place(self, field: str) -> str:
        return self._slot("fcc", code_number(self._sample, field))

    def from_state(self, type_: str, place: str) -> str:
        return self._writer.value(f"load {type_}, ptr {place}, {STATE_TAG}")

    def to_state(self, type_: str, value: Value, place: str) -> None:
        self.written = True
        self._writer.void(f"store {type_} {text(value)}, ptr {place}, {STATE_TAG}")

    def gpr(self, number: Any) -> Value:
        place = self.class_of(number)
        if place == ZERO:
            return 0
        if place == MEMORY:
            value = self.from_state("i32", self.gpr_place(number))
            return hidden(self._writer, value) if self._opaque else value  # a part of it would be loaded elsewhere
        return self.temp if place == TEMP else self.pins[place]

    def set_gpr(self, number: Any, value: Value) -> None:
        place = self.class_of(number)
        if place == MEMORY:
            self.to_state("i32", value, self.gpr_place(number))
        elif place == TEMP:
            self.temp = text(value)
        elif place != ZERO:
            self.pins[place] = text(value)

    def _accumulator(self, number: Any) -> str:
        if isinstance(number, int):
            return self._state.pointer("hilo", SLOT_BYTES * number)
        return self._slot("hilo", accumulator_number(self._sample))

    def hilo(self, number: Any) -> Value:
        return self.from_state("i64", self._accumulator(number))

    def set_hilo(self, number: Any, value: Value) -> None:
        self.to_state("i64", value, self._accumulator(number))

    def dsp_control(self) -> Value:
        return self.from_state("i32", self._state.pointer("dsp_control"))

    def set_dsp_control(self, value: Value) -> None:
        self.to_state("i32", value, self._state.pointer("dsp_control"))

    def fcc(self, number: Any) -> Value:
        return self._writer.value(f"icmp ne i32 {self.from_state('i32', self._fcc_place(number))}, 0")

    def set_fcc(self, number: Any, value: Value) -> None:
        self.to_state("i32", self._writer.value(f"zext i1 {value} to i32"), self._fcc_place(number))

    def _pinned(self, place: int) -> str:
        return self.ftemp if place == TEMP else self.floats[place]

    def _half(self, type_: str, number: Any, kind: str) -> str:
        """Return a `single` or `high`: in the state, or a half of a pinned register."""
        place = self.class_of(number)
        if place == MEMORY:
            return self.from_state(type_, self.fpr_place(number, kind))
        pin, half = _pin_and_half(place, kind)
        pair = self._writer.value(f"bitcast double {self._pinned(pin)} to <2 x {type_}>")
        return self._writer.value(f"extractelement <2 x {type_}> {pair}, i32 {half}")

    def _set_half(self, type_: str, number: Any, kind: str, value: Value) -> None:
        place = self.class_of(number)
        if place == MEMORY:
            self.to_state(type_, value, self.fpr_place(number, kind))
            return
        pin, half = _pin_and_half(place, kind)
        pair = self._writer.value(f"bitcast double {self.floats[pin]} to <2 x {type_}>")
        pair = self._writer.value(f"insertelement <2 x {type_}> {pair}, {type_} {text(value)}, i32 {half}")
        self.floats[pin] = self._writer.value(f"bitcast <2 x {type_}> {pair} to double")

    def single(self, number: Any) -> str:
        return self._half("float", number, "single")

    def set_single(self, number: Any, value: Value) -> None:
        self._set_half("float", number, "single", value)

    def double(self, number: Any) -> str:
        place = self.class_of(number)
        return self.from_state("double", self.fpr_place(number, "double")) if place == MEMORY else self._pinned(place)

    def set_double(self, number: Any, value: Value) -> None:
        place = self.class_of(number)
        if place == MEMORY:
            self.to_state("double", value, self.fpr_place(number, "double"))
        elif place == TEMP:
            self.ftemp = str(value)
        else:
            self.floats[place] = str(value)

    def long(self, number: Any) -> str:
        return self._writer.value(f"bitcast double {self.double(number)} to i64")

    def set_long(self, number: Any, value: Value) -> None:
        self.set_double(number, self._writer.value(f"bitcast i64 {value} to double"))

    def high(self, number: Any) -> str:
        return self._half("i32", number, "high")

    def set_high(self, number: Any, value: Value) -> None:
        self._set_half("i32", number, "high", value)

    def word(self, number: Any) -> str:
        return self._writer.value(f"bitcast float {self.single(number)} to i32")

    def set_word(self, number: Any, value: Value) -> None:
        self.set_single(number, self._writer.value(f"bitcast i32 {text(value)} to float"))

    def tls(self) -> str:
        return self._state.word("tls")

    def spill_pins(self) -> None:
        """Store what is pinned of the general-purpose registers."""
        for number, pin in zip(PINS, self.pins, strict=True):
            place = self._pointer(slot_offset("gpr", number))
            self._writer.void(f"store volatile i32 {pin}, ptr {place}, {STATE_TAG}")
