"""Rows: branches, jumps, syscall (MIPS32 manual, volume II-A). The delay slot is nobody's business here."""

from __future__ import annotations

from ..architecture import MIPS1, MIPS2, Module
from .meaning import Condition, Machine, V
from .row import Flow, Instruction, RowTable

TABLE = RowTable()
_row = TABLE.add


def _branch(assembly: str, pattern: str, condition: Condition, link: str = "", module: Module = MIPS1) -> None:
    _row(assembly, pattern, flow=Flow.BRANCH, condition=condition, link=link, module=module)


def _likely(assembly: str, pattern: str, condition: Condition, link: str = "") -> None:
    _row(assembly, pattern, flow=Flow.BRANCH_LIKELY, condition=condition, link=link, module=MIPS2)


def _less(m: Machine, i: Instruction) -> V:
    return m.slt(m.gpr(i.rs), m.const(0))


def _greater_or_equal(m: Machine, i: Instruction) -> V:
    return m.invert(m.slt(m.gpr(i.rs), m.const(0)))


def _less_or_equal(m: Machine, i: Instruction) -> V:
    return m.slt(m.gpr(i.rs), m.const(1))


def _greater(m: Machine, i: Instruction) -> V:
    return m.slt(m.const(0), m.gpr(i.rs))


def _equal(m: Machine, i: Instruction) -> V:
    return m.eq(m.gpr(i.rs), m.gpr(i.rt))


def _not_equal(m: Machine, i: Instruction) -> V:
    return m.ne(m.gpr(i.rs), m.gpr(i.rt))


_branch("beq rs, rt, offset", "000100 rs:5 rt:5 offset:16", _equal)
_branch("bne rs, rt, offset", "000101 rs:5 rt:5 offset:16", _not_equal)
_branch("blez rs, offset", "000110 rs:5 00000 offset:16", _less_or_equal)
_branch("bgtz rs, offset", "000111 rs:5 00000 offset:16", _greater)
_branch("bltz rs, offset", "000001 rs:5 00000 offset:16", _less)
_branch("bgez rs, offset", "000001 rs:5 00001 offset:16", _greater_or_equal)
_branch("bltzal rs, offset", "000001 rs:5 10000 offset:16", _less, link="ra")
_branch("bgezal rs, offset", "000001 rs:5 10001 offset:16", _greater_or_equal, link="ra")

_likely("beql rs, rt, offset", "010100 rs:5 rt:5 offset:16", _equal)
_likely("bnel rs, rt, offset", "010101 rs:5 rt:5 offset:16", _not_equal)
_likely("blezl rs, offset", "010110 rs:5 00000 offset:16", _less_or_equal)
_likely("bgtzl rs, offset", "010111 rs:5 00000 offset:16", _greater)
_likely("bltzl rs, offset", "000001 rs:5 00010 offset:16", _less)
_likely("bgezl rs, offset", "000001 rs:5 00011 offset:16", _greater_or_equal)
_likely("bltzall rs, offset", "000001 rs:5 10010 offset:16", _less, link="ra")
_likely("bgezall rs, offset", "000001 rs:5 10011 offset:16", _greater_or_equal, link="ra")

_branch("bc1f cc, offset", "010001 01000 cc:3 00 offset:16", lambda m, i: m.invert(m.fcc(i.cc)))
_branch("bc1t cc, offset", "010001 01000 cc:3 01 offset:16", lambda m, i: m.fcc(i.cc))
_likely("bc1fl cc, offset", "010001 01000 cc:3 10 offset:16", lambda m, i: m.invert(m.fcc(i.cc)))
_likely("bc1tl cc, offset", "010001 01000 cc:3 11 offset:16", lambda m, i: m.fcc(i.cc))

_row("j target", "000010 index:26", flow=Flow.JUMP)
_row("jal target", "000011 index:26", flow=Flow.JUMP, link="ra")
# The hint field (jr.hb, jalr.hb) has no effect on the meaning.
_row("jr rs", "000000 rs:5 00000 00000 hint:5 001000", flow=Flow.JUMP_REGISTER, condition=lambda m, i: m.gpr(i.rs))
_row(
    "jalr rd, rs",
    "000000 rs:5 00000 rd:5 hint:5 001001",
    flow=Flow.JUMP_REGISTER,
    condition=lambda m, i: m.gpr(i.rs),
    link="rd",
)
_row("syscall code", "000000 code:20 001100", flow=Flow.SYSCALL)
