"""Vectorization: loops of one block over floats, of which several iterations are performed at once.

Needs: the graph, `safepoints`, the units' ABS2008.
Sets: `vectorized`: by its block, what an iteration of such a loop does.
Keeps: results, memory, flags and faults are those of iterations one by one. recognize.py says which loops these are,
iteration.py which iterations may go together, emit/vectors.py how they are written.
Off when: some registers are in the state between blocks (`memory_resident`), the memory model is not `flat`, the loop
has a safepoint, steps sp or accesses no floats, its iterations cannot be counted, they always overlap, or too much of
them depends on the iteration before.
"""

from __future__ import annotations

from ....analysis import Block, End
from ....flow.graph import Graph
from ....isa.effects import effects
from ....state import SP
from ...facts.safepoints import Safepoints
from ...ir import FunctionPlan
from ...options import LiftOptions
from .iteration import Iteration, always_overlaps, countable, worthwhile
from .recognize import iteration_of


def vectorized_loops(graph: Graph, safepoints: Safepoints, options: LiftOptions, abs2008: bool) -> dict[int, Iteration]:
    """Return, by their blocks, the loops of which several iterations may be performed at once."""
    found: dict[int, Iteration] = {}
    if options.memory != "flat":
        return found
    for pc in graph.order:
        block, latch = graph.blocks[pc], _latch(graph, pc)
        if latch is None or safepoints.on_edge(latch.start, pc):
            continue
        if not (_accesses_floats(block) or _accesses_floats(latch)):
            continue
        done = iteration_of(block, latch, options.fr, options.big_endian, abs2008)
        if done is None or SP in done.advances or not countable(done) or always_overlaps(done):
            continue
        if worthwhile(done, options.big_endian):
            found[pc] = done
    return found


def _latch(graph: Graph, pc: int) -> Block | None:
    """Return the block that goes back to a loop of one block: itself, or the slot of its branch-likely; else None."""
    block = graph.blocks[pc]
    if block.end is not End.BRANCH or block.target is None:
        return None
    latch = graph.blocks.get(block.target)
    if latch is not None and latch.slot_of is not None and latch.next_pc == pc:
        return latch
    return block if block.target == pc else None


def _accesses_floats(block: Block) -> bool:
    accesses = (effects(instruction.row).access for instruction in block.instructions())
    return any(one is not None and one.type in ("single", "double") for one in accesses)


def _is_exposed(plan: FunctionPlan, pcs: set[int]) -> bool:
    return any(op.exposed for pc in pcs for op in plan.blocks[pc].ops)


def run(plan: FunctionPlan) -> None:
    """Find the loops to vectorize."""
    if not plan.memory_resident and plan.options.counters is None:
        loops = vectorized_loops(plan.graph, plan.safepoints, plan.options, plan.units.abs2008)
        plan.vectorized = {pc: loop for pc, loop in loops.items() if not _is_exposed(plan, {pc, loop.latch})}
