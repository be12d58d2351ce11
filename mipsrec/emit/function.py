"""Writes one guest function as one LLVM function.

A function with entries besides its start gets a second LLVM function, `NAME.entries`, of the blocks they reach: it
begins with a switch on the pc. So the usual way in stays free of edges that only exceptions and longjmp take.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..analysis import Block, End
from ..lift.convention import (
    RA_BIT,
    RESULT_BITS,
    RESULTS,
    SP_BIT,
    Callee,
    argument_registers,
    entries_of,
    settled_by_caller,
    symbol_of,
)
from ..lift.ir import Frame, FunctionPlan
from ..lift.units import PAIR
from ..state import OFFSETS, SLOT_BYTES
from .accesses import TYPES, pointer_of
from .calls import Calls
from .edges import GATE, LABEL
from .jump_ends import JumpEnds
from .machine import IrMachine
from .memory import Value, text
from .vectors import REST, VectorWriter
from .writer import DELTA, STATE_TAG, UNLIKELY, Writer


@dataclass(frozen=True)
class LiftedFunction:
    """IR text of one LLVM function. It refers to the symbols `calls` and may be entered at the guest pcs `entries`.

    `line` is the guest pc that debug information gives for its start, `pcs` are those that it takes from the pool
    (writer.py).
    """

    symbol: str
    guest_name: str
    text: str
    entries: tuple[int, ...]
    calls: frozenset[str]
    instruction_count: int
    line: int
    pcs: frozenset[int] = frozenset()


class FunctionWriter(JumpEnds):
    """Writes the LLVM function `symbol` of a plan, with the metadata number `scope` of its subprogram."""

    def __init__(self, plan: FunctionPlan, symbol: str, scope: int) -> None:
        self._function_plan = plan
        function, entries, options = plan.function, list(plan.graph.entries), plan.options
        self._function = function
        self._entries = entries
        self._options = options
        self._scope = scope
        self._called = set()
        self._secondary = entries != [function.start]
        self._writer = Writer(options.relocatable)
        self._calls = Calls(self._writer, options, replace(plan.convention, callee=self._note_callee))
        self._units = plan.units
        self._bound = "%sp.in" if self._secondary else "%r29.in" if argument_registers(function) & SP_BIT else None
        self._frame = plan.frame
        self._in_state = plan.in_state
        self._plan = plan.context
        self._forms = plan.pair_forms
        self._safepoints = plan.safepoints
        self._vectors = plan.vectorized
        self._slot_heads = plan.promoted
        self._machine = IrMachine(self._writer, self._units, options, plan.in_state)
        self._machine.symbol = symbol
        self._stubs = {}
        self._hubs = {}

    def _note_callee(self, pc: int) -> Callee | None:
        callee = self._function_plan.convention.callee(pc)
        if callee is not None:
            self._called.add(callee.symbol)
        return callee

    def write(self) -> LiftedFunction:
        """Return the LLVM function."""
        name = self._machine.symbol
        if self._frame is not None:
            self._load_saved(self._frame)
        for pc in self._plan.order:
            self._block(self._function.blocks[pc])
        self._write_hubs()
        self._write_stubs()
        body = self._writer.lines
        self._writer.lines = []
        self._leave_block()
        tail = self._writer.lines
        self._writer.lines = []
        head = self._head(name)
        count = sum(self._function.blocks[pc].instruction_count() for pc in self._plan.order)
        self._called.discard(name)
        lines = [*self._machine.replays, *head, *body, *tail, "}", ""]
        return LiftedFunction(
            name, self._function.name, "\n".join(lines), () if self._frame is not None else tuple(self._entries),
            frozenset(self._called), count, self._entries[0], frozenset(self._writer.pcs),
        )  # fmt: skip

    def _head(self, name: str) -> list[str]:
        """Return the lines up to the first guest block: allocas, state pointers, first loads."""
        lines = [self._calls.head(name, self._scope, self._in_state)]
        split = self._forms.into[self._entries[0]]
        if not self._in_state:
            lines += [f"  %{half.name} = alloca float" for halves in self._units.halves.values() for half in halves]
            lines += [f"  %{unit.name} = alloca {unit.type}" for unit in self._units.all]
        for unit in self._units.all:
            lines.append(f"  %s.{unit.name} = getelementptr i8, ptr %s, i64 {unit.offset}")
        lines += [f"  %{REST(pc)} = alloca i32" for pc in self._vectors]
        for loop in self._slot_heads.values():
            lines += [f"  {pointer_of(one)} = alloca {TYPES[one.type]}" for one in loop.variables]
        lines.append("  %leave.pc = alloca i32")
        if self._hubs:
            lines += ["  %hub.target = alloca i32", "  %hub.address = alloca i32"]
        if self._machine.slots:
            lines.append(f"  %slots = alloca [{self._machine.slots} x i64]")
        lines += self._calls.entered(None if self._secondary else self._function.start, self._scope)
        if self._secondary:
            lines += [f"  %sp.at = getelementptr i8, ptr %s, i64 {OFFSETS['gpr'] + SLOT_BYTES * 29}"]
            lines += [f"  %sp.in = load i32, ptr %sp.at, {STATE_TAG}"]
            if self._options.relocatable:
                lines.append(f"  %delta = load i32, ptr {DELTA}, !invariant.load !0")
                lines.append("  %pc.known = sub i32 %pc.in, %delta")
            lines += [f"  %from.start = icmp eq i32 {self._known_entry}, {self._function.start}"]
            lines += ["  %sp.start = select i1 %from.start, i32 %sp.in, i32 -1"]
        taken = 0 if self._secondary else argument_registers(self._function)
        saved = self._frame.bits & ~RA_BIT if self._frame is not None else 0
        for unit in self._units.all:
            if unit.bits & saved:
                continue
            if unit.bits & self._plan.entry_loads & taken:
                lines.append(f"  store i32 %{unit.name}.in, ptr %{unit.name}")
            elif self._frame is not None and unit.bits & self._frame.dead_at_self_call:
                lines.append(f"  store i32 0, ptr %{unit.name}")  # there is no value to load, nor one that is asked for
            elif unit.bits & self._plan.entry_loads:
                lines += _first_load(unit.name, unit.type, bool(unit.type == PAIR and unit.bits & split))
        if self._secondary:
            cases = " ".join(f"i32 {pc}, label %{self._entry(pc)}" for pc in self._entries)
            lines.append(f"  switch i32 {self._known_entry}, label %{self._entry(self._entries[0])} [ {cases} ]")
        else:
            lines.append(f"  br label %{self._entry(self._function.start) if self._frame is None else 'saved'}")
        return lines

    @property
    def _known_entry(self) -> str:
        """The pc of the entry as the translator knows it."""
        return "%pc.known" if self._options.relocatable else "%pc.in"

    def _load_saved(self, frame: Frame) -> None:
        """Load the registers that the callers of a body have saved; most of them are never needed."""
        writer, machine = self._writer, self._machine
        writer.label("saved")
        writer.debug = f", !dbg !DILocation(line: {self._function.start}, scope: !{self._scope})"
        for slot in frame.saved:
            if slot.register != 31:
                value = machine.memory.load("%r29.in", slot.displacement, 32)
                writer.void(f"store i32 {value}, ptr %r{slot.register}")
        writer.void(f"br label %{self._entry(self._function.start)}")

    def _leave_block(self) -> None:
        """Write the block that control leaves through when it goes on at a pc computed at run time."""
        writer = self._writer
        writer.debug = f", !dbg !DILocation(line: {self._function.start}, scope: !{self._scope})"
        writer.label("leave")
        pc = writer.value("load i32, ptr %leave.pc")
        stack = self._machine.state_word("gpr", SLOT_BYTES * 29) if self._bound else ""
        resume = sorted(self._function.resume_points)
        if resume:
            known = "known" if self._bound else "resume"
            cases = " ".join(f"i32 {point}, label %{known}" for point in resume)
            writer.void(f"switch i32 {writer.known_pc(pc)}, label %away [ {cases} ]")
            if self._bound:
                writer.label("known")
                gone = writer.value(f"icmp ugt i32 {stack}, {self._highest_inside()}")
                writer.void(f"br i1 {gone}, label %away, label %resume")
            writer.label("resume")
            symbol = entries_of(symbol_of(self._function))
            self._called.add(symbol)
            self._calls.tail_call_entries(symbol, pc)
            writer.label("away")
        if self._bound:
            below, done = writer.fresh_label(), writer.fresh_label()
            flag = writer.value(f"icmp ult i32 {stack}, {self._bound}")
            writer.void(f"br i1 {flag}, label %{below}, label %{done}")
            writer.label(below)
            self._calls.go_on_below(pc, self._bound, self._frame is not None)
            writer.label(done)
        results = [self._machine.state_word("gpr", SLOT_BYTES * number) for number in RESULTS]
        self._give_back(pc, results)

    def _highest_inside(self) -> Value:
        """Return what sp is at most while this frame is there: at the start, where sp was is still the caller's."""
        at_start: Value = self._writer.value("zext i1 %from.start to i32") if self._secondary else 1
        return self._writer.value(f"sub i32 {self._bound}, {at_start}")

    # blocks

    def _block(self, block: Block) -> None:
        self._writer.label(LABEL(block.start))
        if self._options.comments:
            self._comment(block)
        self._contents(block, self._plan.dirty_in[block.start])
        if block.start in self._vectors:
            self._write_vectors(block.start)
        if block.start in self._slot_heads:
            self._write_way_in(self._slot_heads[block.start])

    def _goes_back_to(self, pc: int) -> bool:
        function = self._function
        return any(pc in function.successors(function.blocks[source]) for source in self._plan.order)

    def _write_vectors(self, pc: int) -> None:
        def at(pc: int) -> None:
            self._writer.debug = f", !dbg !DILocation(line: {pc}, scope: !{self._scope})"

        vectors = VectorWriter(self._machine, self._vectors[pc], self._options.big_endian, at)
        vectors.write(pc, self._entry(pc), GATE(pc), LABEL(pc), self._forms.into[pc])

    def _contents(self, block: Block, dirty: int) -> None:
        """Write the instructions of a block and its end, `dirty` being the dirty bits on the way in."""
        machine = self._machine
        machine.start_block()
        machine.registers.split_in = self._forms.into[block.start]
        machine.registers.split_out = self._forms.out[block.start]
        machine.dirty = dirty
        first = not self._secondary and block.start == self._function.start
        if self._in_state and first and not self._goes_back_to(block.start):
            taken = argument_registers(self._function)
            for unit in self._units.all:
                if unit.bits & taken:
                    machine.registers.cache[unit] = f"%{unit.name}.in"
        self._stray = None
        self._start = block.start
        self._iterations = 1
        self._calls.in_loop = block.start in self._plan.in_loops
        self._body(self._function_plan.blocks[block.start])
        self._end(block)

    # ends of blocks

    def _end(self, block: Block) -> None:
        {
            End.FALL: self._end_fall,
            End.BRANCH: self._end_branch,
            End.JUMP: self._end_jump,
            End.CALL: self._end_call,
            End.RETURN: self._end_return,
            End.INDIRECT: self._end_indirect,
            End.SYSCALL: self._end_syscall,
            End.STOP: self._end_stop,
            End.HAND_OVER: self._end_hand_over,
        }[block.end](block)

    def _end_return(self, block: Block) -> None:
        instruction = self._terminator(block)
        target = self._machine.gpr(instruction.rs)
        self._slot(self._function_plan.blocks[block.start])
        if self._frame is None or block.start not in self._frame.returns:
            self._return_complete(block, target)
            return
        writer, machine = self._writer, self._machine
        if self._stray is not None:
            machine.finish_floats()
            self._return_complete_if(self._stray, block, target)
        if self._frame.dead_at_self_call:
            machine.finish_floats()
            self._return_complete_if(writer.value(f"icmp ne i32 {text(target)}, %r31.in"), block, target)
        bypassing = settled_by_caller(self._frame) | RESULT_BITS | self._frame.dead_at_self_call
        machine.registers.flush(machine.dirty & ~bypassing)
        self._calls.give_back_frame(self._results(block))

    def _return_complete_if(self, flag: Value, block: Block, target: Value) -> None:
        """Return with a complete state in the unlikely case of a flag; otherwise go on."""
        writer, machine = self._writer, self._machine
        yes, no = writer.fresh_label(), writer.fresh_label()
        writer.void(f"br i1 {text(flag)}, label %{yes}, label %{no}, {UNLIKELY}")
        before = machine.registers.copy()
        writer.label(yes)
        self._return_complete(block, target)
        writer.label(no)
        machine.registers.restore(before)

    def _return_complete(self, block: Block, target: Value) -> None:
        self._machine.registers.flush(self._machine.dirty)
        self._give_back(target, self._results(block))

    def _give_back(self, pc: Value, results: Sequence[Value]) -> None:
        if self._frame is None:
            self._calls.give_back(pc, results)
        else:
            self._calls.give_back_from_body(pc, results)

    def _results(self, block: Block) -> list[Value]:
        at_hand = self._plan.results_at_hand(block.start)
        return [self._machine.current_gpr(number, bool(at_hand >> number & 1)) for number in RESULTS]

    def _end_indirect(self, block: Block) -> None:
        writer, machine = self._writer, self._machine
        instruction = self._terminator(block)
        target = machine.gpr(instruction.rs)
        self._slot(self._function_plan.blocks[block.start])
        table = self._function.jump_tables.get(block.terminator_pc)
        if table is not None:
            self._jump_by_table(block, table, target)
        self._at(instruction, block.terminator_pc)
        machine.registers.flush(machine.dirty)
        if self._function_plan.sites[block.start].unwinds:
            above, within = writer.fresh_label(), writer.fresh_label()
            caller = "%sp.start" if self._secondary else "%r29.in"
            flag = writer.value(f"icmp ugt i32 {text(machine.gpr(29))}, {caller}")
            writer.void(f"br i1 {flag}, label %{above}, label %{within}")
            writer.label(above)
            machine.leave(target)
            writer.label(within)
        arguments = self._arguments(self._calls.convention.passed(None))
        self._calls.tail_call(target, self._function.guesses.get(block.terminator_pc), arguments)

    def _end_stop(self, block: Block) -> None:
        instruction = self._terminator(block)
        self._machine.registers.flush(self._machine.dirty)
        assert instruction.row.meaning is not None
        instruction.row.meaning(self._machine, instruction)

    def _end_hand_over(self, block: Block) -> None:
        """Let the interpreter run from the terminator until it meets a lifted entry."""
        writer = self._writer
        writer.debug = f", !dbg !DILocation(line: {block.terminator_pc}, scope: !{self._scope})"
        self._machine.registers.flush(self._machine.dirty)
        ra, sp = (self._machine.state_word("gpr", SLOT_BYTES * number) for number in (31, 29))
        arguments = f"ptr %s, i32 {text(writer.cold_pc(block.terminator_pc))}, i32 {ra}, i32 {sp}"
        self._machine.leave(writer.value(f"call i32 @mr_interpret({arguments}){writer.debug}"))


def _first_load(name: str, type_: str, split: bool) -> list[str]:
    if split:
        lines = [f"  %e.{name} = load {type_}, ptr %s.{name}, {STATE_TAG}"]
        for index in (0, 1):
            lines.append(f"  %e.{name}.{index} = extractelement {type_} %e.{name}, i32 {index}")
            lines.append(f"  store float %e.{name}.{index}, ptr %{name}.{index}")
        return lines
    if type_ == "i1":
        return [
            f"  %e.{name}.w = load i32, ptr %s.{name}, {STATE_TAG}",
            f"  %e.{name} = icmp ne i32 %e.{name}.w, 0",
            f"  store i1 %e.{name}, ptr %{name}",
        ]
    return [f"  %e.{name} = load {type_}, ptr %s.{name}, {STATE_TAG}", f"  store {type_} %e.{name}, ptr %{name}"]
