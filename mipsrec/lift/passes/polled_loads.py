"""Polled loads: spin loads that need no mark, because a safepoint holds them in their loop.

Needs: the graph, the safepoints, and `Op.spin` (spin_loads).
Sets: `Op.spin` to False.
Keeps: a spin load is performed in each iteration. If every cycle through its block passes a safepoint, the safepoint's
acquire fence keeps it in the loop: LLVM moves no load up over one (LangRef, "fence"). Within an iteration LLVM may then
join it with other accesses of the same word.
Off when: never. A loop that ends by itself has no safepoint, and its loads stay as they are.
"""

from __future__ import annotations

from ..facts.safepoints import cycles_without_safepoint
from ..ir import FunctionPlan


def run(plan: FunctionPlan) -> None:
    """Take the mark from the loads that a safepoint holds."""
    if not plan.safepoints.edges:
        return
    cyclic = {pc for cycle in cycles_without_safepoint(plan.graph, plan.safepoints) for pc in cycle}
    for pc, block in plan.blocks.items():
        for op in block.ops:
            op.spin = op.spin and pc in cyclic
