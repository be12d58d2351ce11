"""Pairs of lwl and lwr, or swl and swr, of one word: each is one unaligned access.

Both halves of a load are loaded where its first half is, however far the compiler has moved the second, even into the
delay slot of a branch: between them only instructions stand that neither trap nor access memory, or load halves of
other words, and that leave the pair's registers alone. Of stores the halves follow one another directly.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...analysis import Block, End
from ...isa import Instruction
from ...isa.uses import masks

_REACH = 8
"""Instructions after the first half that are looked at for the second."""

_LOADS = frozenset(("lwl", "lwr"))
_STORES = frozenset(("swl", "swr"))
_PASSED = _LOADS | frozenset(
    "addiu addu subu and andi or ori xor xori nor lui sll srl sra sllv srlv srav slt slti sltu sltiu".split()
)


@dataclass(frozen=True)
class Pair:
    """The index of the second half, in body and slot, and the word's displacement."""

    second: int
    displacement: int


def find_pairs(block: Block, big_endian: bool, fr: int) -> dict[int, Pair]:
    """Return the pairs of a block by the index of their first half."""
    if not any(instruction.row.name in _LOADS | _STORES for instruction in block.body):
        return {}
    body = list(block.body)
    terminator = block.terminator
    has_slot = block.end in (End.BRANCH, End.JUMP) and not block.is_likely
    if has_slot and block.delay_slot is not None and terminator is not None:
        body += [terminator, block.delay_slot]
    found: dict[int, Pair] = {}
    halves: set[int] = set()
    for at, first in enumerate(block.body):
        second = None if at in halves else _second(body, at, terminator, fr)
        if second is None:
            continue
        left, right = (first, body[second]) if first.row.name[2] == "l" else (body[second], first)
        low, distance = (left, -3) if big_endian else (right, 3)
        if left.imm - right.imm == distance:
            halves.add(second)
            found[at] = Pair(min(second, len(block.body)), low.imm)
    return found


def _second(body: list[Instruction], at: int, terminator: Instruction | None, fr: int) -> int | None:
    """Return the index of the other half of the access with an index, or None if it is none or there is no other."""
    first = body[at]
    name = first.row.name
    if name not in _LOADS | _STORES or first.rs == first.rt:
        return None
    other = name[:2] + ("r" if name[2] == "l" else "l")
    reach = _REACH if name in _LOADS else 1
    for index in range(at + 1, min(at + 1 + reach, len(body))):
        instruction = body[index]
        if instruction.row.name == other and instruction.rs == first.rs and instruction.rt == first.rt:
            return index
        read, written = masks(instruction, fr)
        if (read | written) >> first.rt & 1 or written >> first.rs & 1:
            return None
        if instruction is not terminator and instruction.row.name not in _PASSED:
            return None
    return None
