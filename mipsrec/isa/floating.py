"""Rows: the floating-point unit, formats s, d, w and l (MIPS32 manual, volume II-A). No paired single."""

from __future__ import annotations

from ..architecture import MIPS1, MIPS2, MIPS32, MIPS32R2, Module
from .meaning import Condition, Machine, V
from .row import Instruction, RowTable

TABLE = RowTable()
_row = TABLE.add

_FORMAT = {"s": "10000", "d": "10001", "w": "10100", "l": "10101"}
_CONDITION_NAMES = "f un eq ueq olt ult ole ule sf ngle seq ngl lt nge le ngt".split()


def _read(m: Machine, fmt: str, number: int) -> V:
    if fmt == "s":
        return m.single(number)
    if fmt == "d":
        return m.double(number)
    return m.word(number) if fmt == "w" else m.long(number)


def _write(m: Machine, fmt: str, number: int, value: V) -> None:
    if fmt == "s":
        m.set_single(number, value)
    elif fmt == "d":
        m.set_double(number, value)
    elif fmt == "w":
        m.set_word(number, value)
    else:
        m.set_long(number, value)


def _binary(name: str, fmt: str, funct: str) -> None:
    _row(
        f"{name}.{fmt} fd, fs, ft",
        f"010001 {_FORMAT[fmt]} ft:5 fs:5 fd:5 {funct}",
        lambda m, i: _write(m, fmt, i.fd, m.float_op(name, fmt, _read(m, fmt, i.fs), _read(m, fmt, i.ft))),
    )


def _unary(name: str, fmt: str, funct: str, module: Module) -> None:
    _row(
        f"{name}.{fmt} fd, fs",
        f"010001 {_FORMAT[fmt]} 00000 fs:5 fd:5 {funct}",
        lambda m, i: _write(m, fmt, i.fd, m.float_op(name, fmt, _read(m, fmt, i.fs))),
        module=module,
    )


def _move(fmt: str) -> None:
    _row(
        f"mov.{fmt} fd, fs",
        f"010001 {_FORMAT[fmt]} 00000 fs:5 fd:5 000110",
        lambda m, i: _write(m, fmt, i.fd, _read(m, fmt, i.fs)),
    )


def _conditional_moves(fmt: str) -> None:
    def choose(m: Machine, i: Instruction, flag: V) -> None:
        pick = m.select_single if fmt == "s" else m.select_double
        _write(m, fmt, i.fd, pick(flag, _read(m, fmt, i.fs), _read(m, fmt, i.fd)))

    def move(name: str, operand: str, tail: str, flag: Condition) -> None:
        assembly, pattern = f"{name}.{fmt} fd, fs, {operand}", f"010001 {_FORMAT[fmt]} {tail}"
        _row(assembly, pattern, lambda m, i: choose(m, i, flag(m, i)), module=MIPS32)

    move("movf", "cc", "cc:3 00 fs:5 fd:5 010001", lambda m, i: m.invert(m.fcc(i.cc)))
    move("movt", "cc", "cc:3 01 fs:5 fd:5 010001", lambda m, i: m.fcc(i.cc))
    move("movz", "rt", "rt:5 fs:5 fd:5 010010", lambda m, i: m.eq(m.gpr(i.rt), m.const(0)))
    move("movn", "rt", "rt:5 fs:5 fd:5 010011", lambda m, i: m.ne(m.gpr(i.rt), m.const(0)))


def _round(mode: str, to: str, fmt: str, funct: str, module: Module) -> None:
    _row(
        f"{mode}.{to}.{fmt} fd, fs",
        f"010001 {_FORMAT[fmt]} 00000 fs:5 fd:5 {funct}",
        lambda m, i: _write(m, to, i.fd, m.float_round(to, fmt, mode, _read(m, fmt, i.fs))),
        module=module,
    )


def _convert(to: str, source: str, funct: str, module: Module = MIPS1) -> None:
    _row(
        f"cvt.{to}.{source} fd, fs",
        f"010001 {_FORMAT[source]} 00000 fs:5 fd:5 {funct}",
        lambda m, i: _write(m, to, i.fd, m.float_convert(to, source, _read(m, source, i.fs))),
        module=module,
    )


def _compare(number: int, fmt: str) -> None:
    _row(
        f"c.{_CONDITION_NAMES[number]}.{fmt} fcc, fs, ft",
        f"010001 {_FORMAT[fmt]} ft:5 fs:5 fcc:3 00 11 {number:04b}",
        lambda m, i: m.set_fcc(i.fcc, m.float_compare(number, fmt, _read(m, fmt, i.fs), _read(m, fmt, i.ft))),
    )


def _multiply_add(name: str, fmt: str, funct: str) -> None:
    # MIPS32r2: the product is rounded before the sum (volume I-A, "madd.fmt": not fused).
    def meaning(m: Machine, i: Instruction) -> None:
        operands = (_read(m, fmt, number) for number in (i.fs, i.ft, i.fr))
        _write(m, fmt, i.fd, m.float_multiply_add(name, fmt, *operands))

    _row(f"{name}.{fmt} fd, fr, fs, ft", f"010011 fr:5 ft:5 fs:5 fd:5 {funct}", meaning, module=MIPS32R2)


for _fmt in "sd":
    for _name, _funct in (("add", "000000"), ("sub", "000001"), ("mul", "000010"), ("div", "000011")):
        _binary(_name, _fmt, _funct)
    for _name, _funct, _module in (
        ("sqrt", "000100", MIPS2),
        ("abs", "000101", MIPS1),
        ("neg", "000111", MIPS1),
        ("recip", "010101", MIPS32R2),
        ("rsqrt", "010110", MIPS32R2),
    ):
        _unary(_name, _fmt, _funct, _module)
    _move(_fmt)
    _conditional_moves(_fmt)
    for _index, _mode in enumerate(("round", "trunc", "ceil", "floor")):
        _round(_mode, "l", _fmt, f"0010{_index:02b}", MIPS32R2)
        _round(_mode, "w", _fmt, f"0011{_index:02b}", MIPS2)
    for _number in range(16):
        _compare(_number, _fmt)
    _convert("w", _fmt, "100100")
    _convert("l", _fmt, "100101", MIPS32R2)
    _tail = {"s": "000", "d": "001"}[_fmt]
    for _name, _lead in (("madd", "100"), ("msub", "101"), ("nmadd", "110"), ("nmsub", "111")):
        _multiply_add(_name, _fmt, _lead + _tail)

_convert("d", "s", "100001")
_convert("s", "d", "100000")
_convert("s", "w", "100000")
_convert("d", "w", "100001")
_convert("s", "l", "100000", MIPS32R2)
_convert("d", "l", "100001", MIPS32R2)

_row("mfc1 rt, fs", "010001 00000 rt:5 fs:5 00000 000000", lambda m, i: m.set_gpr(i.rt, m.word(i.fs)))
_row("mtc1 rt, fs", "010001 00100 rt:5 fs:5 00000 000000", lambda m, i: m.set_word(i.fs, m.gpr(i.rt)))
_row("mfhc1 rt, fs", "010001 00011 rt:5 fs:5 00000 000000", lambda m, i: m.set_gpr(i.rt, m.high(i.fs)), module=MIPS32R2)
_row("mthc1 rt, fs", "010001 00111 rt:5 fs:5 00000 000000", lambda m, i: m.set_high(i.fs, m.gpr(i.rt)), module=MIPS32R2)
_row("cfc1 rt, fcr", "010001 00010 rt:5 fs:5 00000 000000", lambda m, i: m.set_gpr(i.rt, m.read_control(i.msb)))
_row("ctc1 rt, fcr", "010001 00110 rt:5 fs:5 00000 000000", lambda m, i: m.write_control(i.msb, m.gpr(i.rt)))
