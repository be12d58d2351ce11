"""Operations of the rows on guest memory, on top of a memory model: widths, and promoted variables."""

from __future__ import annotations

from ..isa.meaning import RegisterOperations
from ..lift.ir import Variable
from .current import Current
from .guards import Guards
from .memory import FlatMemory, Value, text
from .writer import UNLIKELY, Writer


class Accesses:
    """Implements isa.meaning.MemoryOperations for one function."""

    def __init__(
        self, writer: Writer, current: Current, registers: RegisterOperations, memory: FlatMemory, guards: Guards
    ) -> None:
        self._writer = writer
        self._current = current
        self._registers = registers
        self._memory = memory
        self._guards = guards

    def load(self, base: Value, displacement: int, bits: int, signed: bool) -> str:
        op = self._current.op
        value = self._slot_value() or self._memory.load(base, displacement, bits, op.spin, op.keep)
        if bits == 32:
            return value
        return self._writer.value(f"{'sext' if signed else 'zext'} i{bits} {value} to i32")

    def store(self, base: Value, displacement: int, bits: int, value: Value) -> None:
        operand = text(value)
        if bits < 32:
            operand = self._writer.value(f"trunc i32 {operand} to i{bits}")
        self._store(base, displacement, f"i{bits}", operand)

    def load_single(self, base: Value, displacement: int) -> str:
        return self._load_float(base, displacement, "float")

    def load_double(self, base: Value, displacement: int) -> str:
        return self._load_float(base, displacement, "double")

    def _load_float(self, base: Value, displacement: int, type_: str) -> str:
        op = self._current.op
        return self._slot_value() or self._memory.load_float(base, displacement, type_, op.spin, op.keep)

    def store_single(self, base: Value, displacement: int, value: Value) -> None:
        self._store(base, displacement, "float", str(self._guards.settled(value)))

    def store_double(self, base: Value, displacement: int, value: Value) -> None:
        self._store(base, displacement, "double", str(self._guards.settled(value)))

    def _store(self, base: Value, displacement: int, type_: str, value: str) -> None:
        slot = self._current.op.promoted
        self._memory.store_type(base, displacement, type_, value, self._current.op.keep or slot is not None)
        if slot is not None:
            self._writer.void(f"store {type_} {value}, ptr {slot.name}")

    def _slot_value(self) -> str:
        """Return what the slot that the current instruction loads has, or nothing if it loads none.

        If memory has something else, that counts. The host predicts that it has not, and waits for no load.
        """
        slot, writer = self._current.op.promoted, self._writer
        if slot is None:
            return ""
        bits = 8 * slot.size
        value = writer.value(f"load {slot.type}, ptr {slot.name}")
        if slot.type != f"i{bits}":
            value = writer.value(f"bitcast {slot.type} {value} to i{bits}")
        there = self._memory.load(self._registers.gpr(slot.base), slot.displacement, bits, monotonic=True)
        flag = writer.value(f"icmp ne i{bits} {there}, {value}")
        changed, done = writer.fresh_label(), writer.fresh_label()
        writer.void(f"br i1 {flag}, label %{changed}, label %{done}, {UNLIKELY}")
        writer.label(changed)
        self.load_slot(slot)
        writer.void(f"br label %{done}")
        writer.label(done)
        return writer.value(f"load {slot.type}, ptr {slot.name}")

    def load_slot(self, slot: Variable) -> None:
        """Set a slot's variable to what memory has."""
        value = self._memory.load_apart(self._registers.gpr(slot.base), slot.displacement, slot.type)
        self._writer.void(f"store {slot.type} {value}, ptr {slot.name}")
