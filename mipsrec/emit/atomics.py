"""Operations of the rows on guest memory that other threads take part in: ll, sc and sync."""

from __future__ import annotations

from .integers import Integers
from .memory import GuestMemory
from .state_words import StateWords
from .writer import Value, Writer, text


class Atomics:
    """Implements isa.meaning.AtomicOperations: sc stores if memory holds what ll has loaded."""

    def __init__(self, writer: Writer, memory: GuestMemory, integers: Integers, state: StateWords) -> None:
        self._writer = writer
        self._memory = memory
        self._integers = integers
        self._state = state

    def load_linked(self, base: Value, displacement: int) -> str:
        address = self._integers.add(base, displacement & 0xFFFFFFFF)
        value = self._memory.load(address, 0, 32, monotonic=True)
        self._state.set_word("ll_address", address)
        self._state.set_word("ll_value", value)
        self._state.set_word("ll_valid", 1)
        return value

    def store_conditional(self, base: Value, displacement: int, value: Value) -> str:
        writer = self._writer
        address = self._integers.add(base, displacement & 0xFFFFFFFF)
        same = self._integers.eq(self._state.word("ll_address"), address)
        valid = self._integers.ne(self._state.word("ll_valid"), 0)
        go = writer.value(f"and i1 {same}, {valid}")
        expected = self._state.word("ll_value")
        self._state.set_word("ll_valid", 0)
        before, attempt, done = writer.fresh_label(), writer.fresh_label(), writer.fresh_label()
        writer.void(f"br label %{before}")
        writer.label(before)
        writer.void(f"br i1 {go}, label %{attempt}, label %{done}")
        writer.label(attempt)
        with self._memory.apart():
            stored = self._memory.compare_exchange(address, 0, expected, text(value))
        writer.void(f"br label %{done}")
        writer.label(done)
        return self._integers.zext1(writer.value(f"phi i1 [ false, %{before} ], [ {stored}, %{attempt} ]"))

    def fence(self) -> None:
        self._writer.void("fence seq_cst")
