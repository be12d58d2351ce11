"""Assembly text of an instruction, and the same as a table for the C host, both from the rows' `assembly`.

The operands' names: rs rt rd (registers), fs ft fd fr (floating-point registers), sa, simm, uimm, cc, fcc, mem
(offset(base)), xmem (index(base)), hint and hintx (of pref and prefx), offset (branch target), target (jump target),
code, lsb, size, width, stype, hwr, fcr. Of the DSP module: ac (an accumulator; ac1 to ac3 are what they say), amount,
shift, number, byte, half, reads, writes. General registers print as objdump prints them, without a dollar sign.
"""

from __future__ import annotations

from collections.abc import Callable

from ..architecture import HALF_BYTES
from ..state import GPR_NAMES
from .mips16 import text16
from .mips16_jump import Instruction16
from .row import Instruction
from .words import ROWS

_OPERANDS: dict[str, Callable[[Instruction, int], str]] = {
    "rs": lambda i, pc: GPR_NAMES[i.rs],
    "rt": lambda i, pc: GPR_NAMES[i.rt],
    "rd": lambda i, pc: GPR_NAMES[i.rd],
    "fs": lambda i, pc: f"$f{i.fs}",
    "ft": lambda i, pc: f"$f{i.ft}",
    "fd": lambda i, pc: f"$f{i.fd}",
    "fr": lambda i, pc: f"$f{i.fr}",
    "sa": lambda i, pc: str(i.sa),
    "simm": lambda i, pc: str(i.imm),
    "uimm": lambda i, pc: hex(i.uimm),
    "cc": lambda i, pc: f"$fcc{i.cc}",
    "fcc": lambda i, pc: f"$fcc{i.fcc}",
    "mem": lambda i, pc: f"{i.imm}({GPR_NAMES[i.rs]})",
    "xmem": lambda i, pc: f"{GPR_NAMES[i.rt]}({GPR_NAMES[i.rs]})",
    "hint": lambda i, pc: str(i.rt),
    "hintx": lambda i, pc: str(i.rd),
    "offset": lambda i, pc: hex(i.branch_target(pc)),
    "target": lambda i, pc: hex(i.jump_target(pc)),
    "code": lambda i, pc: hex(i.code),
    "lsb": lambda i, pc: str(i.lsb),
    "size": lambda i, pc: str(i.msb + 1),
    "width": lambda i, pc: str(i.msb + 1 - i.lsb),
    "hwr": lambda i, pc: f"${i.msb}",
    "fcr": lambda i, pc: f"${i.msb}",
    "ac": lambda i, pc: f"$ac{i.ac}",
    "ac1": lambda i, pc: "$ac1",
    "ac2": lambda i, pc: "$ac2",
    "ac3": lambda i, pc: "$ac3",
    "amount": lambda i, pc: str(i.amount),
    "shift": lambda i, pc: str(i.shift),
    "number": lambda i, pc: str(i.msb),
    "byte": lambda i, pc: hex(i.half & 0xFF),
    "half": lambda i, pc: str(i.half),
    "reads": lambda i, pc: hex(i.reads),
    "writes": lambda i, pc: hex(i.writes),
}


def _template(assembly: str) -> tuple[str, tuple[Callable[[Instruction, int], str], ...]]:
    mnemonic, _, operands = assembly.partition(" ")
    return mnemonic, tuple(_OPERANDS[name] for name in operands.replace(",", "").split())


_TEMPLATES = {row: _template(row.assembly) for row in ROWS}


def disassemble(instruction: Instruction | None, pc: int, word: int = 0) -> str:
    """Return the assembly line of an instruction at `pc`; an undecodable `word` becomes `.word`."""
    if instruction is None:
        return f".word 0x{word:08x}"
    if instruction.word == 0:
        return "nop"
    if isinstance(instruction, Instruction16) and (text := text16(instruction, pc)) is not None:
        return text
    mnemonic, operands = _TEMPLATES[instruction.row]
    if not operands:
        return mnemonic
    return f"{mnemonic} " + ", ".join([operand(instruction, pc) for operand in operands])


def encoding_text(instruction: Instruction) -> str:
    """Return an instruction as its code has it: eight hexadecimal digits, or four and blanks for one half."""
    if instruction.size_bytes == HALF_BYTES:
        return f"{instruction.encoding:04x}    "
    return f"{instruction.encoding:08x}"


_HOST_PLACEHOLDERS = {
    "offset": "{branch}", "xmem": "{index}", "hintx": "{msb}", "lsb": "{sa}", "width": "{inssize}", "hwr": "{cs}",
    "fcr": "{cs}", "number": "{msb}", "ac1": "$ac1", "ac2": "$ac2", "ac3": "$ac3",
}  # fmt: skip


def host_table() -> str:
    """Return the text of `mr_disasm.h`, the rows as runtime/cpu/disasm.c wants them."""
    lines = ["/* Generated from mipsrec/isa. */", "static const struct mr_disasm_row mr_disasm_rows[] = {"]
    lines.append('    {0xffffffffu, 0x00000000u, "nop"},')
    for row in ROWS:
        mnemonic, _, operands = row.assembly.partition(" ")
        names = [_HOST_PLACEHOLDERS.get(name, "{" + name + "}") for name in operands.replace(",", "").split()]
        text = " ".join(filter(None, [mnemonic, ", ".join(names)]))
        lines.append(f'    {{0x{row.mask:08x}u, 0x{row.value:08x}u, "{text}"}},')
    return "\n".join([*lines, "};", ""])
