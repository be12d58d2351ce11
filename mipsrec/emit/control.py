"""Operations of the rows that the host performs: exceptions, control registers, and notes of code that is written."""

from __future__ import annotations

from collections.abc import Mapping

from ..abi import CAUSES, STAY
from ..architecture import INSTRUCTION_BYTES
from ..lift.units import Units
from .current import Current
from .doors import door
from .integers import Integers
from .nans import NanGuards
from .register_file import RegisterFile
from .types import PASSED
from .writer import STATE_TAG, UNLIKELY, Value, Writer, text


class Control:
    """Implements isa.meaning.ControlOperations for one function."""

    def __init__(
        self,
        writer: Writer,
        units: Units,
        current: Current,
        file: RegisterFile,
        guards: NanGuards,
        integers: Integers,
    ) -> None:
        self._writer = writer
        self._units = units
        self._current = current
        self._file = file
        self._guards = guards
        self._integers = integers

    def trap_if(self, flag: Value, cause: str) -> None:
        writer = self._writer
        self._guards.finish()
        trap, go_on = writer.fresh_label(), writer.fresh_label()
        writer.void(f"br i1 {flag}, label %{trap}, label %{go_on}, {UNLIKELY}")
        writer.label(trap)
        cached = self._file.copy()
        self._file.flush(self._current.op.on_exit)
        self._file.restore(cached)
        self.leave(self._exception(cause))
        writer.label(go_on)

    def _exception(self, cause: str) -> str:
        arguments = (
            f"i32 {text(self._writer.cold_pc(self._current.pc))}, i32 {CAUSES[cause]}, i32 {text(self._current.word)}"
        )
        return self._writer.value(f"call {door('mr_exception')}(ptr %s, {arguments}){self._writer.debug}")

    def leave(self, pc: Value, results: Mapping[int, Value] | None = None) -> None:
        """End the block: control goes on at a pc that is not known here, as `way_out` has it."""
        self._writer.void(f"br label %{self.way_out(pc, results)}")

    def way_out(self, pc: Value, results: Mapping[int, Value] | None = None) -> str:
        """Note where control goes on when it leaves the function; return the label to leave by.

        `results` are RESULTS as calls pass them, by number; without them the state has all registers.
        """
        self._writer.void(f"store i32 {text(pc)}, ptr %leave.pc")
        for number, value in (results or {}).items():
            operand = value if value.__class__ is str else text(value)
            self._writer.lines.append(f"  store {PASSED[number]} {operand}, ptr %leave.r{number}")
        return "leave.call" if results else "leave"

    def raise_always(self, cause: str) -> None:
        self.leave(self._exception(cause))

    def read_hardware(self, number: int) -> str:
        return self._writer.value(f"call {door('mr_rdhwr')}(ptr %s, i32 {number}){self._writer.debug}")

    def _show_condition_codes(self) -> None:
        """Store them into the state: all views of FCSR but FEXR and FENR have them."""
        for unit in self._units.fcc:
            flag = self._writer.value(f"zext i1 {self._file.get(unit)} to i32")
            self._writer.void(f"store i32 {flag}, ptr %s.{unit.name}, {STATE_TAG}")

    def read_control(self, number: int) -> str:
        self._show_condition_codes()
        self._guards.show_last()
        return self._writer.value(f"call {door('mr_cfc1')}(ptr %s, i32 {number}){self._writer.debug}")

    def write_control(self, number: int, value: Value) -> None:
        writer, current = self._writer, self._current
        self._show_condition_codes()
        self._guards.finish()
        cached = self._file.copy()
        self._file.flush(current.op.on_exit)
        self._file.restore(cached)
        # The runtime performs a slot with its branch.
        next_pc = current.pc if current.in_slot else current.pc + INSTRUCTION_BYTES
        places = f"i32 {text(writer.cold_pc(current.pc))}, i32 {text(writer.cold_pc(next_pc))}"
        arguments = f"ptr %s, i32 {number}, i32 {text(value)}, {places}"
        pc = writer.value(f"call {door('mr_ctc1_lifted')}({arguments}){writer.debug}")
        flag = writer.value(f"icmp ne i32 {pc}, {STAY}")
        leave, go_on = writer.fresh_label(), writer.fresh_label()
        writer.void(f"br i1 {flag}, label %{leave}, label %{go_on}, {UNLIKELY}")
        writer.label(leave)
        self.leave(pc)
        writer.label(go_on)
        self._guards.forget_last()
        for unit in self._units.fcc:
            word = self._writer.value(f"load i32, ptr %s.{unit.name}, {STATE_TAG}")
            self._file.set(unit, self._writer.value(f"icmp ne i32 {word}, 0"))

    def code_address(self, displacement: int) -> Value:
        pc = self._current.pc
        return self._writer.pc((pc - pc % INSTRUCTION_BYTES + displacement) & 0xFFFFFFFF)

    def sync_code(self, base: Value, displacement: int) -> None:
        address = text(self._integers.add(base, displacement & 0xFFFFFFFF))
        self._writer.void(f"call {door('mr_synci')}(ptr %s, i32 {address}){self._writer.debug}")
