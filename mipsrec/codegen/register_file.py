"""The registers of one function while its IR is written: values cached within a guest block, allocas between blocks.

i32 constants are Python ints; every other value is the name of an LLVM value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..state import OFFSETS, SLOT_BYTES
from .memory_models import MODELS, Value, text
from .options import CodegenOptions
from .registers import Unit, Units
from .writer import STATE_TAG, Writer


class RegisterFile:
    """Units of the function being written: block-local values over allocas."""

    def __init__(self, writer: Writer, units: Units) -> None:
        self._writer = writer
        self.units = units
        self.cache: dict[Unit, Value] = {}
        self.changed: set[Unit] = set()
        self.views: dict[Unit, tuple[Value, Value]] = {}
        """Of i64 units that have been set as doubles: the i64, and the double it was made of."""
        self.before_leaving: Callable[[], None] = lambda: None
        """What is to be done before values go where other code looks."""

    def start_block(self) -> None:
        self.cache.clear()
        self.changed.clear()
        self.views.clear()

    def get(self, unit: Unit) -> Value:
        value = self.cache.get(unit)
        if value is None:
            value = self.cache[unit] = self._writer.value(f"load {unit.type}, ptr %{unit.name}")
        return value

    def set(self, unit: Unit, value: Value) -> None:
        self.cache[unit] = value
        self.changed.add(unit)

    def rename(self, renamed: dict[str, str]) -> None:
        """Replace values that have new names."""
        for unit, value in self.cache.items():
            if value in renamed:
                self.cache[unit] = renamed[str(value)]
        for unit, (bits, value) in list(self.views.items()):
            if value in renamed and self.cache.get(unit) == bits:
                self.set_view(unit, renamed[str(value)])

    def set_view(self, unit: Unit, value: Value) -> None:
        """Set an i64 unit as a double."""
        bits = self._writer.value(f"bitcast double {value} to i64")
        self.set(unit, bits)
        self.views[unit] = bits, value

    def view(self, unit: Unit) -> Value | None:
        """Return the double that an i64 unit was set to, if it was."""
        bits, value = self.views.get(unit, (None, None))
        return value if bits is not None and self.cache.get(unit) == bits else None

    def save(self, live: int) -> None:
        """Store what this block changed and a later one needs into the allocas."""
        self.before_leaving()
        for unit in sorted(self.changed, key=lambda unit: (unit.bits, unit.name)):
            if unit.bits & live:
                self._writer.void(f"store {unit.type} {text(self.cache[unit])}, ptr %{unit.name}")

    def flush(self, dirty: int) -> None:
        """Store dirty units into the state."""
        self.before_leaving()
        for unit in self.units.all:
            if unit.bits & dirty:
                value = text(self.get(unit))
                type_ = unit.type
                if type_ == "i1":
                    value, type_ = self._writer.value(f"zext i1 {value} to i32"), "i32"
                self._writer.void(f"store {type_} {value}, ptr %s.{unit.name}, {STATE_TAG}")

    def reload(self, wanted: int, known: Mapping[int, Value] | None = None) -> None:
        """Load units from the state into their allocas; `known` ones, by number, are at hand."""
        for unit in self.units.all:
            if unit.bits & wanted:
                number = unit.bits.bit_length() - 1
                if known and number in known:
                    self._writer.void(f"store i32 {text(known[number])}, ptr %{unit.name}")
                    continue
                type_ = "i32" if unit.type == "i1" else unit.type
                value = self._writer.value(f"load {type_}, ptr %s.{unit.name}, {STATE_TAG}")
                if unit.type == "i1":
                    value = self._writer.value(f"icmp ne i32 {value}, 0")
                self._writer.void(f"store {unit.type} {value}, ptr %{unit.name}")


class RegisterOperations:
    """What every part of the machine stands on: where it writes, and the registers it reads and sets."""

    def __init__(self, writer: Writer, units: Units, options: CodegenOptions) -> None:
        self.writer = writer
        self.registers = RegisterFile(writer, units)
        self.memory = MODELS[options.memory](writer, options.big_endian)
        self._units = units
        self._big_endian = options.big_endian
        self.pc = 0  # of the current instruction, or of the branch whose slot it is in
        self.in_slot = False  # whether the current instruction is one in a delay slot
        self.word_ = 0  # encoding of the current instruction
        self.dirty = 0  # bits that a flush inside the block must store
        self.kept = False  # whether the current instruction's load stays though nothing may read it (dead_loads.py)
        self.monotonic = False  # whether the current instruction's load may watch what another thread writes

    def start_block(self) -> None:
        self.registers.start_block()
        self.memory.start_block()

    def gpr(self, number: int) -> Value:
        return self.registers.get(self._units.gpr[number]) if number else 0

    def current_gpr(self, number: int, at_hand: bool = True) -> Value:
        """Return a register where the state is complete: from the state if this function does not have it in SSA."""
        if at_hand and self._units.gpr[number] in self._units.all:
            return self.gpr(number)
        return self.state_word("gpr", SLOT_BYTES * number)

    def set_gpr(self, number: int, value: Value) -> None:
        if number:
            self.registers.set(self._units.gpr[number], value)

    def hilo(self) -> Value:
        return self.registers.get(self._units.hilo)

    def set_hilo(self, value: Value) -> None:
        self.registers.set(self._units.hilo, value)

    def fcc(self, number: int) -> Value:
        return self.registers.get(self._units.fcc[number])

    def set_fcc(self, number: int, value: Value) -> None:
        self.registers.set(self._units.fcc[number], value)

    def _part(self, number: int) -> int:
        """Return the bit position of a single inside its i64 unit."""
        return 32 if number & 1 and not self._units.fr else 0

    def word(self, number: int) -> Value:
        unit = self._units.fpr[number]
        value = self._settled_unit(unit)
        if unit.type == "float":
            return self.writer.value(f"bitcast float {value} to i32")
        return self._half(value, self._part(number))

    def _half(self, value: Value, position: int) -> str:
        if position:
            value = self.writer.value(f"lshr i64 {value}, 32")
        return self.writer.value(f"trunc i64 {value} to i32")

    def _set_half(self, unit: Unit, position: int, value: Value) -> None:
        writer = self.writer
        kept = writer.value(f"and i64 {self._settled_unit(unit)}, {0xFFFFFFFF if position else -0x100000000}")
        wide = writer.value(f"zext i32 {text(value)} to i64")
        if position:
            wide = writer.value(f"shl i64 {wide}, 32")
        self.registers.set(unit, writer.value(f"or i64 {kept}, {wide}"))

    def settled(self, value: Value) -> Value:
        """Return a value whose bits are those that MIPS would have made."""
        raise NotImplementedError

    def settled_both(self, a: Value, b: Value) -> tuple[Value, Value]:
        """Return two such values."""
        raise NotImplementedError

    def _settled_unit(self, unit: Unit) -> Value:
        """Return a unit whose bits are wanted."""
        view = self.registers.view(unit)
        self.settled(self.registers.get(unit) if view is None else view)
        return self.registers.get(unit)

    def set_word(self, number: int, value: Value) -> None:
        unit = self._units.fpr[number]
        if unit.type == "float":
            self.registers.set(unit, self.writer.value(f"bitcast i32 {text(value)} to float"))
        else:
            self._set_half(unit, self._part(number), value)

    def single(self, number: int) -> str:
        unit = self._units.fpr[number]
        if unit.type == "float":
            return str(self.registers.get(unit))
        return self.writer.value(f"bitcast i32 {self.word(number)} to float")

    def set_single(self, number: int, value: Value) -> None:
        unit = self._units.fpr[number]
        if unit.type == "float":
            self.registers.set(unit, value)
        else:
            self.set_word(number, self.writer.value(f"bitcast float {self.settled(value)} to i32"))

    def long(self, number: int) -> str:
        unit = self._units.fpr[number]
        value = self._settled_unit(unit)
        return self.writer.value(f"bitcast double {value} to i64") if unit.type == "double" else str(value)

    def set_long(self, number: int, value: Value) -> None:
        unit = self._units.fpr[number]
        if unit.type == "double":
            value = self.writer.value(f"bitcast i64 {value} to double")
        self.registers.set(unit, value)

    def double(self, number: int) -> str:
        unit = self._units.fpr[number]
        if unit.type == "double":
            return str(self.registers.get(unit))
        view = self.registers.view(unit)
        return self.writer.value(f"bitcast i64 {self.registers.get(unit)} to double") if view is None else str(view)

    def set_double(self, number: int, value: Value) -> None:
        unit = self._units.fpr[number]
        if unit.type == "double":
            self.registers.set(unit, value)
        else:
            self.registers.set_view(unit, value)

    def high(self, number: int) -> str:
        return self._half(self.long(number), 32)

    def set_high(self, number: int, value: Value) -> None:
        self._set_half(self._units.fpr[number], 32, value)

    def tls(self) -> str:
        return self.state_word("tls")

    def _state_pointer(self, field: str, offset: int = 0) -> str:
        return self.writer.value(f"getelementptr i8, ptr %s, i64 {OFFSETS[field] + offset}")

    def state_word(self, field: str, offset: int = 0) -> str:
        """Return the i32 in a field of the state, past every cache."""
        return self.writer.value(f"load i32, ptr {self._state_pointer(field, offset)}, {STATE_TAG}")

    def set_state_word(self, field: str, value: Value) -> None:
        pointer = self._state_pointer(field)
        self.writer.void(f"store i32 {text(value)}, ptr {pointer}, {STATE_TAG}")
