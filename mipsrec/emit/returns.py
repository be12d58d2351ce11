"""Writes how control leaves a function for good: its returns, and the block that all other ways out go through."""

from __future__ import annotations

from ..lift.convention import CARRIED, RESULTS, entries_of, symbol_of
from ..lift.ir import BlockPlan
from ..lift.nodes import Return
from ..state import SP
from .emission import Emission
from .instructions import InstructionWriter
from .types import PASSED
from .writer import Value


class ReturnWriter:
    """Writes the ends of return blocks, and the block `leave`."""

    def __init__(self, emission: Emission, instructions: InstructionWriter) -> None:
        self._emission = emission
        self._instructions = instructions
        self._plan = emission.plan
        self._writer = emission.writer
        self._machine = emission.machine
        self._calls = emission.calls

    def end_return(self, block: BlockPlan) -> None:
        end = block.end
        assert isinstance(end, Return)
        instruction = self._instructions.terminator(block.block)
        target = self._machine.gpr(instruction.rs)
        self._instructions.slot()
        if self._emission.counters is not None:
            self._emission.counters.jump(instruction, block.block.terminator_pc, target)
        self._machine.registers.flush(end.stores)
        self._calls.give_back(target, list(self._emission.results(end.results).values()))

    # the block `leave`

    def write_leave(self) -> None:
        """Write the block that control leaves through when it goes on at a pc computed at run time.

        `leave.call` is the way in where RESULTS are in `%leave.r2` and so on, `leave` where they are in the state.
        """
        writer, function, bound = self._writer, self._plan.function, self._emission.stack_bound
        self._emission.at(function.start)
        writer.label("leave")
        for number in RESULTS:
            type_ = PASSED[number]
            writer.void(f"store {type_} {self._machine.state.gpr(number, type_)}, ptr %leave.r{number}")
        writer.void("br label %leave.call")
        writer.label("leave.call")
        pc = writer.value("load i32, ptr %leave.pc")
        stack = self._left(SP)
        resume = sorted(function.resume_points)
        if resume:
            cases = " ".join(f"i32 {point}, label %known" for point in resume)
            writer.void(f"switch i32 {writer.known_pc(pc)}, label %away [ {cases} ]")
            writer.label("known")
            gone = writer.value(f"icmp ugt i32 {stack}, {self._highest_inside(bound)}")
            writer.void(f"br i1 {gone}, label %away, label %resume")
            writer.label("resume")
            symbol = entries_of(symbol_of(function, self._plan.convention.callee(function.start)))
            self._store_uncarried()
            self._calls.tail_call_entries(symbol, pc, self._left)
            writer.label("away")
        below, done = writer.fresh_label(), writer.fresh_label()
        flag = writer.value(f"icmp ult i32 {stack}, {bound}")
        writer.void(f"br i1 {flag}, label %{below}, label %{done}")
        writer.label(below)
        self._store_uncarried()
        self._calls.run_nested_below(pc, bound, self._left)
        writer.label(done)
        self._calls.give_back(pc, [self._left(number) for number in RESULTS])

    def _left(self, number: int) -> Value:
        """Return a register of RESULTS with which control leaves, as calls pass it."""
        return self._writer.value(f"load {PASSED[number]}, ptr %leave.r{number}")

    def _store_uncarried(self) -> None:
        """Store what calls do not pass into the state: v0 and v1."""
        for number in RESULTS:
            if number not in CARRIED:
                self._machine.state.set_gpr(number, self._left(number))

    def _highest_inside(self, bound: str) -> Value:
        """Return what sp is at most while this frame is there: at the start, where sp was is still the caller's."""
        at_start: Value = self._writer.value("zext i1 %from.start to i32") if self._emission.has_entries else 1
        return self._writer.value(f"sub i32 {bound}, {at_start}")
