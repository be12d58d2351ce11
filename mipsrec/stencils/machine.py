"""The machine that writes a stencil: what a row's operations become when its operands are in known classes.

It has parts of the code generator's machine, so what an instruction means is stated once. Its registers, constants and
exits are its own: registers are parameters or words of the state here, and whatever is rare (an exception, a NaN, a
call of the host) leaves for the interpreter.
"""

from __future__ import annotations

from ..emit.accesses import Accesses
from ..emit.atomics import Atomics
from ..emit.current import Current
from ..emit.floats import Floats
from ..emit.integers import Integers
from ..emit.single_lanes import SingleLanes
from ..emit.state_words import StateWords
from ..emit.unaligned import UnalignedAccesses
from ..emit.wide_integers import WideIntegers
from ..emit.writer import Value, Writer
from ..isa.compose import compose
from .exits import ExitGuards, Exits
from .expressions import Expression
from .memory import StencilMemory, WindowMemory
from .registers import Operand, StencilRegisters, hidden


class SampleConstants:
    """Implements emit.constants.Constants: from the samples of an instruction the compiler shall conclude nothing.

    `opaque`: it never knows operands (catalogue.Entry.is_opaque).
    """

    def __init__(self, writer: Writer, opaque: bool) -> None:
        self._writer = writer
        self._opaque = opaque

    def operand(self, b: Value) -> Value:
        return hidden(self._writer, b) if self._opaque and isinstance(b, Expression) else b

    def compared(self, a: Value, b: Value) -> Value:
        """Return what a constant is compared with: of two constants the samples' order says nothing."""
        return hidden(self._writer, b) if isinstance(a, int) and isinstance(b, Expression) else b

    def are_equal(self, a: Value, b: Value) -> bool:
        return str(a) == str(b)

    def with_sign(self, name: str, type_: str, value: Value) -> str:
        """Return `neg` or `abs` of a float or double, without a constant from memory."""
        writer, bits = self._writer, 32 if type_ == "float" else 64
        integer, sign = f"i{bits}", 1 << bits - 1
        mask = writer.value(f'call {integer} asm "", "=r,0"({integer} {sign if name == "neg" else sign - 1})')
        raw = writer.value(f"bitcast {type_} {value} to {integer}")
        changed = writer.value(f"{'xor' if name == 'neg' else 'and'} {integer} {raw}, {mask}")
        return writer.value(f"bitcast {integer} {changed} to {type_}")


class StencilAtomics:
    """Implements isa.meaning.AtomicOperations: sc needs some of the registers that are pinned (catalogue.SPILLED)."""

    def __init__(self, atomics: Atomics, registers: StencilRegisters) -> None:
        self.load_linked = atomics.load_linked
        self.fence = atomics.fence
        self._atomics = atomics
        self._registers = registers

    def store_conditional(self, base: Value, displacement: int, value: Value) -> str:
        """Store what is pinned, first."""
        self._registers.spill_pins()
        return self._atomics.store_conditional(base, displacement, value)


class StencilMachine:
    """Composes the parts for one stencil and one of its samples; rows are interpreted by `operations`."""

    def __init__(
        self, writer: Writer, big_endian: bool, window: bool, operands: list[Operand], sample: int, opaque: bool
    ) -> None:
        self.writer = writer
        self.state = state = StateWords(writer)
        self.registers = registers = StencilRegisters(writer, operands, sample, state, opaque)
        self.exits = exits = Exits(writer, registers)
        current, memory = Current(), (WindowMemory if window else StencilMemory)(writer, big_endian)
        constants, guards = SampleConstants(writer, opaque), ExitGuards(writer, exits)
        integers = Integers(writer, current, constants)
        self.operations = compose(
            registers,
            integers,
            WideIntegers(writer, integers),
            SingleLanes(writer, integers),
            Accesses(writer, current, registers, memory, guards),
            UnalignedAccesses(writer, current, memory, integers, big_endian),
            StencilAtomics(Atomics(writer, memory, integers, state), registers),
            Floats(writer, guards, constants, abs2008=False),
            exits,
        )
        self.keeps_temp = False  # whether TEMP is the same for the next stencil
        self.goes_on = True  # whether control may go on behind the instruction
