"""How a block ends that jumps by a table: as a switch, whose default case is the jump to wherever the target is.

What the table was taken for is compared as the guest comes past: where it lies, what is added to its entries, and, of
one in writable memory or where jumps share the switch, the target itself.
"""

from __future__ import annotations

from functools import reduce

from ..analysis import JumpTable
from ..elf import PIE_BIAS
from ..lift.ir import BlockPlan
from ..lift.nodes import Destination, Jump
from ..state import SP
from .edges import EdgeWriter
from .emission import Emission
from .instructions import InstructionWriter
from .writer import LIKELY, Value, text

Cases = tuple[tuple[int, int], ...]


class JumpEnds:
    """Writes the ends of blocks that jump by a register."""

    def __init__(self, emission: Emission, instructions: InstructionWriter, edges: EdgeWriter) -> None:
        self._emission = emission
        self._instructions = instructions
        self._edges = edges
        self._plan = emission.plan
        self._writer = emission.writer
        self._machine = emission.machine
        self.hubs: dict[Cases, str] = {}
        """The labels of those that jumps go to, by the cases of their tables."""

    def end_indirect(self, block_plan: BlockPlan) -> None:
        writer, machine, plan = self._writer, self._machine, self._plan
        block, end = block_plan.block, block_plan.end
        assert isinstance(end, Jump)
        instruction = self._instructions.terminator(block)
        target = machine.gpr(instruction.rs)
        self._instructions.slot()
        if self._emission.counters is not None:
            self._emission.counters.jump(instruction, block.terminator_pc, target)
        table = plan.function.jump_tables.get(block.terminator_pc)
        if table is not None:
            self._jump_by_table(block_plan, end, table, target)
        self._instructions.make_current(instruction, block.terminator_pc)
        machine.registers.flush(end.stores)
        if end.unwinds:
            above, within = writer.fresh_label(), writer.fresh_label()
            caller = "%sp.start" if self._emission.has_entries else self._emission.stack_bound
            flag = writer.value(f"icmp ugt i32 {text(machine.gpr(SP))}, {caller}")
            writer.void(f"br i1 {flag}, label %{above}, label %{within}")
            before = machine.registers.copy()
            writer.label(above)
            machine.leave(target, self._emission.results(end.results))
            writer.label(within)
            machine.registers.restore(before)
        self._jump_anywhere(end.elsewhere, target)

    def _jump_anywhere(self, to: Destination, target: Value) -> None:
        self._emission.calls.tail_call(to, target, self._emission.arguments(to.arguments))

    def _jump_by_table(self, plan: BlockPlan, end: Jump, table: JumpTable, target: Value) -> None:
        """Write the switch; what follows is for targets that the table does not have."""
        writer, machine = self._writer, self._machine
        instructions = self._instructions
        subject, places = instructions.table_address, table.cases
        if subject is None:  # other code jumps to between the load and this; then the targets themselves decide
            subject, places = target, table.labels
        by_target = subject is target
        machine.registers.save(end.saves)
        default = beyond = writer.fresh_label()
        if end.hub is not None:
            self._jump_to_hub(places, subject, target)
            writer.label(default)
            return
        conditions = []
        if table.added is not None and not by_target and not table.writable:
            conditions.append(self._is_added(target, table.added))
        if instructions.table_address is not None and instructions.table_index is not None:
            subject, *others = self._entry_number(instructions.table_address, instructions.table_index, table)
            conditions += others
            places = tuple((number, pc) for number, (_, pc) in enumerate(table.cases))
            beyond = writer.fresh_label()
        else:
            subject = writer.known_pc(subject)
        self._require(conditions, default)
        labels = {pc: self._edges.destination(end.edges[pc]) for _, pc in places}
        checked = table.writable and not by_target
        checks = {pc: writer.fresh_label() if checked else label for pc, label in labels.items()}
        cases = " ".join(f"i32 {text(case)}, label %{checks[pc]}" for case, pc in places)
        weights = _weights_text(plan.case_weights)
        writer.void(f"switch i32 {text(subject)}, label %{beyond} [ {cases} ]{weights}")
        for pc, label in labels.items() if checked else ():
            writer.label(checks[pc])
            same = writer.value(f"icmp eq i32 {text(target)}, {text(writer.pc(pc))}")
            writer.void(f"br i1 {same}, label %{label}, label %{default}, {LIKELY}")
        if beyond != default:
            writer.label(beyond)
            writer.void("unreachable")
        writer.label(default)

    # hubs

    def _jump_to_hub(self, cases: Cases, address: Value, target: Value) -> None:
        """End the block at the hub of the cases, with what they are compared with and the jump's target."""
        writer = self._writer
        writer.void(f"store i32 {text(target)}, ptr %hub.target")
        writer.void(f"store i32 {text(address)}, ptr %hub.address")
        if cases not in self.hubs:
            self.hubs[cases] = writer.fresh_label()
        writer.void(f"br label %{self.hubs[cases]}")

    def write_hubs(self) -> None:
        """Write what all jumps by a table share: the switch, the look at each entry, and the jump elsewhere."""
        writer, machine = self._writer, self._machine
        for cases, hub_label in self.hubs.items():
            hub = self._plan.hubs[cases]
            writer.label(hub_label)
            machine.start_block()
            address = writer.known_pc(writer.value("load i32, ptr %hub.address"))
            checks = {pc: writer.fresh_label() for _, pc in cases}
            wrong = writer.fresh_label()
            places = " ".join(f"i32 {place}, label %{checks[pc]}" for place, pc in cases)
            writer.void(f"switch i32 {text(address)}, label %{wrong} [ {places} ]")
            for pc, label in checks.items():
                writer.label(label)
                target = writer.value("load i32, ptr %hub.target")
                same = writer.value(f"icmp eq i32 {target}, {text(writer.pc(pc))}")
                writer.void(f"br i1 {same}, label %{self._edges.destination(hub.edges[pc])}, label %{wrong}, {LIKELY}")
            writer.label(wrong)
            machine.start_block()
            machine.registers.flush(hub.stores)
            target = writer.value("load i32, ptr %hub.target")
            self._jump_anywhere(hub.elsewhere, target)

    def _require(self, conditions: list[Value], default: str) -> None:
        """Go to `default` unless all these bits are set.

        One branch, since LLVM makes worse code of several in a row that are not known to be rare on their own.
        """
        if conditions:
            writer, yes = self._writer, self._writer.fresh_label()
            good = reduce(lambda one, other: writer.value(f"and i1 {text(one)}, {text(other)}"), conditions)
            writer.void(f"br i1 {text(good)}, label %{yes}, label %{default}, {LIKELY}")
            writer.label(yes)

    def _is_added(self, target: Value, added: int) -> Value:
        """Return whether the target is as much more than the table's entry as it was guessed to be."""
        writer = self._writer
        assert self._instructions.table_entry is not None
        more = writer.value(f"sub i32 {text(target)}, {text(self._instructions.table_entry)}")
        moves = added >= PIE_BIAS  # gp does, with the code; other numbers do not
        expected = text(writer.pc(added)) if moves else added
        return writer.value(f"icmp eq i32 {more}, {expected}")

    def _entry_number(self, address: Value, index: Value, table: JumpTable) -> tuple[Value, Value, Value]:
        """Return which entry of a table an address is of, and two bits that are set if it is of one.

        The code around a switch has compared its number with the size of the table, and where the table lies does not
        change in loops. LLVM knows the former when the number is what the switch is on, not the address.
        """
        writer, first = self._writer, table.cases[0][0]
        base = writer.value(f"sub i32 {text(address)}, {text(index)}")
        place = writer.value(f"icmp eq i32 {base}, {text(writer.pc(first))}")
        number = writer.value(f"lshr i32 {text(index)}, 2")
        inside = writer.value(f"icmp ult i32 {number}, {len(table.cases)}")
        rest = writer.value(f"and i32 {text(index)}, 3")
        aligned = writer.value(f"icmp eq i32 {rest}, 0")
        return number, place, writer.value(f"and i1 {inside}, {aligned}")


def _weights_text(weights: list[int]) -> str:
    """Return the annotation of a switch whose default case is never taken."""
    if not weights:
        return ""
    return f', !prof !{{!"branch_weights", i32 1, {", ".join(f"i32 {weight}" for weight in weights)}}}'
