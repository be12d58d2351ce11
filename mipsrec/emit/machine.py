"""The machine that writes LLVM IR for one function: its parts, and which part holds which.

    part                holds
    NanGuards           RegisterFile, the memory model, StateWords
    GuestRegisters      NanGuards, RegisterFile, StateWords
    Integers            Constants
    WideIntegers        Integers
    Accesses            GuestRegisters, the memory model, NanGuards
    UnalignedAccesses   Integers, the memory model
    Atomics             Integers, the memory model, StateWords
    Floats              NanGuards, Constants
    Control             NanGuards, RegisterFile, Integers

All have the writer, and most the current instruction (current.py). The one way back is `before_leaving`: the register
file has pending results looked at before it stores values.

Enters: what is decided about the function. Leaves: lines in the writer. Rows are interpreted by `operations`; the
writers of instructions, edges and ends of blocks ask this object for everything else.
"""

from __future__ import annotations

from typing import Any

from ..isa.compose import compose
from ..lift.options import LiftOptions
from ..lift.units import Units
from .accesses import Accesses
from .atomics import Atomics
from .constants import PlainConstants
from .control import Control
from .current import Current
from .floats import Floats
from .guest_registers import GuestRegisters
from .integers import Integers
from .memory import MODELS, FlatMemory
from .nans import NanGuards
from .packed import ChosenLanes
from .register_file import RegisterFile
from .state_words import StateWords
from .unaligned import UnalignedAccesses
from .wide_integers import WideIntegers
from .writer import Writer


class IrMachine:
    """Composes the parts for the function `symbol`."""

    def __init__(
        self, writer: Writer, symbol: str, units: Units, options: LiftOptions, memory_resident: int = 0,
        depths_known: bool = False,
    ) -> None:
        self.writer = writer
        self.current = current = Current()
        self.registers = file = RegisterFile(writer, units, memory_resident, depths_known)
        self.memory = memory = MODELS[options.memory](writer, options.big_endian)
        self.guards = guards = NanGuards(writer, symbol, units, current, file, memory)
        file.before_leaving = guards.finish
        self.state = state = StateWords(writer)
        constants = PlainConstants(writer)
        registers = GuestRegisters(writer, units, file, state, guards)
        integers = Integers(writer, current, constants)
        self.accesses = Accesses(writer, current, registers, memory, guards)
        self.unaligned = UnalignedAccesses(writer, current, memory, integers, options.big_endian)
        control = Control(writer, units, current, file, guards, integers)
        self.operations = compose(
            registers,
            integers,
            WideIntegers(writer, integers),
            ChosenLanes(writer, current, integers),
            self.accesses,
            self.unaligned,
            Atomics(writer, memory, integers, state),
            Floats(writer, guards, constants, units.abs2008),
            control,
        )
        # what the writers of blocks want of parts that rows alone use otherwise
        self.start_block = writer.start_block
        self.gpr, self.set_gpr = registers.gpr, registers.set_gpr
        self.current_gprs = registers.current_gprs
        self.add, self.shl = integers.add, integers.shl
        self.leave, self.way_out = control.leave, control.way_out

    @property
    def flat(self) -> FlatMemory:
        """The flat model's memory: it alone has accesses of several words at once (passes/access_merge.py)."""
        assert isinstance(self.memory, FlatMemory)
        return self.memory

    def copy(self) -> tuple[Any, ...]:
        """Return what `restore` takes, when what is written in between is on another way."""
        return self.registers.copy(), self.guards.copy()

    def restore(self, copy: tuple[Any, ...]) -> None:
        registers, guards = copy
        self.registers.restore(registers)
        self.guards.restore(guards)
