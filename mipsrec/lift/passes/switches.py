"""Switches: how often the switch that a jump by a table becomes leads to each of its cases.

Needs: the function's jump tables and the graph of all its blocks.
Sets: `BlockPlan.case_weights` and `BlockPlan.shares_switch`.
Keeps: the meaning: weights only tell LLVM what is usual (branch_weights in its reference). All jumps by one table go
to the same cases, and may share a switch: each keeps what is in SSA for the way elsewhere, which stores it.
Off when: the function has no jump table. No weights: the switch is in no loop, or all its cases do something, or none
does. No switch is shared: the table is small, or read-only in a function that is not crowded, or all registers are in
SSA between blocks.

In a loop, cases that only go on are taken for the usual ones: LLVM compares with them first, and spills registers for
the others alone. Such a case leads to where other cases meet and the loop goes back. A case that goes back by itself,
as those of interpreters do, does something.

Interpreters with a jump at the end of each case would have as many blocks as the square of their cases, if the jumps
by their table did not share a switch.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...analysis import Block, End
from ...flow.graph import Graph
from ..facts.shared_switches import is_crowded, shares_switch
from ..ir import FunctionPlan

USUAL_WEIGHT = 9
"""How often a switch in a loop has nothing to do, against how often it has."""

def case_weights(graph: Graph, block: Block, targets: Sequence[int]) -> list[int]:
    """Return how often the switch at the end of `block` leads to each of its targets; nothing where that is open."""
    later = {pc for pc in targets if pc > block.start and pc in graph.successors}
    back = {pc for pc in later if any(to <= block.start for to in graph.successors[pc])}
    if not back:
        return []
    around = {block.start, *graph.predecessors[block.start]}
    goes_on = {pc for pc in back if not around.issuperset(graph.predecessors[pc])}
    if not goes_on or goes_on.issuperset(targets):
        return []
    idle = sum(target in goes_on for target in targets)
    usual = USUAL_WEIGHT * (len(targets) - idle) // idle + 1
    return [usual if target in goes_on else 1 for target in targets]


def run(plan: FunctionPlan) -> None:
    """Weigh the cases of the switches, and find those that jumps share."""
    if not plan.function.jump_tables:
        return
    whole, crowded = Graph.whole(plan.function), is_crowded(plan.function)
    for block in plan.blocks.values():
        table = plan.function.jump_tables.get(block.block.terminator_pc)
        if table is not None and block.block.end is End.INDIRECT:
            targets = [target for _, target in table.cases]
            if all(op.pc != table.load_pc for op in block.body):
                targets = list(dict.fromkeys(targets))
            block.case_weights = case_weights(whole, block.block, targets)
            block.shares_switch = shares_switch(plan.function, block.block, plan.memory_resident, crowded)
