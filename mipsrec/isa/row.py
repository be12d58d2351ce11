"""What one instruction row is, and how a word becomes an `Instruction` of its row.

Enters: the rows of the sibling modules and guest words. Leaves: `Row`, `Instruction`, `Flow`. Bit patterns are written
as the MIPS manual (volume II-A) prints them: literal bits and `name:width` fields, from bit 31 down to bit 0.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from ..architecture import INSTRUCTION_BYTES, MIPS1, Module
from ..state import RA
from .meaning import Condition, Meaning


class Flow(enum.Enum):
    """How an instruction moves the pc; everything but NEXT, SYSCALL and STOP has a delay slot."""

    NEXT = "next"
    BRANCH = "branch"  # conditional, pc-relative
    BRANCH_LIKELY = "branch-likely"  # as BRANCH, and the slot is annulled when not taken
    JUMP = "jump"  # j, jal: within the 256 MiB region of the slot
    JUMP_REGISTER = "jump-register"
    SYSCALL = "syscall"
    STOP = "stop"  # always raises an exception


_WITH_SLOT = (Flow.BRANCH, Flow.BRANCH_LIKELY, Flow.JUMP, Flow.JUMP_REGISTER)
"""In MIPS32 code."""


@dataclass(frozen=True, slots=True)
class Use:
    """A register operand as a row names it: which file, and the field that holds its number, or the number itself."""

    kind: str  # gpr, hilo, dsp, single, double, high, fcc
    field: str | int


@dataclass(frozen=True, eq=False, slots=True)
class Row:
    """One instruction: encoding, assembly, meaning, kind of control flow.

    `meaning` runs once per execution on a `Machine` (see meaning.py). For BRANCH rows `condition` returns the i1 that
    takes the branch, for JUMP_REGISTER rows `condition` returns the target. `link` is "ra", "rd" or "" and names where
    the return address goes. `module` is the first ISA that has the instruction, or another
    module that it is of (architecture.py).
    """

    name: str
    assembly: str
    mask: int
    value: int
    flow: Flow
    meaning: Meaning | None
    condition: Condition | None
    link: str
    module: Module
    size_bytes: int


class Instruction:
    """A decoded word. Independent of its address; one object per distinct word, shared."""

    __slots__ = (
        "row", "word", "rs", "rt", "rd", "sa", "fr", "ft", "fs", "fd", "imm", "uimm", "cc", "fcc", "lsb", "msb",
        "index", "code", "register_masks", "size_bytes", "slot_bytes", "encoding", "displacement",
    )  # fmt: skip

    def __init__(self, row: Row, word: int) -> None:
        self.row = row
        self.word = word
        self.rs = self.fr = word >> 21 & 31
        self.rt = self.ft = word >> 16 & 31
        self.rd = self.fs = self.msb = word >> 11 & 31
        self.sa = self.fd = self.lsb = word >> 6 & 31
        self.uimm = imm = word & 0xFFFF
        self.imm = imm - 0x10000 if imm & 0x8000 else imm
        self.cc = word >> 18 & 7  # branches and conditional moves
        self.fcc = word >> 8 & 7  # compares
        self.index = word & 0x3FFFFFF
        self.code = word >> 6 & 0xFFFFF
        self.register_masks: list[tuple[int, int] | None] = [None, None]  # what uses.masks found, by Status.FR
        self.size_bytes = row.size_bytes
        self.slot_bytes = INSTRUCTION_BYTES if row.flow in _WITH_SLOT else 0  # of the delay slot, where it has one
        self.encoding = word  # what the code has for it
        self.displacement = 0  # of instructions of MIPS16e code that are relative to the pc

    # fields of the DSP module's instructions

    @property
    def ac(self) -> int:
        return self.word >> 11 & 3

    @property
    def overflow(self) -> int:
        """The bit of DSPControl that notes that the accumulator was saturated."""
        return 16 + self.ac

    @property
    def amount(self) -> int:
        return self.word >> 21 & 31

    @property
    def shift(self) -> int:
        field = self.word >> 20 & 63
        return field - 64 if field & 32 else field

    @property
    def half(self) -> int:
        field = self.word >> 16 & 0x3FF
        return field - 0x400 if field & 0x200 else field

    @property
    def reads(self) -> int:
        """Which fields of DSPControl rddsp reads."""
        return self.word >> 16 & 0x3FF

    @property
    def writes(self) -> int:
        """Which fields of DSPControl wrdsp writes."""
        return self.word >> 11 & 0x3FF

    def next_pc(self, pc: int) -> int:
        """Return the address behind the instruction at `pc`: of a branch or jump, that of its delay slot."""
        return pc + self.size_bytes

    def return_pc(self, pc: int) -> int:
        """Return the address behind the branch or jump at `pc` and its delay slot, if it has one."""
        return pc + self.size_bytes + self.slot_bytes

    def branch_target(self, pc: int) -> int:
        """Return the taken target of a BRANCH row at `pc` (manual: relative to the delay slot)."""
        return (self.next_pc(pc) + self.imm * INSTRUCTION_BYTES) & 0xFFFFFFFF

    def jump_target(self, pc: int) -> int:
        """Return the target of a JUMP row at `pc` (manual: within the region of the delay slot)."""
        return (self.next_pc(pc) & 0xF0000000) | self.index * INSTRUCTION_BYTES

    def link_register(self) -> int:
        """Return the register that gets the return address, or 0."""
        link = self.row.link
        return RA if link == "ra" else self.rd if link == "rd" else 0

    def __repr__(self) -> str:
        return f"<{self.row.name} {self.word:08x}>"


def parse_pattern(pattern: str) -> tuple[int, int, int]:
    """Return (mask, value, size in bytes) of a pattern such as `000000 rs:5 rt:5 rd:5 00000 100001`.

    Raises ValueError unless it has the size of an instruction.
    """
    mask = value = width = 0
    for part in pattern.split():
        bits = int(part.partition(":")[2]) if ":" in part else len(part)
        fixed = 0 if ":" in part else (1 << bits) - 1
        mask = mask << bits | fixed
        value = value << bits | (int(part, 2) if fixed else 0)
        width += bits
    if width != 8 * INSTRUCTION_BYTES:
        raise ValueError(f"pattern of {width} bits: {pattern}")
    return mask, value, width // 8


class RowTable:
    """Collects rows; each module of rows owns one."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def add(
        self,
        assembly: str,
        pattern: str,
        meaning: Meaning | None = None,
        *,
        flow: Flow = Flow.NEXT,
        condition: Condition | None = None,
        link: str = "",
        module: Module = MIPS1,
    ) -> None:
        """Add a row; `assembly` starts with the mnemonic and names its operands' fields."""
        mask, value, size_bytes = parse_pattern(pattern)
        name = assembly.split()[0]
        self.rows.append(Row(name, assembly, mask, value, flow, meaning, condition, link, module, size_bytes))
