"""The running code of x86-64 (running_code.RunningCode). Sources: asm/user_64.h, and the ELF handling of TLS, 3.4.6."""

from __future__ import annotations

import re
from collections.abc import Iterator

import capstone
from capstone import x86

from .running_code import Access, HostInstruction, Kind

_REGISTERS = (
    "r15", "r14", "r13", "r12", "rbp", "rbx", "r11", "r10", "r9", "r8", "rax", "rcx", "rdx", "rsi", "rdi", "orig_rax",
    "rip", "cs", "eflags", "rsp", "ss", "fs_base", "gs_base", "ds", "es", "fs", "gs",
)  # fmt: skip
_POSITION = {name: position for position, name in enumerate(_REGISTERS)}
_SP = _POSITION["rsp"]
_SEGMENT_BASES = {"fs": _POSITION["fs_base"], "gs": _POSITION["gs_base"]}
_PREFIX = re.compile(r"^(?:rep(?:n?[ez])?|lock|notrack|bnd|xacquire|xrelease) ")
_VECTOR = re.compile(r"[xyz]mm\d|mm\d|st\b|k\d")
_ONLY_STORES = re.compile(r"v?stmxcsr|f(?:n?st|ist)\w*")
_NO_ACCESS = re.compile(r"lea|nop|prefetch|clflush|endbr")

_KINDS = (
    (Kind.ADDRESS, r"lea"),
    (Kind.COMPARE, r"cmp[bwdq]?|test|bt|cmps[bwdq]|scas[bwdq]"),
    (Kind.SELECT, r"cmov\w+|set\w+"),
    (Kind.CALL, r"l?call"),
    (Kind.RETURN, r"l?ret[nf]?q?|iretq?"),
    (Kind.JUMP, r"l?jmp"),
    (Kind.BRANCH, r"j\w+|loop\w*"),
    (Kind.STACK, r"push\w*|pop(?!cnt)\w*|leave|enter"),
    (Kind.MOVE, r"v?mov(?!msk)\w*|v?lddqu|xchg|cbw|cwde?|cdqe?|cqo|lods[bwdq]|stos[bwdq]"),
    (Kind.NOTHING, r"nop|endbr\w*|pause|prefetch\w*"),
    (Kind.OTHER, r"syscall|sysenter|cpuid|rdtscp?|xgetbv|[lsm]fence|ud\d|int\w*|hlt|x(?:save|rstor)\w*|[rw]r[fg]sbase"),
    (Kind.FLOAT, r"v?(?:ld|st)mxcsr|v?cvt\w+|vzero\w+|f\w+|emms"),
)  # fmt: skip
"""The first pattern that a whole mnemonic fits, its prefixes left out, decides; others compute."""
_PATTERNS = tuple((kind, re.compile(pattern)) for kind, pattern in _KINDS)

_decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
_decoder.detail = True


def _memory_of(instruction: capstone.CsInsn) -> list[tuple[int, x86.X86Op]]:
    return [(n, one) for n, one in enumerate(instruction.operands) if one.type == x86.X86_OP_MEM]


def _kind(instruction: capstone.CsInsn, mnemonic: str) -> Kind:
    kind = next((kind for kind, pattern in _PATTERNS if pattern.fullmatch(mnemonic)), None)
    if kind is Kind.MOVE and _memory_of(instruction):
        return Kind.MEMORY
    if kind is None:
        return Kind.FLOAT if _VECTOR.search(instruction.op_str) else Kind.ARITHMETIC
    return kind


def _place(instruction: capstone.CsInsn, memory: x86.X86OpMem) -> tuple[int, tuple[tuple[int, int], ...]]:
    """Return the displacement and the scaled registers of an operand in memory."""
    displacement, registers = memory.disp, []
    for register, scale in ((memory.base, 1), (memory.index, memory.scale)):
        name = instruction.reg_name(register)
        if name == "rip":
            displacement += instruction.address + instruction.size
        elif name in _POSITION:
            registers.append((_POSITION[name], scale))
    segment = instruction.reg_name(memory.segment) if memory.segment else None
    if segment in _SEGMENT_BASES:
        registers.append((_SEGMENT_BASES[segment], 1))
    return displacement, tuple(registers)


def _of_operands(instruction: capstone.CsInsn, mnemonic: str, kind: Kind) -> Iterator[Access]:
    """Yield the accesses of operands.

    Capstone says of some comparisons and jumps that they write, and of the stores of vectors that they read.
    """
    if _NO_ACCESS.match(mnemonic):
        return
    for number, operand in _memory_of(instruction):
        stores = bool(operand.access & capstone.CS_AC_WRITE)
        loads = bool(operand.access & capstone.CS_AC_READ)
        if kind in (Kind.COMPARE, Kind.CALL, Kind.JUMP) or mnemonic.startswith("push"):
            loads, stores = True, False
        elif mnemonic.startswith("cmpxchg"):
            loads = stores = True
        elif _ONLY_STORES.fullmatch(mnemonic) or (
            not stores and kind in (Kind.MEMORY, Kind.FLOAT) and number == 0 and len(instruction.operands) > 1
        ):
            loads, stores = False, True
        displacement, registers = _place(instruction, operand.mem)
        yield Access(loads, stores, operand.size, displacement, registers)


def _of_stack(mnemonic: str, kind: Kind) -> Iterator[Access]:
    if kind is Kind.CALL or mnemonic.startswith("push"):
        yield Access(False, True, 8, -8, ((_SP, 1),), pushes=True)
    elif kind is Kind.RETURN or (kind is Kind.STACK and mnemonic.startswith("pop")):
        yield Access(True, False, 8, 0, ((_SP, 1),), pushes=True)
    elif mnemonic == "leave":
        yield Access(True, False, 8, 0, ((_POSITION["rbp"], 1),), pushes=True)


class X86Running:
    """Implements RunningCode. Stores: a Zen 4 core writes one a cycle, or two that follow each other to one line."""

    registers: tuple[str, ...] = _REGISTERS
    pc = _POSITION["rip"]
    sp = _SP
    thread_pointer = _POSITION["fs_base"]
    longest_bytes = 15
    line_bytes = 64
    joined_stores = 2

    def decode(self, code: bytes, address: int) -> HostInstruction:
        instruction = next(_decoder.disasm(code, address, 1), None)
        if instruction is None:
            return HostInstruction(Kind.OTHER)
        mnemonic = _PREFIX.sub("", instruction.mnemonic)
        kind = _kind(instruction, mnemonic)
        accesses = (*_of_operands(instruction, mnemonic, kind), *_of_stack(mnemonic, kind))
        return HostInstruction(kind, accesses, instruction.mnemonic.startswith("rep"))

    def thread_local(self, thread_pointer: int, size_bytes: int, alignment: int, offset: int) -> int:
        # Variant II: the segment ends, aligned, at the thread pointer.
        return thread_pointer - (size_bytes + -size_bytes % max(1, alignment)) + offset
