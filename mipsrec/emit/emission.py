"""What the writers of one LLVM function share: its plan, the text that grows, and the machine that writes to it."""

from __future__ import annotations

from collections.abc import Container

from ..lift.convention import ARGUMENTS, RESULTS
from ..lift.ir import FunctionPlan
from ..state import SP
from .calls import Calls, parameter
from .counters import Counters
from .machine import IrMachine
from .writer import BEHIND_SLOT, DEPTH, LINKS, Value, Writer, location


class Emission:
    """The LLVM function `symbol` of a plan while it is written; `scope` is the metadata number of its subprogram."""

    def __init__(self, plan: FunctionPlan, symbol: str, scope: int) -> None:
        options = plan.options
        self.plan = plan
        self.symbol = symbol
        self.scope = scope
        self.writer = Writer(options.relocatable)
        self.machine = IrMachine(
            self.writer, symbol, plan.units, options, plan.memory_resident, bool(plan.stack_depths)
        )
        self.calls = Calls(self.writer, options)
        self.counters = Counters(self.writer, options.counters) if options.counters is not None else None
        self.has_entries = plan.graph.entries != [plan.function.start]
        """Whether it has other entries than the start of the function: it begins with a switch on the pc."""

        assert plan.entry is not None
        self.entry = plan.entry
        self.stack_bound = parameter(SP)
        """The value of sp when the function was entered."""

    def at(self, pc: int, column: int = 0) -> None:
        """Make a guest pc the place of what is written next; writer.py says what a column means."""
        depth = self.plan.stack_depths.get(pc)
        if depth and column in (0, BEHIND_SLOT):
            column = DEPTH + depth // 4 + (LINKS if column else 0)
        self.writer.debug = location(pc, self.scope, column)

    def arguments(self, passed: tuple[int, ...]) -> list[Value]:
        """Return the values of ARGUMENTS, of which those not `passed` are left open."""
        values = dict(zip(passed, self.machine.current_gprs(passed, passed), strict=True))
        return [values.get(number, "poison") for number in ARGUMENTS]

    def results(self, at_hand: Container[int]) -> dict[int, Value]:
        """Return the values of RESULTS, by number: those `at_hand` as they are in SSA, the others from the state."""
        return dict(zip(RESULTS, self.machine.current_gprs(RESULTS, at_hand), strict=True))
