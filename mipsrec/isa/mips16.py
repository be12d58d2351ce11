"""MIPS16e instructions (manual, volume IV-a): halves become instructions of the same rows as words of MIPS32.

Enters: one or two halves, in host byte order. Leaves: `Instruction16`, or None for what is reserved. Most are MIPS32
instructions with smaller fields: their row is that of MIPS32, and their `word` the instruction that does the same. The
others have rows of their own: what is relative to the pc, branches (they have no delay slot), and save and restore.
runtime/cpu/mips16.c decodes the same.
"""

from __future__ import annotations

from functools import cache

from ..architecture import HALF_BYTES, INSTRUCTION_BYTES
from ..state import GPR_NAMES, RA, SP
from .meaning import Machine, V
from .mips16_jump import JALX, Instruction16, mips16_row
from .row import Flow, Instruction, Row
from .words import decode

_T8 = 24


def _load_relative(m: Machine, i: Instruction) -> None:
    m.set_gpr(i.rt, m.load(m.code_address(i.displacement), 0, 32, True))


def _add_relative(m: Machine, i: Instruction) -> None:
    m.set_gpr(i.rt, m.code_address(i.displacement))


def _equal(m: Machine, i: Instruction) -> V:
    return m.eq(m.gpr(i.rs), m.const(0))


def _not_equal(m: Machine, i: Instruction) -> V:
    return m.ne(m.gpr(i.rs), m.const(0))


def _target(m: Machine, i: Instruction) -> V:
    return m.gpr(i.rs)


_LOAD_RELATIVE = mips16_row("lwpc", _load_relative)
_ADD_RELATIVE = mips16_row("addiupc", _add_relative)
_BEQZ = mips16_row("beqz", flow=Flow.BRANCH, condition=_equal)
_BNEZ = mips16_row("bnez", flow=Flow.BRANCH, condition=_not_equal)
_JAL = mips16_row("jal", flow=Flow.JUMP, link="ra")
_JR = mips16_row("jr", flow=Flow.JUMP_REGISTER, condition=_target)
_JALR = mips16_row("jalr", flow=Flow.JUMP_REGISTER, condition=_target, link="ra")
_JRC = mips16_row("jrc", flow=Flow.JUMP_REGISTER, condition=_target)
_JALRC = mips16_row("jalrc", flow=Flow.JUMP_REGISTER, condition=_target, link="ra")


# ---- fields ----


def _field(value: int, low: int, bits: int) -> int:
    return value >> low & (1 << bits) - 1


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> bits - 1 else value


def _small(number: int) -> int:
    """Return the register that three bits name."""
    return 16 + number if number < 2 else number


def _registers(rs: int, rt: int, rd: int, sa: int, function: int) -> int:
    return rs << 21 | rt << 16 | rd << 11 | sa << 6 | function


def _immediate(opcode: int, rs: int, rt: int, value: int) -> int:
    return opcode << 26 | rs << 21 | rt << 16 | value & 0xFFFF


_BEQ, _BNE, _ADDIU, _SLTI, _SLTIU, _ANDI, _ORI, _XORI, _LW, _SW = 4, 5, 9, 10, 11, 12, 13, 14, 0x23, 0x2B
_OR, _BREAK = 0x25, 0x0D
_SEB, _SEH = 0x7C000420, 0x7C000620

_TO_T8 = {0x02: 0x2A, 0x03: 0x2B, 0x0A: 0x26}
"""slt, sltu and cmp, by the low five bits: functions of MIPS32 that give t8."""
_SHIFTS = {0x04: 0x04, 0x06: 0x06, 0x07: 0x07}
_LOGIC = {0x0C: 0x24, 0x0D: 0x25, 0x0E: 0x26}
_WIDE = (0x18, 0x19, 0x1A, 0x1B)
_BY_AMOUNT = {0: 0x00, 2: 0x02, 3: 0x03}
_ACCESSES = {
    0x10: (0x20, 0), 0x11: (0x21, 1), 0x13: (_LW, 2), 0x14: (0x24, 0), 0x15: (0x25, 1), 0x18: (0x28, 0),
    0x19: (0x29, 1), 0x1B: (_SW, 2),
}  # fmt: skip
"""Loads and stores, by opcode: that of MIPS32, and by how many bits short offsets are shifted."""


# ---- save and restore ----

_SAVED_BELOW_A0 = (0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 0, 3, 3, 4, 0)
_STATICS = (0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 4, 0, 1, 0, 0)
"""By the field `aregs`: how many arguments are stored above, and how many of a3 down are saved below."""
_FURTHER = (18, 19, 20, 21, 22, 23, 30)


def _frame_bytes(half: int, extension: int, size_bytes: int) -> int:
    if size_bytes == HALF_BYTES:
        return 8 * (half & 15) or 128
    return 8 * (_field(extension, 4, 4) << 4 | half & 15)


def _saved(half: int, extension: int) -> list[int]:
    """Return the registers that save and restore have below the frame's top, from there down."""
    further = _FURTHER[: _field(extension, 8, 3)]
    registers = [RA] if half & 0x40 else []
    registers += reversed(further)
    registers += [17] if half & 0x10 else []
    registers += [16] if half & 0x20 else []
    return registers + [7 - n for n in range(_STATICS[extension & 15])]


def _check_frame(m: Machine, sp: V, has_accesses: bool) -> None:
    """Have a misaligned frame fault: of these instructions the kernel emulates no access (unaligned.c)."""
    if has_accesses:
        m.fault_unless_aligned(sp, 32)


@cache
def _save_row(arguments: int, registers: tuple[int, ...]) -> Row:
    def save(m: Machine, i: Instruction) -> None:
        sp = m.gpr(SP)
        _check_frame(m, sp, bool(arguments or registers))
        for number in range(arguments):
            m.store(sp, 4 * number, 32, m.gpr(4 + number))
        for number, register in enumerate(registers, start=1):
            m.store(sp, -4 * number, 32, m.gpr(register))
        m.set_gpr(SP, m.add(sp, m.const(i.imm)))

    return mips16_row("save", save)


@cache
def _restore_row(registers: tuple[int, ...]) -> Row:
    def restore(m: Machine, i: Instruction) -> None:
        sp = m.gpr(SP)
        _check_frame(m, sp, bool(registers))
        loaded = [m.load(sp, i.imm - 4 * number, 32, True) for number in range(1, len(registers) + 1)]
        for register, value in zip(registers, loaded, strict=True):
            m.set_gpr(register, value)
        m.set_gpr(SP, m.add(sp, m.const(i.imm)))

    return mips16_row("restore", restore)


def _save_or_restore(half: int, extension: int, size_bytes: int) -> Instruction16 | None:
    if extension & 15 == 15:
        return None
    registers, frame = tuple(_saved(half, extension)), _frame_bytes(half, extension, size_bytes)
    if half & 0x80:
        row = _save_row(_SAVED_BELOW_A0[extension & 15], registers)
        return Instruction16(row, _immediate(_ADDIU, SP, SP, -frame), size_bytes)
    return Instruction16(_restore_row(registers), _immediate(_ADDIU, SP, SP, frame), size_bytes)


# ---- instructions ----


def _plain(word: int, size_bytes: int) -> Instruction16:
    """Return what does the same as an instruction of MIPS32."""
    found = decode(word)
    assert found is not None
    return Instruction16(found.row, found.word, size_bytes)


def _branch(row: Row, register: int, halves: int, size_bytes: int) -> Instruction16:
    opcode = _BEQ if row is _BEQZ else _BNE
    return Instruction16(row, _immediate(opcode, register, 0, 0), size_bytes, HALF_BYTES * halves)


def _relative(row: Row, register: int, displacement: int, size_bytes: int) -> Instruction16:
    return Instruction16(row, _immediate(_LW, 0, register, 0), size_bytes, displacement)


def _jump_to_register(half: int) -> Instruction16 | None:
    way, number = _field(half, 5, 3), _field(half, 8, 3)
    to_ra, links, is_compact = way & 1, way & 2, way & 4
    if way in (3, 7) or (to_ra and number):
        return None
    rows = ((_JR, _JALR), (_JRC, _JALRC))
    target, row = RA if to_ra else _small(number), rows[bool(is_compact)][bool(links)]
    word = _registers(target, 0, RA if links else 0, 0, 0x09 if links else 0x08)
    return Instruction16(row, word, HALF_BYTES, slot_bytes=0 if is_compact else HALF_BYTES)


def _of_two_registers(half: int) -> Instruction16 | None:
    rx, ry, function, third = _small(_field(half, 8, 3)), _small(_field(half, 5, 3)), half & 31, _field(half, 5, 3)
    if function == 0x00:
        return _jump_to_register(half)
    if function in _TO_T8:
        word = _registers(rx, ry, _T8, 0, _TO_T8[function])
    elif function in _SHIFTS:
        word = _registers(rx, ry, ry, 0, _SHIFTS[function])
    elif function in _LOGIC:
        word = _registers(rx, ry, rx, 0, _LOGIC[function])
    elif function in _WIDE:
        word = _registers(rx, ry, 0, 0, function)
    elif function == 0x05:
        word = _field(half, 5, 6) << 6 | _BREAK
    elif function == 0x0B:
        word = _registers(0, ry, rx, 0, 0x23)
    elif function == 0x0F:
        word = _registers(ry, 0, rx, 0, 0x27)
    elif function in (0x10, 0x12) and third == 0:
        word = _registers(0, 0, rx, 0, function)
    elif function == 0x11 and third in (0, 1, 4, 5):
        extended = {4: _SEB, 5: _SEH}.get(third)
        mask = 0xFF if third == 0 else 0xFFFF
        word = _immediate(_ANDI, rx, rx, mask) if extended is None else extended | rx << 16 | rx << 11
    else:
        return None
    return _plain(word, HALF_BYTES)


def _of_eight_bits(half: int, immediate: int, extension: int | None) -> Instruction16 | None:
    """Decode opcode 01100; the immediate is that of an extended instruction, if it is one."""
    size_bytes = HALF_BYTES if extension is None else 2 * HALF_BYTES
    kind, is_short = _field(half, 8, 3), extension is None
    if kind in (0, 1):
        return _branch((_BEQZ, _BNEZ)[kind], _T8, immediate, size_bytes)
    if kind == 2:
        return _plain(_immediate(_SW, SP, RA, (immediate & 0xFF) << 2 if is_short else immediate), size_bytes)
    if kind == 3:
        return _plain(_immediate(_ADDIU, SP, SP, immediate << 3 if is_short else immediate), size_bytes)
    if kind == 4:
        return _save_or_restore(half, extension or 0, size_bytes)
    if kind == 5 and is_short:
        register = _field(half, 3, 2) << 3 | _field(half, 5, 3)
        return _plain(_registers(_small(half & 7), 0, register, 0, _OR), size_bytes)
    if kind == 7 and is_short:
        return _plain(_registers(half & 31, 0, _small(_field(half, 5, 3)), 0, _OR), size_bytes)
    return None


_OF_WORDS = (0x00, 0x01, 0x12, 0x16, 0x1A)
_WITH_SIGN = (0x04, 0x05, 0x09)
"""Opcodes whose short immediates count words, and have a sign."""


def _short_immediate(half: int) -> int:
    opcode, eight = half >> 11, half & 0xFF
    if opcode in _ACCESSES:
        return (half & 31) << _ACCESSES[opcode][1]
    if opcode == 0x02:
        return _signed(half & 0x7FF, 11)
    if opcode in _OF_WORDS:
        return eight << 2
    return _signed(eight, 8) if opcode in _WITH_SIGN else eight


def _with_immediate(half: int, immediate: int, size_bytes: int) -> Instruction16 | None:
    """Decode an opcode whose short and extended forms differ in the immediate alone."""
    opcode, rx, ry = half >> 11, _small(_field(half, 8, 3)), _small(_field(half, 5, 3))
    if opcode == 0x02:
        return _branch(_BEQZ, 0, immediate, size_bytes)
    if opcode in (0x04, 0x05):
        return _branch((_BEQZ, _BNEZ)[opcode & 1], rx, immediate, size_bytes)
    if opcode == 0x01:
        return _relative(_ADD_RELATIVE, rx, immediate, size_bytes)
    if opcode == 0x16:
        return _relative(_LOAD_RELATIVE, rx, immediate, size_bytes)
    if opcode in _ACCESSES:
        return _plain(_immediate(_ACCESSES[opcode][0], rx, ry, immediate), size_bytes)
    to = {
        0x00: (_ADDIU, SP, rx), 0x09: (_ADDIU, rx, rx), 0x0A: (_SLTI, rx, _T8), 0x0B: (_SLTIU, rx, _T8),
        0x0D: (_ORI, 0, rx), 0x0E: (_XORI, rx, _T8), 0x12: (_LW, SP, rx), 0x1A: (_SW, SP, rx),
    }.get(opcode)  # fmt: skip
    return _plain(_immediate(*to, immediate), size_bytes) if to is not None else None


def _add_to_other(half: int, immediate: int, size_bytes: int) -> Instruction16 | None:
    if half & 16:
        return None
    rx, ry = _small(_field(half, 8, 3)), _small(_field(half, 5, 3))
    return _plain(_immediate(_ADDIU, rx, ry, immediate), size_bytes)


def _of_three_registers(half: int) -> Instruction16 | None:
    if not half & 1:
        return None
    rx, ry, rz = (_small(_field(half, low, 3)) for low in (8, 5, 2))
    return _plain(_registers(rx, ry, rz, 0, 0x23 if half & 2 else 0x21), HALF_BYTES)


def _short(half: int) -> Instruction16 | None:
    opcode = half >> 11
    if opcode == 0x0C:
        return _of_eight_bits(half, _signed(half & 0xFF, 8), None)
    if opcode == 0x1D:
        return _of_two_registers(half)
    if opcode == 0x1C:
        return _of_three_registers(half)
    if opcode == 0x06:
        return _shift(half, _field(half, 2, 3) or 8, HALF_BYTES)
    if opcode == 0x08:
        return _add_to_other(half, _signed(half & 15, 4), HALF_BYTES)
    return _with_immediate(half, _short_immediate(half), HALF_BYTES)


def _shift(half: int, amount: int, size_bytes: int) -> Instruction16 | None:
    function = _BY_AMOUNT.get(half & 3)
    if function is None:
        return None
    return _plain(_registers(0, _small(_field(half, 5, 3)), _small(_field(half, 8, 3)), amount, function), size_bytes)


def _extended(extension: int, half: int) -> Instruction16 | None:
    opcode, size_bytes = half >> 11, 2 * HALF_BYTES
    immediate = _signed(_field(extension, 0, 5) << 11 | _field(extension, 5, 6) << 5 | half & 31, 16)
    if opcode == 0x0C:
        return _of_eight_bits(half, immediate, extension)
    if opcode == 0x06:
        return _shift(half, _field(extension, 6, 5), size_bytes)
    if opcode == 0x08:
        fifteen = _field(extension, 0, 4) << 11 | _field(extension, 4, 7) << 4 | half & 15
        return _add_to_other(half, _signed(fifteen, 15), size_bytes)
    return _with_immediate(half, immediate, size_bytes)


def _jump(first: int, second: int) -> Instruction16:
    index = _field(first, 0, 5) << 21 | _field(first, 5, 5) << 16 | second
    exchanges = bool(first & 0x400)
    target = index * INSTRUCTION_BYTES | (not exchanges)
    return Instruction16(JALX if exchanges else _JAL, 0x0C000000, 2 * HALF_BYTES, target, HALF_BYTES)


_EXTEND, _JAL_OPCODE = 0x1E, 0x03


def is_long(first: int) -> bool:
    """Return whether an instruction that begins with a half has two."""
    return first >> 11 in (_EXTEND, _JAL_OPCODE)


@cache
def decode16(first: int, second: int = 0) -> Instruction16 | None:
    """Return the instruction of a half, or of two where `is_long` (`second` is 0 else). None for what is reserved."""
    if first >> 11 == _EXTEND:
        found = _extended(first & 0x7FF, second)
    elif first >> 11 == _JAL_OPCODE:
        found = _jump(first, second)
    else:
        found = _short(first)
    if found is not None:
        found.encoding = first << 16 | second if is_long(first) else first
    return found


def text16(instruction: Instruction16, pc: int) -> str | None:
    """Return the assembly line of an instruction with a row of its own."""
    row, names = instruction.row, GPR_NAMES
    if row in (_BEQZ, _BNEZ):
        target = hex(instruction.branch_target(pc))
        return f"{row.name} {names[instruction.rs]}, {target}" if instruction.rs else f"b {target}"
    if row in (_JAL, JALX):
        return f"{row.name} {hex(instruction.jump_target(pc))}"
    if row in (_JR, _JALR, _JRC, _JALRC):
        return f"{row.name} {names[instruction.rs]}"
    if row in (_LOAD_RELATIVE, _ADD_RELATIVE):
        mnemonic = "lw" if row is _LOAD_RELATIVE else "la"
        return f"{mnemonic} {names[instruction.rt]}, {hex(instruction.address(pc))}"
    if row.name in ("save", "restore"):
        return f"{row.name} {abs(instruction.imm)}"
    return None
