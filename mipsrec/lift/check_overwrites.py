"""Checks that a function overwrites what its callers rely on: no way from its start reads it before it is written.

Enters: a plan. Leaves: what is wrong with it, one line for each finding. It asks effects and the plan's graph alone,
and sees every block.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ..analysis import End
from ..flow.solve import Direction, Meet, reads_and_writes, solve
from ..isa.effects import effects, masks
from .ir import BlockPlan, FunctionPlan
from .nodes import Branch, Call, Destination, Goto
from .text import registers_text


def overwrite_findings(plan: FunctionPlan) -> list[str]:
    """Return where a function reads what it is said to overwrite."""
    start = plan.function.start
    own = plan.convention.callee(start)
    if own is None or plan.options.calls != "direct" or plan.graph.entries != [start]:
        return []
    stale = _stale(plan, own.overwrites)
    found = []
    for pc, block in plan.blocks.items():
        for text in _block_findings(plan, block, stale[pc]):
            found.append(f"block {pc:08x}: contract 4: {text}")
    return found


def _stale(plan: FunctionPlan, overwrites: int) -> dict[int, int]:
    """Return, by block, the registers that some way to it has not written, of those that callers do not store."""
    transfers, masks_of = {}, partial(masks, fr=plan.options.fr)
    for pc, block in plan.blocks.items():
        _, written = reads_and_writes(block.block, masks_of)
        transfers[pc] = 0, 0 if block.block.end in (End.CALL, End.SYSCALL) else ~written
    return solve(plan.graph, Direction.FORWARD, Meet.ANY, transfers, {plan.function.start: overwrites})


def _block_findings(plan: FunctionPlan, block: BlockPlan, stale: int) -> Iterator[str]:
    for instruction in block.block.instructions():
        reads, writes = masks(instruction, plan.options.fr)
        if bits := stale & reads:
            yield f"it reads {registers_text(bits)}, which callers need not have stored"
        if effects(instruction.row).may_leave and stale:
            yield f"it may leave without {registers_text(stale)}, which callers need not have stored"
        stale &= ~writes
    for what, where in _ends(plan, block):
        if bits := stale & ~(plan.convention.needless(where) if where is not None else 0):
            yield f"{what} passes on {registers_text(bits)}, which callers need not have stored"


def _ends(plan: FunctionPlan, block: BlockPlan) -> Iterator[tuple[str, Destination | None]]:
    """Yield where other code may read registers behind the instructions of a block; None: all of them."""
    end = block.end
    if isinstance(end, Call):
        yield "the call", None if end.conditional or end.to.guess is not None else end.to
    elif isinstance(end, (Goto, Branch)):
        edges = (end.edge,) if isinstance(end, Goto) else (end.taken, end.other)
        yield from (("the edge", edge.leaves) for edge in edges if edge.leaves is not None)
    else:
        yield "the end", None
