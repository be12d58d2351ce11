"""How lifted code reaches guest memory: three models behind one interface.

`flat`: guest address A is host address A, in a window the host has reserved; a load is one instruction and a fault is
a host fault. Displacements are added after the zero-extension: `zext(base) + displacement` may leave the window, into
the guards. `paged`: a table of host pages for reads and one for writes, null where the page is not
accessible or watched; aligned accesses that hit take the fast path, the rest call the host. `thunk`: every access
calls the host.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from ..state import OFFSETS
from .writer import GUEST_TAG, LIKELY, STATE_TAG, TABLE_TAG, Value, Writer, text

MAX_FLOAT_BYTES = 8


class GuestMemory(ABC):
    """What the writers of instructions ask of every model."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self.places: dict[Value, tuple[Value, int]] = writer.of_block({})
        """Of floats loaded in this block: where memory holds them still, as base and displacement."""
        self.stored: list[Value] = writer.of_block([])
        """The bases that this block has stored at."""

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Write accesses where control need not come past: what they compute is not there afterwards."""
        yield

    @abstractmethod
    def load(self, base: Value, displacement: int, bits: int, monotonic: bool = False, volatile: bool = False) -> str:
        """Return the guest's value at base + displacement as an i`bits`; `volatile`: even when nothing needs it."""

    @abstractmethod
    def store(self, base: Value, displacement: int, bits: int, value: str, volatile: bool = False) -> None:
        """Store an i`bits` given as text."""

    @abstractmethod
    def load_float(
        self, base: Value, displacement: int, type_: str, monotonic: bool = False, volatile: bool = False
    ) -> str:
        """Return a float or double."""

    @abstractmethod
    def store_float(self, base: Value, displacement: int, type_: str, value: str, volatile: bool = False) -> None:
        """Store a float or double."""

    @abstractmethod
    def compare_exchange(self, base: Value, displacement: int, expected: str, value: str) -> str:
        """Store `value` if memory holds `expected`; return the i1 whether it did."""

    def load_apart(self, base: Value, displacement: int, type_: str) -> str:
        """Return an integer or a float that is loaded where control need not come past."""
        places = dict(self.places)
        with self.apart():
            if type_[0] == "i":
                value = self.load(base, displacement, int(type_[1:]), monotonic=True)
            else:
                value = self.load_float(base, displacement, type_, monotonic=True)
        self.places.clear()
        self.places.update(places)
        return value

    def store_type(self, base: Value, displacement: int, type_: str, value: str, volatile: bool = False) -> None:
        """Store an integer or a float; `volatile`: where and when the guest does it."""
        if type_[0] == "i":
            self.store(base, displacement, int(type_[1:]), value, volatile)
        else:
            self.store_float(base, displacement, type_, value, volatile)


class FlatMemory(GuestMemory):
    """Plain host accesses, any alignment."""

    def __init__(self, writer: Writer, big_endian: bool) -> None:
        super().__init__(writer)
        self._swap = big_endian
        self._bases: dict[Value, str] = writer.of_block({})

    @contextmanager
    def apart(self) -> Iterator[None]:
        bases = dict(self._bases)
        yield
        self._bases.clear()
        self._bases.update(bases)

    def _forget_places(self, base: Value, displacement: int, size_bytes: int) -> None:
        """Something is stored at base + displacement: what lies beside it is seen only from the same base."""
        self.stored.append(base)
        for value, place in list(self.places.items()):
            if place[0] != base or displacement - MAX_FLOAT_BYTES < place[1] < displacement + size_bytes:
                del self.places[value]

    def _pointer(self, base: Value, displacement: int) -> str:
        """Return the host pointer.

        As a getelementptr, so that LLVM sees that 4(sp) and 8(sp) do not overlap; from null, where guest memory
        begins, since of pointers made from integers LLVM does not know how loops step them.
        """
        writer = self._writer
        if isinstance(base, int):
            return f"inttoptr (i64 {(base + displacement) & 0xFFFFFFFF} to ptr)"
        pointer = self._bases.get(base)
        if pointer is None:
            wide = writer.value(f"zext i32 {base} to i64")
            pointer = self._bases[base] = writer.value(f"getelementptr i8, ptr null, i64 {wide}")
        return writer.value(f"getelementptr i8, ptr {pointer}, i64 {displacement}") if displacement else pointer

    def load(self, base: Value, displacement: int, bits: int, monotonic: bool = False, volatile: bool = False) -> str:
        writer = self._writer
        pointer = self._pointer(base, displacement)
        mark = "volatile " if volatile else ""
        access = f"{mark}i{bits}, ptr {pointer}, align 1"
        if monotonic:
            access = f"atomic {mark}i{bits}, ptr {pointer} monotonic, align {bits >> 3}"
        value = writer.loaded(f"load {access}, {GUEST_TAG}")
        return swapped(writer, value, bits) if self._swap else value

    def store(self, base: Value, displacement: int, bits: int, value: str, volatile: bool = False) -> None:
        writer = self._writer
        if self._swap and bits > 8:
            value = swapped(writer, value, bits)
        pointer = self._pointer(base, displacement)
        self._forget_places(base, displacement, bits >> 3)
        mark = "volatile " if volatile else ""
        writer.void(f"store {mark}i{bits} {value}, ptr {pointer}, align 1, {GUEST_TAG}{writer.debug}")

    def load_words(self, base: Value, displacement: int, count: int) -> str:
        """Return a vector of words as they lie in memory."""
        pointer = self._pointer(base, displacement)
        return self._writer.loaded(f"load <{count} x i32>, ptr {pointer}, align 1, {GUEST_TAG}")

    def word_of(self, words: str, number: int, count: int) -> str:
        """Return the guest's value of one word of such a vector."""
        value = self._writer.value(f"extractelement <{count} x i32> {words}, i32 {number}")
        return swapped(self._writer, value, 32) if self._swap else value

    def equal_words(self, value: str, count: int) -> str:
        """Return a vector of words that all have the guest's value, as they lie in memory."""
        writer, type_ = self._writer, f"<{count} x i32>"
        raw = swapped(writer, value, 32) if self._swap else value
        one = writer.value(f"insertelement {type_} poison, i32 {raw}, i32 0")
        return writer.value(f"shufflevector {type_} {one}, {type_} poison, {type_} zeroinitializer")

    def store_words(self, base: Value, displacement: int, words: str, count: int) -> None:
        """Store a vector of words as they shall lie in memory."""
        pointer = self._pointer(base, displacement)
        self._forget_places(base, displacement, 4 * count)
        self._writer.void(f"store <{count} x i32> {words}, ptr {pointer}, align 1, {GUEST_TAG}{self._writer.debug}")

    def words_of(self, floats: Sequence[Value]) -> str:
        """Return a vector of words as they lie in memory, of floats that have the guest's values as bits."""
        writer, count = self._writer, len(floats)
        words: Value = "poison"
        for number, value in enumerate(floats):
            words = writer.value(f"insertelement <{count} x float> {words}, float {value}, i32 {number}")
        return self._turned(f"<{count} x float> {words}", f"<{count} x i32>", count)

    def floats_of(self, words: str, count: int) -> list[str]:
        """Return the guest's values of the words of such a vector as floats of the same bits."""
        writer = self._writer
        floats = self._turned(f"<{count} x i32> {words}", f"<{count} x float>", count)
        return [writer.value(f"extractelement <{count} x float> {floats}, i32 {n}") for n in range(count)]

    def _turned(self, words: str, type_: str, count: int) -> str:
        """Return a vector of words, given with its type, as another type, with the bytes of each word reversed."""
        writer, bytes_type = self._writer, f"<{4 * count} x i8>"
        value = writer.value(f"bitcast {words} to {bytes_type}")
        if self._swap:
            value = _reversed(writer, value, 32, count)
        return writer.value(f"bitcast {bytes_type} {value} to {type_}")

    def load_float(
        self, base: Value, displacement: int, type_: str, monotonic: bool = False, volatile: bool = False
    ) -> str:
        """Return a float or double.

        A monotonic load is volatile: of an atomic one LLVM makes one of an integer. That is quicker where bytes are
        turned: what the loop itself has stored came from an integer register (dot_single 0.76 of the time).
        """
        bits = 32 if type_ == "float" else 64
        writer = self._writer
        if monotonic and self._swap:
            value = self.load(base, displacement, bits, monotonic, volatile)
            return writer.value(f"bitcast i{bits} {value} to {type_}")
        pointer = self._pointer(base, displacement)
        mark = "volatile " if volatile or monotonic else ""
        if not self._swap:
            value = writer.loaded(f"load {mark}{type_}, ptr {pointer}, align 1, {GUEST_TAG}")
        else:
            loaded = writer.loaded(f"load {mark}<{bits >> 3} x i8>, ptr {pointer}, align 1, {GUEST_TAG}")
            value = writer.value(f"bitcast <{bits >> 3} x i8> {_reversed(writer, loaded, bits)} to {type_}")
        if not monotonic:
            self.places[value] = base, displacement
        return value

    def store_float(self, base: Value, displacement: int, type_: str, value: str, volatile: bool = False) -> None:
        bits = 32 if type_ == "float" else 64
        if self._swap:
            type_, value = f"i{bits}", self._writer.value(f"bitcast {type_} {value} to i{bits}")
            value = swapped(self._writer, value, bits)
        pointer = self._pointer(base, displacement)
        self._forget_places(base, displacement, bits >> 3)
        mark = "volatile " if volatile else ""
        self._writer.void(f"store {mark}{type_} {value}, ptr {pointer}, align 1, {GUEST_TAG}{self._writer.debug}")

    def compare_exchange(self, base: Value, displacement: int, expected: str, value: str) -> str:
        writer = self._writer
        if self._swap:
            expected, value = swapped(writer, expected, 32), swapped(writer, value, 32)
        pointer = self._pointer(base, displacement)
        self._forget_places(base, displacement, 4)
        operands = f"ptr {pointer}, i32 {expected}, i32 {value}"
        pair = writer.value(f"cmpxchg {operands} seq_cst seq_cst, align 4{writer.debug}")
        return writer.value(f"extractvalue {{ i32, i1 }} {pair}, 1")


def _reversed(writer: Writer, value: str, bits: int, count: int = 1) -> str:
    """Return a vector of bytes with those of each of `count` values in reverse order: among the floating-point
    registers, where a loaded float is wanted.

    A float to be stored is turned on its way through an integer register: that keeps their ports free.
    """
    each = bits >> 3
    size = each * count
    order = ", ".join(f"i32 {at + byte}" for at in range(0, size, each) for byte in reversed(range(each)))
    return writer.value(f"shufflevector <{size} x i8> {value}, <{size} x i8> poison, <{size} x i32> <{order}>")


def swapped(writer: Writer, value: str, bits: int) -> str:
    """Return `value` with its bytes reversed."""
    return value if bits == 8 else writer.value(f"call i{bits} @llvm.bswap.i{bits}(i{bits} {value})")


class ThunkMemory(GuestMemory):
    """Calls into the host; values pass in guest terms, so nothing is swapped here."""

    def __init__(self, writer: Writer, big_endian: bool) -> None:
        super().__init__(writer)

    def _address(self, base: Value, displacement: int) -> str:
        if isinstance(base, int):
            return text((base + displacement) & 0xFFFFFFFF)
        return self._writer.value(f"add i32 {base}, {displacement}") if displacement else base

    def load(self, base: Value, displacement: int, bits: int, monotonic: bool = False, volatile: bool = False) -> str:
        return self._load_at(self._address(base, displacement), bits)

    def store(self, base: Value, displacement: int, bits: int, value: str, volatile: bool = False) -> None:
        self._store_at(self._address(base, displacement), bits, value)

    def _load_at(self, address: str, bits: int) -> str:
        writer = self._writer
        result = "i64" if bits == 64 else "i32"
        value = writer.value(f"call {result} @mr_load{bits}(ptr %s, i32 {address}){writer.debug}")
        return writer.value(f"trunc i32 {value} to i{bits}") if bits < 32 else value

    def _store_at(self, address: str, bits: int, value: str) -> None:
        writer = self._writer
        type_ = "i64" if bits == 64 else "i32"
        if bits < 32:
            value = writer.value(f"zext i{bits} {value} to i32")
        writer.void(f"call void @mr_store{bits}(ptr %s, i32 {address}, {type_} {value}){writer.debug}")

    def load_float(
        self, base: Value, displacement: int, type_: str, monotonic: bool = False, volatile: bool = False
    ) -> str:
        bits = 32 if type_ == "float" else 64
        value = self.load(base, displacement, bits, monotonic, volatile)
        return self._writer.value(f"bitcast i{bits} {value} to {type_}")

    def store_float(self, base: Value, displacement: int, type_: str, value: str, volatile: bool = False) -> None:
        bits = 32 if type_ == "float" else 64
        self.store(base, displacement, bits, self._writer.value(f"bitcast {type_} {value} to i{bits}"))

    def compare_exchange(self, base: Value, displacement: int, expected: str, value: str) -> str:
        address, writer = self._address(base, displacement), self._writer
        done = writer.value(
            f"call i32 @mr_compare_exchange(ptr %s, i32 {address}, i32 {expected}, i32 {value}){writer.debug}"
        )
        return writer.value(f"icmp ne i32 {done}, 0")


class PagedMemory(ThunkMemory):
    """Fast path through the page tables, slow path through the thunks."""

    def __init__(self, writer: Writer, big_endian: bool) -> None:
        super().__init__(writer, big_endian)
        self._swap_fast = big_endian

    def _page_pointer(self, address: str, bits: int, table: str) -> tuple[str, str]:
        """Branch to a fresh label when the fast path applies; return (pointer's label, slow label)."""
        writer = self._writer
        field = writer.value(f"getelementptr i8, ptr %s, i64 {OFFSETS[table]}")
        pages = writer.value(f"load ptr, ptr {field}, {STATE_TAG}, !invariant.load !0")
        number = writer.value(f"lshr i32 {address}, 12")
        entry = writer.value(f"zext i32 {number} to i64")
        slot = writer.value(f"getelementptr ptr, ptr {pages}, i64 {entry}")
        page = writer.value(f"load ptr, ptr {slot}, {TABLE_TAG}")
        mapped = writer.value(f"icmp ne ptr {page}, null")
        if bits > 8:
            low = writer.value(f"and i32 {address}, {(bits >> 3) - 1}")
            aligned = writer.value(f"icmp eq i32 {low}, 0")
            mapped = writer.value(f"and i1 {mapped}, {aligned}")
        fast, slow = writer.fresh_label(), writer.fresh_label()
        writer.void(f"br i1 {mapped}, label %{fast}, label %{slow}, {LIKELY}")
        writer.label(fast)
        offset = writer.value(f"and i32 {address}, 4095")
        wide = writer.value(f"zext i32 {offset} to i64")
        return writer.value(f"getelementptr i8, ptr {page}, i64 {wide}"), slow

    def load(self, base: Value, displacement: int, bits: int, monotonic: bool = False, volatile: bool = False) -> str:
        writer = self._writer
        address = self._address(base, displacement)
        pointer, slow = self._page_pointer(address, bits, "read_pages")
        done, fast_end = writer.fresh_label(), writer.fresh_label()
        mark = "volatile " if volatile else ""
        kind = f"{mark}i{bits}, ptr {pointer}"
        if monotonic:
            kind = f"atomic {kind} monotonic"
        quick = writer.loaded(f"load {kind}, align {bits >> 3}, {GUEST_TAG}")
        if self._swap_fast:
            quick = swapped(writer, quick, bits)
        writer.void(f"br label %{fast_end}")
        writer.label(fast_end)
        writer.void(f"br label %{done}")
        writer.label(slow)
        late = self._load_at(address, bits)
        writer.void(f"br label %{done}")
        writer.label(done)
        return writer.value(f"phi i{bits} [ {quick}, %{fast_end} ], [ {late}, %{slow} ]")

    def store(self, base: Value, displacement: int, bits: int, value: str, volatile: bool = False) -> None:
        writer = self._writer
        address = self._address(base, displacement)
        pointer, slow = self._page_pointer(address, bits, "write_pages")
        done = writer.fresh_label()
        quick = swapped(writer, value, bits) if self._swap_fast else value
        writer.void(f"store i{bits} {quick}, ptr {pointer}, align {bits >> 3}, {GUEST_TAG}{writer.debug}")
        writer.void(f"br label %{done}")
        writer.label(slow)
        self._store_at(address, bits, value)
        writer.void(f"br label %{done}")
        writer.label(done)


MODELS: dict[str, Callable[[Writer, bool], GuestMemory]] = {
    "flat": FlatMemory, "paged": PagedMemory, "thunk": ThunkMemory,
}  # fmt: skip
