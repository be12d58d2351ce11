"""What the rows of the DSP module share: how results are saturated and noted in DSPControl, and how rows are added.

Source: the manual's volume IV-e. A register is one number, two of 16 bits (`ph`) or four of 8 (`qb`); `lanes` of a
machine are such numbers, each extended to 32 bits. DSPControl has, from bit 0 on: pos, scount (7), carry (13), EFI
(14), the overflow flags of the accumulators (16 to 19) and of kinds of instructions (20 to 23), conditions (24).
"""

from __future__ import annotations

from collections.abc import Callable

from ..architecture import DSP, Module
from .meaning import Binary, Machine, Meaning, V
from .row import RowTable

BITS_OF_LANES = {4: 8, 2: 16}
"""How wide the numbers of a register are, by how many there are."""
OVERFLOW_OF_SUMS, OVERFLOW_OF_PRODUCTS, OVERFLOW_OF_SHIFTS, OVERFLOW_OF_EXTRACTION = range(20, 24)
SCOUNT, CARRY, EFI, CONDITIONS = 7, 13, 14, 24

Unary = Callable[[Machine, V], V]


def add_row(
    table: RowTable, assembly: str, fields: str, op: str, funct: str, meaning: Meaning, module: Module = DSP
) -> None:
    """Add a row of the opcode 011111, with fields of 15 bits in the middle."""
    table.add(assembly, f"011111 {fields} {op} {funct}", meaning, module=module)


def three(table: RowTable, name: str, op: str, funct: str, result: Binary, module: Module = DSP) -> None:
    """Add a row that makes rd of rs and rt."""
    add_row(
        table, f"{name} rd, rs, rt", "rs:5 rt:5 rd:5", op, funct,
        lambda m, i: m.set_gpr(i.rd, result(m, m.gpr(i.rs), m.gpr(i.rt))), module,
    )  # fmt: skip


def two(table: RowTable, name: str, op: str, funct: str, result: Unary, module: Module = DSP) -> None:
    """Add a row that makes rd of rt."""
    add_row(
        table, f"{name} rd, rt", "00000 rt:5 rd:5", op, funct,
        lambda m, i: m.set_gpr(i.rd, result(m, m.gpr(i.rt))), module,
    )  # fmt: skip


def all_lanes(m: Machine, value: int, count: int) -> V:
    """Return lanes that all have a value."""
    return m.splat(m.const(value), count)


def constant(m: Machine, number: int) -> V:
    """Return a number of the instruction of which the compiler of a stencil shall make no other one."""
    return m.and_(m.const(0xFFFFFFFF), m.const(number))


def note(m: Machine, flag: V, bit: int) -> None:
    """Set a bit of DSPControl under a condition; it stays set (manual: ouflag is sticky)."""
    m.set_dsp_control(m.or_(m.dsp_control(), m.and_(m.sub(m.const(0), m.zext1(flag)), m.const(1 << bit))))


def any_flag(m: Machine, flags: V) -> V:
    """Return whether the flag of any lane is set."""
    return m.ne(m.flag_bits(flags), m.const(0))


def field(m: Machine, first: int, bits: int) -> V:
    """Return a number that DSPControl has."""
    value = m.dsp_control()
    return m.and_(m.lshr(value, m.const(first)) if first else value, m.const((1 << bits) - 1))


def set_field(m: Machine, first: int, bits: int, value: V) -> None:
    """Replace a number that DSPControl has; `value` fits."""
    kept = m.and_(m.dsp_control(), m.const(~(((1 << bits) - 1) << first) & 0xFFFFFFFF))
    m.set_dsp_control(m.or_(kept, m.shl(value, m.const(first)) if first else value))


def clamped(m: Machine, exact: V, count: int, signed: bool) -> V:
    """Return lanes as the nearest numbers of their width."""
    bits = BITS_OF_LANES[count]
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return m.lane_op("smax", m.lane_op("smin", exact, all_lanes(m, high, count)), all_lanes(m, low, count))


def noted(m: Machine, exact: V, count: int, signed: bool, saturates: bool, bit: int) -> V:
    """Return lanes as a register, and note whether one of them does not fit: it is clamped, or loses its upper bits."""
    near = clamped(m, exact, count, signed)
    note(m, any_flag(m, m.lane_test("ne", exact, near)), bit)
    return m.packed(near if saturates else exact)


def bound_of_sign(m: Machine, a: V) -> V:
    """Return the greatest word, or for a negative number the least."""
    return m.xor(m.ashr(a, m.const(31)), m.const(0x7FFFFFFF))


def exceeds_word(m: Machine, a64: V) -> V:
    """Return whether a number of 64 bits is no signed number of 32."""
    return m.ne(m.upper(a64), m.ashr(m.low(a64), m.const(31)))


def near_word(m: Machine, a64: V) -> V:
    """Return the nearest word."""
    return m.select(exceeds_word(m, a64), bound_of_sign(m, m.upper(a64)), m.low(a64))


def saturated_word(m: Machine, a64: V, bit: int) -> V:
    """Return the nearest word, and note whether it is another number."""
    note(m, exceeds_word(m, a64), bit)
    return near_word(m, a64)


def combined(m: Machine, operation: str, a: V, b: V, count: int, signed: bool) -> V:
    """Return the exact results of an operation on the numbers of two registers."""
    bits = BITS_OF_LANES[count]
    return m.lane_op(operation, m.lanes(a, bits, signed), m.lanes(b, bits, signed))


SQUARE_OF_MINUS_ONE = 0x40000000
"""The product of two fractions of 16 bits that are -1: the only one whose double is no word. Of two
fractions of 32 bits that are -1, it is the upper word of the product."""


def fraction_product(m: Machine, a: V, b: V, bit: int) -> V:
    """Return the product of two fractions of 16 bits (Q15) as one of 32 (Q31), saturated, and note that."""
    product = m.mul(a, b)
    over = m.eq(product, m.const(SQUARE_OF_MINUS_ONE))
    note(m, over, bit)
    return m.select(over, m.const(0x7FFFFFFF), m.shl(product, m.const(1)))


def lane_products(m: Machine, a: V, b: V) -> tuple[V, V, V]:
    """Return the products of two lanes of fractions of 16 bits, doubled, and in which lanes both are -1."""
    product = m.lane_op("mul", a, b)
    over = m.lane_test("eq", product, all_lanes(m, SQUARE_OF_MINUS_ONE, 2))
    return m.lane_op("shl", product, all_lanes(m, 1, 2)), over, any_flag(m, over)


def upper_half(m: Machine, a: V) -> V:
    return m.ashr(a, m.const(16))


def lower_half(m: Machine, a: V) -> V:
    return m.sign_extend(a, 16)


