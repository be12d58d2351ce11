"""Plans a function: makes the plan with nothing decided, and runs the passes over it.

Enters: an analysed function, and what is known of those that it calls. Leaves: a `FunctionPlan`, which emit/ writes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from ..analysis import Block, End, Function
from ..errors import LiftError
from ..flow.graph import Graph
from ..isa.effects import ALL_BITS
from .check import findings
from .convention import SP_BIT, Callee, Convention, calls_for_certain, may_unwind
from .facts.context import StateContext
from .facts.dirty import note_dirty
from .facts.needed import find_needed
from .facts.safepoints import find_safepoints
from .facts.shared_switches import is_crowded, shares_switch
from .facts.stack_depths import stack_depths
from .ir import BlockPlan, CallSite, Forms, FunctionPlan
from .options import LiftOptions
from .pipeline import PIPELINE, Pass
from .terminators import end_blocks
from .units import Units

CHECK = "MIPSREC_CHECK"
"""The variable that has every plan checked."""


def decide(plan: FunctionPlan, passes: Sequence[Pass] = PIPELINE) -> FunctionPlan:
    """Run passes over a plan, note what the state lacks where, and return the plan.

    Where MIPSREC_CHECK is set, raises LiftError for a plan that breaks a contract.
    """
    for one in passes:
        one.run(plan)
    note_dirty(plan)
    end_blocks(plan)
    if os.environ.get(CHECK):
        found = findings(plan)
        if found:
            raise LiftError(f"{plan.function.name} at {plan.function.start:08x}: {found[0]} ({len(found)} findings)")
    return plan


def undecided_plan(
    function: Function,
    entries: list[int],
    options: LiftOptions,
    callee: Callable[[int], Callee | None],
    memory_resident: int = 0,
) -> FunctionPlan:
    """Return the plan of the blocks that `entries` reach, as the first pass finds it.

    `memory_resident`: the bits of the registers that are in the state between blocks.
    """
    graph = Graph.reached(function, entries)
    units = Units(function, options.fr, options.nan2008)
    convention = Convention(options, callee)
    sites = _Sites(function, convention, memory_resident, function.start in entries)
    found = {pc: sites.of(function.blocks[pc]) for pc in graph.order}
    needed = find_needed(graph, units, convention)
    return FunctionPlan(
        graph, options, units, convention, memory_resident,
        blocks={pc: BlockPlan.of(function.blocks[pc]) for pc in graph.order},
        sites=found,
        context=StateContext(graph, units, found, convention.entered(entries, function.start), needed, memory_resident),
        safepoints=find_safepoints(graph, needed),
        pair_forms=Forms.usual(graph.order),
        word_forms=Forms.usual(graph.order),
        stack_depths=stack_depths(graph) if units.bits & SP_BIT & ~memory_resident else {},
    )  # fmt: skip


class _Sites:
    """How control leaves a function at the ends of its blocks."""

    def __init__(self, function: Function, convention: Convention, memory_resident: int, has_start: bool) -> None:
        self._function = function
        self._convention = convention
        self._memory_resident = memory_resident
        self._unwinds = has_start and may_unwind(function)
        self._crowded = is_crowded(function)

    def of(self, block: Block) -> CallSite:
        """Return how control leaves at the end of a block."""
        returned = self._convention.not_in_state
        not_in_state = returned & ~self._memory_resident if calls_for_certain(block) else 0
        unwinds = self._unwinds and self._function.may_go_anywhere(block)
        return CallSite(self._passed(block, unwinds), not_in_state, unwinds)

    def _passed(self, block: Block, unwinds: bool) -> int:
        """Return the bits that leaving the function at the end of a block reads."""
        passed = self._convention.passed
        if block.end is End.CALL:
            return passed(block.target)
        if block.end is End.INDIRECT:
            is_shared = shares_switch(self._function, block, self._memory_resident, self._crowded)
            stored = ALL_BITS & ~self._memory_resident if is_shared else 0  # by the way elsewhere, which jumps share
            return passed(block.target) | (SP_BIT if unwinds else 0) | stored
        bits = 0
        for pc in (block.target, block.next_pc):
            if pc is not None and block.end in (End.JUMP, End.BRANCH, End.FALL) and pc not in self._function.blocks:
                bits |= passed(pc)
        return bits
