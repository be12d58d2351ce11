"""The Machine that writes LLVM IR: what the rows' operations become.

Registers, integers, memory and floating point have modules of their own; here is the rest: exceptions and control
registers.
"""

from __future__ import annotations

from .accesses import MemoryOperations
from .floats import FloatOperations
from .memory import Value, text
from .writer import STATE_TAG, UNLIKELY

STAY = 3
"""MR_STAY in runtime/host.h."""

CAUSES = {"overflow": 1, "trap": 2, "break": 3, "reserved": 4, "address": 5}
"""enum mr_cause in runtime/host.h."""


class IrMachine(MemoryOperations, FloatOperations):
    """Implements isa.meaning.Machine for one function."""

    def trap_if(self, flag: Value, cause: str) -> None:
        writer = self.writer
        self.finish_floats()
        trap, go_on = writer.fresh_label(), writer.fresh_label()
        writer.void(f"br i1 {flag}, label %{trap}, label %{go_on}, {UNLIKELY}")
        writer.label(trap)
        cached = self.registers.copy()
        self.registers.flush(self.dirty)
        self.registers.restore(cached)
        self.leave(self._exception(cause))
        writer.label(go_on)

    def _exception(self, cause: str) -> str:
        arguments = f"i32 {text(self.writer.cold_pc(self.pc))}, i32 {CAUSES[cause]}, i32 {text(self.word_)}"
        return self.writer.value(f"call i32 @mr_exception(ptr %s, {arguments}){self.writer.debug}")

    def leave(self, pc: Value) -> None:
        """End the block: control goes on at a pc that is not known here."""
        self.writer.void(f"store i32 {text(pc)}, ptr %leave.pc")
        self.writer.void("br label %leave")

    def raise_always(self, cause: str) -> None:
        self.leave(self._exception(cause))

    def read_hardware(self, number: int) -> str:
        return self.writer.value(f"call i32 @mr_rdhwr(ptr %s, i32 {number}){self.writer.debug}")

    def _show_condition_codes(self) -> None:
        """Store them into the state: all views of FCSR but FEXR and FENR have them."""
        for unit in self._units.fcc:
            flag = self.writer.value(f"zext i1 {self.registers.get(unit)} to i32")
            self.writer.void(f"store i32 {flag}, ptr %s.{unit.name}, {STATE_TAG}")

    def read_control(self, number: int) -> str:
        self._show_condition_codes()
        self.show_last()
        return self.writer.value(f"call i32 @mr_cfc1(ptr %s, i32 {number}){self.writer.debug}")

    def write_control(self, number: int, value: Value) -> None:
        writer = self.writer
        self._show_condition_codes()
        self.finish_floats()
        cached = self.registers.copy()
        self.registers.flush(self.dirty)
        self.registers.restore(cached)
        next_pc = self.pc if self.in_slot else self.pc + 4  # a slot is performed with its branch by the runtime
        places = f"i32 {text(writer.cold_pc(self.pc))}, i32 {text(writer.cold_pc(next_pc))}"
        arguments = f"ptr %s, i32 {number}, i32 {text(value)}, {places}"
        pc = writer.value(f"call i32 @mr_ctc1_lifted({arguments}){writer.debug}")
        flag = writer.value(f"icmp ne i32 {pc}, {STAY}")
        leave, go_on = writer.fresh_label(), writer.fresh_label()
        writer.void(f"br i1 {flag}, label %{leave}, label %{go_on}, {UNLIKELY}")
        writer.label(leave)
        self.leave(pc)
        writer.label(go_on)
        self.forget_last()
        for unit in self._units.fcc:
            word = self.writer.value(f"load i32, ptr %s.{unit.name}, {STATE_TAG}")
            self.registers.set(unit, self.writer.value(f"icmp ne i32 {word}, 0"))

    def sync_code(self, base: Value, displacement: int) -> None:
        address = text(self.add(base, displacement & 0xFFFFFFFF))
        self.writer.void(f"call void @mr_synci(ptr %s, i32 {address}){self.writer.debug}")
