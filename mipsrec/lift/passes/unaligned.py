"""Unaligned words: lwl and lwr, or swl and swr, of one word, which become one unaligned access.

Needs: the instructions of each block by themselves; `Op.volatile`.
Sets: `BlockPlan.unaligned`, and `Op.volatile` of a first half whose second is volatile.
Keeps: the word (MIPS32 volume II, LWL and SWL: which byte is leftmost depends on the byte order). Both halves of a load
are loaded where the first is. So only instructions stand between them that neither trap nor access memory, or load
halves of other words, and that leave the registers of both halves alone. The second may be in the delay slot of a
branch that is not likely. Halves of a store follow each other directly. A fault has the pc of the first half
(docs/limits.md).
Off when: never.
"""

from __future__ import annotations

from ...analysis import Block, End
from ...isa import Instruction
from ...isa.effects import LOAD, Access, effects, masks
from ..ir import FunctionPlan, UnalignedWord

_REACH = 8
"""Instructions after the first half among which the second may be."""


def _part(instruction: Instruction) -> Access | None:
    """Return the access of an instruction that accesses part of a word."""
    access = effects(instruction.row).access
    return access if access is not None and access.part else None


def _may_pass(instruction: Instruction) -> bool:
    """Return whether an instruction may stand between the halves of a load."""
    part = _part(instruction)
    return effects(instruction.row).is_pure or (part is not None and part.kind == LOAD)


def unaligned_words(block: Block, big_endian: bool, fr: int) -> dict[int, UnalignedWord]:
    """Return the words of a block that two instructions access, by the index of the first half."""
    if not any(map(_part, block.body)):
        return {}
    body = list(block.body)
    terminator = block.terminator
    has_slot = block.end in (End.BRANCH, End.JUMP)
    if has_slot and block.delay_slot is not None and terminator is not None:
        body += [terminator, block.delay_slot]
    found: dict[int, UnalignedWord] = {}
    halves: set[int] = set()
    for at, first in enumerate(block.body):
        second = None if at in halves else _second(body, at, terminator, fr)
        if second is None:
            continue
        half = _part(first)
        assert half is not None
        left, right = (first, body[second]) if half.part == "left" else (body[second], first)
        low, distance = (left, -3) if big_endian else (right, 3)
        if left.imm - right.imm == distance:
            halves.add(second)
            found[at] = UnalignedWord(min(second, len(block.body)), low.imm)
    return found


def _second(body: list[Instruction], at: int, terminator: Instruction | None, fr: int) -> int | None:
    """Return the index of the other half of the access with an index, or None if it is none or there is no other."""
    first = body[at]
    half = _part(first)
    if half is None or first.rs == first.rt:
        return None
    reach = _REACH if half.kind == LOAD else 1
    for index in range(at + 1, min(at + 1 + reach, len(body))):
        instruction = body[index]
        part = _part(instruction)
        same = part is not None and part.kind == half.kind and (instruction.rs, instruction.rt) == (first.rs, first.rt)
        if same and part is not None and part.part != half.part:
            return index
        read, written = masks(instruction, fr)
        if (read | written) >> first.rt & 1 or written >> first.rs & 1:
            return None
        if instruction is not terminator and not _may_pass(instruction):
            return None
    return None


def run(plan: FunctionPlan) -> None:
    """Find the words that two instructions access."""
    for block in plan.blocks.values():
        block.unaligned = unaligned_words(block.block, plan.options.big_endian, plan.options.fr)
        for first, word in block.unaligned.items():  # which is one access, in the place of the first half
            block.ops[first].exposed |= block.ops[word.second].exposed
            block.ops[first].volatile |= block.ops[word.second].volatile
