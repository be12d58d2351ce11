"""Rows: loads, stores, ll/sc, sync, prefetch (MIPS32 manual, volume II-A)."""

from __future__ import annotations

from .meaning import Machine, V
from .row import Instruction, RowTable

TABLE = RowTable()
_row = TABLE.add


def _load(name: str, opcode: str, bits: int, signed: bool) -> None:
    _row(
        f"{name} rt, mem",
        f"{opcode} base:5 rt:5 offset:16",
        lambda m, i: m.set_gpr(i.rt, m.load(m.gpr(i.rs), i.imm, bits, signed)),
    )


def _store(name: str, opcode: str, bits: int) -> None:
    _row(
        f"{name} rt, mem",
        f"{opcode} base:5 rt:5 offset:16",
        lambda m, i: m.store(m.gpr(i.rs), i.imm, bits, m.gpr(i.rt)),
    )


_load("lb", "100000", 8, True)
_load("lh", "100001", 16, True)
_load("lw", "100011", 32, True)
_load("lbu", "100100", 8, False)
_load("lhu", "100101", 16, False)
_store("sb", "101000", 8)
_store("sh", "101001", 16)
_store("sw", "101011", 32)

_row(
    "lwl rt, mem",
    "100010 base:5 rt:5 offset:16",
    lambda m, i: m.set_gpr(i.rt, m.load_left(m.gpr(i.rs), i.imm, m.gpr(i.rt))),
)
_row(
    "lwr rt, mem",
    "100110 base:5 rt:5 offset:16",
    lambda m, i: m.set_gpr(i.rt, m.load_right(m.gpr(i.rs), i.imm, m.gpr(i.rt))),
)
_row("swl rt, mem", "101010 base:5 rt:5 offset:16", lambda m, i: m.store_left(m.gpr(i.rs), i.imm, m.gpr(i.rt)))
_row("swr rt, mem", "101110 base:5 rt:5 offset:16", lambda m, i: m.store_right(m.gpr(i.rs), i.imm, m.gpr(i.rt)))


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


_row("ll rt, mem", "110000 base:5 rt:5 offset:16", _load_linked, level=2)
_row("sc rt, mem", "111000 base:5 rt:5 offset:16", _store_conditional, level=2)
_row("sync sa", "000000 00000 00000 00000 stype:5 001111", lambda m, i: m.fence(), level=2)
_row("pref hint, mem", "110011 base:5 hint:5 offset:16", lambda m, i: None, level=32)
_row("prefx hintx, xmem", "010011 base:5 index:5 hint:5 00000 001111", lambda m, i: None, level=33)
_row("synci mem", "000001 base:5 11111 offset:16", lambda m, i: m.sync_code(m.gpr(i.rs), i.imm), level=33)

_row(
    "lwc1 ft, mem",
    "110001 base:5 ft:5 offset:16",
    lambda m, i: m.set_single(i.ft, m.load_single(m.gpr(i.rs), i.imm)),
)
_row(
    "swc1 ft, mem",
    "111001 base:5 ft:5 offset:16",
    lambda m, i: m.store_single(m.gpr(i.rs), i.imm, m.single(i.ft)),
)
_row(
    "ldc1 ft, mem",
    "110101 base:5 ft:5 offset:16",
    lambda m, i: m.set_double(i.ft, m.load_double(m.gpr(i.rs), i.imm)),
    level=2,
)
_row(
    "sdc1 ft, mem",
    "111101 base:5 ft:5 offset:16",
    lambda m, i: m.store_double(m.gpr(i.rs), i.imm, m.double(i.ft)),
    level=2,
)


def _indexed(m: Machine, i: Instruction) -> V:
    return m.add(m.gpr(i.rs), m.gpr(i.rt))


def _indexed_aligned(m: Machine, i: Instruction) -> V:
    return m.and_(_indexed(m, i), m.const(0xFFFFFFF8))


_row(
    "lwxc1 fd, xmem",
    "010011 base:5 index:5 00000 fd:5 000000",
    lambda m, i: m.set_single(i.fd, m.load_single(_indexed(m, i), 0)),
    level=33,
)
_row(
    "ldxc1 fd, xmem",
    "010011 base:5 index:5 00000 fd:5 000001",
    lambda m, i: m.set_double(i.fd, m.load_double(_indexed(m, i), 0)),
    level=33,
)
_row(
    "luxc1 fd, xmem",
    "010011 base:5 index:5 00000 fd:5 000101",
    lambda m, i: m.set_double(i.fd, m.load_double(_indexed_aligned(m, i), 0)),
    level=33,
)
_row(
    "swxc1 fs, xmem",
    "010011 base:5 index:5 fs:5 00000 001000",
    lambda m, i: m.store_single(_indexed(m, i), 0, m.single(i.fs)),
    level=33,
)
_row(
    "sdxc1 fs, xmem",
    "010011 base:5 index:5 fs:5 00000 001001",
    lambda m, i: m.store_double(_indexed(m, i), 0, m.double(i.fs)),
    level=33,
)
_row(
    "suxc1 fs, xmem",
    "010011 base:5 index:5 fs:5 00000 001101",
    lambda m, i: m.store_double(_indexed_aligned(m, i), 0, m.double(i.fs)),
    level=33,
)
