"""Operations of the rows on guest memory, on top of a memory model: widths, unaligned halves, ll and sc."""

from __future__ import annotations

from ..lift.ir import Variable
from .integers import IntegerOperations
from .memory import Value, text
from .writer import UNLIKELY

TYPES = {"byte": "i8", "half": "i16", "word": "i32", "single": "float", "double": "double"}
"""LLVM's names of the types of accesses (isa/effects.py)."""


def pointer_of(variable: Variable) -> str:
    """Return LLVM's name of where a variable of a loop is."""
    return f"%slot.{variable.name}"


class MemoryOperations(IntegerOperations):
    """Loads, stores, lwl and its kin, ll/sc, sync."""

    def load(self, base: Value, displacement: int, bits: int, signed: bool) -> str:
        value = self._promoted_value() or self.memory.load(base, displacement, bits, self.op.spin, self.op.volatile)
        if bits == 32:
            return value
        return self.writer.value(f"{'sext' if signed else 'zext'} i{bits} {value} to i32")

    def store(self, base: Value, displacement: int, bits: int, value: Value) -> None:
        operand = text(value)
        if bits < 32:
            operand = self.writer.value(f"trunc i32 {operand} to i{bits}")
        self._store(base, displacement, f"i{bits}", operand)

    def load_single(self, base: Value, displacement: int) -> str:
        return self._promoted_value() or self.memory.load_float(
            base, displacement, "float", self.op.spin, self.op.volatile
        )

    def load_double(self, base: Value, displacement: int) -> str:
        return self._promoted_value() or self.memory.load_float(
            base, displacement, "double", self.op.spin, self.op.volatile
        )

    def store_single(self, base: Value, displacement: int, value: Value) -> None:
        self._store(base, displacement, "float", str(self.settled(value)))

    def store_double(self, base: Value, displacement: int, value: Value) -> None:
        self._store(base, displacement, "double", str(self.settled(value)))

    def _store(self, base: Value, displacement: int, type_: str, value: str) -> None:
        variable = self.op.promoted
        self.memory.store_type(base, displacement, type_, value, self.op.volatile or variable is not None)
        if variable is not None:
            self.writer.void(f"store {type_} {value}, ptr {pointer_of(variable)}")

    def _promoted_value(self) -> str:
        """Return what the variable that the current instruction loads has, or nothing if it loads none.

        If memory has something else, that counts. The host predicts that it has not, and waits for no load.
        """
        variable, writer = self.op.promoted, self.writer
        if variable is None:
            return ""
        bits, type_ = 8 * variable.size_bytes, TYPES[variable.type]
        value = writer.value(f"load {type_}, ptr {pointer_of(variable)}")
        if type_ != f"i{bits}":
            value = writer.value(f"bitcast {type_} {value} to i{bits}")
        there = self.memory.load(self.gpr(variable.base), variable.displacement, bits, monotonic=True)
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
        value = self.memory.load_apart(self.gpr(variable.base), variable.displacement, type_)
        self.writer.void(f"store {type_} {value}, ptr {pointer_of(variable)}")

    def _unaligned(self, base: Value, displacement: int) -> tuple[Value, str]:
        """Return the aligned word's address, and the number of bits that lie before the byte in memory order."""
        address = self.add(base, displacement & 0xFFFFFFFF)
        byte = self._binary("and", address, 3)
        return self._binary("and", address, 0xFFFFFFFC), self._binary("shl", byte, 3)

    def _left_shift(self, before: Value) -> Value:
        """Return by how much lwl shifts its word left: the bits outside the register's upper part."""
        return before if self._big_endian else self._binary("sub", 24, before)

    def _right_shift(self, before: Value) -> Value:
        return self._binary("sub", 24, before) if self._big_endian else before

    def load_left(self, base: Value, displacement: int, old: Value) -> str:
        address, before = self._unaligned(base, displacement)
        shift = self._left_shift(before)
        loaded = self._binary("shl", self.memory.load(address, 0, 32, kept=self.op.volatile), shift)
        kept = self._binary("and", old, self._binary("xor", self._binary("shl", 0xFFFFFFFF, shift), 0xFFFFFFFF))
        return self._binary("or", loaded, kept)

    def load_right(self, base: Value, displacement: int, old: Value) -> str:
        address, before = self._unaligned(base, displacement)
        shift = self._right_shift(before)
        loaded = self._binary("lshr", self.memory.load(address, 0, 32, kept=self.op.volatile), shift)
        kept = self._binary("and", old, self._binary("xor", self._binary("lshr", 0xFFFFFFFF, shift), 0xFFFFFFFF))
        return self._binary("or", loaded, kept)

    def store_left(self, base: Value, displacement: int, value: Value) -> None:
        self._store_part(base, displacement, value, left=True)

    def store_right(self, base: Value, displacement: int, value: Value) -> None:
        self._store_part(base, displacement, value, left=False)

    def _store_part(self, base: Value, displacement: int, value: Value, left: bool) -> None:
        """Store what swl or swr does, and no other byte of the word: another thread may be storing there."""
        writer = self.writer
        address = self.add(base, displacement & 0xFFFFFFFF)
        up = left == self._big_endian  # whether the bytes go from `address` up, or end with it
        byte = self._binary("and", address, 3)
        count = self._binary("sub", 4, byte) if up else self._binary("add", byte, 1)
        odd, even, three, two, four, done = (writer.fresh_label() for _ in range(6))
        writer.void(f"br i1 {self.ne(self._binary('and', count, 1), 0)}, label %{odd}, label %{even}")
        writer.label(odd)
        self._store_bits(address, 0, 8, value, 24 if left else 0)
        writer.void(f"br i1 {self.eq(count, 3)}, label %{three}, label %{done}")
        writer.label(three)
        self._store_bits(address, 1 if up else -2, 16, value, 8)
        writer.void(f"br label %{done}")
        writer.label(even)
        writer.void(f"br i1 {self.eq(count, 2)}, label %{two}, label %{four}")
        writer.label(two)
        self._store_bits(address, 0 if up else -1, 16, value, 16 if left else 0)
        writer.void(f"br label %{done}")
        writer.label(four)
        self._store_bits(address, 0 if up else -3, 32, value, 0)
        writer.void(f"br label %{done}")
        writer.label(done)

    def _store_bits(self, base: Value, displacement: int, bits: int, value: Value, first: int) -> None:
        """Store the `bits` bits of a word from bit number `first` on, where control need not come past."""
        operand = self._binary("lshr", value, first) if first else text(value)
        if bits < 32:
            operand = self.writer.value(f"trunc i32 {operand} to i{bits}")
        with self.memory.apart():
            self.memory.store(base, displacement, bits, operand)

    def load_word_unaligned(self, base: Value, displacement: int) -> str:
        """Return the word at any alignment: what lwl and lwr of the same word give together."""
        return self.memory.load(base, displacement, 32, kept=self.op.volatile)

    def store_word_unaligned(self, base: Value, displacement: int, value: Value) -> None:
        self.memory.store(base, displacement, 32, text(value), self.op.volatile)

    def load_linked(self, base: Value, displacement: int) -> str:
        address = self.add(base, displacement & 0xFFFFFFFF)
        value = self.memory.load(address, 0, 32, monotonic=True)
        self.set_state_word("ll_address", address)
        self.set_state_word("ll_value", value)
        self.set_state_word("ll_valid", 1)
        return value

    def store_conditional(self, base: Value, displacement: int, value: Value) -> str:
        writer = self.writer
        address = self.add(base, displacement & 0xFFFFFFFF)
        same = self.eq(self.state_word("ll_address"), address)
        valid = self.ne(self.state_word("ll_valid"), 0)
        go = writer.value(f"and i1 {same}, {valid}")
        expected = self.state_word("ll_value")
        self.set_state_word("ll_valid", 0)
        before, attempt, done = writer.fresh_label(), writer.fresh_label(), writer.fresh_label()
        writer.void(f"br label %{before}")
        writer.label(before)
        writer.void(f"br i1 {go}, label %{attempt}, label %{done}")
        writer.label(attempt)
        with self.memory.apart():
            stored = self.memory.compare_exchange(address, 0, expected, text(value))
        writer.void(f"br label %{done}")
        writer.label(done)
        return self.zext1(writer.value(f"phi i1 [ false, %{before} ], [ {stored}, %{attempt} ]"))

    def fence(self) -> None:
        self.writer.void("fence seq_cst")
