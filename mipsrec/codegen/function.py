"""Writes one guest function as one LLVM function; the only place that knows about delay slots.

A function with entries besides its start gets a second LLVM function, `NAME.entries`, of the blocks they reach: it
begins with a switch on the pc. So the usual way in stays free of edges that only exceptions and longjmp take.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..analysis import Block, End, Function
from ..isa import Flow, Instruction
from ..isa.disassembly import disassemble
from ..state import SLOT_BYTES
from .addresses import KnownAddresses
from .call_ends import RA_BIT, CallEnds, settled_by_caller
from .calls import ARGUMENTS, RESULT_BITS, RESULTS, Callee, Calls, argument_registers, body_of
from .dead_loads import NeededRegisters
from .frames import Frame
from .loops import invariant_masks
from .machine import IrMachine
from .memory_models import Value, text
from .options import CodegenOptions
from .pairs import pair_forms
from .polls import Polls
from .registers import KEPT, PAIR, RegisterPlan, Units, lowers_sp
from .writer import STATE_TAG, UNLIKELY, UNROLLED, Writer


@dataclass(frozen=True)
class LiftedFunction:
    """IR text of one LLVM function. It refers to the symbols `calls` and may be entered at the guest pcs `entries`.

    `line` is the guest pc that debug information gives for its start.
    """

    symbol: str
    guest_name: str
    text: str
    entries: tuple[int, ...]
    calls: frozenset[str]
    instruction_count: int
    line: int


@dataclass(frozen=True)
class _Stub:
    """An edge with work of its own; `dirty` and `split` tell of units there that are dirty, and of pairs in halves."""

    source: int
    pc: int
    dirty: int
    split: int
    polled: bool  # looks for signals


MAX_COPIED_RETURN = 24
"""Instructions of the longest return block that is copied; an o32 epilogue restores at most ten registers."""

MAX_ROUNDS = 4
"""Of a loop of one block, that are written: results that the next round takes in need a look in the last only."""

_LABEL = "b_{:08x}".format


def symbol_of(start: int) -> str:
    """Return the LLVM name of the function that starts at a guest pc."""
    return f"f_{start:08x}"


class FunctionWriter(CallEnds):
    """Writes the blocks that `entries` reach; `callee` gives the LLVM function that may be called for a guest pc.

    With a `frame` it is the body of a function with this frame (frames.py).
    """

    def __init__(
        self,
        function: Function,
        entries: list[int],
        options: CodegenOptions,
        callee: Callable[[int], Callee | None],
        scope: int,
        frame: Frame | None = None,
    ) -> None:
        self._function = function
        self._entries = entries
        self._options = options
        self._scope = scope
        self._called: set[str] = set()
        self._callee = callee
        self._secondary = entries != [function.start]
        self._writer = Writer()
        self._calls = Calls(self._writer, options, self._note_callee)
        self._units = Units(function, options.fr)
        self._frame = frame
        entered = settled_by_caller(frame) if frame is not None else 0
        self._plan = RegisterPlan(function, self._units, entries, self._passed, entered, self._unsettled)
        self._forms = pair_forms(function, self._units, self._plan.order, entries)
        self._needed = NeededRegisters(function, options.fr, self._plan.order)
        self._addresses = KnownAddresses(function, entries, self._plan.order, options.fr)
        self._invariant = invariant_masks(function, self._plan.order, options.fr)
        self._polls = Polls(function, self._plan.order, entries, options)
        self._machine = IrMachine(self._writer, self._units, options)
        self._stubs: dict[_Stub, str] = {}  # with their labels
        self._start = 0  # of the current block
        self._table_address: Value | None = None
        self._exact: set[int] = set()  # additions of the current block that do not wrap
        self._rounds = 1  # of a loop that is the current block, that have been written
        self._loop_writes: int | None = None  # registers that the loop around the current block writes
        self._saves = frozenset(slot.pc for slot in frame.slots) if frame is not None else frozenset()
        self._looked_at: frozenset[int] = frozenset()  # pcs of the stores in this block that may go to the frame
        self._stray: Value | None = None  # whether one of them did

    def _note_callee(self, pc: int) -> Callee | None:
        callee = self._callee(pc)
        if callee is not None:
            self._called.add(callee.symbol)
        return callee

    def _passed(self, block: Block) -> int:
        """Return the bits of the arguments that leaving the function at the end of a block passes."""
        if block.end is End.CALL:
            return self._passed_by_call(block)
        if block.end is End.INDIRECT:
            return self._calls.passed(block.target)
        bits = 0
        for pc in (block.target, block.next_pc):
            if pc is not None and block.end in (End.JUMP, End.BRANCH, End.FALL) and pc not in self._function.blocks:
                bits |= self._calls.passed(pc)
        return bits

    def _arguments(self, passed: int) -> list[Value]:
        """Return the values of ARGUMENTS, of which those not in `passed` are left open."""
        machine = self._machine
        return [machine.current_gpr(number) if passed >> number & 1 else "poison" for number in ARGUMENTS]

    def write(self) -> LiftedFunction:
        """Return the LLVM function."""
        name = symbol_of(self._function.start) + (".entries" if self._secondary else "")
        if self._frame is not None:
            name = body_of(name)
        self._machine.symbol = name
        if self._frame is not None:
            self._load_saved(self._frame)
        for pc in self._plan.order:
            self._block(self._function.blocks[pc])
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
            frozenset(self._called), count, self._entries[0],
        )  # fmt: skip

    def _head(self, name: str) -> list[str]:
        """Return the lines up to the first guest block: allocas, state pointers, first loads."""
        lines = [self._calls.head(name, self._scope), "entry:"]
        split = self._forms.into[self._entries[0]]
        lines += [f"  %{half.name} = alloca float" for halves in self._units.halves.values() for half in halves]
        for unit in self._units.all:
            lines.append(f"  %{unit.name} = alloca {unit.type}")
            lines.append(f"  %s.{unit.name} = getelementptr i8, ptr %s, i64 {unit.offset}")
        lines.append("  %leave.pc = alloca i32")
        if self._machine.slots:
            lines.append(f"  %slots = alloca [{self._machine.slots} x i64]")
        lines += self._calls.entered(None if self._secondary else self._function.start, self._scope)
        taken = 0 if self._secondary else argument_registers(self._function)
        saved = self._frame.bits & ~RA_BIT if self._frame is not None else 0
        for unit in self._units.all:
            if unit.bits & saved:
                continue
            if unit.bits & self._plan.entry_loads & taken:
                lines.append(f"  store i32 %{unit.name}.in, ptr %{unit.name}")
            elif unit.bits & self._plan.entry_loads:
                lines += _first_load(unit.name, unit.type, bool(unit.type == PAIR and unit.bits & split))
        if self._secondary:
            cases = " ".join(f"i32 {pc}, label %{_LABEL(pc)}" for pc in self._entries)
            lines.append(f"  switch i32 %pc.in, label %{_LABEL(self._entries[0])} [ {cases} ]")
        else:
            lines.append(f"  br label %{_LABEL(self._function.start) if self._frame is None else 'saved'}")
        return lines

    def _load_saved(self, frame: Frame) -> None:
        """Load the registers that the callers of a body have saved; most of them are never needed."""
        writer, machine = self._writer, self._machine
        writer.label("saved")
        writer.debug = f", !dbg !DILocation(line: {self._function.start}, scope: !{self._scope})"
        for slot in frame.slots:
            if slot.register != 31:
                value = machine.memory.load("%r29.in", slot.displacement, 32)
                writer.void(f"store i32 {value}, ptr %r{slot.register}")
        writer.void(f"br label %{_LABEL(self._function.start)}")

    def _leave_block(self) -> None:
        """Write the block that control leaves through when it goes on at a pc computed at run time."""
        writer = self._writer
        writer.debug = f", !dbg !DILocation(line: {self._function.start}, scope: !{self._scope})"
        writer.label("leave")
        pc = writer.value("load i32, ptr %leave.pc")
        resume = sorted(self._function.resume_points)
        if resume:
            cases = " ".join(f"i32 {point}, label %resume" for point in resume)
            writer.void(f"switch i32 {pc}, label %away [ {cases} ]")
            writer.label("resume")
            symbol = symbol_of(self._function.start) + ".entries"
            self._called.add(symbol)
            self._calls.tail_call_entries(symbol, pc)
            writer.label("away")
        results = [self._machine.state_word("gpr", SLOT_BYTES * number) for number in RESULTS]
        self._give_back(pc, results)

    # blocks

    def _block(self, block: Block) -> None:
        self._writer.label(_LABEL(block.start))
        if self._options.comments:
            self._comment(block)
        self._contents(block, self._plan.dirty_in[block.start])

    def _contents(self, block: Block, dirty: int) -> None:
        """Write the instructions of a block and its end, `dirty` being the dirty bits on the way in."""
        machine = self._machine
        machine.start_block()
        machine.registers.split_in = self._forms.into[block.start]
        machine.registers.split_out = self._forms.out[block.start]
        machine.dirty = dirty
        self._stray = None
        self._looked_at = self._frame.returns.get(block.start, frozenset()) if self._frame is not None else frozenset()
        self._start = block.start
        self._loop_writes = self._invariant.get(block.start)
        self._rounds = 1
        self._body(block)
        self._end(block)

    def _body(self, block: Block) -> None:
        machine = self._machine
        table = self._function.jump_tables.get(block.terminator_pc) if block.end is End.INDIRECT else None
        table_pc = table.load_pc if table is not None else None
        body, dead_loads = block.body, self._needed.dead_loads(block)
        self._exact = self._addresses.exact_sums(block) if self._options.memory == "flat" else set()
        pc, index, count = block.start, 0, len(body)
        while index < count:
            if pc == table_pc:
                self._table_address = machine.add(machine.gpr(body[index].rs), body[index].imm & 0xFFFFFFFF)
            self._look_at_store(body[index], pc)
            step = self._unaligned_pair(body, index, pc, dead_loads)
            if not step:
                if pc not in self._saves:
                    self._instruction(body[index], pc, index in dead_loads, index in self._exact)
                step = 1
            index += step
            pc += 4 * step

    def _comment(self, block: Block) -> None:
        pc = block.start
        for instruction in block.body:
            self._writer.lines.append(f"  ; {pc:08x}: {disassemble(instruction, pc)}")
            pc += 4
        if block.terminator is not None:
            self._writer.lines.append(f"  ; {pc:08x}: {disassemble(block.terminator, pc)}")
        if block.delay_slot is not None:
            self._writer.lines.append(f"  ; {pc + 4:08x}: {disassemble(block.delay_slot, pc + 4)} (delay slot)")

    def _at(self, instruction: Instruction, pc: int) -> None:
        """Make `instruction` the current one; `pc` is its own, or for a delay slot the branch's, as EPC has it."""
        machine = self._machine
        self._writer.debug = f", !dbg !DILocation(line: {pc}, scope: !{self._scope})"
        machine.pc = pc
        machine.word_ = instruction.word

    def _instruction(self, instruction: Instruction, pc: int, kept: bool, exact: bool) -> None:
        """Write one instruction; `kept`: it is a load that must not vanish; `exact`: an addition that does not wrap."""
        machine = self._machine
        self._at(instruction, pc)
        machine.kept = kept
        machine.monotonic = self._loop_writes is not None and not self._loop_writes >> instruction.rs & 1
        assert instruction.row.meaning is not None
        machine.exact = exact
        instruction.row.meaning(machine, instruction)
        machine.exact = False
        written = self._units.masks(instruction)[1]
        machine.dirty |= written
        if written & KEPT and lowers_sp(instruction):
            machine.registers.put(KEPT)
            machine.dirty &= ~KEPT

    def _look_at_store(self, instruction: Instruction, pc: int) -> None:
        """Note whether a store between the loads of the saved registers and the return goes near the frame's slots."""
        if pc not in self._looked_at:
            return
        assert self._frame is not None
        writer, machine = self._writer, self._machine
        low, high = self._frame.extent
        address = machine.add(machine.gpr(instruction.rs), (instruction.imm + 8 - low) & 0xFFFFFFFF)
        distance = writer.value(f"sub i32 {text(address)}, %r29.in")
        near = writer.value(f"icmp ult i32 {distance}, {high - low + 16}")
        self._stray = near if self._stray is None else writer.value(f"or i1 {self._stray}, {near}")

    def _unaligned_pair(self, body: list[Instruction], index: int, pc: int, dead: set[int]) -> int:
        """Write adjacent lwl/lwr or swl/swr of one word as one unaligned access; return 2, or 0 if none is here."""
        first = body[index]
        name = first.row.name
        if name not in ("lwl", "lwr", "swl", "swr") or index + 1 >= len(body):
            return 0
        second = body[index + 1]
        other = name[:2] + ("r" if name[2] == "l" else "l")
        if second.row.name != other or second.rs != first.rs or second.rt != first.rt or first.rs == first.rt:
            return 0
        left, right = (first, second) if name[2] == "l" else (second, first)
        low = left if self._options.big_endian else right
        if (left.imm - right.imm) != (-3 if self._options.big_endian else 3):
            return 0
        self._at(first, pc)
        machine = self._machine
        machine.kept = index + 1 in dead
        if name[0] == "l":
            machine.set_gpr(first.rt, machine.load_word_unaligned(machine.gpr(first.rs), low.imm))
            machine.dirty |= self._units.masks(first)[1]
        else:
            machine.store_word_unaligned(machine.gpr(first.rs), low.imm, machine.gpr(first.rt))
        return 2

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

    def _end_fall(self, block: Block) -> None:
        self._machine.registers.save(self._live(block))
        self._writer.void(f"br label %{self._destination(block.next_pc)}")

    def _live(self, block: Block) -> int:
        """Return the bits that successors need, and those that stubs of edges out of the function flush or pass."""
        return self._plan.live_out[block.start] | self._machine.dirty | KEPT

    def _slot(self, block: Block) -> None:
        assert block.delay_slot is not None
        if block.terminator_pc + 4 in self._saves:
            return
        self._look_at_store(block.delay_slot, block.terminator_pc + 4)
        self._machine.in_slot = True
        self._instruction(block.delay_slot, block.terminator_pc, self._needed.is_dead_slot(block), -1 in self._exact)
        self._machine.in_slot = False

    def _link(self, block: Block) -> None:
        """Write the return address: before the delay slot, which may read it."""
        assert block.terminator is not None
        register = block.terminator.link_register()
        if register:
            self._machine.set_gpr(register, block.terminator_pc + 8)
            self._machine.dirty |= 1 << register

    def _terminator(self, block: Block) -> Instruction:
        instruction = block.terminator
        assert instruction is not None
        self._at(instruction, block.terminator_pc)
        return instruction

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
            self._slot(block)
            machine.registers.save(self._live(block))
            writer.void(f"br label %{self._destination(block.target)}")
            machine.dirty |= dirty
            return
        self._slot(block)
        if self._goes_on(block):
            self._next_round(block, flag)
            return
        machine.registers.save(self._live(block))
        target, next_block = self._destination(block.target), self._destination(block.next_pc)
        loop = ""
        if target == _LABEL(block.start) and machine.looked and self._rounds == 1:
            loop = f", {UNROLLED}"  # LLVM leaves a loop that contains a call as it is, be it never made
        writer.void(f"br i1 {flag}, label %{target}, label %{next_block}{loop}")

    def _goes_on(self, block: Block) -> bool:
        """Return whether to write another round of a loop of one block, with results that have not been looked at."""
        machine, plan, pc = self._machine, self._plan, block.start
        if block.target != pc or self._rounds == MAX_ROUNDS or machine.memory.stored or not machine.pending:
            return False
        dirty = machine.dirty
        return not (self._polls.on_edge(pc, pc) or plan.edge_loads(dirty, pc) or plan.edge_flushes(dirty, pc))

    def _next_round(self, block: Block, flag: Value) -> None:
        """Write what follows a round: the way out, where all is looked at, and another round."""
        writer, machine = self._writer, self._machine
        again, out = writer.fresh_label(), writer.fresh_label()
        writer.void(f"br i1 {flag}, label %{again}, label %{out}")
        writer.label(out)
        here = machine.copy()
        machine.registers.save(self._live(block))
        writer.void(f"br label %{self._destination(block.next_pc)}")
        machine.restore(here)
        writer.label(again)
        self._rounds += 1
        self._body(block)
        self._end_branch(block)

    def _end_jump(self, block: Block) -> None:
        self._terminator(block)
        self._link(block)
        self._slot(block)
        assert block.target is not None
        self._machine.registers.save(self._live(block))
        self._writer.void(f"br label %{self._destination(block.target)}")

    def _destination(self, pc: int) -> str:
        """Return the label of a block here, or of a stub: it flushes and loads units, polls, or leaves the function."""
        dirty, plan = self._machine.dirty, self._plan
        polled = self._polls.on_edge(self._start, pc)
        if not polled and pc in plan.dirty_in and not plan.edge_loads(dirty, pc) and not plan.edge_flushes(dirty, pc):
            return _LABEL(pc)
        stub = _Stub(self._start, pc, dirty, self._machine.registers.split_out, polled)
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
                self._polls.write(machine, pc, dirty & ~flushed, location)
            if pc in plan.dirty_in:
                machine.registers.reload(plan.edge_loads(dirty, pc))
                self._writer.void(f"br label %{_LABEL(pc)}")
            else:
                self._calls.tail_call(pc, None, self._arguments(self._calls.passed(pc)))
        self._stubs = {}

    def _end_return(self, block: Block) -> None:
        instruction = self._terminator(block)
        target = self._machine.gpr(instruction.rs)
        self._slot(block)
        if self._frame is None or block.start not in self._frame.returns:
            self._return_complete(block, target)
            return
        writer, machine = self._writer, self._machine
        if self._stray is not None:
            machine.finish_floats()
            near, clear = writer.fresh_label(), writer.fresh_label()
            writer.void(f"br i1 {self._stray}, label %{near}, label %{clear}, {UNLIKELY}")
            before = machine.registers.copy()
            writer.label(near)
            self._return_complete(block, target)
            writer.label(clear)
            machine.registers.restore(before)
        machine.registers.flush(machine.dirty & ~settled_by_caller(self._frame) & ~RESULT_BITS)
        self._calls.give_back_frame(self._results(block))

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
        self._slot(block)
        table = self._function.jump_tables.get(block.terminator_pc)
        if table is not None:
            subject = target if table.load_pc is None else self._table_address
            assert subject is not None
            machine.registers.save(self._live(block))
            default = writer.fresh_label()
            cases = " ".join(f"i32 {text(case)}, label %{self._destination(pc)}" for case, pc in table.cases)
            writer.void(f"switch i32 {text(subject)}, label %{default} [ {cases} ]")
            writer.label(default)
        self._at(instruction, block.terminator_pc)
        machine.registers.flush(machine.dirty)
        arguments = self._arguments(self._calls.passed(None))
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
        arguments = f"ptr %s, i32 {block.terminator_pc}, i32 {ra}, i32 {sp}"
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
