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
from ..emit.memory import Value
from ..emit.state_words import StateWords
from ..emit.unaligned import UnalignedAccesses
from ..emit.wide_integers import WideIntegers
from ..emit.writer import Writer
from ..isa.compose import compose
from .constants import SampleConstants
from .exits import ExitGuards, Exits
from .memory import StencilMemory, WindowMemory
from .registers import Operand, StencilRegisters


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
        self.registers = registers = StencilRegisters(writer, operands, sample, state)
        self.exits = exits = Exits(writer, registers)
        current, memory = Current(), (WindowMemory if window else StencilMemory)(writer, big_endian)
        constants, guards = SampleConstants(writer, opaque), ExitGuards(writer, exits)
        integers = Integers(writer, current, constants)
        self.operations = compose(
            registers,
            integers,
            WideIntegers(writer, integers),
            Accesses(writer, current, registers, memory, guards),
            UnalignedAccesses(writer, current, memory, integers, big_endian),
            StencilAtomics(Atomics(writer, memory, integers, state), registers),
            Floats(writer, guards, constants, abs2008=False),
            exits,
        )
        self.keeps_temp = False  # whether TEMP is the same for the next stencil
        self.goes_on = True  # whether control may go on behind the instruction
