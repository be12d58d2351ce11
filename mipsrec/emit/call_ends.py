"""How a block ends that calls: what is flushed before, what is known and what is loaded after it.

After a call of a body (saved_registers.py) the state does not have the registers that the callee saved, nor ra, sp,
v0 and v1: they count as dirty. Where the callee has not returned as the body of a function with a frame does, the
state has all but v0, v1 and a0 to a3, which come in registers.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..analysis import Block
from ..lift.ir import BlockPlan, Frame
from ..lift.nodes import BodyCall, Call, Destination, Edge, Syscall
from ..state import RA, SP
from .calls import BACK, Returned
from .edges import EdgeWriter
from .emission import Emission
from .instructions import InstructionWriter
from .memory import GuestMemory
from .state_words import StateWords
from .writer import LIKELY, UNLIKELY, Value, text


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
        writer, machine, block, end = self._writer, self._machine, block_plan.block, block_plan.end
        assert isinstance(end, Call)
        instruction = self._instructions.terminator(block)
        flag = None
        if end.conditional:  # it and the target are latched before the link and the slot
            assert instruction.row.condition is not None
            flag = instruction.row.condition(machine.operations, instruction)
        target: Value = machine.gpr(instruction.rs) if block.target is None else block.target
        self._instructions.link(block_plan)
        self._instructions.slot()
        self._instructions.make_current(instruction, block.terminator_pc)
        if end.body is None:
            self._call(end, end.to, target, flag)
            return
        if block.target is None:
            machine.finish_floats()
            machine.registers.save(end.body.keeps)
            hit, miss = self._calls.branch_on_guess(target, end.to.guess)
            before = machine.registers.copy()
            writer.label(miss)
            self._call(end, end.to.computed, target, None)
            writer.label(hit)
            machine.memory.start_block()
            machine.registers.restore(before)
        self._call_body(block, end.body)

    def _call(self, end: Call, to: Destination, target: Value, flag: Value | None) -> None:
        """Call with a complete state, on condition of `flag` if there is one."""
        writer, machine = self._writer, self._machine
        if end.exposes is not None:
            self._instructions.expose(end.exposes)
        machine.registers.put(end.stores_ra, volatile=True)
        machine.registers.flush(end.stores)
        machine.registers.save(end.keeps)  # before the branch: it is not loaded again whether the call is made or not
        stack = machine.gpr(SP) if end.keeps else None
        returned = writer.fresh_label()
        if flag is not None:
            call = writer.fresh_label()
            writer.void(f"br i1 {flag}, label %{call}, label %{returned}")
            writer.label(call)
        found = self._calls.call(to, target, self._emission.arguments(to.arguments))
        if flag is not None:  # where no call happened, the state alone has results
            found = self._stored(found)
        self._after_sync(end.after, end.loads, end.returned, found, returned, stack)

    def _stored(self, found: Returned) -> Returned:
        """Store what a callee has returned besides the pc."""
        for number, value in found.results.items():
            self._machine.state.set_gpr(number, value)
        return Returned(found.pc, {})

    def _after_sync(
        self, way: Edge, loads: int, results: int, after: Returned, returned: str, stack: Value | None = None
    ) -> None:
        """Check that control came back to the next block, with sp as it was if it is given; load what it needs.

        SSA gets the `results`.
        """
        writer, machine = self._writer, self._machine
        leave = machine.way_out(after.pc, after.results)
        other = writer.value(f"icmp ne i32 {after.pc}, {text(writer.pc(way.target))}")
        if stack is not None:
            found = machine.state.gpr(SP)
            moved = writer.value(f"icmp ne i32 {found}, {text(stack)}")
            other = writer.value(f"or i1 {other}, {moved}")
        writer.void(f"br i1 {other}, label %{leave}, label %{returned}, {UNLIKELY}")
        writer.label(returned)
        machine.start_block()
        machine.registers.receive(after.results, results)
        machine.registers.reload(loads)
        writer.void(f"br label %{self._edges.destination(way)}")

    def end_syscall(self, block_plan: BlockPlan) -> None:
        block, end = block_plan.block, block_plan.end
        assert isinstance(end, Syscall)
        self._instructions.terminator(block)
        self._machine.registers.flush(end.stores)
        at = text(self._writer.cold_pc(block.terminator_pc))
        pc = self._writer.value(f"call i32 @mr_syscall(ptr %s, i32 {at}){self._writer.debug}")
        self._after_sync(end.after, end.loads, 0, Returned(pc, {}), self._writer.fresh_label())

    # calls of bodies

    def _call_body(self, block: Block, end: BodyCall) -> None:
        """Save what the callee's frame saves, and call its body."""
        writer, machine = self._writer, self._machine
        debug = writer.debug
        machine.registers.flush(end.stores)
        stack = machine.current_gpr(SP)
        machine.registers.save(end.keeps)
        for saved in end.frame.saved:
            self._emission.at(saved.pc)
            value = machine.current_gpr(saved.register)
            machine.memory.store(stack, saved.displacement, 32, text(value))
        writer.debug = debug
        returned = self._calls.call_body(end.callee, self._emission.arguments(end.arguments))
        back, other = writer.fresh_label(), writer.fresh_label()
        plain = writer.value(f"icmp eq i32 {returned.pc}, {text(BACK)}")
        writer.void(f"br i1 {plain}, label %{back}, label %{other}, {LIKELY}")
        writer.label(other)
        machine.memory.start_block()
        elsewhere = writer.fresh_label()
        self._after_sync(end.elsewhere, end.loads_elsewhere, end.returned, returned, elsewhere, stack)
        writer.label(back)
        machine.start_block()
        self._after_body(block, end, stack, returned)

    def _after_body(self, block: Block, end: BodyCall, stack: Value, returned: Returned) -> None:
        """Go on where the registers that the frame saves are on the stack."""
        writer, machine, registers = self._writer, self._machine, self._machine.registers
        if end.checks_ra:
            self._check_return(block, end.frame, stack, returned)
        for saved in end.frame.saved:
            if saved.register != RA:
                value = machine.memory.load(stack, saved.displacement, 32)
                machine.place_gpr(saved.register, value)
        for number, word in returned.results.items():
            machine.place_gpr(number, word)
        if end.stores_sp:
            machine.state.set_gpr(SP, stack)
        machine.place_gpr(RA, writer.pc(block.next_pc))
        registers.save(end.saves)
        registers.start_block()
        registers.reload(end.loads)
        writer.void(f"br label %{self._edges.destination(end.after)}")

    def _check_return(self, block: Block, frame: Frame, stack: Value, returned: Returned) -> None:
        """Leave, with a complete state, if the callee found another return address on the stack."""
        writer, machine = self._writer, self._machine
        place = next(saved.displacement for saved in frame.saved if saved.register == RA)
        found = machine.memory.load(stack, place, 32)
        same = writer.value(f"icmp eq i32 {found}, {text(writer.pc(block.next_pc))}")
        right, wrong = writer.fresh_label(), writer.fresh_label()
        writer.void(f"br i1 {same}, label %{right}, label %{wrong}, {LIKELY}")
        writer.label(wrong)
        machine.memory.start_block()
        complete_state(machine.memory, machine.state, frame, stack, returned.results)
        machine.leave(found)
        writer.label(right)
        machine.memory.start_block()


def complete_state(
    memory: GuestMemory, state: StateWords, frame: Frame, stack: Value, results: Mapping[int, Value]
) -> dict[int, Value]:
    """Put into the state what a body left to its caller, and return it by register; ra only if saved."""
    found: dict[int, Value] = {SP: stack, **results}
    for saved in frame.saved:
        found[saved.register] = memory.load(stack, saved.displacement, 32)
    for number, value in found.items():
        state.set_gpr(number, value)
    return found
