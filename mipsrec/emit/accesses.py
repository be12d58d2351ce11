"""Operations of the rows on guest memory, on top of a memory model: widths, and promoted variables."""

from __future__ import annotations

from ..isa.meaning import RegisterOperations
from ..lift.ir import Variable
from .current import Current
from .guards import Guards
from .memory import GuestMemory
from .types import TYPES
from .writer import UNLIKELY, Value, Writer, text

_KERNEL_HALF = 0x80000000


def pointer_of(variable: Variable) -> str:
    """Return LLVM's name of where a variable of a loop is."""
    return f"%slot.{variable.name}"


class Accesses:
    """Implements isa.meaning.MemoryOperations for one function."""

    def __init__(
        self, writer: Writer, current: Current, registers: RegisterOperations, memory: GuestMemory, guards: Guards
    ) -> None:
        self._writer = writer
        self._current = current
        self._registers = registers
        self._memory = memory
        self._guards = guards

    def load(self, base: Value, displacement: int, bits: int, signed: bool) -> str:
        op = self._current.op
        value = self._promoted_value() or self._memory.load(base, displacement, bits, op.spin, op.volatile)
        if bits < 32:
            value = self._writer.value(f"{'sext' if signed else 'zext'} i{bits} {value} to i32")
        return self._apart(value, "i32") if op.exposed else value

    def _apart(self, value: str, type_: str) -> str:
        """Return what has been loaded so that LLVM makes the load an instruction of its own, which has the load's pc.

        Part of another operation, it has that one's, and none at all if a later pass takes it out again.
        """
        return self._writer.value(f'call {type_} asm "", "=r,0"({type_} {value})')

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
        if op.exposed:
            integer = "i32" if type_ == "float" else "i64"
            bits = self._memory.load(base, displacement, int(integer[1:]), volatile=True)
            return self._writer.value(f"bitcast {integer} {self._apart(bits, integer)} to {type_}")
        return self._promoted_value() or self._memory.load_float(base, displacement, type_, op.spin, op.volatile)

    def store_single(self, base: Value, displacement: int, value: Value) -> None:
        self._store(base, displacement, "float", str(self._guards.canonical(value)))

    def store_double(self, base: Value, displacement: int, value: Value) -> None:
        self._store(base, displacement, "double", str(self._guards.canonical(value)))

    def fault_unless_aligned(self, address: Value, bits: int) -> None:
        """Access the kernel's half of the address space, which is an address error as well, where it is misaligned.

        As a fault, and not as an exception, it costs the usual way nothing but the comparison: registers are found
        where the code has them.
        """
        writer, operand = self._writer, text(address)
        low = writer.value(f"and i32 {operand}, {(bits >> 3) - 1}")
        flag = writer.value(f"icmp ne i32 {low}, 0")
        misaligned, go_on = writer.fresh_label(), writer.fresh_label()
        writer.void(f"br i1 {flag}, label %{misaligned}, label %{go_on}, {UNLIKELY}")
        writer.label(misaligned)
        with self._memory.apart():
            self._memory.load(writer.value(f"or i32 {operand}, {_KERNEL_HALF}"), 0, 8, volatile=True)
        writer.void(f"br label %{go_on}")
        writer.label(go_on)

    def _store(self, base: Value, displacement: int, type_: str, value: str) -> None:
        variable = self._current.op.promoted
        self._memory.store_type(base, displacement, type_, value, self._current.op.volatile or variable is not None)
        if variable is not None:
            self._writer.void(f"store {type_} {value}, ptr {pointer_of(variable)}")

    def _promoted_value(self) -> str:
        """Return what the variable that the current instruction loads has, or nothing if it loads none.

        If memory has something else, that counts. The host predicts that it has not, and waits for no load.
        """
        variable, writer = self._current.op.promoted, self._writer
        if variable is None:
            return ""
        bits, type_ = 8 * variable.size_bytes, TYPES[variable.type]
        value = writer.value(f"load {type_}, ptr {pointer_of(variable)}")
        if type_ != f"i{bits}":
            value = writer.value(f"bitcast {type_} {value} to i{bits}")
        there = self._memory.load(self._registers.gpr(variable.base), variable.displacement, bits, monotonic=True)
        flag = writer.value(f"icmp ne i{bits} {there}, {value}")
        changed, done = writer.fresh_label(), writer.fresh_label()
        writer.void(f"br i1 {flag}, label %{changed}, label %{done}, {UNLIKELY}")
        writer.label(changed)
        self.load_promoted(variable)
        writer.void(f"br label %{done}")
        writer.label(done)
        return writer.value(f"load {type_}, ptr {pointer_of(variable)}")

    def load_promoted(self, variable: Variable) -> None:
        """Set a variable to what memory has."""
        type_ = TYPES[variable.type]
        value = self._memory.load_apart(self._registers.gpr(variable.base), variable.displacement, type_)
        self._writer.void(f"store {type_} {value}, ptr {pointer_of(variable)}")
