"""Rows: loads, stores, ll/sc, sync, prefetch (MIPS32 manual, volume II-A), indexed loads (DSP module, volume IV-e)."""

from __future__ import annotations

from ..architecture import DSP, MIPS1, MIPS2, MIPS32, MIPS32R2, Module
from .meaning import Machine, Meaning, V
from .row import Instruction, RowTable

TABLE = RowTable()
_row = TABLE.add


def _based(name: str, opcode: str, meaning: Meaning, module: Module = MIPS1) -> None:
    _row(f"{name} rt, mem", f"{opcode} base:5 rt:5 offset:16", meaning, module=module)


def _load(name: str, opcode: str, bits: int, signed: bool) -> None:
    _based(name, opcode, lambda m, i: m.set_gpr(i.rt, m.load(m.gpr(i.rs), i.imm, bits, signed)))


def _store(name: str, opcode: str, bits: int) -> None:
    _based(name, opcode, lambda m, i: m.store(m.gpr(i.rs), i.imm, bits, m.gpr(i.rt)))


_load("lb", "100000", 8, True)
_load("lh", "100001", 16, True)
_load("lw", "100011", 32, True)
_load("lbu", "100100", 8, False)
_load("lhu", "100101", 16, False)
_store("sb", "101000", 8)
_store("sh", "101001", 16)
_store("sw", "101011", 32)

_based("lwl", "100010", lambda m, i: m.set_gpr(i.rt, m.load_left(m.gpr(i.rs), i.imm, m.gpr(i.rt))))
_based("lwr", "100110", lambda m, i: m.set_gpr(i.rt, m.load_right(m.gpr(i.rs), i.imm, m.gpr(i.rt))))
_based("swl", "101010", lambda m, i: m.store_left(m.gpr(i.rs), i.imm, m.gpr(i.rt)))
_based("swr", "101110", lambda m, i: m.store_right(m.gpr(i.rs), i.imm, m.gpr(i.rt)))


def _load_linked(m: Machine, i: Instruction) -> None:
    _trap_unaligned_word(m, i)
    m.set_gpr(i.rt, m.load_linked(m.gpr(i.rs), i.imm))


def _store_conditional(m: Machine, i: Instruction) -> None:
    _trap_unaligned_word(m, i)
    m.set_gpr(i.rt, m.store_conditional(m.gpr(i.rs), i.imm, m.gpr(i.rt)))


def _trap_unaligned_word(m: Machine, i: Instruction) -> None:
    """Raise the exception that the kernel does not mend for ll and sc, as it does for all other accesses."""
    address = m.add(m.gpr(i.rs), m.const(i.imm))
    m.trap_if(m.ne(m.and_(address, m.const(3)), m.const(0)), "address")


_based("ll", "110000", _load_linked, MIPS2)
_based("sc", "111000", _store_conditional, MIPS2)
_row("sync sa", "000000 00000 00000 00000 stype:5 001111", lambda m, i: m.fence(), module=MIPS2)
_row("pref hint, mem", "110011 base:5 hint:5 offset:16", lambda m, i: None, module=MIPS32)
_row("prefx hintx, xmem", "010011 base:5 index:5 hint:5 00000 001111", lambda m, i: None, module=MIPS32R2)
_row("synci mem", "000001 base:5 11111 offset:16", lambda m, i: m.sync_code(m.gpr(i.rs), i.imm), module=MIPS32R2)


def _float(name: str, opcode: str, meaning: Meaning, module: Module = MIPS1) -> None:
    _row(f"{name} ft, mem", f"{opcode} base:5 ft:5 offset:16", meaning, module=module)


_float("lwc1", "110001", lambda m, i: m.set_single(i.ft, m.load_single(m.gpr(i.rs), i.imm)))
_float("swc1", "111001", lambda m, i: m.store_single(m.gpr(i.rs), i.imm, m.single(i.ft)))
_float("ldc1", "110101", lambda m, i: m.set_double(i.ft, m.load_double(m.gpr(i.rs), i.imm)), MIPS2)
_float("sdc1", "111101", lambda m, i: m.store_double(m.gpr(i.rs), i.imm, m.double(i.ft)), MIPS2)


def _indexed(m: Machine, i: Instruction) -> V:
    return m.add(m.gpr(i.rs), m.gpr(i.rt))


def _indexed_aligned(m: Machine, i: Instruction) -> V:
    return m.and_(_indexed(m, i), m.const(0xFFFFFFF8))


def _register_indexed(name: str, op: str, bits: int, signed: bool) -> None:
    pattern = f"011111 base:5 index:5 rd:5 {op} 001010"
    _row(f"{name} rd, xmem", pattern, lambda m, i: m.set_gpr(i.rd, m.load(_indexed(m, i), 0, bits, signed)), module=DSP)


_register_indexed("lwx", "00000", 32, True)
_register_indexed("lhx", "00100", 16, True)
_register_indexed("lbux", "00110", 8, False)


def _indexed_load(name: str, funct: str, meaning: Meaning) -> None:
    _row(f"{name} fd, xmem", f"010011 base:5 index:5 00000 fd:5 {funct}", meaning, module=MIPS32R2)


def _indexed_store(name: str, funct: str, meaning: Meaning) -> None:
    _row(f"{name} fs, xmem", f"010011 base:5 index:5 fs:5 00000 {funct}", meaning, module=MIPS32R2)


_indexed_load("lwxc1", "000000", lambda m, i: m.set_single(i.fd, m.load_single(_indexed(m, i), 0)))
_indexed_load("ldxc1", "000001", lambda m, i: m.set_double(i.fd, m.load_double(_indexed(m, i), 0)))
_indexed_load("luxc1", "000101", lambda m, i: m.set_double(i.fd, m.load_double(_indexed_aligned(m, i), 0)))
_indexed_store("swxc1", "001000", lambda m, i: m.store_single(_indexed(m, i), 0, m.single(i.fs)))
_indexed_store("sdxc1", "001001", lambda m, i: m.store_double(_indexed(m, i), 0, m.double(i.fs)))
_indexed_store("suxc1", "001101", lambda m, i: m.store_double(_indexed_aligned(m, i), 0, m.double(i.fs)))
