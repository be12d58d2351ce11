"""Rows: the DSP module's changes of precision, copies, bit fields, DSPControl, and its branch (volume IV-e)."""

from __future__ import annotations

from ..architecture import DSP, DSP2
from .dsp import (
    OVERFLOW_OF_SHIFTS,
    SCOUNT,
    Unary,
    add_row,
    all_lanes,
    any_flag,
    clamped,
    constant,
    field,
    note,
    three,
    two,
)
from .dsp_lanes import rounded_word
from .meaning import Binary, Machine, Result, V
from .row import Flow, Instruction, RowTable

TABLE = RowTable()
OVERFLOW_OF_PRECISION = OVERFLOW_OF_SHIFTS

# ---- more precision ----


def _extended_bytes(lanes: tuple[int, int], left: int) -> Unary:
    def result(m: Machine, a: V) -> V:
        wide = m.lane_order(m.lanes(a, 8, False), lanes)
        return m.packed(m.lane_op("shl", wide, all_lanes(m, left, 2)))

    return result


for _number, (_suffix, _lanes) in enumerate((("l", (2, 3)), ("r", (0, 1)), ("la", (1, 3)), ("ra", (0, 2)))):
    _op = f"1{_number:02b}"
    two(TABLE, f"precequ.ph.qb{_suffix}", "00" + _op, "010010", _extended_bytes(_lanes, 7))
    two(TABLE, f"preceu.ph.qb{_suffix}", "11" + _op, "010010", _extended_bytes(_lanes, 0))
two(TABLE, "preceq.w.phl", "01100", "010010", lambda m, a: m.and_(a, m.const(0xFFFF0000)))
two(TABLE, "preceq.w.phr", "01101", "010010", lambda m, a: m.shl(a, m.const(16)))

# ---- less precision ----


def _four_halves(m: Machine, a: V, b: V, signed: bool) -> V:
    """Return the halves of rt, then those of rs: as their bytes stand in the result."""
    return m.lanes_joined(m.lanes(b, 16, signed), m.lanes(a, 16, signed))


def _upper_bytes(m: Machine, a: V, b: V) -> V:
    return m.packed(m.lane_op("ashr", _four_halves(m, a, b, False), all_lanes(m, 8, 4)))


def _unsigned_bytes(m: Machine, a: V, b: V) -> V:
    """Fractions become bytes without a sign; what is negative, or rounds to more than a byte has, is noted."""
    halves = _four_halves(m, a, b, True)
    over = m.lane_test("ult", all_lanes(m, 0x7F80, 4), halves)
    note(m, any_flag(m, over), OVERFLOW_OF_PRECISION)
    return m.packed(clamped(m, m.lane_op("ashr", halves, all_lanes(m, 7, 4)), 4, False))


def _upper_halves(m: Machine, a: V, b: V) -> V:
    return m.or_(m.and_(a, m.const(0xFFFF0000)), m.lshr(b, m.const(16)))


def _rounded_halves(m: Machine, a: V, b: V) -> V:
    def rounded(value: V) -> V:
        over = m.slt(m.const(0x7FFF7FFF), value)
        note(m, over, OVERFLOW_OF_PRECISION)
        return m.select(over, m.const(0x7FFF0000), m.add(value, m.const(0x8000)))

    return _upper_halves(m, rounded(a), rounded(b))


three(TABLE, "precrq.qb.ph", "01100", "010001", _upper_bytes)
three(TABLE, "precr.qb.ph", "01101", "010001", lambda m, a, b: m.packed(_four_halves(m, a, b, False)), DSP2)
three(TABLE, "precrqu_s.qb.ph", "01111", "010001", _unsigned_bytes)
three(TABLE, "precrq.ph.w", "10100", "010001", _upper_halves)
three(TABLE, "precrq_rs.ph.w", "10101", "010001", _rounded_halves)
three(
    TABLE, "packrl.ph", "01110", "010001",
    lambda m, a, b: m.or_(m.shl(a, m.const(16)), m.lshr(b, m.const(16))),
)  # fmt: skip


def _of_rt(name: str, fields: str, op: str, funct: str, result: Result) -> None:
    """Add a row that makes rt of rt, rs and a constant in place of rd."""
    add_row(
        TABLE, f"{name} rt, rs, number", fields, op, funct, lambda m, i: m.set_gpr(i.rt, result(m, i)), DSP2
    )  # fmt: skip


def _two_halves(shifted: Binary) -> Result:
    def result(m: Machine, i: Instruction) -> V:
        high, low = (shifted(m, m.gpr(number), constant(m, i.msb)) for number in (i.rt, i.rs))
        return m.or_(m.shl(high, m.const(16)), m.and_(low, m.const(0xFFFF)))

    return result


_of_rt("precr_sra.ph.w", "rs:5 rt:5 sa:5", "11110", "010001", _two_halves(lambda m, a, amount: m.ashr(a, amount)))
_of_rt("precr_sra_r.ph.w", "rs:5 rt:5 sa:5", "11111", "010001", _two_halves(rounded_word))

# ---- copies, and fields of bits ----


def _copies(name: str, op: str, number: str, count: int) -> None:
    add_row(
        TABLE, f"{name} rd, {number}", f"{'00 byte:8' if count == 4 else 'half:10'} rd:5", op, "010010",
        lambda m, i: m.set_gpr(i.rd, m.packed(m.splat(constant(m, i.half), count))),
    )  # fmt: skip


_copies("repl.qb", "00010", "byte", 4)
_copies("repl.ph", "01010", "half", 2)
two(TABLE, "replv.qb", "00011", "010010", lambda m, a: m.packed(m.splat(a, 4)))
two(TABLE, "replv.ph", "01011", "010010", lambda m, a: m.packed(m.splat(a, 2)))
two(TABLE, "bitrev", "11011", "010010", lambda m, a: m.lshr(m.reverse_bits(a), m.const(16)))


def _append(m: Machine, i: Instruction) -> V:
    """Shift the low bits of rs into rt from the right."""
    count = constant(m, i.msb)
    low = m.shl(m.gpr(i.rs), m.const((32 - i.msb) & 31))
    return m.upper(m.shl64(m.pack(m.gpr(i.rt), low), count))


def _prepend(m: Machine, i: Instruction) -> V:
    """Shift the low bits of rs into rt from the left."""
    return m.low(m.lshr64(m.pack(m.gpr(i.rs), m.gpr(i.rt)), constant(m, i.msb)))


def _align(m: Machine, i: Instruction) -> V:
    """Shift the upper bytes of rs into rt; 0 and 2 bytes are unpredictable (manual)."""
    return m.upper(m.shl64(m.pack(m.gpr(i.rt), m.gpr(i.rs)), constant(m, i.msb << 3)))


_of_rt("append", "rs:5 rt:5 sa:5", "00000", "110001", _append)
_of_rt("prepend", "rs:5 rt:5 sa:5", "00001", "110001", _prepend)
_of_rt("balign", "rs:5 rt:5 000 bp:2", "10000", "110001", _align)


def _insert_variable(m: Machine, i: Instruction) -> None:
    """Insert bits at DSPControl's pos, as many as its scount; beyond bit 31 is unpredictable (manual): nothing then."""
    first, count = field(m, 0, 5), field(m, SCOUNT, 6)
    ones = m.low(m.sub64(m.shl64(m.extended(m.const(1), False), count), m.extended(m.const(1), False)))
    fits = m.ult(m.add(first, count), m.const(33))
    mask = m.select(fits, m.shl(ones, first), m.const(0))
    kept = m.and_(m.gpr(i.rt), m.xor(mask, m.const(0xFFFFFFFF)))
    m.set_gpr(i.rt, m.or_(kept, m.and_(m.shl(m.gpr(i.rs), first), mask)))


add_row(TABLE, "insv rt, rs", "rs:5 rt:5 00000", "00000", "001100", _insert_variable)

# ---- DSPControl ----

_CONTROL_FIELDS = (0x0000003F, 0x00001F80, 0x00002000, 0x00FF0000, 0x0F000000, 0x00004000)
"""What each bit of a mask stands for: pos, scount, carry, ouflag, ccond, EFI (manual, rddsp).

A mask has four more bits, which gas sets where none is written; they stand for nothing.
"""


def _control_mask(m: Machine, mask: V) -> V:
    result = m.const(0)
    for number, bits in enumerate(_CONTROL_FIELDS):
        chosen = m.sub(m.const(0), m.and_(m.lshr(mask, m.const(number)) if number else mask, m.const(1)))
        result = m.or_(result, m.and_(chosen, m.const(bits)))
    return result


def _write_control(m: Machine, i: Instruction) -> None:
    value, mask = m.gpr(i.rs), _control_mask(m, constant(m, i.writes))
    kept = m.and_(m.dsp_control(), m.nor(mask, m.const(0)))
    m.set_dsp_control(m.or_(m.and_(value, mask), kept))


add_row(
    TABLE, "rddsp rd, reads", "reads:10 rd:5", "10010", "111000",
    lambda m, i: m.set_gpr(i.rd, m.and_(m.dsp_control(), _control_mask(m, constant(m, i.reads)))),
)  # fmt: skip
add_row(TABLE, "wrdsp rs, writes", "rs:5 writes:10", "10011", "111000", _write_control)
TABLE.add(
    "bposge32 offset", "000001 00000 11100 offset:16", flow=Flow.BRANCH,
    condition=lambda m, i: m.invert(m.slt(field(m, 0, 6), m.const(32))), module=DSP,
)  # fmt: skip
