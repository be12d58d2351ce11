"""Writes the edges between the blocks of a function, and those out of it that no call makes."""

from __future__ import annotations

from dataclasses import dataclass

from ..lift.ir import BlockPlan, PromotedLoop
from ..lift.nodes import Branch, Edge, Goto
from .emission import Emission
from .instructions import InstructionWriter
from .safepoints import write_safepoint
from .writer import UNROLLED, Value

MAX_ITERATIONS = 4
"""Of a loop of one block, that are written: results that the next iteration takes in are tested in the last only."""

LABEL = "b_{:08x}".format

GATE = "g_{:08x}".format
"""Where a loop that has vectors goes back to; those who enter it go to _VECTORS."""

_VECTORS = "v_{:08x}".format
_SLOTS = "w_{:08x}".format


@dataclass(frozen=True)
class Stub:
    """An edge on which something happens, and the bits of the pairs that are two floats there."""

    edge: Edge
    split: int


class EdgeWriter:
    """Writes jumps and branches, and keeps the stubs of the edges that they go by."""

    def __init__(self, emission: Emission, instructions: InstructionWriter) -> None:
        self._emission = emission
        self._instructions = instructions
        self._plan = emission.plan
        self._writer = emission.writer
        self._machine = emission.machine
        self.stubs: dict[Stub, str] = {}
        """The stubs of the blocks written so far, with their labels."""
        self._iterations = 1  # of a loop that is the current block, that have been written

    def start_block(self) -> None:
        self._iterations = 1

    # labels

    def entry(self, pc: int) -> str:
        """Return the label of the way into a block from elsewhere."""
        if pc in self._plan.promoted:
            return _SLOTS(pc)
        return _VECTORS(pc) if pc in self._plan.vectorized else LABEL(pc)

    def _way(self, source: int, pc: int) -> str:
        """Return the label that leads from one block to another."""
        loop = self._plan.promoted.get(pc)
        return LABEL(pc) if loop is not None and source in loop.body else self.entry(pc)

    def destination(self, edge: Edge) -> str:
        """Return the label that an edge leads to: of a block, or of a stub."""
        if edge.is_plain:
            loop = self._plan.vectorized.get(edge.target)
            is_back = loop is not None and edge.source == loop.latch
            return GATE(edge.target) if is_back else self._way(edge.source, edge.target)
        stub = Stub(edge, self._machine.registers.split_out)
        if stub not in self.stubs:
            self.stubs[stub] = self._writer.fresh_label()
        return self.stubs[stub]

    # ends of blocks

    def go_to(self, end: Goto) -> None:
        """End a block by going on in one way."""
        self._machine.registers.save(end.saves)
        self._writer.void(f"br label %{self.destination(end.edge)}")

    def end_fall(self, block: BlockPlan) -> None:
        assert isinstance(block.end, Goto)
        if self._emission.counters is not None and block.block.slot_of is not None:
            self._emission.counters.taken(block.block.slot_of)
        self.go_to(block.end)

    def end_jump(self, block: BlockPlan) -> None:
        instructions = self._instructions
        instructions.terminator(block.block)
        instructions.link(block)
        instructions.slot()
        self.end_fall(block)

    def end_branch(self, block: BlockPlan) -> None:
        instructions, machine, end = self._instructions, self._machine, block.end
        assert isinstance(end, Branch)
        instruction = instructions.terminator(block.block)
        assert instruction.row.condition is not None
        flag = instruction.row.condition(machine.operations, instruction)
        if block.slot is not None:
            instructions.slot()
        if self._goes_on(end):
            self._next_iteration(block, end, flag)
            return
        machine.registers.save(end.saves)
        target, other = self.destination(end.taken), self.destination(end.other)
        if self._counted(block, end, flag, target, other):
            return
        loop = ""
        if target == LABEL(block.block.start) and machine.guards.looked and self._iterations == 1:
            loop = f", {UNROLLED}"  # LLVM leaves a loop that contains a call as it is, be it never made
        self._writer.void(f"br i1 {flag}, label %{target}, label %{other}{loop}")

    def _counted(self, block: BlockPlan, end: Branch, flag: Value, target: str, other: str) -> bool:
        """End a block by a branch that counts; return False, with nothing written, where it does not."""
        counters, instruction = self._emission.counters, block.block.terminator
        if counters is None or instruction is None:
            return False
        taken = self._plan.blocks.get(end.taken.target)
        has_own_slot = taken is not None and taken.block.slot_of == block.block.terminator_pc
        return counters.branch(instruction, block.block.terminator_pc, flag, target, other, has_own_slot)

    def _goes_on(self, end: Branch) -> bool:
        """Return whether to write another iteration of a loop of one block, with results not yet tested."""
        if not end.repeats or self._plan.options.counters is not None or self._iterations == MAX_ITERATIONS:
            return False
        return bool(self._machine.guards.pending) and not self._machine.memory.stored

    def _next_iteration(self, block: BlockPlan, end: Branch, flag: Value) -> None:
        """Write what follows an iteration: the way out, where all results are tested, and another iteration."""
        writer, machine = self._writer, self._machine
        again, out = writer.fresh_label(), writer.fresh_label()
        writer.void(f"br i1 {flag}, label %{again}, label %{out}")
        writer.label(out)
        here = machine.copy()
        self.go_to(Goto(end.other, end.saves))
        machine.restore(here)
        writer.label(again)
        self._iterations += 1
        self._instructions.body(block)
        self.end_branch(block)

    # what happens on edges

    def write_loop_entry(self, loop: PromotedLoop) -> None:
        """Write the way into a loop with promoted variables."""
        self._machine.start_block()
        self._writer.label(_SLOTS(loop.head))
        self._emission.at(loop.pc)
        for variable in loop.variables:
            self._machine.accesses.load_promoted(variable)
        self._writer.void(f"br label %{LABEL(loop.head)}")

    def write_stub(self, stub: Stub) -> None:
        """Write what happens on an edge, and where it leads; its label and the start of its block are written."""
        machine, found = self._machine, stub.edge
        machine.registers.flush(found.stores)
        if found.has_safepoint:
            write_safepoint(self._emission, found.target, found.polls)
        if found.leaves is not None:
            self._emission.calls.tail_call(found.leaves, found.target, self._emission.arguments(found.leaves.arguments))
        else:
            machine.registers.reload(found.loads)
            self._writer.void(f"br label %{self._way(found.source, found.target)}")
