"""The Machine that writes a stencil: what a row's operations become when its operands are in known classes.

It is the code generator's machine, so what an instruction means is stated once. Registers are parameters or words of
the state here, and whatever is rare (an exception, a NaN, a call of the host) leaves for the interpreter before
anything is written, which then performs the whole instruction.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from ..emit.machine import IrMachine
from ..emit.memory import FlatMemory, Value, text
from ..emit.writer import STATE_TAG, UNLIKELY, Writer
from ..lift.options import LiftOptions
from ..state import OFFSETS
from .convention import FLOAT_PINS, MEMORY, PINS, TEMP, UPPER, WIDE, ZERO, fcc_offset, fpr_offset, gpr_offset
from .expressions import Expression, bits

SHIFTS = {"rs": 21, "fr": 21, "rt": 16, "ft": 16, "rd": 11, "fs": 11, "msb": 11, "sa": 6, "fd": 6, "lsb": 6}
"""Where five-bit fields begin in a guest word."""

_REGISTERS = ({"rs": 9, "rt": 10, "rd": 12, "sa": 25}, {"rs": 19, "rt": 21, "rd": 23, "sa": 30})
"""Words of the state at negative displacements, and at positive ones: a displacement of one byte, with whatever is
behind it, cannot be taken for one of four bytes in both."""
_SMALL = ({"sa": 7, "lsb": 7, "msb": 12}, {"sa": 9, "lsb": 9, "msb": 10})
_IMMEDIATES = ((0x12345679, 0x2A3B4C5D), (0x47192B5E, 0x18F7E6D6))
_CODES = (5, 3)
SAMPLES = range(2)
"""Every stencil with a hole is compiled for this many instructions: where the code differs, it depends on a field."""


class Unsupported(Exception):
    """The row does something that a stencil leaves to the interpreter."""


class SampleInstruction:
    """Stands for any instruction of a row: register fields are their names, all others expressions.

    `fixed` are fields of which a stencil knows the value.
    """

    rs, rt, rd, fr, ft, fs, fd, cc, fcc = "rs", "rt", "rd", "fr", "ft", "fs", "fd", "cc", "fcc"

    def __init__(self, sample: int, fixed: dict[str, int]) -> None:
        small = _SMALL[sample]
        immediate, unsigned = _IMMEDIATES[sample]
        self.imm = Expression(immediate, "(uint32_t)(int16_t)word")
        self.uimm = Expression(unsigned, "(word & 0xffffu)")
        self.sa: int = bits(small["sa"], 6, 5)
        self.lsb: int = bits(small["lsb"], 6, 5)
        self.msb: int = bits(small["msb"], 11, 5)
        self.code = self.index = self.word = 0
        for name, value in fixed.items():
            setattr(self, name, value)


@dataclass(frozen=True)
class Operand:
    """A field of the guest word that names a register: the file (`gpr`, `single`, `double`, `high`), and its class."""

    kind: str
    field: str
    place: int


def widened(writer: Writer, value: Value) -> str:
    """Return a value of 32 bits as one of 64: a parameter as it came, or an i64 with 0 above."""
    if isinstance(value, int) or value.lstrip("-").isdigit():
        return str(int(value) & 0xFFFFFFFF)
    if value == "poison":
        return value
    return WIDE[value] if value in WIDE else writer.value(f"zext i32 {value} to i64")


class StencilMemory(FlatMemory):
    """Plain host accesses where guest address 0 is host address 0."""

    def _pointer(self, base: Value, displacement: int) -> str:
        if isinstance(base, int):
            return super()._pointer(base, displacement)
        pointer = self._writer.value(f"getelementptr i8, ptr null, i64 {widened(self._writer, base)}")
        return self._writer.value(f"getelementptr i8, ptr {pointer}, i64 {displacement}") if displacement else pointer


class WindowMemory(FlatMemory):
    """Plain host accesses where guest address 0 is not host address 0."""

    def _pointer(self, base: Value, displacement: int) -> str:
        writer = self._writer
        field = writer.value(f"getelementptr i8, ptr %s, i64 {OFFSETS['base']}")
        window = writer.value(f"load ptr, ptr {field}, {STATE_TAG}")
        window = writer.value(f'call ptr asm "", "={{rbx}},0"(ptr {window})')  # not the register of what is loaded
        wide = writer.value(f'call i64 asm "", "={{r10}},0"(i64 {widened(writer, base)})')
        place = writer.value(f"getelementptr i8, ptr {window}, i64 {wide}")
        return writer.value(f"getelementptr i8, ptr {place}, i64 {displacement}") if displacement else place


class StencilMachine(IrMachine):
    """Implements isa.meaning.Machine for one stencil and one of its samples."""

    def __init__(
        self, writer: Writer, big_endian: bool, window: bool, operands: list[Operand], sample: int, opaque: bool
    ) -> None:
        nothing: Any = SimpleNamespace(fr=0, all=[], last=(), fcc=(), abs2008=False, halves={})
        super().__init__(writer, nothing, LiftOptions(big_endian))
        self.memory = (WindowMemory if window else StencilMemory)(writer, big_endian)
        self._operands = {operand.field: operand for operand in operands}
        self._sample = sample
        self._opaque = opaque
        self.pins = [f"%pin{number}" for number in range(len(PINS))]
        self.floats = [f"%float{number}" for number in range(len(FLOAT_PINS))]
        self.temp, self.ftemp = "%temp", "%ftemp"
        self.keeps_temp = False  # whether TEMP is the same for the next stencil
        self.leaves = False
        self.goes_on = True  # whether control may go on behind the instruction
        self._written = False

    # where registers are

    def _state(self, displacement: int) -> str:
        return self.writer.value(f"getelementptr i8, ptr %middle, i64 {displacement}")

    def _number(self, field: str) -> Expression:
        shift = SHIFTS[field]
        names = {21: "rs", 16: "rt", 11: "rd", 6: "sa"}
        return bits(_REGISTERS[self._sample][names[shift]], shift, 5)

    def gpr_place(self, field: str) -> str:
        number = self._number(field)
        return self._state(Expression(gpr_offset(int(number)), f"(8u * {number.c} + {gpr_offset(0) & 0xFFFFFFFF}u)"))

    def fpr_place(self, field: str, kind: str) -> str:
        number = self._number(field)
        offset = fpr_offset(int(number)) + (4 if kind == "high" else 0)
        return self._state(Expression(offset, f"mr_{kind}_offset({number.c}, fr)"))

    def _fcc_place(self, field: str) -> str:
        shift = {"cc": 18, "fcc": 8}[field]
        number = bits(_CODES[self._sample], shift, 3)
        return self._state(Expression(fcc_offset(int(number)), f"(8u * {number.c} + {fcc_offset(0)}u)"))

    def from_state(self, type_: str, place: str) -> str:
        return self.writer.value(f"load {type_}, ptr {place}, {STATE_TAG}")

    def to_state(self, type_: str, value: Value, place: str) -> None:
        self._written = True
        self.writer.void(f"store {type_} {text(value)}, ptr {place}, {STATE_TAG}")

    # general-purpose registers

    def gpr(self, number: Any) -> Value:
        place = self._operands[number].place
        if place == ZERO:
            return 0
        if place == MEMORY:
            return self.from_state("i32", self.gpr_place(number))
        return self.temp if place == TEMP else self.pins[place]

    def set_gpr(self, number: Any, value: Value) -> None:
        place = self._operands[number].place
        if place == MEMORY:
            self.to_state("i32", value, self.gpr_place(number))
        elif place == TEMP:
            self.temp = text(value)
        elif place != ZERO:
            self.pins[place] = text(value)

    def hilo(self) -> Value:
        return self.from_state("i64", self._state_pointer("hilo"))

    def set_hilo(self, value: Value) -> None:
        self.to_state("i64", value, self._state_pointer("hilo"))

    def fcc(self, number: Any) -> Value:
        return self.writer.value(f"icmp ne i32 {self.from_state('i32', self._fcc_place(number))}, 0")

    def set_fcc(self, number: Any, value: Value) -> None:
        self.to_state("i32", self.writer.value(f"zext i1 {value} to i32"), self._fcc_place(number))

    def _hidden(self, value: Value) -> Value:
        """Return a constant that the compiler does not know."""
        return self.writer.value(f'call i32 asm "", "=r,0"(i32 {text(value)})')

    def _opaque_or_known(self, value: Value) -> Value:
        """Return a constant as the row's stencils have it (catalogue.OPAQUE)."""
        return self._hidden(value) if self._opaque and isinstance(value, Expression) else value

    def and_(self, a: Value, b: Value) -> Value:
        return super().and_(a, self._opaque_or_known(b))

    def add(self, a: Value, b: Value) -> Value:
        return super().add(a, self._opaque_or_known(b))

    def _compared(self, b: Value, a: Value) -> Value:
        """Return what a constant is compared with: of two constants the samples' order says nothing."""
        return self._hidden(b) if isinstance(a, int) and isinstance(b, Expression) else b

    def eq(self, a: Value, b: Value) -> str:
        return "true" if str(a) == str(b) else super().eq(a, self._compared(b, a))

    def ne(self, a: Value, b: Value) -> str:
        return "false" if str(a) == str(b) else super().ne(a, self._compared(b, a))

    def slt(self, a: Value, b: Value) -> str:
        return super().slt(a, self._compared(b, a))

    def ult(self, a: Value, b: Value) -> str:
        return super().ult(a, self._compared(b, a))

    # memory

    def store_conditional(self, base: Value, displacement: int, value: Value) -> str:
        """Store what is pinned, first: the host's instruction needs some of its registers (catalogue.SPILLED)."""
        for number, pin in zip(PINS, self.pins, strict=True):
            self.writer.void(f"store volatile i32 {pin}, ptr {self._state(gpr_offset(number))}, {STATE_TAG}")
        return super().store_conditional(base, displacement, value)

    # floating-point registers

    def _pinned(self, place: int) -> str:
        return self.ftemp if place == TEMP else self.floats[place]

    def _half_of_pin(self, type_: str, place: int, upper: bool) -> str:
        """Return a half of a pinned register."""
        pair = self.writer.value(f"bitcast double {self._pinned(place)} to <2 x {type_}>")
        return self.writer.value(f"extractelement <2 x {type_}> {pair}, i32 {int(upper)}")

    def _set_half_of_pin(self, type_: str, place: int, upper: bool, value: Value) -> None:
        pair = self.writer.value(f"bitcast double {self.floats[place]} to <2 x {type_}>")
        pair = self.writer.value(f"insertelement <2 x {type_}> {pair}, {type_} {text(value)}, i32 {int(upper)}")
        self.floats[place] = self.writer.value(f"bitcast <2 x {type_}> {pair} to double")

    def single(self, number: Any) -> str:
        place = self._operands[number].place
        if place == MEMORY:
            return self.from_state("float", self.fpr_place(number, "single"))
        upper = UPPER <= place < MEMORY
        return self._half_of_pin("float", place - UPPER if upper else place, upper)

    def set_single(self, number: Any, value: Value) -> None:
        place = self._operands[number].place
        if place == MEMORY:
            self.to_state("float", value, self.fpr_place(number, "single"))
            return
        upper = UPPER <= place < MEMORY
        self._set_half_of_pin("float", place - UPPER if upper else place, upper, value)

    def double(self, number: Any) -> str:
        place = self._operands[number].place
        return self.from_state("double", self.fpr_place(number, "double")) if place == MEMORY else self._pinned(place)

    def set_double(self, number: Any, value: Value) -> None:
        place = self._operands[number].place
        if place == MEMORY:
            self.to_state("double", value, self.fpr_place(number, "double"))
        elif place == TEMP:
            self.ftemp = str(value)
        else:
            self.floats[place] = str(value)

    def long(self, number: Any) -> str:
        return self.writer.value(f"bitcast double {self.double(number)} to i64")

    def set_long(self, number: Any, value: Value) -> None:
        self.set_double(number, self.writer.value(f"bitcast i64 {value} to double"))

    def high(self, number: Any) -> str:
        place = self._operands[number].place
        if place == MEMORY:
            return self.from_state("i32", self.fpr_place(number, "high"))
        return self._half_of_pin("i32", place, True)

    def set_high(self, number: Any, value: Value) -> None:
        place = self._operands[number].place
        if place == MEMORY:
            self.to_state("i32", value, self.fpr_place(number, "high"))
        else:
            self._set_half_of_pin("i32", place, True, value)

    def settled(self, value: Value) -> Value:
        return value

    def settled_both(self, a: Value, b: Value) -> tuple[Value, Value]:
        return a, b

    def finish_floats(self) -> None:
        """Results are looked at as they are computed."""

    def note(self, *operands: tuple[Value, str]) -> None:
        """The translator has the record of the last instruction that computed stored."""

    def pend(
        self, result: str, type_: str, *operands: tuple[Value, str], condition: str = "", computes: bool = True
    ) -> str:
        """Leave for the interpreter where the result may not be MIPS's."""
        self.leave_if(self.writer.value(condition or f"fcmp uno {type_} {result}, {result}"))
        return result

    def float_op(self, name: str, fmt: str, *operands: Value) -> str:
        """As in the code generator, but a change of sign takes no constant from memory."""
        if name not in ("neg", "abs"):
            return super().float_op(name, fmt, *operands)
        writer, (type_, integer) = self.writer, {"s": ("float", "i32"), "d": ("double", "i64")}[fmt]
        sign = 1 << (31 if fmt == "s" else 63)
        mask = writer.value(f'call {integer} asm "", "=r,0"({integer} {sign if name == "neg" else sign - 1})')
        raw = writer.value(f"bitcast {type_} {operands[0]} to {integer}")
        changed = writer.value(f"{'xor' if name == 'neg' else 'and'} {integer} {raw}, {mask}")
        return self.pend(writer.value(f"bitcast {integer} {changed} to {type_}"), type_)

    def _again_at_once(self, type_: str, value: Value, source: str) -> str:
        raise Unsupported

    # what the interpreter does

    def leave_if(self, flag: Value) -> None:
        """Leave under a condition."""
        assert not self._written, "the interpreter would perform half an instruction twice"
        self.leaves = True
        stay = self.writer.fresh_label()
        self.writer.void(f"br i1 {flag}, label %leave, label %{stay}, {UNLIKELY}")
        self.writer.label(stay)

    def trap_if(self, flag: Value, cause: str) -> None:
        self.leave_if(flag)

    def raise_always(self, cause: str) -> None:
        raise Unsupported

    def read_hardware(self, number: int) -> str:
        raise Unsupported

    def read_control(self, number: int) -> str:
        raise Unsupported

    def write_control(self, number: int, value: Value) -> None:
        raise Unsupported

    def sync_code(self, base: Value, displacement: int) -> None:
        raise Unsupported
