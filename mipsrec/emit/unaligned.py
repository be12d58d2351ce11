"""Operations of the rows on words of guest memory that need not be aligned: lwl, lwr, swl, swr, and both of a pair."""

from __future__ import annotations

from .current import Current
from .integers import Integers, binary
from .memory import GuestMemory
from .writer import Value, Writer, text


class UnalignedAccesses:
    """Implements isa.meaning.UnalignedOperations for one function."""

    def __init__(
        self, writer: Writer, current: Current, memory: GuestMemory, integers: Integers, big_endian: bool
    ) -> None:
        self._writer = writer
        self._current = current
        self._memory = memory
        self._integers = integers
        self._big_endian = big_endian

    def _aligned(self, base: Value, displacement: int) -> tuple[Value, str]:
        """Return the aligned word's address, and the number of bits that lie before the byte in memory order."""
        address = self._integers.add(base, displacement & 0xFFFFFFFF)
        byte = binary(self._writer, "and", address, 3)
        return binary(self._writer, "and", address, 0xFFFFFFFC), binary(self._writer, "shl", byte, 3)

    def _left_shift(self, before: Value) -> Value:
        """Return by how much lwl shifts its word left: the bits outside the register's upper part."""
        return before if self._big_endian else binary(self._writer, "sub", 24, before)

    def _right_shift(self, before: Value) -> Value:
        return binary(self._writer, "sub", 24, before) if self._big_endian else before

    def _merged(self, operation: str, address: Value, shift: Value, old: Value) -> str:
        """Return a shifted word of memory, with the bits of a register where nothing was shifted to."""
        writer = self._writer
        word = self._memory.load(address, 0, 32, volatile=self._current.op.volatile)
        loaded = binary(writer, operation, word, shift)
        taken = binary(writer, operation, 0xFFFFFFFF, shift)
        kept = binary(writer, "and", old, binary(writer, "xor", taken, 0xFFFFFFFF))
        return binary(writer, "or", loaded, kept)

    def load_left(self, base: Value, displacement: int, old: Value) -> str:
        address, before = self._aligned(base, displacement)
        return self._merged("shl", address, self._left_shift(before), old)

    def load_right(self, base: Value, displacement: int, old: Value) -> str:
        address, before = self._aligned(base, displacement)
        return self._merged("lshr", address, self._right_shift(before), old)

    def store_left(self, base: Value, displacement: int, value: Value) -> None:
        self._store_part(base, displacement, value, left=True)

    def store_right(self, base: Value, displacement: int, value: Value) -> None:
        self._store_part(base, displacement, value, left=False)

    def _store_part(self, base: Value, displacement: int, value: Value, left: bool) -> None:
        """Store what swl or swr does, and no other byte of the word: another thread may be storing there."""
        writer = self._writer
        address = self._integers.add(base, displacement & 0xFFFFFFFF)
        up = left == self._big_endian  # whether the bytes go from `address` up, or end with it
        byte = binary(writer, "and", address, 3)
        count = binary(writer, "sub", 4, byte) if up else binary(writer, "add", byte, 1)
        odd, even, three, two, four, done = (writer.fresh_label() for _ in range(6))
        writer.void(f"br i1 {self._integers.ne(binary(writer, 'and', count, 1), 0)}, label %{odd}, label %{even}")
        writer.label(odd)
        self._store_bits(address, 0, 8, value, 24 if left else 0)
        writer.void(f"br i1 {self._integers.eq(count, 3)}, label %{three}, label %{done}")
        writer.label(three)
        self._store_bits(address, 1 if up else -2, 16, value, 8)
        writer.void(f"br label %{done}")
        writer.label(even)
        writer.void(f"br i1 {self._integers.eq(count, 2)}, label %{two}, label %{four}")
        writer.label(two)
        self._store_bits(address, 0 if up else -1, 16, value, 16 if left else 0)
        writer.void(f"br label %{done}")
        writer.label(four)
        self._store_bits(address, 0 if up else -3, 32, value, 0)
        writer.void(f"br label %{done}")
        writer.label(done)

    def _store_bits(self, base: Value, displacement: int, bits: int, value: Value, first: int) -> None:
        """Store the `bits` bits of a word from bit number `first` on, where control need not come past."""
        operand = binary(self._writer, "lshr", value, first) if first else text(value)
        if bits < 32:
            operand = self._writer.value(f"trunc i32 {operand} to i{bits}")
        with self._memory.apart():
            self._memory.store(base, displacement, bits, operand)

    def load_word_unaligned(self, base: Value, displacement: int) -> str:
        """Return the word at any alignment: what lwl and lwr of the same word give together."""
        return self._memory.load(base, displacement, 32, volatile=self._current.op.volatile)

    def store_word_unaligned(self, base: Value, displacement: int, value: Value) -> None:
        self._memory.store(base, displacement, 32, text(value), self._current.op.volatile)
