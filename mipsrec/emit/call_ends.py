"""How a block ends that calls: what is flushed before, what is known and what is loaded after it."""

from __future__ import annotations

from functools import partial

from ..analysis import Block
from ..lift.ir import BlockPlan
from ..lift.nodes import Call, Edge, Syscall
from ..state import RA, SP
from .calls import Returned
from .doors import door
from .edges import EdgeWriter
from .emission import Emission
from .instructions import InstructionWriter
from .places import ENTRY_SP
from .types import PASSED
from .writer import UNLIKELY, Value, text


class CallEnds:
    """Writes the ends of blocks that call."""

    def __init__(self, emission: Emission, instructions: InstructionWriter, edges: EdgeWriter) -> None:
        self._emission = emission
        self._instructions = instructions
        self._edges = edges
        self._writer = emission.writer
        self._machine = emission.machine
        self._calls = emission.calls

    # ends of blocks

    def end_call(self, block_plan: BlockPlan) -> None:
        machine, block, end = self._machine, block_plan.block, block_plan.end
        assert isinstance(end, Call)
        instruction = self._instructions.terminator(block)
        flag = None
        if end.conditional:  # it and the target are latched before the link and the slot
            assert instruction.row.condition is not None
            flag = instruction.row.condition(machine.operations, instruction)
        target: Value = machine.gpr(instruction.rs) if block.target is None else block.target
        self._instructions.link(block_plan)
        self._instructions.slot()
        if self._emission.counters is not None:
            self._emission.counters.jump(instruction, block.terminator_pc, target)
        link_bytes = block.next_pc - block.terminator_pc if block_plan.link == RA else 0
        self._instructions.make_current(instruction, block.terminator_pc, link_bytes)
        self._call(block, end, target, flag)

    def _call(self, block: Block, end: Call, target: Value, flag: Value | None) -> None:
        """Call at the end of a block, on condition of `flag` if there is one."""
        writer, machine = self._writer, self._machine
        if end.exposes is not None:
            self._instructions.expose(end.exposes)
        machine.registers.flush(end.stores)
        returned = writer.fresh_label()
        if flag is not None:
            call, counters = writer.fresh_label(), self._emission.counters
            assert block.terminator is not None
            if counters is None or not counters.branch(block.terminator, block.terminator_pc, flag, call, returned):
                writer.void(f"br i1 {flag}, label %{call}, label %{returned}")
            writer.label(call)
        machine.registers.hold(end.missed)
        arguments, is_apart = self._emission.arguments(end.to.arguments), end.exposes is not None
        found = self._calls.call(end.to, target, arguments, is_apart, partial(machine.registers.put, end.missed))
        depth = self._emission.plan.stack_depths.get(end.after.target)
        if depth is not None:
            # Have a callee that came back with another sp say what sp would have been at the entry of this function.
            # This stands on the way from the callee alone: where LLVM folds a later addition into what joins two ways,
            # it takes the sum for the summand.
            sp = found.results[SP] if SP in found.results else machine.state.gpr(SP)
            entry_sp = writer.value(f"add i32 {sp}, {depth}") if depth else sp
            writer.lines.append(f"  store i32 {entry_sp}, ptr %{ENTRY_SP}")
        if flag is not None:  # where no call happened, the state alone has results
            found = self._stored(found)
        self._after_sync(end.after, end.loads, end.returned, found, returned)

    def _stored(self, found: Returned) -> Returned:
        """Store what a callee has returned besides the pc."""
        for number, value in found.results.items():
            self._machine.state.set_gpr(number, value, PASSED[number])
        return Returned(found.pc, {})

    def _after_sync(self, way: Edge, loads: int, results: int, after: Returned, returned: str) -> None:
        """Check that control came back to the next block; load what it needs. SSA gets the `results`."""
        writer, machine = self._writer, self._machine
        leave = machine.way_out(after.pc, after.results)
        other = writer.value(f"icmp ne i32 {after.pc}, {text(writer.pc(way.target))}")
        writer.void(f"br i1 {other}, label %{leave}, label %{returned}, {UNLIKELY}")
        writer.label(returned)
        machine.start_block()
        machine.registers.receive(after.results, results)
        if loads:
            machine.registers.reload(loads)
        writer.void(f"br label %{self._edges.destination(way)}")

    def end_syscall(self, block_plan: BlockPlan) -> None:
        block, end = block_plan.block, block_plan.end
        assert isinstance(end, Syscall)
        self._instructions.terminator(block)
        self._machine.registers.flush(end.stores)
        at = text(self._writer.cold_pc(block.terminator_pc))
        pc = self._writer.value(f"call {door('mr_syscall')}(ptr %s, i32 {at}){self._writer.debug}")
        self._after_sync(end.after, end.loads, 0, Returned(pc, {}), self._writer.fresh_label())
