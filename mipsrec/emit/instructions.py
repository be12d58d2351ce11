"""Writes the instructions of a block; the only place that knows about delay slots."""

from __future__ import annotations

from ..analysis import Block, End
from ..isa import Instruction
from ..isa.disassembly import disassemble
from ..isa.effects import effects
from ..lift.ir import PLAIN, BlockPlan, MergedLoad, MergedStore, Op, Run, UnalignedWord
from .emission import Emission
from .writer import STORED, Value, text


class InstructionWriter:
    """Writes instructions, and what later writers of the same block need to know of them."""

    def __init__(self, emission: Emission) -> None:
        self._emission = emission
        self._function = emission.plan.function
        self._units = emission.plan.units
        self._writer = emission.writer
        self._machine = emission.machine
        self.table_address: Value | None = None
        """The address of the entry that the current block loaded its jump's target from."""
        self.table_index: Value | None = None
        """What is added to the table's address for that."""
        self.table_entry: Value | None = None
        """What was loaded there."""
        self._block: BlockPlan | None = None
        self._slot_done = False  # whether what the delay slot does has been written, with others

    def body(self, plan: BlockPlan) -> None:
        """Write the instructions of a block up to its terminator."""
        machine, block, body = self._machine, plan.block, plan.body
        self._block = plan
        table = self._function.jump_tables.get(block.terminator_pc) if block.end is End.INDIRECT else None
        table_pc = table.load_pc if table is not None else None
        self.table_address = self.table_index = None
        if table is not None and table.index is not None:
            register, shift = table.index
            self.table_index = machine.shl(machine.gpr(register), shift) if shift else machine.gpr(register)
        self._slot_done = False
        machine.current.in_slot = block.slot_of is not None
        done: set[int] = set()
        loaded: dict[int, tuple[str, int, int]] = {}  # index of a merged load: vector, number, count
        floats: dict[int, str] = {}  # index of a load of a run: what it loads
        index, count = 0, len(body)
        while index < count:
            op = body[index]
            if index in plan.merged.loads:
                self._load_merged(op, plan.merged.loads[index], loaded)
            if index in plan.merged.stores:
                merged = plan.merged.stores[index]
                self._store_merged(op, merged, loaded)
                self._slot_done = index + merged.count > count
                index += merged.count
                continue
            if index in plan.runs:
                self._perform_run(plan, plan.runs[index], done, floats)
            if index in floats:
                machine.registers.set_passed(self._units.gpr[op.instruction.rt], floats[index])
                done.add(index)
            if op.pc == table_pc:
                instruction = op.instruction
                self.table_address = machine.add(machine.gpr(instruction.rs), instruction.imm & 0xFFFFFFFF)
            if index in plan.unaligned:
                word = plan.unaligned[index]
                self._unaligned_word(op, word)
                self._slot_done |= word.second == count
                done.add(word.second)
            elif index not in done:
                self.instruction(op, op.pc if block.slot_of is None else block.slot_of, loaded.get(index))
            if op.pc == table_pc:
                self.table_entry = machine.gpr(op.instruction.rt)
            index += 1
        machine.current.in_slot = False

    def comment(self, block: Block) -> None:
        for pc, instruction in zip(block.pcs(), block.instructions()):
            self._writer.lines.append(f"  ; {pc:08x}: {disassemble(instruction, pc)}")
        if block.delay_slot is not None:
            self._writer.lines[-1] += " (delay slot)"

    def make_current(self, instruction: Instruction, pc: int, column: int = 0) -> None:
        """Make `instruction` the current one; `pc` is its own, or for a delay slot the branch's, as EPC has it.

        writer.py says what a `column` means.
        """
        current = self._machine.current
        self._emission.at(pc, column)
        current.pc = pc
        current.word = instruction.word

    def _load_merged(self, first: Op, merged: MergedLoad, loaded: dict[int, tuple[str, int, int]]) -> None:
        self.make_current(first.instruction, first.pc)
        self._machine.registers.place()
        count, instruction = len(merged.indices), first.instruction
        words = self._machine.flat.load_words(self._machine.gpr(instruction.rs), instruction.imm, count)
        loaded.update({at: (words, number, count) for number, at in enumerate(merged.indices)})

    def _store_merged(self, op: Op, merged: MergedStore, loaded: dict[int, tuple[str, int, int]]) -> None:
        first = op.instruction
        self.make_current(first, op.pc)
        machine, memory = self._machine, self._machine.flat
        machine.registers.place()
        if merged.loaded is not None:
            words = loaded[merged.loaded.indices[0]][0]
        else:
            words = memory.equal_words(text(machine.gpr(first.rt)), merged.count)
        memory.store_words(machine.gpr(first.rs), first.imm, words, merged.count)

    def _perform_run(self, plan: BlockPlan, run: Run, done: set[int], floats: dict[int, str]) -> None:
        """Store the words of a run, or load them into `floats`."""
        machine, memory, members = self._machine, self._machine.flat, [plan.body[index] for index in run.indices]
        first, lowest = plan.body[run.first], members[0].instruction
        self.make_current(first.instruction, first.pc)
        machine.registers.place()
        base = machine.gpr(lowest.rs)
        if effects(lowest.row).loads:
            words = memory.load_words(base, lowest.imm, len(members))
            floats.update(zip(run.indices, memory.floats_of(words, len(members)), strict=True))
            return
        values = machine.registers.as_passed([self._units.gpr[op.instruction.rt] for op in members])
        memory.store_words(base, lowest.imm, memory.words_of(values), len(members))
        done.update(run.indices)

    def instruction(self, op: Op, pc: int, word: tuple[str, int, int] | None = None) -> None:
        """Write one instruction at a pc, as EPC would have it.

        `word`: a load that has been done, as the vector, the word's number in it and the vector's length.
        """
        machine, instruction = self._machine, op.instruction
        self.make_current(instruction, pc, STORED if op.exposed else 0)
        does = effects(instruction.row)
        if word is None and (does.loads or does.stores):
            machine.registers.place()
        self._store_before(op)
        machine.current.op = op
        assert instruction.row.meaning is not None
        if word is None:
            instruction.row.meaning(machine.operations, instruction)
        else:
            machine.set_gpr(instruction.rt, machine.flat.word_of(*word))
        machine.current.op = PLAIN
        if op.stores_after:
            self._machine.registers.put(op.stores_after, volatile=True)

    def _store_before(self, op: Op) -> None:
        """Store what the handler of a fault of the instruction must find in the state."""
        if op.exposed:
            self.expose(op.stores)
        elif op.stores:
            self._machine.registers.flush(op.stores)

    def expose(self, stores: int) -> None:
        """Make memory, and the registers that callees preserve, what a landing pad must find if what follows throws."""
        if stores:
            self._machine.registers.flush(stores, volatile=True)
        self._writer.void('fence syncscope("singlethread") seq_cst')

    def _unaligned_word(self, op: Op, word: UnalignedWord) -> None:
        """Write both halves of a load or store of one word as one unaligned access."""
        first = op.instruction
        self.make_current(first, op.pc, STORED if op.exposed else 0)
        machine = self._machine
        machine.registers.place()
        self._store_before(op)
        machine.current.op = op
        base = machine.gpr(first.rs)
        if effects(first.row).loads:
            machine.set_gpr(first.rt, machine.unaligned.load_word_unaligned(base, word.displacement))
            if op.stores_after:
                machine.registers.put(op.stores_after, volatile=True)
        else:
            machine.unaligned.store_word_unaligned(base, word.displacement, machine.gpr(first.rt))
        machine.current.op = PLAIN

    def slot(self) -> None:
        """Write the delay slot of the block whose body was written last, if it has one."""
        assert self._block is not None
        op = self._block.slot
        if self._slot_done or op is None:
            return
        self._machine.current.in_slot = True
        self.instruction(op, self._block.block.terminator_pc)
        self._machine.current.in_slot = False

    def link(self, block: BlockPlan) -> None:
        """Write the return address: before the delay slot, which may read it."""
        if block.link:
            self._machine.set_gpr(block.link, self._writer.pc(block.block.next_pc))

    def terminator(self, block: Block) -> Instruction:
        instruction = block.terminator
        assert instruction is not None
        self.make_current(instruction, block.terminator_pc)
        return instruction
