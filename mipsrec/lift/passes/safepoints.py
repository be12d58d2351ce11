"""Safepoints: where recompiled code looks whether a signal waits.

Needs: the graph alone. `build.py` finds the safepoints before the passes run.
Sets: `safepoints`: the edges that have one, and for each block the registers that must be right there.
Keeps: every loop that may go on for long has a safepoint on the edge back to its head, so signals from outside arrive
(docs/design/faults.md, Signals). A loop without calls has none if in each of its iterations, and in those of the loops
inside it, one of these happens: a register steps to an invariant, which a branch compares it with; a register that is
the base of a load steps, and ends at unmapped memory at the latest; a register is shifted until nothing is left of it,
and a branch compares it with 0; or the loop makes a system call.
Off when: never. With `--calls instrumented` all registers must be right at safepoints.

What counts as bounded has at most 2**32 short iterations, unless the counter never meets its test (`i <= 0xffffffff`).
Code that only recurses, or calls last through pointers, has no safepoint. A handler that reads the registers of a loop
that it interrupts may find old values in registers that the loop writes before it reads them (docs/limits.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ...analysis import Block, End, Function
from ...flow.graph import Graph, cycles
from ...flow.solve import Direction, Meet, reads_and_writes, solve
from ...isa import Instruction
from ...isa.effects import ALL_BITS, LOAD, Value, added_constant, copied_register, effects, masks
from ..options import LiftOptions

MAX_SHORT_LOOP_BLOCKS = 64
"""A loop of more blocks counts as long in any case."""

MAX_NESTED_BLOCKS = 50_000
"""Blocks of all loops of a function together, those inside others counted again. Beyond, each edge upwards gets a
safepoint."""

_AFFINE = ("add", "sub")
_COMPARISONS = ("slt", "ult")
_SHIFTS = ("shl", "lshr")


@dataclass(frozen=True)
class Safepoints:
    """The safepoints of one function.

    `edges` are pairs of source and target; `needed` has, for the start of each block, the register bits that must be
    right where a handler may read them.
    """

    function: Function
    edges: frozenset[tuple[int, int]]
    needed: dict[int, int]

    def on_edge(self, source: int, target: int) -> bool:
        """Return whether the edge has one; one to a function further down only, as a cycle of these goes up too."""
        return (source, target) in self.edges or (target not in self.function.blocks and target <= self.function.start)


def find_safepoints(graph: Graph, options: LiftOptions) -> Safepoints:
    """Return the safepoints of a function."""
    edges = safepoint_edges(graph)
    needed = needed_somewhere(graph, options.fr) if edges and options.calls != "instrumented" else {}
    return Safepoints(graph.function, edges, needed)


def safepoint_edges(graph: Graph) -> frozenset[tuple[int, int]]:
    """Return the edges, by source and target, that a safepoint belongs on."""
    entered = set(graph.entries)
    found: list[tuple[int, int]] = []
    work, budget = [graph.cycles], MAX_NESTED_BLOCKS
    while work:
        for loop in work.pop():
            body = frozenset(loop)
            if is_bounded(graph, body):
                continue
            budget -= len(body)
            edges = [(pc, target) for pc in loop for target in graph.successors[pc] if target in body]
            if budget < 0:
                found += [(pc, target) for pc, target in edges if target <= pc]
                continue
            head = _head(body, graph.predecessors, entered)
            found += [edge for edge in edges if edge[1] == head]
            work.append(cycles([pc for pc in loop if pc != head], graph.successors))
    return frozenset(found)


def cycles_without_safepoint(graph: Graph, safepoints: Safepoints) -> list[list[int]]:
    """Return the blocks of the loops that control may run through without a safepoint."""
    edges = safepoints.edges
    rest = {pc: [to for to in graph.successors[pc] if (pc, to) not in edges] for pc in graph.order}
    return cycles(graph.order, rest)


def is_bounded(graph: Graph, body: frozenset[int]) -> bool:
    """Return whether a loop surely comes to its end by itself."""
    return len(body) <= MAX_SHORT_LOOP_BLOCKS and _Iterations(graph, body).end_soon()


def _head(body: frozenset[int], predecessors: dict[int, list[int]], entered: set[int]) -> int:
    """Return the first block of a loop that control enters it by; irreducible ones have several."""
    return min(pc for pc in body if pc in entered or not body.issuperset(predecessors[pc]))


def needed_somewhere(graph: Graph, fr: int) -> dict[int, int]:
    """Return, for the start of each block, the register bits that some way from there reads before it writes them.

    Whatever leaves the function, or may trap, reads all. The others need not be right where a handler interrupts.
    """

    def masks_of(instruction: Instruction) -> tuple[int, int]:
        reads, writes = masks(instruction, fr)
        return (ALL_BITS if effects(instruction.row).traps else reads), writes

    summaries = {pc: reads_and_writes(graph.blocks[pc], masks_of) for pc in graph.order}
    transfers = {pc: (read, ~written) for pc, (read, written) in summaries.items()}
    boundary = {pc: ALL_BITS for pc in graph.order if _leaves(graph, graph.blocks[pc])}
    return solve(graph, Direction.BACKWARD, Meet.ANY, transfers, boundary)


def _leaves(graph: Graph, block: Block) -> bool:
    """Return whether control may leave the function at the end of a block."""
    after: list[int | None] = [block.next_pc] if block.end in (End.FALL, End.BRANCH) else []
    after += [block.target] if block.end in (End.JUMP, End.BRANCH) else []
    return not after or any(pc not in graph.blocks for pc in after)


@dataclass(frozen=True)
class _Write:
    """An instruction of a loop that writes one register."""

    instruction: Instruction
    block: Block


class _Iterations:
    """What happens in each iteration of a loop without calls, and of the loops inside it."""

    def __init__(self, graph: Graph, body: frozenset[int]) -> None:
        self._blocks = [graph.blocks[pc] for pc in sorted(body)]
        self._successors = {pc: [target for target in graph.successors[pc] if target in body] for pc in sorted(body)}
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
        """Return whether the iterations come to an end by themselves."""
        if any(block.end is End.CALL for block in self._blocks):
            return False
        return (
            self._in_all_iterations(block for block in self._blocks if block.end is End.SYSCALL)
            or any(self._leaves_when_counted(block) for block in self._blocks)
            or any(self._walks(number) for number in self._writes if self._steps(number))
        )

    def _in_all_iterations(self, blocks: Iterable[Block]) -> bool:
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
        """Return whether a register goes one way, by constants, in every iteration."""
        writes = self._writes.get(number, [])
        steps = {_step(write.instruction, number) for write in writes}
        return steps in ({1}, {-1}) and self._in_all_iterations(write.block for write in writes if not _annulled(write))

    def _only(self, number: int, operations: tuple[str, ...]) -> Instruction | None:
        """Return the one instruction that writes a register, in every iteration, if it is one of these operations."""
        writes = self._writes.get(number, [])
        if len(writes) != 1 or _operation(writes[0].instruction) not in operations:
            return None
        return None if _annulled(writes[0]) or not self._in_all_iterations([writes[0].block]) else writes[0].instruction

    def _one_of(self, instruction: Instruction, wanted: Callable[[int], bool]) -> bool:
        """Return whether one operand is `wanted` and the other invariant."""
        reads = [n for n in range(1, 32) if masks(instruction, 0)[0] >> n & 1]
        return any(wanted(n) and all(self._invariant(other) for other in reads if other != n) for n in reads)

    def _counts(self, number: int) -> bool:
        """Return whether a register goes one way in every iteration, or is at a fixed distance of one that does."""
        return self._steps(number) or any(self._steps(n) and self._follows(number, n) for n in self._writes)

    def _follows(self, number: int, leader: int) -> bool:
        """Return whether a register is set to the `leader`, or to a fixed distance of it, in every iteration."""
        instruction = self._only(number, _AFFINE) or self._copy(number)
        return instruction is not None and self._one_of(instruction, leader.__eq__)

    def _copy(self, number: int) -> Instruction | None:
        """Return the one instruction that writes a register, in every iteration, if it copies another."""
        instruction = self._only(number, ("or_",))
        return instruction if instruction is not None and copied_register(instruction) is not None else None

    def _compares(self, number: int) -> bool:
        instruction = self._only(number, _COMPARISONS)
        return instruction is not None and self._one_of(instruction, self._counts)

    def _runs_out(self, number: int) -> bool:
        """Return whether a register is shifted by a constant in every iteration."""
        instruction = self._only(number, _SHIFTS)
        return instruction is not None and instruction.rt == instruction.rd and instruction.sa != 0

    # ends

    def _leaves_when_counted(self, block: Block) -> bool:
        """Return whether a block that every iteration passes leaves the loop when a counter is where it ends."""
        if block.end is not End.BRANCH or block.terminator is None:
            return False
        if len(self._successors[block.start]) == 2 or not self._in_all_iterations([block]):
            return False
        test = block.terminator
        if self._one_of(test, lambda n: self._counts(n) or self._compares(n)):
            return True
        return _tests_equality(test) and 0 in (test.rs, test.rt) and self._one_of(test, self._runs_out)

    def _walks(self, number: int) -> bool:
        """Return whether memory is read in every iteration through a register, or at a fixed distance of it."""
        bases = {number} | {n for n in self._writes if self._follows(n, number)}
        blocks = [block for block in self._blocks if any(i.rs in bases and _loads_by_base(i) for i in block.body)]
        return self._in_all_iterations(blocks)


def _operation(instruction: Instruction) -> str:
    """Return the operation whose result an instruction writes, of those that take registers and constants."""
    does = effects(instruction.row)
    value = does.result
    if value is not None and value.operation == "zext1":
        value = value.operands[0]
    if value is None or not does.is_pure:
        return ""
    if any(not isinstance(one, Value) or one.operation not in ("gpr", "const") for one in value.operands):
        return ""
    return value.operation


def _tests_equality(branch: Instruction) -> bool:
    condition = effects(branch.row).condition
    return condition is not None and condition.operation in ("eq", "ne")


def _loads_by_base(instruction: Instruction) -> bool:
    """Return whether an instruction loads from imm(rs)."""
    access = effects(instruction.row).access
    return access is not None and access.is_based and access.kind == LOAD


def _annulled(write: _Write) -> bool:
    """Return whether an instruction is in a slot that is executed now and then."""
    return write.instruction is write.block.annulled


def _step(instruction: Instruction, number: int) -> int:
    """Return the sign of the constant that an instruction adds to a register; 0 when it does something else to it."""
    added = added_constant(instruction)
    if added is None or instruction.rs != number or instruction.rt != number:
        return 0
    return (added > 0) - (added < 0)
