"""Safepoints: where recompiled code looks whether a signal waits.

They are on the edges back to the head of a loop that may go on for long.

Enters: a function's blocks. Leaves: the edges that get a safepoint. A loop without calls gets none if one
thing happens in each of its rounds, and in those of the loops inside it, that brings it to its end: a register counts
up to an invariant, or walks through memory, which ends at unmapped memory at the latest; one is shifted until nothing
is left of it; or a system call is made. What is taken for a counted loop has at most 2**32 short rounds, unless its
test is one that the counter always misses (`i <= 0xffffffff`).

Not done here: code that only recurses, or goes on through pointers to functions that it calls last, has no look. A
handler that looks at the registers of a loop it interrupts may find old values in those that the loop writes before it
reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ...analysis import Block, End, Function
from ...flow.loops import cycles, predecessors_of
from ...isa import Instruction
from ...isa.uses import ALL_BITS, masks, reads_memory
from ..options import LiftOptions
from .no_wrap import may_trap

MAX_SHORT_LOOP_BLOCKS = 64
"""A loop of more blocks counts as long without being looked at."""

MAX_NESTED_BLOCKS = 50_000
"""Blocks of all loops of a function together, those inside others counted again: beyond, all edges upwards look."""

FIRST_LOAD = 0x20
"""From this opcode on, instructions that read memory have a base register and an offset."""

_AFFINE = ("addiu", "addu", "subu")
_COMPARISONS = ("slt", "sltu", "slti", "sltiu")
_SHIFTS = ("sll", "srl")


@dataclass(frozen=True)
class Safepoints:
    """The safepoints of one function.

    `edges` are pairs of source and target; `needed` has, for the start of each block, the register bits that must be
    right where a handler looks.
    """

    function: Function
    edges: frozenset[tuple[int, int]]
    needed: dict[int, int]

    def on_edge(self, source: int, target: int) -> bool:
        """Return whether the edge has one; one to a function further down only, as a cycle of these goes up too."""
        return (source, target) in self.edges or (target not in self.function.blocks and target <= self.function.start)


def find_safepoints(function: Function, order: list[int], entries: list[int], options: LiftOptions) -> Safepoints:
    """Return the safepoints of the blocks of `order`, of which control enters `entries` from outside."""
    edges = polled_edges(function, order, entries)
    needed = needed_somewhere(function, order, options.fr) if edges and options.calls != "watched" else {}
    return Safepoints(function, edges, needed)


def polled_edges(function: Function, order: list[int], entries: Iterable[int]) -> frozenset[tuple[int, int]]:
    """Return the edges, by source and target, that a look at the waiting signals belongs on.

    `order` are the blocks that are lifted, `entries` those of them that control enters from outside.
    """
    successors = {pc: function.successors(function.blocks[pc]) for pc in order}
    predecessors, entered = predecessors_of(successors), set(entries)
    found: list[tuple[int, int]] = []
    work, budget = [order], MAX_NESTED_BLOCKS
    while work:
        for loop in cycles(work.pop(), successors):
            body = frozenset(loop)
            if len(body) <= MAX_SHORT_LOOP_BLOCKS and _Rounds(function, body).end_soon():
                continue
            budget -= len(body)
            edges = [(pc, target) for pc in loop for target in successors[pc] if target in body]
            if budget < 0:
                found += [(pc, target) for pc, target in edges if target <= pc]
                continue
            head = _head(body, predecessors, entered)
            found += [edge for edge in edges if edge[1] == head]
            work.append([pc for pc in loop if pc != head])
    return frozenset(found)


def _head(body: frozenset[int], predecessors: dict[int, list[int]], entered: set[int]) -> int:
    """Return the first block of a loop that control enters it by; irreducible ones have several."""
    return min(pc for pc in body if pc in entered or not body.issuperset(predecessors[pc]))


def needed_somewhere(function: Function, order: list[int], fr: int) -> dict[int, int]:
    """Return, for the start of each block, the register bits that some way from there reads before it writes them.

    Whatever leaves the function, or may trap, reads all. The others need not be right where a handler interrupts.
    """
    summaries = {pc: _summary(function, function.blocks[pc], fr) for pc in order}
    successors = {pc: function.successors(function.blocks[pc]) for pc in order}
    predecessors = predecessors_of(successors)
    needed = dict.fromkeys(order, 0)
    work = list(order)
    while work:
        pc = work.pop()
        read, written, leaves = summaries[pc]
        after = ALL_BITS if leaves else 0
        for successor in successors[pc]:
            after |= needed[successor]
        bits = after & ~written | read
        if bits != needed[pc]:
            needed[pc] = bits
            work += predecessors[pc]
    return needed


def _summary(function: Function, block: Block, fr: int) -> tuple[int, int, bool]:
    """Return the bits a block reads before it writes them, those it surely writes, and whether control may leave."""
    read = written = 0
    likely = block.is_likely
    for instruction in block.instructions():
        reads, writes = masks(instruction, fr)
        read |= (ALL_BITS if may_trap(instruction.row) else reads) & ~written
        if not (likely and instruction is block.delay_slot):
            written |= writes
    after: list[int | None] = [block.next_pc] if block.end in (End.FALL, End.BRANCH) else []
    after += [block.target] if block.end in (End.JUMP, End.BRANCH) else []
    leaves = not after or any(pc not in function.blocks for pc in after)
    return read, written, leaves


@dataclass(frozen=True)
class _Write:
    """An instruction of a loop that writes one register."""

    instruction: Instruction
    block: Block


class _Rounds:
    """What happens in each round of a loop without calls, and of the loops inside it."""

    def __init__(self, function: Function, body: frozenset[int]) -> None:
        self._blocks = [function.blocks[pc] for pc in sorted(body)]
        self._successors = {
            block.start: [pc for pc in function.successors(block) if pc in body] for block in self._blocks
        }
        self._in_all: dict[frozenset[int], bool] = {}
        self._writes: dict[int, list[_Write]] = {}
        for block in self._blocks:
            for instruction in block.instructions():
                written = masks(instruction, 0)[1] & 0xFFFFFFFF
                while written:
                    number = written.bit_length() - 1
                    written ^= 1 << number
                    self._writes.setdefault(number, []).append(_Write(instruction, block))

    def end_soon(self) -> bool:
        """Return whether the rounds come to an end by themselves."""
        if any(block.end is End.CALL for block in self._blocks):
            return False
        return (
            self._in_all_rounds(block for block in self._blocks if block.end is End.SYSCALL)
            or any(self._leaves_when_counted(block) for block in self._blocks)
            or any(self._walks(number) for number in self._writes if self._steps(number))
        )

    def _in_all_rounds(self, blocks: Iterable[Block]) -> bool:
        """Return whether every cycle passes one of these blocks."""
        removed = frozenset(block.start for block in blocks)
        found = self._in_all.get(removed)
        if found is None:
            found = self._in_all[removed] = self._is_acyclic_without(removed)
        return found

    def _is_acyclic_without(self, removed: frozenset[int]) -> bool:
        waiting = dict.fromkeys(self._successors.keys() - removed, 0)  # edges into each from those not seen yet
        for pc in waiting:
            for successor in self._successors[pc]:
                if successor in waiting:
                    waiting[successor] += 1
        ready = [pc for pc, count in waiting.items() if count == 0]
        seen = 0
        while ready:
            seen += 1
            for successor in self._successors[ready.pop()]:
                if successor in waiting:
                    waiting[successor] -= 1
                    if waiting[successor] == 0:
                        ready.append(successor)
        return seen == len(waiting)

    # registers

    def _invariant(self, number: int) -> bool:
        return number not in self._writes

    def _steps(self, number: int) -> bool:
        """Return whether a register goes one way, by constants, in every round."""
        writes = self._writes.get(number, [])
        steps = {_step(write.instruction, number) for write in writes}
        return steps in ({1}, {-1}) and self._in_all_rounds(write.block for write in writes if not _annulled(write))

    def _only(self, number: int, names: tuple[str, ...]) -> Instruction | None:
        """Return the one instruction that writes a register, in every round, if it has one of these names."""
        writes = self._writes.get(number, [])
        if len(writes) != 1 or writes[0].instruction.row.name not in names:
            return None
        return None if _annulled(writes[0]) or not self._in_all_rounds([writes[0].block]) else writes[0].instruction

    def _one_of(self, instruction: Instruction, wanted: Callable[[int], bool]) -> bool:
        """Return whether one operand is `wanted` and the other invariant."""
        reads = [n for n in range(1, 32) if masks(instruction, 0)[0] >> n & 1]
        return any(wanted(n) and all(self._invariant(other) for other in reads if other != n) for n in reads)

    def _counts(self, number: int) -> bool:
        """Return whether a register goes one way in every round, or is at a fixed distance of one that does."""
        return self._steps(number) or any(self._steps(n) and self._follows(number, n) for n in self._writes)

    def _follows(self, number: int, leader: int) -> bool:
        """Return whether a register is set to the `leader`, or to a fixed distance of it, in every round."""
        instruction = self._only(number, _AFFINE) or self._copy(number)
        return instruction is not None and self._one_of(instruction, leader.__eq__)

    def _copy(self, number: int) -> Instruction | None:
        """Return the one instruction that writes a register, in every round, if it copies another."""
        instruction = self._only(number, ("or",))
        return instruction if instruction is not None and 0 in (instruction.rs, instruction.rt) else None

    def _compares(self, number: int) -> bool:
        instruction = self._only(number, _COMPARISONS)
        return instruction is not None and self._one_of(instruction, self._counts)

    def _runs_out(self, number: int) -> bool:
        """Return whether a register is shifted by a constant in every round."""
        instruction = self._only(number, _SHIFTS)
        return instruction is not None and instruction.rt == instruction.rd and instruction.sa != 0

    # ends

    def _leaves_when_counted(self, block: Block) -> bool:
        """Return whether a block that every round passes leaves the loop when a counter is where it ends."""
        if block.end is not End.BRANCH or block.terminator is None:
            return False
        if len(self._successors[block.start]) == 2 or not self._in_all_rounds([block]):
            return False
        test = block.terminator
        if self._one_of(test, lambda n: self._counts(n) or self._compares(n)):
            return True
        return test.row.name in ("beq", "bne") and 0 in (test.rs, test.rt) and self._one_of(test, self._runs_out)

    def _walks(self, number: int) -> bool:
        """Return whether memory is read in every round through a register, or at a fixed distance of it."""
        bases = {number} | {n for n in self._writes if self._follows(n, number)}
        blocks = [
            block
            for block in self._blocks
            if any(i.rs in bases and reads_memory(i.row) and i.word >> 26 >= FIRST_LOAD for i in block.body)
        ]
        return self._in_all_rounds(blocks)


def _annulled(write: _Write) -> bool:
    """Return whether an instruction is in a slot that is executed now and then."""
    return write.block.is_likely and write.instruction is write.block.delay_slot


def _step(instruction: Instruction, number: int) -> int:
    """Return the sign of the constant that an instruction adds to a register; 0 when it does something else to it."""
    if instruction.row.name != "addiu" or instruction.rs != number or instruction.rt != number:
        return 0
    return (instruction.imm > 0) - (instruction.imm < 0)
