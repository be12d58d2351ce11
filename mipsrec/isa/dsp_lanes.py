"""Rows: the DSP module's arithmetic on numbers that share a register, comparisons, and shifts (volume IV-e)."""

from __future__ import annotations

from ..architecture import DSP, DSP2, Module
from .dsp import (
    BITS_OF_LANES,
    CARRY,
    CONDITIONS,
    OVERFLOW_OF_PRODUCTS,
    OVERFLOW_OF_SHIFTS,
    OVERFLOW_OF_SUMS,
    SQUARE_OF_MINUS_ONE,
    Unary,
    add_row,
    all_lanes,
    bound_of_sign,
    combined,
    constant,
    exceeds_word,
    field,
    fraction_product,
    lane_products,
    lower_half,
    note,
    noted,
    saturated_word,
    set_field,
    three,
    two,
    upper_half,
)
from .meaning import Binary, Machine, V
from .row import Instruction, RowTable

TABLE = RowTable()

# ---- sums and differences ----


def _noted(operation: str, count: int, signed: bool, saturates: bool, bit: int) -> Binary:
    return lambda m, a, b: noted(m, combined(m, operation, a, b, count, signed), count, signed, saturates, bit)


for _op, _name, _operation, _count, _signed, _saturates, _module in (
    ("00000", "addu.qb", "add", 4, False, False, DSP), ("00001", "subu.qb", "sub", 4, False, False, DSP),
    ("00100", "addu_s.qb", "add", 4, False, True, DSP), ("00101", "subu_s.qb", "sub", 4, False, True, DSP),
    ("01000", "addu.ph", "add", 2, False, False, DSP2), ("01001", "subu.ph", "sub", 2, False, False, DSP2),
    ("01010", "addq.ph", "add", 2, True, False, DSP), ("01011", "subq.ph", "sub", 2, True, False, DSP),
    ("01100", "addu_s.ph", "add", 2, False, True, DSP2), ("01101", "subu_s.ph", "sub", 2, False, True, DSP2),
    ("01110", "addq_s.ph", "add", 2, True, True, DSP), ("01111", "subq_s.ph", "sub", 2, True, True, DSP),
):  # fmt: skip
    three(TABLE, _name, _op, "010000", _noted(_operation, _count, _signed, _saturates, OVERFLOW_OF_SUMS), _module)


def _saturated(adds: bool) -> Binary:
    """Of two words: where their sum or difference is none, its sign is that of the first."""

    def result(m: Machine, a: V, b: V) -> V:
        over = m.add_overflows(a, b) if adds else m.sub_overflows(a, b)
        note(m, over, OVERFLOW_OF_SUMS)
        return m.select(over, bound_of_sign(m, a), m.add(a, b) if adds else m.sub(a, b))

    return result


def _add_setting_carry(m: Machine, a: V, b: V) -> V:
    value = m.add(a, b)
    set_field(m, CARRY, 1, m.zext1(m.ult(value, a)))
    return value


def _add_with_carry(m: Machine, a: V, b: V) -> V:
    carry = field(m, CARRY, 1)
    exact = m.add64(m.add64(m.extended(a, True), m.extended(b, True)), m.extended(carry, False))
    note(m, exceeds_word(m, exact), OVERFLOW_OF_SUMS)
    return m.low(exact)


def _step_around(m: Machine, a: V, b: V) -> V:
    last = m.and_(m.lshr(b, m.const(8)), m.const(0xFFFF))
    return m.select(m.eq(a, m.const(0)), last, m.sub(a, m.and_(b, m.const(0xFF))))


def _sum_of_bytes(m: Machine, a: V) -> V:
    lanes = m.lanes(a, 8, False)
    return m.add(m.add(m.lane(lanes, 0), m.lane(lanes, 1)), m.add(m.lane(lanes, 2), m.lane(lanes, 3)))


three(TABLE, "addq_s.w", "10110", "010000", _saturated(adds=True))
three(TABLE, "subq_s.w", "10111", "010000", _saturated(adds=False))
three(TABLE, "addsc", "10000", "010000", _add_setting_carry)
three(TABLE, "addwc", "10001", "010000", _add_with_carry)
three(TABLE, "modsub", "10010", "010000", _step_around)
add_row(
    TABLE, "raddu.w.qb rd, rs", "rs:5 00000 rd:5", "10100", "010000",
    lambda m, i: m.set_gpr(i.rd, _sum_of_bytes(m, m.gpr(i.rs))),
)  # fmt: skip


def _half_sum(operation: str, count: int, signed: bool, rounds: bool) -> Binary:
    def result(m: Machine, a: V, b: V) -> V:
        exact = combined(m, operation, a, b, count, signed)
        if rounds:
            exact = m.lane_op("add", exact, all_lanes(m, 1, count))
        return m.packed(m.lane_op("ashr", exact, all_lanes(m, 1, count)))

    return result


def _half_sum_of_words(adds: bool, rounds: bool) -> Binary:
    def result(m: Machine, a: V, b: V) -> V:
        operation = m.add64 if adds else m.sub64
        exact = operation(m.extended(a, True), m.extended(b, True))
        if rounds:
            exact = m.add64(exact, m.extended(m.const(1), False))
        return m.low(m.ashr64(exact, m.const(1)))

    return result


for _number, (_operation, _suffix) in enumerate((("add", ""), ("sub", ""), ("add", "_r"), ("sub", "_r"))):
    _op, _rounds = f"{_number:03b}", _suffix == "_r"
    three(TABLE, f"{_operation}uh{_suffix}.qb", "00" + _op, "011000", _half_sum(_operation, 4, False, _rounds), DSP2)
    three(TABLE, f"{_operation}qh{_suffix}.ph", "01" + _op, "011000", _half_sum(_operation, 2, True, _rounds), DSP2)
    three(
        TABLE, f"{_operation}qh{_suffix}.w", "10" + _op, "011000",
        _half_sum_of_words(_operation == "add", _rounds), DSP2,
    )  # fmt: skip

# ---- products ----


def _product_of_bytes(lanes: tuple[int, int]) -> Binary:
    def result(m: Machine, a: V, b: V) -> V:
        exact = m.lane_op("mul", m.lane_order(m.lanes(a, 8, False), lanes), m.lanes(b, 16, False))
        return noted(m, exact, 2, False, True, OVERFLOW_OF_PRODUCTS)

    return result


def _fractions(half: Unary) -> Binary:
    return lambda m, a, b: fraction_product(m, half(m, a), half(m, b), OVERFLOW_OF_PRODUCTS)


def _upper_fractions(rounds: bool) -> Binary:
    def result(m: Machine, a: V, b: V) -> V:
        product, over, any_over = lane_products(m, m.lanes(a, 16, True), m.lanes(b, 16, True))
        note(m, any_over, OVERFLOW_OF_PRODUCTS)
        if rounds:
            product = m.lane_op("add", product, all_lanes(m, 0x8000, 2))
        upper = m.lane_op("ashr", product, all_lanes(m, 16, 2))
        return m.packed(m.lane_select(over, all_lanes(m, 0x7FFF, 2), upper))

    return result


def _upper_fraction_of_words(rounds: bool) -> Binary:
    def result(m: Machine, a: V, b: V) -> V:
        product = m.product(a, b, True)
        over = m.eq(m.upper(product), m.const(SQUARE_OF_MINUS_ONE))  # both are -1
        note(m, over, OVERFLOW_OF_PRODUCTS)
        twice = m.shl64(product, m.const(1))
        if rounds:
            twice = m.add64(twice, m.extended(m.const(0x80000000), False))
        return m.select(over, m.const(0x7FFFFFFF), m.upper(twice))

    return result


three(TABLE, "muleu_s.ph.qbl", "00110", "010000", _product_of_bytes((2, 3)))
three(TABLE, "muleu_s.ph.qbr", "00111", "010000", _product_of_bytes((0, 1)))
three(TABLE, "muleq_s.w.phl", "11100", "010000", _fractions(upper_half))
three(TABLE, "muleq_s.w.phr", "11101", "010000", _fractions(lower_half))
three(TABLE, "mulq_s.ph", "11110", "010000", _upper_fractions(rounds=False), DSP2)
three(TABLE, "mulq_rs.ph", "11111", "010000", _upper_fractions(rounds=True))
three(TABLE, "mul.ph", "01100", "011000", _noted("mul", 2, True, False, OVERFLOW_OF_PRODUCTS), DSP2)
three(TABLE, "mul_s.ph", "01110", "011000", _noted("mul", 2, True, True, OVERFLOW_OF_PRODUCTS), DSP2)
three(TABLE, "mulq_s.w", "10110", "011000", _upper_fraction_of_words(rounds=False), DSP2)
three(TABLE, "mulq_rs.w", "10111", "011000", _upper_fraction_of_words(rounds=True), DSP2)

# ---- comparisons ----


def _compared(m: Machine, i: Instruction, condition: str, count: int, signed: bool) -> V:
    bits = BITS_OF_LANES[count]
    a, b = (m.lanes(m.gpr(number), bits, signed) for number in (i.rs, i.rt))
    return m.flag_bits(m.lane_test(condition, a, b))


def _sets_conditions(name: str, op: str, condition: str, count: int, signed: bool) -> None:
    add_row(
        TABLE, f"{name} rs, rt", "rs:5 rt:5 00000", op, "010001",
        lambda m, i: set_field(m, CONDITIONS, count, _compared(m, i, condition, count, signed)),
    )  # fmt: skip


def _sets_register(name: str, op: str, condition: str, sets_conditions: bool, module: Module) -> None:
    def meaning(m: Machine, i: Instruction) -> None:
        found = _compared(m, i, condition, 4, False)
        m.set_gpr(i.rd, found)
        if sets_conditions:
            set_field(m, CONDITIONS, 4, found)

    add_row(TABLE, f"{name} rd, rs, rt", "rs:5 rt:5 rd:5", op, "010001", meaning, module)


for _number, _condition in enumerate(("eq", "lt", "le")):
    _op = f"{_number:02b}"
    _test = "eq" if _condition == "eq" else "s" + _condition
    _sets_conditions(f"cmpu.{_condition}.qb", "000" + _op, _test, 4, False)
    _sets_conditions(f"cmp.{_condition}.ph", "010" + _op, _test, 2, True)
    _sets_register(f"cmpgu.{_condition}.qb", "001" + _op, _test, False, DSP)
    _sets_register(f"cmpgdu.{_condition}.qb", "110" + _op, _test, True, DSP2)


def _picked(count: int) -> Binary:
    def result(m: Machine, a: V, b: V) -> V:
        flags = m.flags(field(m, CONDITIONS, count), count)
        bits = BITS_OF_LANES[count]
        return m.packed(m.lane_select(flags, m.lanes(a, bits, False), m.lanes(b, bits, False)))

    return result


three(TABLE, "pick.qb", "00011", "010001", _picked(4))
three(TABLE, "pick.ph", "01011", "010001", _picked(2))

# ---- shifts ----


def _shifted_left(count: int, signed: bool, saturates: bool) -> Binary:
    def result(m: Machine, a: V, amount: V) -> V:
        lanes = m.lanes(a, BITS_OF_LANES[count], signed)
        exact = m.lane_op("shl", lanes, m.splat(amount, count))
        return noted(m, exact, count, signed, saturates, OVERFLOW_OF_SHIFTS)

    return result


def _shifted_right(count: int, signed: bool, rounds: bool) -> Binary:
    def result(m: Machine, a: V, amount: V) -> V:
        lanes, one = m.lanes(a, BITS_OF_LANES[count], signed), all_lanes(m, 1, count)
        if not rounds:
            return m.packed(m.lane_op("ashr", lanes, m.splat(amount, count)))
        twice = m.lane_op("ashr", m.lane_op("shl", lanes, one), m.splat(amount, count))
        return m.packed(m.lane_op("ashr", m.lane_op("add", twice, one), one))

    return result


def _word_shifted_left(m: Machine, a: V, amount: V) -> V:
    return saturated_word(m, m.shl64(m.extended(a, True), amount), OVERFLOW_OF_SHIFTS)


def rounded_word(m: Machine, a: V, amount: V) -> V:
    """Return the low word of a signed word that is shifted right, and rounded (up from the middle)."""
    twice = m.ashr64(m.shl64(m.extended(a, True), m.const(1)), amount)
    return m.low(m.ashr64(m.add64(twice, m.extended(m.const(1), False)), m.const(1)))


def _shift(name: str, size: str, by_constant: str, by_register: str, result: Binary, module: Module = DSP) -> None:
    """Add the rows of a shift by a constant, and by the low bits of rs."""
    bits = {"qb": 3, "ph": 4, "w": 5}[size]
    base, _, rounding = name.partition("_")
    add_row(
        TABLE, f"{name}.{size} rd, rt, amount", f"{'0' * (5 - bits)} amount:{bits} rt:5 rd:5", by_constant, "010011",
        lambda m, i: m.set_gpr(i.rd, result(m, m.gpr(i.rt), constant(m, i.amount))), module,
    )  # fmt: skip
    variable_name = base + "v" + (f"_{rounding}" if rounding else "")
    add_row(
        TABLE, f"{variable_name}.{size} rd, rt, rs", "rs:5 rt:5 rd:5", by_register, "010011",
        lambda m, i: m.set_gpr(i.rd, result(m, m.gpr(i.rt), m.and_(m.gpr(i.rs), m.const((1 << bits) - 1)))),
        module,
    )  # fmt: skip


_shift("shll", "qb", "00000", "00010", _shifted_left(4, signed=False, saturates=False))
_shift("shrl", "qb", "00001", "00011", _shifted_right(4, signed=False, rounds=False))
_shift("shra", "qb", "00100", "00110", _shifted_right(4, signed=True, rounds=False), DSP2)
_shift("shra_r", "qb", "00101", "00111", _shifted_right(4, signed=True, rounds=True), DSP2)
_shift("shll", "ph", "01000", "01010", _shifted_left(2, signed=True, saturates=False))
_shift("shll_s", "ph", "01100", "01110", _shifted_left(2, signed=True, saturates=True))
_shift("shra", "ph", "01001", "01011", _shifted_right(2, signed=True, rounds=False))
_shift("shra_r", "ph", "01101", "01111", _shifted_right(2, signed=True, rounds=True))
_shift("shrl", "ph", "11001", "11011", _shifted_right(2, signed=False, rounds=False), DSP2)
_shift("shll_s", "w", "10100", "10110", _word_shifted_left)
_shift("shra_r", "w", "10101", "10111", rounded_word)

# ---- absolute values ----


def _absolute(count: int) -> Unary:
    def result(m: Machine, a: V) -> V:
        lanes = m.lanes(a, BITS_OF_LANES[count], True)
        exact = m.lane_op("smax", lanes, m.lane_op("sub", all_lanes(m, 0, count), lanes))
        return noted(m, exact, count, True, True, OVERFLOW_OF_SUMS)

    return result


def _absolute_word(m: Machine, a: V) -> V:
    over = m.eq(a, m.const(0x80000000))
    note(m, over, OVERFLOW_OF_SUMS)
    positive = m.select(m.slt(a, m.const(0)), m.sub(m.const(0), a), a)
    return m.select(over, m.const(0x7FFFFFFF), positive)


two(TABLE, "absq_s.qb", "00001", "010010", _absolute(4), DSP2)
two(TABLE, "absq_s.ph", "01001", "010010", _absolute(2))
two(TABLE, "absq_s.w", "10001", "010010", _absolute_word)
