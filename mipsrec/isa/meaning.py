"""The operations that a row's meaning may use: the interface `Machine`, and one interface for each of its concerns.

`emit` has a machine that writes LLVM IR, `stencils` one that writes a stencil, `analysis` one that evaluates
symbolically, and `effects` one that records what a row does. A value is whatever the machine makes of it; its type is
fixed by the operation: i32 unless the comment says otherwise. Reading register 0 gives zero and writing it does
nothing, here only.

A machine may be composed of parts, one for each concern (compose.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from .row import Instruction

V = Any


class RegisterOperations(Protocol):
    """The registers of the guest CPU."""

    def gpr(self, number: int) -> V: ...
    def set_gpr(self, number: int, value: V) -> None: ...
    def hilo(self, number: int) -> V: ...  # i64, HI in the upper half; of the DSP module's accumulators, 0 to 3
    def set_hilo(self, number: int, value: V) -> None: ...
    def dsp_control(self) -> V: ...
    def set_dsp_control(self, value: V) -> None: ...
    def single(self, number: int) -> V: ...  # float
    def set_single(self, number: int, value: V) -> None: ...
    def double(self, number: int) -> V: ...  # double
    def set_double(self, number: int, value: V) -> None: ...
    def word(self, number: int) -> V: ...  # i32 view of a single
    def set_word(self, number: int, value: V) -> None: ...
    def long(self, number: int) -> V: ...  # i64 view of a double
    def set_long(self, number: int, value: V) -> None: ...
    def high(self, number: int) -> V: ...  # i32, the upper half of a double (mfhc1)
    def set_high(self, number: int, value: V) -> None: ...
    def fcc(self, number: int) -> V: ...  # i1
    def set_fcc(self, number: int, value: V) -> None: ...
    def tls(self) -> V: ...


class IntegerOperations(Protocol):
    """Numbers of 32 bits, and flags."""

    def const(self, value: int) -> V: ...
    def add(self, a: V, b: V) -> V: ...
    def sub(self, a: V, b: V) -> V: ...
    def mul(self, a: V, b: V) -> V: ...
    def and_(self, a: V, b: V) -> V: ...
    def or_(self, a: V, b: V) -> V: ...
    def xor(self, a: V, b: V) -> V: ...
    def nor(self, a: V, b: V) -> V: ...
    def shl(self, a: V, amount: V) -> V: ...  # amount is taken modulo 32, as in all shifts here
    def lshr(self, a: V, amount: V) -> V: ...
    def ashr(self, a: V, amount: V) -> V: ...
    def rotr(self, a: V, amount: V) -> V: ...
    def count_leading_zeros(self, a: V) -> V: ...
    def swap_bytes(self, a: V) -> V: ...
    def reverse_bits(self, a: V) -> V: ...
    def sign_extend(self, a: V, bits: int) -> V: ...  # of the low bits of an i32
    def eq(self, a: V, b: V) -> V: ...  # i1
    def ne(self, a: V, b: V) -> V: ...  # i1
    def slt(self, a: V, b: V) -> V: ...  # i1
    def ult(self, a: V, b: V) -> V: ...  # i1
    def invert(self, flag: V) -> V: ...  # i1
    def zext1(self, flag: V) -> V: ...  # i1 to i32
    def select(self, flag: V, a: V, b: V) -> V: ...
    def add_overflows(self, a: V, b: V) -> V: ...  # i1
    def sub_overflows(self, a: V, b: V) -> V: ...  # i1


class WideOperations(Protocol):
    """Numbers of 64 bits, made of two of 32."""

    def product(self, a: V, b: V, signed: bool) -> V: ...  # i64
    def add64(self, a: V, b: V) -> V: ...
    def sub64(self, a: V, b: V) -> V: ...
    def low(self, a64: V) -> V: ...
    def upper(self, a64: V) -> V: ...
    def pack(self, high: V, low: V) -> V: ...  # i64
    def divide(self, a: V, b: V, signed: bool) -> V: ...  # i64, remainder above quotient; never traps
    def extended(self, a: V, signed: bool) -> V: ...  # i64
    def shl64(self, a64: V, amount: V) -> V: ...  # amount, an i32, is taken modulo 64
    def lshr64(self, a64: V, amount: V) -> V: ...
    def ashr64(self, a64: V, amount: V) -> V: ...
    def select64(self, flag: V, a64: V, b64: V) -> V: ...


class LaneOperations(Protocol):
    """Numbers that share a register: lanes of 32 bits, the lowest first, four or two of them."""

    def lanes(self, a: V, bits: int, signed: bool) -> V: ...  # all numbers of 8 or 16 bits of an i32, extended
    def splat(self, a: V, count: int) -> V: ...  # an i32 in each lane
    def packed(self, lanes: V) -> V: ...  # i32, of the low bits of four or two lanes
    def lane(self, lanes: V, number: int) -> V: ...  # i32
    def lane_order(self, lanes: V, numbers: tuple[int, ...]) -> V: ...  # these lanes of four or two
    def lanes_joined(self, low: V, high: V) -> V: ...  # two lanes and two
    def lane_op(self, name: str, a: V, b: V) -> V: ...  # add sub mul shl lshr ashr smin smax
    def lane_test(self, name: str, a: V, b: V) -> V: ...  # flags of lanes: eq ne slt sle ult
    def lane_select(self, flags: V, a: V, b: V) -> V: ...
    def flag_bits(self, flags: V) -> V: ...  # i32, a bit for each lane
    def flags(self, a: V, count: int) -> V: ...  # of the low bits of an i32


class MemoryOperations(Protocol):
    """Accesses of memory, at base + displacement modulo 2^32."""

    def load(self, base: V, displacement: int, bits: int, signed: bool) -> V: ...
    def store(self, base: V, displacement: int, bits: int, value: V) -> None: ...
    def load_single(self, base: V, displacement: int) -> V: ...
    def load_double(self, base: V, displacement: int) -> V: ...
    def store_single(self, base: V, displacement: int, value: V) -> None: ...
    def store_double(self, base: V, displacement: int, value: V) -> None: ...
    def fault_unless_aligned(self, address: V, bits: int) -> None: ...  # as an access that the kernel does not mend


class UnalignedOperations(Protocol):
    """Accesses of the part of a word that lies on one side of a byte, which is addressed likewise."""

    def load_left(self, base: V, displacement: int, old: V) -> V: ...
    def load_right(self, base: V, displacement: int, old: V) -> V: ...
    def store_left(self, base: V, displacement: int, value: V) -> None: ...
    def store_right(self, base: V, displacement: int, value: V) -> None: ...


class AtomicOperations(Protocol):
    """Accesses that may fail, and their order."""

    def load_linked(self, base: V, displacement: int) -> V: ...
    def store_conditional(self, base: V, displacement: int, value: V) -> V: ...
    def fence(self) -> None: ...


class FloatOperations(Protocol):
    """Floating point; `fmt` is "s" or "d"."""

    def float_op(self, name: str, fmt: str, *operands: V) -> V: ...  # add sub mul div sqrt abs neg recip rsqrt
    def float_multiply_add(self, name: str, fmt: str, a: V, b: V, c: V) -> V: ...  # a times b, and c
    def float_compare(self, condition: int, fmt: str, a: V, b: V) -> V: ...  # i1; condition as encoded, 0 to 15
    def float_convert(self, to: str, source: str, value: V) -> V: ...  # between s, d, w, l
    def float_round(self, to: str, source: str, mode: str, value: V) -> V: ...  # round trunc ceil floor
    def select_single(self, flag: V, a: V, b: V) -> V: ...
    def select_double(self, flag: V, a: V, b: V) -> V: ...


class ControlOperations(Protocol):
    """Exceptions, control registers and code that is written."""

    def trap_if(self, flag: V, cause: str) -> None: ...  # overflow, trap
    def raise_always(self, cause: str) -> None: ...  # break
    def read_hardware(self, number: int) -> V: ...
    def read_control(self, number: int) -> V: ...
    def write_control(self, number: int, value: V) -> None: ...
    def sync_code(self, base: V, displacement: int) -> None: ...
    def code_address(self, displacement: int) -> V: ...  # from the word that the pc is in; of MIPS16e code


class Machine(
    RegisterOperations,
    IntegerOperations,
    WideOperations,
    LaneOperations,
    MemoryOperations,
    UnalignedOperations,
    AtomicOperations,
    FloatOperations,
    ControlOperations,
    Protocol,
):
    """All that a row can say."""


Meaning = Callable[[Machine, "Instruction"], None]
"""What a row does."""
Condition = Callable[[Machine, "Instruction"], V]
"""What a branch depends on (i1), or where a jump goes."""
Result = Condition
"""What an instruction makes of its operands."""
Binary = Callable[[Machine, V, V], V]
"""An operation on two values."""
