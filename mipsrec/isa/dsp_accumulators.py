"""Rows: the DSP module's four accumulators of 64 bits, of which HI and LO are the first (volume IV-e)."""

from __future__ import annotations

import re
from collections.abc import Callable

from ..architecture import DSP, DSP2, Module
from .dsp import (
    EFI,
    OVERFLOW_OF_EXTRACTION,
    SQUARE_OF_MINUS_ONE,
    Unary,
    add_row,
    constant,
    exceeds_word,
    field,
    fraction_product,
    lane_products,
    lower_half,
    near_word,
    note,
    saturated_word,
    set_field,
    upper_half,
)
from .meaning import Binary, Machine, V
from .row import Instruction, RowTable

TABLE = RowTable()


Term = Callable[[Machine, Instruction], V]
"""A number of 64 bits that is added to an accumulator, or taken from it."""


def _adds(name: str, op: str, term: Term, module: Module = DSP) -> None:
    """Add a row that adds a term of rs and rt to an accumulator, or takes it away: `dps` and `dpsq`, by their names."""
    takes = name.startswith("dps")

    def meaning(m: Machine, i: Instruction) -> None:
        operation = m.sub64 if takes else m.add64
        m.set_hilo(i.ac, operation(m.hilo(i.ac), term(m, i)))

    add_row(TABLE, f"{name} ac, rs, rt", "rs:5 rt:5 000 ac:2", op, "110000", meaning, module)


def _both(m: Machine, lanes: V, signed: bool, subtracts: bool) -> V:
    """Return the sum of two lanes, or the upper one less the lower, as a number of 64 bits."""
    low, high = (m.extended(m.lane(lanes, number), signed) for number in (0, 1))
    return m.sub64(high, low) if subtracts else m.add64(high, low)


def _products(crossed: bool, subtracts: bool = False) -> Term:
    def result(m: Machine, i: Instruction) -> V:
        b = m.lanes(m.gpr(i.rt), 16, True)
        product = m.lane_op("mul", m.lanes(m.gpr(i.rs), 16, True), m.lane_order(b, (1, 0)) if crossed else b)
        return _both(m, product, True, subtracts)

    return result


def _byte_products(lanes: tuple[int, int]) -> Term:
    def result(m: Machine, i: Instruction) -> V:
        a, b = (m.lane_order(m.lanes(m.gpr(number), 8, False), lanes) for number in (i.rs, i.rt))
        return _both(m, m.lane_op("mul", a, b), False, False)

    return result


def _fractions(crossed: bool, subtracts: bool = False) -> Term:
    def result(m: Machine, i: Instruction) -> V:
        b = m.lanes(m.gpr(i.rt), 16, True)
        a = m.lanes(m.gpr(i.rs), 16, True)
        product, over, any_over = lane_products(m, a, m.lane_order(b, (1, 0)) if crossed else b)
        note(m, any_over, i.overflow)
        greatest = m.splat(m.const(0x7FFFFFFF), 2)
        return _both(m, m.lane_select(over, greatest, product), True, subtracts)

    return result


_adds("dpa.w.ph", "00000", _products(crossed=False), DSP2)
_adds("dps.w.ph", "00001", _products(crossed=False), DSP2)
_adds("dpax.w.ph", "01000", _products(crossed=True), DSP2)
_adds("dpsx.w.ph", "01001", _products(crossed=True), DSP2)
_adds("mulsa.w.ph", "00010", _products(crossed=False, subtracts=True), DSP2)
_adds("dpau.h.qbl", "00011", _byte_products((2, 3)))
_adds("dpau.h.qbr", "00111", _byte_products((0, 1)))
_adds("dpsu.h.qbl", "01011", _byte_products((2, 3)))
_adds("dpsu.h.qbr", "01111", _byte_products((0, 1)))
_adds("dpaq_s.w.ph", "00100", _fractions(crossed=False))
_adds("dpsq_s.w.ph", "00101", _fractions(crossed=False))
_adds("dpaqx_s.w.ph", "11000", _fractions(crossed=True), DSP2)
_adds("dpsqx_s.w.ph", "11001", _fractions(crossed=True), DSP2)
_adds("mulsaq_s.w.ph", "00110", _fractions(crossed=False, subtracts=True))

# ---- saturated sums ----


def _half_product(half: Unary) -> Term:
    def result(m: Machine, i: Instruction) -> V:
        a, b = (half(m, m.gpr(number)) for number in (i.rs, i.rt))
        return m.extended(fraction_product(m, a, b, i.overflow), True)

    return result


def _saturated_sum(term: Term) -> Term:
    """Of an accumulator and a term: bit 32 of the sum is its sign (manual, sat32AccumulateQ31)."""

    def result(m: Machine, i: Instruction) -> V:
        exact = m.add64(term(m, i), m.hilo(i.ac))
        sign = m.sub(m.const(0), m.and_(m.upper(exact), m.const(1)))
        over = m.ne(sign, m.ashr(m.low(exact), m.const(31)))
        note(m, over, i.overflow)
        return m.extended(m.select(over, m.xor(sign, m.const(0x7FFFFFFF)), m.low(exact)), True)

    return result


def _replaces(name: str, op: str, value: Term, module: Module = DSP) -> None:
    add_row(
        TABLE, f"{name} ac, rs, rt", "rs:5 rt:5 000 ac:2", op, "110000",
        lambda m, i: m.set_hilo(i.ac, value(m, i)), module,
    )  # fmt: skip


def _near_word(term: Term, takes: bool) -> Term:
    """Of an accumulator and a term: the nearest word."""

    def result(m: Machine, i: Instruction) -> V:
        found = term(m, i)
        exact = (m.sub64 if takes else m.add64)(m.hilo(i.ac), found)
        return m.extended(saturated_word(m, exact, i.overflow), True)

    return result


def _saturated_words(takes: bool) -> Term:
    """Of an accumulator and a product of two fractions of 32 bits: both saturated, of 64 bits."""

    def result(m: Machine, i: Instruction) -> V:
        product = m.product(m.gpr(i.rs), m.gpr(i.rt), True)
        over = m.eq(m.upper(product), m.const(SQUARE_OF_MINUS_ONE))
        greatest = m.pack(m.const(0x7FFFFFFF), m.const(0xFFFFFFFF))
        term = m.select64(over, greatest, m.shl64(product, m.const(1)))
        old = m.hilo(i.ac)
        exact = (m.sub64 if takes else m.add64)(old, term)
        differs = m.xor(m.upper(old), m.upper(exact))
        other = m.xor(m.upper(old), m.upper(term)) if takes else m.xor(m.upper(term), m.upper(exact))
        beyond = m.slt(m.and_(differs, other), m.const(0))
        note(m, over, i.overflow)
        note(m, beyond, i.overflow)
        sign = m.ashr(m.upper(old), m.const(31))
        bound = m.pack(m.xor(sign, m.const(0x7FFFFFFF)), m.xor(sign, m.const(0xFFFFFFFF)))
        return m.select64(beyond, bound, exact)

    return result


_adds("maq_s.w.phl", "10100", _half_product(upper_half))
_adds("maq_s.w.phr", "10110", _half_product(lower_half))
_replaces("maq_sa.w.phl", "10000", _saturated_sum(_half_product(upper_half)))
_replaces("maq_sa.w.phr", "10010", _saturated_sum(_half_product(lower_half)))
_replaces("dpaqx_sa.w.ph", "11010", _near_word(_fractions(crossed=True), takes=False), DSP2)
_replaces("dpsqx_sa.w.ph", "11011", _near_word(_fractions(crossed=True), takes=True), DSP2)
_replaces("dpaq_sa.l.w", "01100", _saturated_words(takes=False))
_replaces("dpsq_sa.l.w", "01101", _saturated_words(takes=True))

# ---- extraction, and shifts ----


def _extracted(rounds: bool, saturates: bool) -> Binary:
    """Of an accumulator that is shifted right. What does not fit is noted for the number and for the rounded one,
    whatever becomes of it (manual, extr.w)."""

    def result(m: Machine, value: V, amount: V) -> V:
        exact = m.ashr64(value, amount)
        half = m.and_(m.low(m.lshr64(m.shl64(value, m.const(1)), amount)), m.const(1))
        rounded = m.add64(exact, m.extended(half, False))
        for number in (exact, rounded):
            note(m, exceeds_word(m, number), OVERFLOW_OF_EXTRACTION)
        return near_word(m, rounded) if saturates else m.low(rounded if rounds else exact)

    return result


def _extracted_half(m: Machine, value: V, amount: V) -> V:
    word = near_word(m, m.ashr64(value, amount))
    near = m.select(m.slt(word, m.const(-0x8000)), m.const(-0x8000), word)
    near = m.select(m.slt(m.const(0x7FFF), near), m.const(0x7FFF), near)
    note(m, m.ne(near, word), OVERFLOW_OF_EXTRACTION)  # a word that is a bound is no half either
    return near


def _extracts(name: str, by_constant: str, by_register: str, result: Binary) -> None:
    """Add the rows with a constant, and with the low bits of rs: `extr_r.w` and `extrv_r.w`."""
    variable = re.sub("^(extr|extpdp|extp)", r"\1v", name)
    add_row(
        TABLE, f"{name} rt, ac, amount", "amount:5 rt:5 000 ac:2", by_constant, "111000",
        lambda m, i: m.set_gpr(i.rt, result(m, m.hilo(i.ac), constant(m, i.amount))),
    )  # fmt: skip
    add_row(
        TABLE, f"{variable} rt, ac, rs", "rs:5 rt:5 000 ac:2", by_register, "111000",
        lambda m, i: m.set_gpr(i.rt, result(m, m.hilo(i.ac), m.and_(m.gpr(i.rs), m.const(31)))),
    )  # fmt: skip


def _bits_at_pos(advances: bool) -> Binary:
    """Of an accumulator: bits from DSPControl's pos down; EFI says that there are too few, and the result is 0 then
    (manual: unpredictable)."""

    def result(m: Machine, value: V, size: V) -> V:
        first = m.sub(field(m, 0, 6), size)
        fails = m.slt(first, m.const(0))
        bits = m.and_(m.low(m.lshr64(value, first)), m.lshr(m.const(0xFFFFFFFF), m.sub(m.const(31), size)))
        set_field(m, EFI, 1, m.zext1(fails))
        if advances:
            behind = m.and_(m.sub(first, m.const(1)), m.const(63))
            set_field(m, 0, 6, m.select(fails, field(m, 0, 6), behind))
        return m.select(fails, m.const(0), bits)

    return result


_extracts("extr.w", "00000", "00001", _extracted(rounds=False, saturates=False))
_extracts("extr_r.w", "00100", "00101", _extracted(rounds=True, saturates=False))
_extracts("extr_rs.w", "00110", "00111", _extracted(rounds=True, saturates=True))
_extracts("extr_s.h", "01110", "01111", _extracted_half)
_extracts("extp", "00010", "00011", _bits_at_pos(advances=False))
_extracts("extpdp", "01010", "01011", _bits_at_pos(advances=True))


def _shift(m: Machine, i: Instruction, amount: V) -> None:
    """Shift an accumulator right, or left by a negative amount."""
    value = m.hilo(i.ac)
    left, right = m.shl64(value, m.sub(m.const(0), amount)), m.lshr64(value, amount)
    m.set_hilo(i.ac, m.select64(m.slt(amount, m.const(0)), left, right))


def _shift_variable(m: Machine, i: Instruction) -> None:
    _shift(m, i, m.ashr(m.shl(m.gpr(i.rs), m.const(26)), m.const(26)))


def _move_low_up(m: Machine, i: Instruction) -> None:
    """Move LO to HI and rs to LO; where pos is over 32 it stays (manual: unpredictable)."""
    m.set_hilo(i.ac, m.pack(m.low(m.hilo(i.ac)), m.gpr(i.rs)))
    pos = field(m, 0, 6)
    more = m.and_(m.add(pos, m.const(32)), m.const(63))
    set_field(m, 0, 6, m.select(m.ult(m.const(32), pos), pos, more))


add_row(
    TABLE, "shilo ac, shift", "shift:6 0000 000 ac:2", "11010", "111000",
    lambda m, i: _shift(m, i, constant(m, i.shift)),
)  # fmt: skip
add_row(TABLE, "shilov ac, rs", "rs:5 00000 000 ac:2", "11011", "111000", _shift_variable)
add_row(TABLE, "mthlip rs, ac", "rs:5 00000 000 ac:2", "11111", "111000", _move_low_up)
