"""Writes one guest function as one LLVM function.

A function with entries besides its start gets a second LLVM function, `NAME.entries`, of the blocks they reach: it
begins with a switch on the pc. So the usual way in stays free of edges that only exceptions and longjmp take.

One `Emission` is what the writers of a function share. Each writer has one concern, and knows those before it:
instructions, edges between blocks, ends of blocks that call, jump by a register or return, and the prologue.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

from ..analysis import Block, End
from ..lift.facts.loop_exits import left_by_loops
from ..lift.ir import BlockPlan, FunctionPlan
from ..lift.nodes import Interpret, Stop
from ..state import RA, SP
from .call_ends import CallEnds
from .doors import door
from .edges import GATE, LABEL, EdgeWriter
from .emission import Emission
from .instructions import InstructionWriter
from .jump_ends import JumpEnds
from .prologue import Prologue
from .returns import ReturnWriter
from .vectors import VectorWriter
from .writer import text


class Linkage(enum.Enum):
    """What a definition is to other modules (LLVM's language reference, "Linkage Types" and "Visibility Styles")."""

    OWN = "hidden"  # other modules of the library call it
    COPY = "available_externally hidden"  # only for LLVM to copy into callers: another module has the code


@dataclass(frozen=True)
class LiftedFunction:
    """One LLVM function as IR. It refers to the symbols `calls` and may be entered at the guest pcs `entries`.

    `definition` is its definition from the type of the result on, `constants` are lines of what only it refers to.
    `line` is the guest pc that debug information gives for its start, `pcs` are those that it takes from the pool
    (writer.py).
    """

    symbol: str
    guest_name: str
    definition: str
    entries: tuple[int, ...]
    calls: frozenset[str]
    instruction_count: int
    line: int
    pcs: frozenset[int] = frozenset()
    constants: tuple[str, ...] = ()
    linkage: Linkage = Linkage.OWN

    @property
    def text(self) -> str:
        """The IR of the constants and of the definition."""
        return "\n".join((*self.constants, f"define {self.linkage.value} {self.definition}"))

    def as_copy(self) -> LiftedFunction:
        """Return the same for a module that only copies it into its callers, and leaves the rest to another."""
        return replace(self, linkage=Linkage.COPY, entries=())


def write_function(plan: FunctionPlan, symbol: str, scope: int) -> LiftedFunction:
    """Return the LLVM function `symbol` of a plan, with the metadata number `scope` of its subprogram."""
    return _FunctionWriter(Emission(plan, symbol, scope)).write()


class _FunctionWriter:
    """Puts the blocks of a function together."""

    def __init__(self, emission: Emission) -> None:
        self._emission = emission
        self._plan = emission.plan
        self._left_by_loops = left_by_loops(emission.plan)
        self._writer = emission.writer
        self._machine = emission.machine
        self._instructions = InstructionWriter(emission)
        self._edges = EdgeWriter(emission, self._instructions)
        self._returns = ReturnWriter(emission, self._instructions)
        self._jumps = JumpEnds(emission, self._instructions, self._edges)
        calls = CallEnds(emission, self._instructions, self._edges)
        self._ends = {
            End.FALL: self._edges.end_fall,
            End.BRANCH: self._edges.end_branch,
            End.JUMP: self._edges.end_jump,
            End.CALL: calls.end_call,
            End.RETURN: self._returns.end_return,
            End.INDIRECT: self._jumps.end_indirect,
            End.SYSCALL: calls.end_syscall,
            End.STOP: self._end_stop,
            End.INTERPRET: self._end_interpret,
        }

    def write(self) -> LiftedFunction:
        """Return the LLVM function."""
        plan, emission, prologue = self._plan, self._emission, Prologue(self._emission, self._edges)
        for pc in plan.graph.order:
            self._block(plan.blocks[pc].block)
        self._jumps.write_hubs()
        self._write_stubs()
        self._returns.write_leave()
        head = prologue.lines(bool(self._jumps.hubs))
        entries = tuple(plan.graph.entries)
        count = sum(block.block.instruction_count() for block in plan.blocks.values())
        lines = [*head, *self._writer.lines, "}", ""]
        return LiftedFunction(
            emission.symbol, plan.function.name, "\n".join(lines), entries,
            frozenset(emission.calls.called - {emission.symbol}), count, entries[0], frozenset(self._writer.pcs),
            tuple(self._machine.guards.replays),
        )  # fmt: skip

    # blocks

    def _block(self, block: Block) -> None:
        pc, plan = block.start, self._plan
        self._writer.label(LABEL(pc))
        if plan.options.comments:
            self._instructions.comment(block)
        self._machine.registers.restate(self._left_by_loops.get(pc, 0), plan.forms_into(pc))
        self._contents(plan.blocks[pc])
        if pc in plan.vectorized:
            vectors = VectorWriter(self._emission, plan.vectorized[pc])
            vectors.write(pc, self._edges.entry(pc), GATE(pc), LABEL(pc), plan.forms_into(pc))
        if pc in plan.promoted:
            self._edges.write_loop_entry(plan.promoted[pc])

    def _contents(self, block_plan: BlockPlan) -> None:
        """Write the instructions of a block and its end."""
        machine, plan, block = self._machine, self._plan, block_plan.block
        pc = block.start
        machine.start_block()
        machine.registers.split_in = plan.forms_into(pc)
        machine.registers.split_out = plan.forms_out(pc)
        if pc == plan.function.start:
            self._take_parameters(self._emission.entry.gives)
        self._edges.start_block()
        self._instructions.body(block_plan)
        self._ends[block.end](block_plan)

    def _take_parameters(self, taken: int) -> None:
        """Have a block take registers from parameters."""
        for unit in self._plan.units.all if taken else ():
            if unit.bits & taken:
                self._machine.registers.take(unit, f"%{unit.name}.in")

    def _write_stubs(self) -> None:
        machine = self._machine
        for stub, label in self._edges.stubs.items():
            self._writer.label(label)
            machine.start_block()
            machine.registers.split_in = machine.registers.split_out = stub.split
            if stub.edge.copy is not None:
                self._contents(stub.edge.copy)
            else:
                self._edges.write_stub(stub)

    # ends of blocks from which control goes on outside

    def _end_stop(self, block: BlockPlan) -> None:
        assert isinstance(block.end, Stop)
        instruction = self._instructions.terminator(block.block)
        self._machine.registers.flush(block.end.stores)
        assert instruction.row.meaning is not None
        instruction.row.meaning(self._machine.operations, instruction)

    def _end_interpret(self, block_plan: BlockPlan) -> None:
        """Let the interpreter run from the terminator until it meets a lifted entry."""
        writer, machine, block, end = self._writer, self._machine, block_plan.block, block_plan.end
        assert isinstance(end, Interpret)
        self._emission.at(block.terminator_pc)
        machine.registers.flush(end.stores)
        ra, sp = (machine.state.gpr(number) for number in (RA, SP))
        arguments = f"ptr %s, i32 {text(writer.cold_pc(block.terminator_pc))}, i32 {ra}, i32 {sp}"
        machine.leave(writer.value(f"call {door('mr_interpret')}({arguments}){writer.debug}"))
