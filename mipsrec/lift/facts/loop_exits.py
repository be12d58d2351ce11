"""Where loops are left to, and which registers they may give values.

Enters: a plan, once the dirty registers are noted. Leaves: bits of registers by block. LLVM may make the end of a loop
part of the block that leaves it, and then takes what that end assigns for an assignment on the way out as well. So emit
assigns these registers once more behind the loop.
"""

from __future__ import annotations

from collections import defaultdict
from functools import reduce
from operator import or_

from ...isa.effects import ALL_BITS
from ..convention import calls_for_certain
from ..ir import FunctionPlan


def left_by_loops(plan: FunctionPlan) -> dict[int, int]:
    """Return the blocks that loops are left to, with the registers to which these loops may give values."""
    graph, blocks = plan.graph, plan.blocks
    found: dict[int, int] = defaultdict(int)
    for body in graph.loops.values():
        calls = any(calls_for_certain(blocks[pc].block) for pc in body)
        written = ALL_BITS if calls else reduce(or_, (blocks[pc].written for pc in body))
        for pc in body:
            for target in graph.successors[pc]:
                if target not in body:
                    found[target] |= written
    return found
