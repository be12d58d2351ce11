"""What happens on the way from one block to another: stores, loads, a safepoint, or that control leaves the function.

Enters: a plan, two blocks and what is dirty between them. Leaves: an `Edge`, which emit/ writes as a branch if it is
plain, or else as a block of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..analysis import End
from .ir import FunctionPlan

MAX_COPIED_RETURN = 24
"""Instructions of the longest return block that is copied; an o32 epilogue restores at most ten registers."""


@dataclass(frozen=True)
class Edge:
    """From the block at `source` to guest pc `target`. `dirty` are the register bits that are dirty on it, `stores`
    those of them that it stores into the state, `loads` what it loads from there.

    `leaves`: the target is in another function, or in none. `copies`: the target is a return block, and is written
    once more in place of the edge.
    """

    source: int
    target: int
    dirty: int
    stores: int
    loads: int = 0
    has_safepoint: bool = False
    leaves: bool = False
    copies: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether nothing happens on the way."""
        return not (self.stores or self.loads or self.has_safepoint or self.leaves)


def edge(plan: FunctionPlan, source: int, target: int, dirty: int) -> Edge:
    """Return the edge between two blocks, `dirty` being the register bits that are dirty on it."""
    has_safepoint = plan.safepoints.on_edge(source, target)
    if target not in plan.blocks:
        return Edge(source, target, dirty, dirty & ~plan.convention.given, has_safepoint=has_safepoint, leaves=True)
    context = plan.context
    stores, loads = context.edge_flushes(dirty, target), context.edge_loads(dirty, target)
    copies = bool(has_safepoint or stores or loads) and _is_short_return(plan, target)
    return Edge(source, target, dirty, stores, loads, has_safepoint, copies=copies)


def _is_short_return(plan: FunctionPlan, pc: int) -> bool:
    """Return whether to copy a block rather than to load, on the way into it, what it would only store again."""
    block = plan.blocks[pc].block
    return block.end is End.RETURN and block.instruction_count() <= MAX_COPIED_RETURN
