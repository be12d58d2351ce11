"""Instructions of MIPS16e code, and jalx, by which code of either kind calls the other (manual, volumes IV-a, II-A)."""

from __future__ import annotations

from ..architecture import HALF_BYTES, INSTRUCTION_BYTES, MIPS16
from .meaning import Condition, Meaning
from .row import Flow, Instruction, Row


def mips16_row(
    name: str,
    meaning: Meaning | None = None,
    flow: Flow = Flow.NEXT,
    condition: Condition | None = None,
    link: str = "",
) -> Row:
    """Return a row that only MIPS16e code has, or jalx."""
    return Row(name, name, 0, 0, flow, meaning, condition, link, MIPS16, HALF_BYTES)


class Instruction16(Instruction):
    """An instruction of one or two halves, which are its `encoding`; see Instruction.

    `displacement`: what is added to the pc behind a branch, or to the pc of another instruction, without its low two
    bits; of jal and jalx the target within the region.
    """

    __slots__ = ()

    def __init__(self, row: Row, word: int, size_bytes: int, displacement: int = 0, slot_bytes: int = 0) -> None:
        super().__init__(row, word)
        self.size_bytes, self.slot_bytes = size_bytes, slot_bytes
        self.displacement = displacement

    def branch_target(self, pc: int) -> int:
        return (self.next_pc(pc) + self.displacement) & 0xFFFFFFFF

    def jump_target(self, pc: int) -> int:
        return (self.next_pc(pc) & 0xF0000000) | self.displacement

    def address(self, pc: int) -> int:
        """Return the address that an instruction which is relative to the pc means; in a slot, the pc is the jump's."""
        return (pc - pc % INSTRUCTION_BYTES + self.displacement) & 0xFFFFFFFF


JALX = mips16_row("jalx", flow=Flow.JUMP, link="ra")
_OPCODE = 0x1D


def exchanging_jump(word: int) -> Instruction | None:
    """Return the jalx that a word of MIPS32 code is."""
    if word >> 26 != _OPCODE:
        return None
    target = (word & 0x3FFFFFF) * INSTRUCTION_BYTES | 1
    return Instruction16(JALX, word, INSTRUCTION_BYTES, target, INSTRUCTION_BYTES)
