"""What happens on the way from one block to another: stores, loads, a safepoint, or that control leaves the function.

Enters: a plan, two blocks and what is dirty between them. Leaves: an `Edge`, which emit/ writes as a branch if it is
plain, or else as a block of its own.
"""

from __future__ import annotations

from ..analysis import End
from .facts.dirty import with_dirty
from .ir import FunctionPlan
from .nodes import Edge

MAX_COPIED_RETURN = 24
"""Instructions of the longest return block that is copied; an o32 epilogue restores at most ten registers."""


def edge(plan: FunctionPlan, source: int, target: int, dirty: int) -> Edge:
    """Return the edge between two blocks, `dirty` being the register bits that are dirty on it."""
    has_safepoint, needed = plan.safepoints.on_edge(source, target), plan.context.needed.at(target)
    loads, leaves, copy = 0, None, None
    if target not in plan.blocks:
        leaves = plan.convention.destination(target)
        dirty &= needed & ~plan.convention.needless(leaves)
        stores = dirty & ~plan.convention.handed(leaves)
    else:
        dirty &= needed
        stores, loads = plan.context.edge_flushes(dirty, target), plan.context.edge_loads(dirty, target)
        if (has_safepoint or stores or loads) and _is_short_return(plan, target):
            copy = with_dirty(plan, plan.blocks[target], dirty)
    polls = dirty & ~stores if has_safepoint else 0
    return Edge(source, target, dirty, stores, loads, has_safepoint, polls, leaves, copy)


def _is_short_return(plan: FunctionPlan, pc: int) -> bool:
    """Return whether to copy a block rather than to load, on the way into it, what it would only store again."""
    block = plan.blocks[pc].block
    return block.end is End.RETURN and block.instruction_count() <= MAX_COPIED_RETURN
