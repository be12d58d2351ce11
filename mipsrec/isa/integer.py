"""Rows: integer arithmetic, shifts, multiply and divide, bit fields, moves, traps (MIPS32 manual, volume II-A)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ..architecture import DSP, MIPS1, MIPS2, MIPS32, MIPS32R2, Module
from .meaning import Binary, Condition, Machine, Result, V
from .row import Flow, Instruction, RowTable

TABLE = RowTable()
_row = TABLE.add


def _sets(assembly: str, pattern: str, result: Result, module: Module = MIPS1) -> None:
    """Add a row that sets rd."""
    _row(assembly, pattern, lambda m, i: m.set_gpr(i.rd, result(m, i)), module=module)


def _three(name: str, funct: str, operation: Binary) -> None:
    _row(
        f"{name} rd, rs, rt",
        f"000000 rs:5 rt:5 rd:5 00000 {funct}",
        lambda m, i: m.set_gpr(i.rd, operation(m, m.gpr(i.rs), m.gpr(i.rt))),
    )


_three("addu", "100001", lambda m, a, b: m.add(a, b))
_three("subu", "100011", lambda m, a, b: m.sub(a, b))
_three("and", "100100", lambda m, a, b: m.and_(a, b))
_three("or", "100101", lambda m, a, b: m.or_(a, b))
_three("xor", "100110", lambda m, a, b: m.xor(a, b))
_three("nor", "100111", lambda m, a, b: m.nor(a, b))
_three("slt", "101010", lambda m, a, b: m.zext1(m.slt(a, b)))
_three("sltu", "101011", lambda m, a, b: m.zext1(m.ult(a, b)))


def _add_trapping(m: Machine, i: Instruction, b: V) -> V:
    a = m.gpr(i.rs)
    m.trap_if(m.add_overflows(a, b), "overflow")
    return m.add(a, b)


def _sub_trapping(m: Machine, i: Instruction) -> None:
    a, b = m.gpr(i.rs), m.gpr(i.rt)
    m.trap_if(m.sub_overflows(a, b), "overflow")
    m.set_gpr(i.rd, m.sub(a, b))


_sets("add rd, rs, rt", "000000 rs:5 rt:5 rd:5 00000 100000", lambda m, i: _add_trapping(m, i, m.gpr(i.rt)))
_row("sub rd, rs, rt", "000000 rs:5 rt:5 rd:5 00000 100010", _sub_trapping)
_row("addi rt, rs, simm", "001000 rs:5 rt:5 imm:16", lambda m, i: m.set_gpr(i.rt, _add_trapping(m, i, m.const(i.imm))))


def _immediate(name: str, opcode: str, operation: Binary, kind: str) -> None:
    signed = kind == "simm"
    _row(
        f"{name} rt, rs, {kind}",
        f"{opcode} rs:5 rt:5 imm:16",
        lambda m, i: m.set_gpr(i.rt, operation(m, m.gpr(i.rs), m.const(i.imm if signed else i.uimm))),
    )


_immediate("addiu", "001001", lambda m, a, b: m.add(a, b), "simm")
_immediate("slti", "001010", lambda m, a, b: m.zext1(m.slt(a, b)), "simm")
_immediate("sltiu", "001011", lambda m, a, b: m.zext1(m.ult(a, b)), "simm")
_immediate("andi", "001100", lambda m, a, b: m.and_(a, b), "uimm")
_immediate("ori", "001101", lambda m, a, b: m.or_(a, b), "uimm")
_immediate("xori", "001110", lambda m, a, b: m.xor(a, b), "uimm")
_row("lui rt, uimm", "001111 00000 rt:5 imm:16", lambda m, i: m.set_gpr(i.rt, m.const(i.uimm << 16)))


def _shift(name: str, lead: str, funct: str, operation: Binary, module: Module = MIPS1) -> None:
    _row(
        f"{name} rd, rt, sa",
        f"000000 {lead} rt:5 rd:5 sa:5 {funct}",
        lambda m, i: m.set_gpr(i.rd, operation(m, m.gpr(i.rt), m.const(i.sa))),
        module=module,
    )


def _shift_variable(name: str, tail: str, funct: str, operation: Binary, module: Module = MIPS1) -> None:
    _row(
        f"{name} rd, rt, rs",
        f"000000 rs:5 rt:5 rd:5 {tail} {funct}",
        lambda m, i: m.set_gpr(i.rd, operation(m, m.gpr(i.rt), m.gpr(i.rs))),
        module=module,
    )


_shift("sll", "00000", "000000", lambda m, a, n: m.shl(a, n))
_shift("srl", "00000", "000010", lambda m, a, n: m.lshr(a, n))
_shift("rotr", "00001", "000010", lambda m, a, n: m.rotr(a, n), MIPS32R2)
_shift("sra", "00000", "000011", lambda m, a, n: m.ashr(a, n))
_shift_variable("sllv", "00000", "000100", lambda m, a, n: m.shl(a, n))
_shift_variable("srlv", "00000", "000110", lambda m, a, n: m.lshr(a, n))
_shift_variable("rotrv", "00001", "000110", lambda m, a, n: m.rotr(a, n), MIPS32R2)
_shift_variable("srav", "00000", "000111", lambda m, a, n: m.ashr(a, n))


def _moves(assembly: str, tail: str, condition: Condition, when: bool = True) -> None:
    """Add a row that sets rd to rs where a condition is as `when` says."""

    def choose(m: Machine, i: Instruction) -> V:
        yes, no = (i.rs, i.rd) if when else (i.rd, i.rs)
        return m.select(condition(m, i), m.gpr(yes), m.gpr(no))

    _sets(assembly, f"000000 rs:5 {tail}", choose, MIPS32)


_moves("movz rd, rs, rt", "rt:5 rd:5 00000 001010", lambda m, i: m.eq(m.gpr(i.rt), m.const(0)))
_moves("movn rd, rs, rt", "rt:5 rd:5 00000 001011", lambda m, i: m.ne(m.gpr(i.rt), m.const(0)))
_moves("movf rd, rs, cc", "cc:3 00 rd:5 00000 000001", lambda m, i: m.fcc(i.cc), when=False)
_moves("movt rd, rs, cc", "cc:3 01 rd:5 00000 000001", lambda m, i: m.fcc(i.cc))



_OfAccumulator = Callable[[int, Machine, Instruction], None]


def _of_accumulators(assembly: str, before: str, after: str, meaning: _OfAccumulator, module: Module = MIPS1) -> None:
    """Add the row of HI and LO, and those of the DSP module's other accumulators, which two bits name."""
    name, _, operands = assembly.partition(" ")
    _row(f"{name} {operands}", f"{before}00{after}", partial(meaning, 0), module=module)
    for number in (1, 2, 3):
        names = f"{operands}, ac{number}" if name[:2] in ("mf", "mt") else f"ac{number}, {operands}"
        _row(f"{name} {names}", f"{before}{number:02b}{after}", partial(meaning, number), module=DSP)


_of_accumulators(
    "mfhi rd", "000000 000", " 00000 rd:5 00000 010000", lambda n, m, i: m.set_gpr(i.rd, m.upper(m.hilo(n)))
)
_of_accumulators("mflo rd", "000000 000", " 00000 rd:5 00000 010010", lambda n, m, i: m.set_gpr(i.rd, m.low(m.hilo(n))))
_of_accumulators(
    "mthi rs", "000000 rs:5 00000 000", " 00000 010001",
    lambda n, m, i: m.set_hilo(n, m.pack(m.gpr(i.rs), m.low(m.hilo(n)))),
)  # fmt: skip
_of_accumulators(
    "mtlo rs", "000000 rs:5 00000 000", " 00000 010011",
    lambda n, m, i: m.set_hilo(n, m.pack(m.upper(m.hilo(n)), m.gpr(i.rs))),
)  # fmt: skip


def _multiply(name: str, opcode: str, funct: str, operation: Callable[[Machine, int, V, V], V], module: Module) -> None:
    _of_accumulators(
        f"{name} rs, rt", f"{opcode} rs:5 rt:5 000", f" 00000 {funct}",
        lambda n, m, i: m.set_hilo(n, operation(m, n, m.gpr(i.rs), m.gpr(i.rt))), module,
    )  # fmt: skip


def _divide(name: str, funct: str, signed: bool) -> None:
    _row(
        f"{name} rs, rt",
        f"000000 rs:5 rt:5 00000 00000 {funct}",
        lambda m, i: m.set_hilo(0, m.divide(m.gpr(i.rs), m.gpr(i.rt), signed)),
    )


_multiply("mult", "000000", "011000", lambda m, n, a, b: m.product(a, b, True), MIPS1)
_multiply("multu", "000000", "011001", lambda m, n, a, b: m.product(a, b, False), MIPS1)
_divide("div", "011010", True)
_divide("divu", "011011", False)
_multiply("madd", "011100", "000000", lambda m, n, a, b: m.add64(m.hilo(n), m.product(a, b, True)), MIPS32)
_multiply("maddu", "011100", "000001", lambda m, n, a, b: m.add64(m.hilo(n), m.product(a, b, False)), MIPS32)
_multiply("msub", "011100", "000100", lambda m, n, a, b: m.sub64(m.hilo(n), m.product(a, b, True)), MIPS32)
_multiply("msubu", "011100", "000101", lambda m, n, a, b: m.sub64(m.hilo(n), m.product(a, b, False)), MIPS32)

# HI and LO are unpredictable after mul (manual); they keep their value here, as on most implementations.
_sets("mul rd, rs, rt", "011100 rs:5 rt:5 rd:5 00000 000010", lambda m, i: m.mul(m.gpr(i.rs), m.gpr(i.rt)), MIPS32)
# The manual asks for rt = rd in clz and clo; implementations read rd alone.
_sets("clz rd, rs", "011100 rs:5 rt:5 rd:5 00000 100000", lambda m, i: m.count_leading_zeros(m.gpr(i.rs)), MIPS32)
_sets(
    "clo rd, rs",
    "011100 rs:5 rt:5 rd:5 00000 100001",
    lambda m, i: m.count_leading_zeros(m.nor(m.gpr(i.rs), m.const(0))),
    MIPS32,
)


def _extract(m: Machine, i: Instruction) -> None:
    size = i.msb + 1
    value = m.lshr(m.gpr(i.rs), m.const(i.lsb))
    m.set_gpr(i.rt, value if size >= 32 else m.and_(value, m.const((1 << size) - 1)))


def _insert(m: Machine, i: Instruction) -> None:
    field = (2 << i.msb) - (1 << i.lsb)  # bits lsb to msb; decode() rejects msb < lsb
    kept = m.and_(m.gpr(i.rt), m.const(~field & 0xFFFFFFFF))
    m.set_gpr(i.rt, m.or_(kept, m.and_(m.shl(m.gpr(i.rs), m.const(i.lsb)), m.const(field & 0xFFFFFFFF))))


_row("ext rt, rs, lsb, size", "011111 rs:5 rt:5 msb:5 lsb:5 000000", _extract, module=MIPS32R2)
_row("ins rt, rs, lsb, width", "011111 rs:5 rt:5 msb:5 lsb:5 000100", _insert, module=MIPS32R2)
_sets(
    "wsbh rd, rt",
    "011111 00000 rt:5 rd:5 00010 100000",
    lambda m, i: m.rotr(m.swap_bytes(m.gpr(i.rt)), m.const(16)),
    MIPS32R2,
)
_sets("seb rd, rt", "011111 00000 rt:5 rd:5 10000 100000", lambda m, i: m.sign_extend(m.gpr(i.rt), 8), MIPS32R2)
_sets("seh rd, rt", "011111 00000 rt:5 rd:5 11000 100000", lambda m, i: m.sign_extend(m.gpr(i.rt), 16), MIPS32R2)
_row(
    "rdhwr rt, hwr",
    "011111 00000 rt:5 rd:5 00000 111011",
    lambda m, i: m.set_gpr(i.rt, m.tls() if i.msb == 29 else m.read_hardware(i.msb)),
    module=MIPS32R2,
)

_CONDITIONS: tuple[tuple[str, str, str, Binary], ...] = (
    ("tge", "110000", "01000", lambda m, a, b: m.invert(m.slt(a, b))),
    ("tgeu", "110001", "01001", lambda m, a, b: m.invert(m.ult(a, b))),
    ("tlt", "110010", "01010", lambda m, a, b: m.slt(a, b)),
    ("tltu", "110011", "01011", lambda m, a, b: m.ult(a, b)),
    ("teq", "110100", "01100", lambda m, a, b: m.eq(a, b)),
    ("tne", "110110", "01110", lambda m, a, b: m.ne(a, b)),
)


def _traps(name: str, funct: str, code: str, test: Binary) -> None:
    _row(
        f"{name} rs, rt",
        f"000000 rs:5 rt:5 code:10 {funct}",
        lambda m, i: m.trap_if(test(m, m.gpr(i.rs), m.gpr(i.rt)), "trap"),
        module=MIPS2,
    )
    immediate = name[:3] + "i" + name[3:]
    _row(
        f"{immediate} rs, simm",
        f"000001 rs:5 {code} imm:16",
        lambda m, i: m.trap_if(test(m, m.gpr(i.rs), m.const(i.imm)), "trap"),
        module=MIPS2,
    )


for _condition in _CONDITIONS:
    _traps(*_condition)

_row("break code", "000000 code:20 001101", lambda m, i: m.raise_always("break"), flow=Flow.STOP)
