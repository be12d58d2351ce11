"""Writes the edges between the blocks of a function, and those out of it that no call makes."""

from __future__ import annotations

from dataclasses import dataclass

from ..analysis import Block, End
from ..isa import Flow
from ..isa.effects import ALL_BITS
from ..lift.convention import PRESERVED
from ..lift.ir import PromotedLoop
from ..lift.passes.safepoints import Safepoints
from ..lift.passes.vectorize.iteration import Iteration
from .instructions import InstructionWriter
from .memory import Value
from .safepoints import write_safepoint
from .writer import UNROLLED

MAX_COPIED_RETURN = 24
"""Instructions of the longest return block that is copied; an o32 epilogue restores at most ten registers."""

MAX_ITERATIONS = 4
"""Of a loop of one block, that are written: results that the next iteration takes in need a look in the last only."""

LABEL = "b_{:08x}".format

GATE = "g_{:08x}".format
"""Where a loop that has vectors goes back to; those who enter it go to _VECTORS."""

_VECTORS = "v_{:08x}".format
_SLOTS = "w_{:08x}".format


@dataclass(frozen=True)
class Stub:
    """An edge with work of its own; `dirty` and `split` tell of units there that are dirty, and of pairs in halves."""

    source: int
    pc: int
    dirty: int
    split: int
    polled: bool  # looks for signals


class EdgeWriter(InstructionWriter):
    """The part of FunctionWriter that writes jumps and branches."""

    _safepoints: Safepoints
    _vectors: dict[int, Iteration]
    _slot_heads: dict[int, PromotedLoop]
    _stubs: dict[Stub, str]  # with their labels
    _start = 0  # of the current block
    _iterations = 1  # of a loop that is the current block, that have been written
    _in_state: bool  # whether blocks leave registers in the state

    def _contents(self, block: Block, dirty: int) -> None:
        raise NotImplementedError

    def _entry(self, pc: int) -> str:
        """Return the label of the way into a block from elsewhere."""
        if pc in self._slot_heads:
            return _SLOTS(pc)
        return _VECTORS(pc) if pc in self._vectors else LABEL(pc)

    def _way(self, source: int, pc: int) -> str:
        """Return the label that leads from one block to another."""
        loop = self._slot_heads.get(pc)
        return LABEL(pc) if loop is not None and source in loop.body else self._entry(pc)

    def _write_way_in(self, loop: PromotedLoop) -> None:
        """Write the way into a loop with promoted variables."""
        self._machine.start_block()
        self._writer.label(_SLOTS(loop.head))
        self._writer.debug = f", !dbg !DILocation(line: {loop.pc}, scope: !{self._scope})"
        for variable in loop.variables:
            self._machine.load_promoted(variable)
        self._writer.void(f"br label %{LABEL(loop.head)}")

    def _end_fall(self, block: Block) -> None:
        self._machine.registers.save(self._live(block))
        self._writer.void(f"br label %{self._destination(block.next_pc)}")

    def _live(self, block: Block) -> int:
        """Return the bits that successors need, and those that stubs of edges out of the function flush or pass."""
        return ALL_BITS if self._in_state else self._plan.live_out[block.start] | self._machine.dirty | PRESERVED

    def _end_branch(self, block: Block) -> None:
        writer, machine = self._writer, self._machine
        instruction = self._terminator(block)
        assert instruction.row.condition is not None and block.target is not None
        flag = instruction.row.condition(machine, instruction)
        if instruction.row.flow is Flow.BRANCH_LIKELY:
            taken = writer.fresh_label()
            machine.registers.save(self._live(block))
            dirty = machine.dirty
            writer.void(f"br i1 {flag}, label %{taken}, label %{self._destination(block.next_pc)}")
            writer.label(taken)
            self._slot(self._function_plan.blocks[block.start])
            machine.registers.save(self._live(block))
            writer.void(f"br label %{self._destination(block.target)}")
            machine.dirty |= dirty
            return
        self._slot(self._function_plan.blocks[block.start])
        if self._goes_on(block):
            self._next_iteration(block, flag)
            return
        machine.registers.save(self._live(block))
        target, next_block = self._destination(block.target), self._destination(block.next_pc)
        loop = ""
        if target == LABEL(block.start) and machine.looked and self._iterations == 1:
            loop = f", {UNROLLED}"  # LLVM leaves a loop that contains a call as it is, be it never made
        writer.void(f"br i1 {flag}, label %{target}, label %{next_block}{loop}")

    def _goes_on(self, block: Block) -> bool:
        """Return whether to write another iteration of a loop of one block, with results not yet looked at."""
        machine, plan, pc = self._machine, self._plan, block.start
        if block.target != pc or self._iterations == MAX_ITERATIONS or machine.memory.stored or not machine.pending:
            return False
        if self._in_state:
            return False
        dirty = machine.dirty
        return not (self._safepoints.on_edge(pc, pc) or plan.edge_loads(dirty, pc) or plan.edge_flushes(dirty, pc))

    def _next_iteration(self, block: Block, flag: Value) -> None:
        """Write what follows an iteration: the way out, where all is looked at, and another iteration."""
        writer, machine = self._writer, self._machine
        again, out = writer.fresh_label(), writer.fresh_label()
        writer.void(f"br i1 {flag}, label %{again}, label %{out}")
        writer.label(out)
        here = machine.copy()
        machine.registers.save(self._live(block))
        writer.void(f"br label %{self._destination(block.next_pc)}")
        machine.restore(here)
        writer.label(again)
        self._iterations += 1
        self._body(self._function_plan.blocks[block.start])
        self._end_branch(block)

    def _end_jump(self, block: Block) -> None:
        self._terminator(block)
        self._link(block)
        self._slot(self._function_plan.blocks[block.start])
        assert block.target is not None
        self._machine.registers.save(self._live(block))
        self._writer.void(f"br label %{self._destination(block.target)}")

    def _destination(self, pc: int) -> str:
        """Return the label of a block here, or of a stub: it flushes and loads units, has a safepoint, or leaves."""
        dirty, plan = 0 if self._in_state else self._machine.dirty, self._plan
        polled = self._safepoints.on_edge(self._start, pc)
        if not polled and pc in plan.dirty_in and not plan.edge_loads(dirty, pc) and not plan.edge_flushes(dirty, pc):
            return GATE(pc) if pc == self._start and pc in self._vectors else self._way(self._start, pc)
        stub = Stub(self._start, pc, dirty, self._machine.registers.split_out, polled)
        if stub not in self._stubs:
            self._stubs[stub] = self._writer.fresh_label()
        return self._stubs[stub]

    def _is_short_return(self, pc: int) -> bool:
        """Return whether to copy a block rather than to load, on the way into it, what it would only flush again."""
        block = self._function.blocks[pc]
        return block.end is End.RETURN and block.instruction_count() <= MAX_COPIED_RETURN

    def _write_stubs(self) -> None:
        machine, plan = self._machine, self._plan
        for stub, label in self._stubs.items():
            self._writer.label(label)
            machine.start_block()
            machine.registers.split_in = machine.registers.split_out = stub.split
            pc, dirty = stub.pc, stub.dirty
            if pc in plan.dirty_in and self._is_short_return(pc):
                self._contents(self._function.blocks[pc], dirty)
                continue
            flushed = plan.edge_flushes(dirty, pc) if pc in plan.dirty_in else dirty
            machine.registers.flush(flushed)
            if stub.polled:
                location = f", !dbg !DILocation(line: {pc}, scope: !{self._scope})"
                write_safepoint(machine, self._safepoints, pc, dirty & ~flushed, location)
            if pc in plan.dirty_in:
                machine.registers.reload(plan.edge_loads(dirty, pc))
                self._writer.void(f"br label %{self._way(stub.source, pc)}")
            else:
                self._calls.tail_call(pc, None, self._arguments(self._calls.convention.passed(pc)))
        self._stubs = {}
