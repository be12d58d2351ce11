"""Writes the instructions of a block; the only place that knows about delay slots."""

from __future__ import annotations

from ..analysis import Block, End, Function
from ..isa import Instruction
from ..isa.disassembly import disassemble
from ..lift.convention import ARGUMENTS, PRESERVED, lowers_sp
from ..lift.ir import Frame
from ..lift.options import LiftOptions
from ..lift.passes.access_merge import NONE, Load, Runs, Store, find_runs
from ..lift.passes.context import RegisterPlan
from ..lift.passes.no_wrap import KnownAddresses
from ..lift.passes.partial_inline import ShortWay
from ..lift.passes.scalar_promotion import Slot, SlotLoop
from ..lift.passes.silent_stores import stored_back
from ..lift.passes.spin_loads import unmoved_loads
from ..lift.passes.trapping_loads import NeededRegisters
from ..lift.passes.unaligned import Pair, find_pairs
from ..lift.passes.vectorize.iteration import Round
from ..lift.units import Units
from .calls import Calls
from .machine import IrMachine
from .memory import Value, text
from .writer import Writer


class InstructionWriter:
    """What the parts of FunctionWriter share, and its instructions."""

    _function: Function
    _options: LiftOptions
    _writer: Writer
    _machine: IrMachine
    _units: Units
    _plan: RegisterPlan
    _calls: Calls
    _called: set[str]  # symbols
    _frame: Frame | None
    _short: ShortWay | None  # of this function
    _needed: NeededRegisters
    _addresses: KnownAddresses
    _scope: int
    _vectors: dict[int, Round]  # loops of one block, of which several rounds may be done at once (emit/vectors.py)
    _saves: frozenset[int]  # pcs that the callers of a body have seen to

    _table_address: Value | None = None  # of the entry that the current block loaded its jump's target from
    _table_index: Value | None = None  # what is added to the table's address for that
    _table_entry: Value | None = None  # what was loaded there
    _exact: frozenset[int] | set[int] = frozenset()  # additions of the current block that do not wrap
    _loop_changes: int | None = None  # registers that change from round to round of the loop around the current block
    _unmoved: frozenset[int] | set[int] = frozenset()  # indices of loads that have the same address in each round of it
    _looked_at: frozenset[int] = frozenset()  # pcs of the stores in this block that may go to the frame
    _kept: frozenset[int] | set[int] = frozenset()  # indices of the accesses in this block that must stay
    _slot_done = False  # whether what the delay slot does has been written, with the rest of a run or pair
    _short_way = False  # whether a short way is written, of whose loads the function's plan knows nothing
    _slot_loop: SlotLoop | None = None  # around the current block
    _stray: Value | None = None  # whether one of them did

    def _arguments(self, passed: int) -> list[Value]:
        """Return the values of ARGUMENTS, of which those not in `passed` are left open."""
        machine = self._machine
        return [machine.current_gpr(number) if passed >> number & 1 else "poison" for number in ARGUMENTS]

    def _body(self, block: Block) -> None:
        machine = self._machine
        table = self._function.jump_tables.get(block.terminator_pc) if block.end is End.INDIRECT else None
        table_pc = table.load_pc if table is not None else None
        body = block.body
        self._table_address = self._table_index = None
        machine.monotonic = False
        if table is not None and table.index is not None:
            register, shift = table.index
            self._table_index = machine.shl(machine.gpr(register), shift) if shift else machine.gpr(register)
        self._exact = self._addresses.exact_sums(block) if self._options.memory == "flat" else set()
        changes = self._loop_changes
        self._unmoved = unmoved_loads(block, changes, self._units.fr) if changes is not None else set()
        self._kept = self._needed.dead_loads(block) | stored_back(block, self._units.fr, self._options.big_endian)
        runs, self._slot_done = self._runs(block), False
        pairs = find_pairs(block, self._options.big_endian, self._units.fr)
        done: set[int] = set()
        loaded: dict[int, tuple[str, int, int]] = {}  # index of a load of a run: vector, number, count
        pc, index, count = block.start, 0, len(body)
        while index < count:
            if index in runs.loads:
                self._load_run(body, index, pc, runs.loads[index], loaded)
            if index in runs.stores:
                run = runs.stores[index]
                self._store_run(body[index], pc, run, loaded)
                self._slot_done = index + run.count > count
                index += run.count
                pc += 4 * run.count
                continue
            if pc == table_pc:
                self._table_address = machine.add(machine.gpr(body[index].rs), body[index].imm & 0xFFFFFFFF)
            self._look_at_store(body[index], pc)
            if index in pairs:
                pair = pairs[index]
                self._unaligned_pair(body[index], pair, pc, not self._kept.isdisjoint((index, pair.second)))
                self._slot_done |= pair.second == count
                done.add(pair.second)
            elif pc not in self._saves and index not in done:
                kept = index in self._kept or self._keeps_in_short_way(body[index])
                machine.monotonic = index in self._unmoved
                self._instruction(body[index], pc, kept, index in self._exact, loaded.get(index))
            if pc == table_pc:
                self._table_entry = machine.gpr(body[index].rt)
            index += 1
            pc += 4

    def _keeps_in_short_way(self, instruction: Instruction) -> bool:
        """Return whether a load of a short way must stay: not those of the stack, which has just been stored to."""
        return self._short_way and instruction.rs != 29

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

    def _runs(self, block: Block) -> Runs:
        """Return the runs of words in a block, without accesses that other rules watch."""
        if self._options.memory != "flat" or self._short_way or self._slot_loop or block.start in self._vectors:
            return NONE
        apart = {(pc - block.start) >> 2 for pc in self._saves | self._looked_at}
        return find_runs(block, apart | self._kept | self._unmoved, self._units.fr)

    def _load_run(
        self, body: list[Instruction], index: int, pc: int, run: Load, loaded: dict[int, tuple[str, int, int]]
    ) -> None:
        self._at(body[index], pc)
        count = len(run.indices)
        words = self._machine.memory.load_words(self._machine.gpr(body[index].rs), body[index].imm, count)
        loaded.update({at: (words, number, count) for number, at in enumerate(run.indices)})

    def _store_run(self, first: Instruction, pc: int, run: Store, loaded: dict[int, tuple[str, int, int]]) -> None:
        self._at(first, pc)
        machine, memory = self._machine, self._machine.memory
        if run.loaded is not None:
            words = loaded[run.loaded.indices[0]][0]
        else:
            words = memory.equal_words(text(machine.gpr(first.rt)), run.count)
        memory.store_words(machine.gpr(first.rs), first.imm, words, run.count)

    def _instruction(
        self,
        instruction: Instruction,
        pc: int,
        kept: bool,
        exact: bool,
        word: tuple[str, int, int] | None = None,
    ) -> None:
        """Write one instruction; `kept`: it is an access that must not vanish; `exact`: an addition that does not wrap.

        `word`: a load that has been done, as the vector, the word's number in it and the vector's length.
        """
        machine = self._machine
        self._at(instruction, pc)
        machine.kept = kept
        assert instruction.row.meaning is not None
        machine.exact = exact
        machine.touched = self._touched(instruction)
        if word is None:
            instruction.row.meaning(machine, instruction)
        else:
            machine.set_gpr(instruction.rt, machine.memory.word_of(*word))
        machine.exact = False
        machine.touched = None
        self._note_written(instruction)

    def _note_written(self, instruction: Instruction) -> None:
        """Count what an instruction has written as dirty, and store sp (lift/passes/context.py)."""
        machine = self._machine
        written = self._units.masks(instruction)[1]
        machine.dirty |= written
        if written & PRESERVED and lowers_sp(instruction):
            machine.registers.put(PRESERVED, kept=True)
            machine.dirty &= ~PRESERVED

    def _touched(self, instruction: Instruction) -> Slot | None:
        if self._slot_loop is None or self._short_way:
            return None
        return self._slot_loop.touched(instruction)

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

    def _unaligned_pair(self, first: Instruction, pair: Pair, pc: int, kept: bool) -> None:
        """Write both halves of a load or store of one word as one unaligned access."""
        self._at(first, pc)
        machine = self._machine
        machine.kept = kept or self._short_way
        base = machine.gpr(first.rs)
        if first.row.name[0] == "l":
            machine.set_gpr(first.rt, machine.load_word_unaligned(base, pair.displacement))
            self._note_written(first)
        else:
            machine.store_word_unaligned(base, pair.displacement, machine.gpr(first.rt))

    def _slot(self, block: Block) -> None:
        assert block.delay_slot is not None
        if block.terminator_pc + 4 in self._saves or self._slot_done:
            return
        self._look_at_store(block.delay_slot, block.terminator_pc + 4)
        self._machine.in_slot = True
        index = len(block.body)
        kept = index in self._kept or self._keeps_in_short_way(block.delay_slot)
        self._machine.monotonic = index in self._unmoved
        self._instruction(block.delay_slot, block.terminator_pc, kept, index in self._exact)
        self._machine.in_slot = False

    def _link(self, block: Block) -> None:
        """Write the return address: before the delay slot, which may read it."""
        assert block.terminator is not None
        register = block.terminator.link_register()
        if register:
            self._machine.set_gpr(register, self._writer.pc(block.terminator_pc + 8))
            self._machine.dirty |= 1 << register

    def _terminator(self, block: Block) -> Instruction:
        instruction = block.terminator
        assert instruction is not None
        self._at(instruction, block.terminator_pc)
        return instruction
