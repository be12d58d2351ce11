"""What the writers of one LLVM function share: its plan, the text that grows, and the machine that writes to it."""

from __future__ import annotations

from dataclasses import replace

from ..lift.convention import ARGUMENTS, RESULTS, SP_BIT, Callee
from ..lift.ir import FunctionPlan
from .calls import Calls
from .machine import IrMachine
from .memory import Value
from .writer import Writer, location


class Emission:
    """The LLVM function `symbol` of a plan while it is written; `scope` is the metadata number of its subprogram."""

    def __init__(self, plan: FunctionPlan, symbol: str, scope: int) -> None:
        options = plan.options
        self.plan = plan
        self.symbol = symbol
        self.scope = scope
        self.writer = Writer(options.relocatable)
        self.machine = IrMachine(self.writer, symbol, plan.units, options, plan.memory_resident)
        self.called: set[str] = set()
        """Symbols of lifted functions."""
        self.calls = Calls(self.writer, options, replace(plan.convention, callee=self._note_callee))
        self.has_entries = plan.graph.entries != [plan.function.start]
        """Whether it has other entries than the start of the function: it begins with a switch on the pc."""

    def _note_callee(self, pc: int) -> Callee | None:
        callee = self.plan.convention.callee(pc)
        if callee is not None:
            self.called.add(callee.symbol)
        return callee

    @property
    def stack_bound(self) -> str | None:
        """The value of sp when the function was entered, if it is at hand."""
        if self.has_entries:
            return "%sp.in"
        return "%r29.in" if self.plan.units.arguments & SP_BIT else None

    def at(self, pc: int) -> None:
        """Make a guest pc the place of what is written next."""
        self.writer.debug = location(pc, self.scope)

    def arguments(self, passed: int) -> list[Value]:
        """Return the values of ARGUMENTS, of which those not in `passed` are left open."""
        machine = self.machine
        return [machine.current_gpr(number) if passed >> number & 1 else "poison" for number in ARGUMENTS]

    def results(self, at_hand: int) -> dict[int, Value]:
        """Return the values of RESULTS, by number: those `at_hand` as they are in SSA, the others from the state."""
        return {number: self.machine.current_gpr(number, bool(at_hand >> number & 1)) for number in RESULTS}
