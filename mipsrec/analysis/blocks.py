"""Finds the basic blocks of one function: decodes from its start, follows branches, stays below its limit.

Every pc is decoded once. The terminator and its delay slot belong to one block; a slot that is also a branch target
starts a block of its own and is then lifted in both. Whatever cannot be right (a branch in a delay slot, a word no row
matches) ends its block with a hand-over to the interpreter.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from itertools import pairwise

from ..architecture import (
    HALF_BYTES,
    INSTRUCTION_BYTES,
    is_aligned,
    is_mips16,
    may_be_code,
    whole_instructions,
)
from ..isa import Flow, Instruction, decode, decode16, is_long
from ..isa.effects import effects, is_reserved
from ..memory import AddressSpace
from ..state import RA, T9
from .model import Block, End, Function, slot_start
from .symbolic import constant_condition

Ranges = tuple[tuple[int, int], ...]
"""Of guest pcs: start and end, sorted and disjoint."""

_ADDIU_SP = 0x27BD


class CodeReader:
    """Instructions by pc; None where nothing executable or decodable stands."""

    def __init__(self, memory: AddressSpace, fr: int, ranges: Ranges | None = None) -> None:
        self.runs: list[tuple[int, int, array[int]]] = []
        """The executable ranges by address, or those given: start, end, words."""
        for low, high in memory.image.executable_ranges if ranges is None else ranges:
            start, end = whole_instructions(low, high)
            words = memory.words(start, end)
            self.runs.append((start, start + INSTRUCTION_BYTES * len(words), words))
        self.starts = [start for start, _, _ in self.runs]
        self.fr = fr
        self._first_is_high = memory.image.byte_order == "big"

    def word(self, pc: int) -> int | None:
        """Return the word at an aligned pc inside executable memory, or None."""
        return self._word_around(pc) if is_aligned(pc) else None

    def _word_around(self, address: int) -> int | None:
        """Return the word that has the byte at an address."""
        index = bisect_right(self.starts, address) - 1
        if index < 0:
            return None
        start, end, words = self.runs[index]
        return words[(address - start) // INSTRUCTION_BYTES] if address < end else None

    def half(self, address: int) -> int | None:
        """Return the half at an even address inside executable memory, or None."""
        word = self._word_around(address)
        if word is None:
            return None
        is_high = is_aligned(address) == self._first_is_high
        return word >> 16 if is_high else word & 0xFFFF

    def instruction(self, pc: int) -> Instruction | None:
        """Return the instruction at `pc`, or None when it is undecodable or reserved under this FR."""
        if is_mips16(pc):
            return self._instruction16(pc - 1)
        word = self.word(pc)
        if word is None:
            return None
        instruction = decode(word)
        if instruction is not None and instruction.word >> 26 in (0o21, 0o23, 0o37, 0o61, 0o65, 0o71, 0o75):
            return None if is_reserved(instruction, self.fr) else instruction
        return instruction

    def _instruction16(self, address: int) -> Instruction | None:
        first = self.half(address)
        second = self.half(address + HALF_BYTES) if first is not None and is_long(first) else 0
        return decode16(first, second) if first is not None and second is not None else None


def _terminate(block: Block, pc: int, instruction: Instruction | None, slot: Instruction | None) -> None:
    """Fill in how `block` ends, given its terminator at `pc` (None: undecodable)."""
    block.terminator_pc = pc
    if instruction is None:
        block.end = End.INTERPRET
        return
    block.terminator = instruction
    flow = instruction.row.flow
    if flow in (Flow.SYSCALL, Flow.STOP):
        block.end = End.SYSCALL if flow is Flow.SYSCALL else End.STOP
        block.next_pc = instruction.next_pc(pc)
        return
    if instruction.slot_bytes and (slot is None or not _may_be_slot(slot, instruction.slot_bytes)):
        block.end, block.terminator = End.INTERPRET, None
        return
    block.delay_slot = slot
    block.next_pc = instruction.return_pc(pc)
    if flow is Flow.JUMP_REGISTER:
        linked = instruction.link_register() != 0
        block.end = End.CALL if linked else End.RETURN if instruction.rs == RA else End.INDIRECT
        return
    always = 1 if flow is Flow.JUMP else constant_condition(instruction)
    target = instruction.jump_target(pc) if flow is Flow.JUMP else instruction.branch_target(pc)
    block.target = target
    if instruction.row.link and flow is Flow.BRANCH_LIKELY:
        block.end, block.terminator = End.INTERPRET, None  # bltzall, bgezall: obsolete, and a slot inside a call
    elif always is None and instruction.row.link:
        block.end = End.CALL  # only when the condition holds
    elif flow is Flow.BRANCH_LIKELY and always != 1:
        block.end, block.target, block.delay_slot = End.BRANCH, slot_start(pc), None
    elif always is None:
        block.end = End.BRANCH
    elif always == 0:  # bltzal $0 links and goes on; bne $0,$0 is a nop with a slot
        block.end, block.target = End.JUMP, block.next_pc
    elif instruction.row.link and target != block.next_pc:
        block.end = End.CALL
    else:  # includes jal and bal to next_pc, which only read the pc
        block.end = End.JUMP


def _may_be_slot(instruction: Instruction, slot_bytes: int) -> bool:
    """Tell whether a delay slot may have the instruction. In MIPS16e code save and restore are unpredictable there."""
    is_frame = effects(instruction.row).steps_sp
    return instruction.row.flow is Flow.NEXT and instruction.size_bytes == slot_bytes and not is_frame


def makes_frame16(instruction: Instruction) -> bool:
    """Return whether an instruction of MIPS16e code is a save."""
    does = effects(instruction.row)
    return does.steps_sp and does.stores


def _looks_like_start(code: CodeReader, pc: int) -> bool:
    """Return whether a function seems to start at `pc`: it makes a stack frame or sets up gp."""
    if is_mips16(pc):
        instruction = code.instruction(pc)
        return instruction is not None and makes_frame16(instruction)
    word = code.word(pc) or 0
    return word >> 16 == 0x3C1C or (word >> 16 == _ADDIU_SP and word & 0x8000 != 0)


class BlockFinder:
    """Builds the blocks of one function; `explore` may be called again when new targets appear."""

    def __init__(self, code: CodeReader, function: Function) -> None:
        self._code = code
        self._function = function
        self._leaders: set[int] = set()

    def explore(self, pcs: list[int]) -> None:
        """Add the blocks reached from `pcs` to the function, splitting blocks that a new leader falls into."""
        function = self._function
        work = [pc for pc in pcs if pc not in self._leaders]
        self._leaders.update(work)
        while work:
            pc = work.pop()
            block = self._scan(pc)
            function.blocks[pc] = block
            if block.end is End.BRANCH and _is_likely(block):
                self._add_slot(block)
            for target in self._targets(block):
                if target in self._leaders:
                    continue
                if function.start <= target < function.limit and is_mips16(target) == is_mips16(function.start):
                    self._leaders.add(target)
                    work.append(target)
                elif may_be_code(target):
                    function.outside.add(target)
        self._split()

    def _add_slot(self, block: Block) -> None:
        """Make the slot of a branch-likely a block, which goes on where the branch leads to."""
        assert block.terminator is not None and block.target is not None
        slot = self._code.instruction(block.slot_pc)
        assert slot is not None
        target = block.terminator.branch_target(block.terminator_pc)
        slot_block = Block(block.target, [slot], End.FALL, terminator_pc=target, next_pc=target)
        slot_block.slot_of = block.terminator_pc
        self._function.blocks[slot_block.start] = slot_block

    def _targets(self, block: Block) -> list[int]:
        if block.end is End.CALL and _looks_like_start(self._code, block.next_pc):
            self._function.outside.add(block.next_pc)  # the callee does not return: another function begins here
            return []
        if block.end is End.CALL and block.target is not None and is_mips16(block.start | block.target):
            self._function.outside.add(block.target)  # no sweep over the code finds it
        if block.end is End.BRANCH:
            assert block.target is not None
            slot = self._function.blocks.get(block.target) if _is_likely(block) else None
            return [block.target if slot is None else slot.next_pc, block.next_pc]
        if block.end is End.JUMP:
            assert block.target is not None
            return [block.target]
        return [block.next_pc] if block.end in (End.FALL, End.CALL, End.SYSCALL) else []

    def _scan(self, start: int) -> Block:
        """Decode from `start` to the first terminator, leader or the function's limit."""
        code, limit = self._code, self._function.limit
        block = Block(start, [], End.FALL)
        body, pc = block.body, start
        leaders = self._leaders
        while pc < limit and (pc == start or pc not in leaders):
            instruction = code.instruction(pc)
            if instruction is None or instruction.row.flow is not Flow.NEXT:
                has_slot = instruction is not None and instruction.slot_bytes
                slot = code.instruction(instruction.next_pc(pc)) if instruction is not None and has_slot else None
                _terminate(block, pc, instruction, slot)
                return block
            body.append(instruction)
            pc = instruction.next_pc(pc)
        block.next_pc = block.terminator_pc = pc
        return block

    def _split(self) -> None:
        """End every block at the next leader inside its body."""
        blocks = self._function.blocks
        order = sorted(start for start, block in blocks.items() if block.slot_of is None)
        for start, following in pairwise(order):
            block = blocks[start]
            count = _count_before(block, following)
            if count < len(block.body) or (count == len(block.body) and block.end is not End.FALL):
                blocks[start] = Block(start, block.body[:count], End.FALL, terminator_pc=following, next_pc=following)


def _is_likely(block: Block) -> bool:
    """Return whether a block ends in a branch-likely, whose slot is a block of its own."""
    return block.terminator is not None and block.terminator.row.flow is Flow.BRANCH_LIKELY and block.delay_slot is None


def _count_before(block: Block, pc: int) -> int:
    """Return how many instructions of a block's body are before the one at a pc, or a number beyond them all.

    In MIPS16e code, what is no code may lead into the middle of an instruction: both ways to read it are blocks then.
    """
    if not is_mips16(block.start):
        return (pc - block.start) // INSTRUCTION_BYTES
    at = block.start
    for count, instruction in enumerate(block.body):
        if at >= pc:
            return count if at == pc else len(block.body) + 1
        at += instruction.size_bytes
    return len(block.body) if at == pc else len(block.body) + 1


def is_tail_call(function: Function, block: Block) -> bool:
    """Return whether a `jr` leaves the function: its target is in t9, as callees want it, and the stack is free again.

    (MIPS ABI supplement, position-independent function prologue.) Without that, data that points to functions behind
    this one, to which no code refers, would be taken for labels of it.
    """
    assert block.terminator is not None
    if block.terminator.rs != T9:
        return False
    if any(_moves_sp(instruction) > 0 for instruction in block.body_and_slot()):
        return True
    return not any(_moves_sp(instruction) < 0 for other in function.blocks.values() for instruction in other.body)


def _moves_sp(instruction: Instruction) -> int:
    """Return what an `addiu sp, sp` adds, 0 for any other instruction."""
    return instruction.imm if instruction.word >> 16 == _ADDIU_SP else 0
