"""FP pair forms: whether a pair of registers crosses from block to block as one double or as two floats.

Needs: the graph, the units.
Sets: `pair_forms`: the pairs that are two floats at the start and at the end of each block.
Keeps: each edge has one form at both its ends, and all entries have the same. The bits are the same in both forms, so
results do not depend on it.
Off when: some registers are in the state between blocks (`memory_resident`), or no pair is used both as a double and as
singles.

To put a single into a whole double makes the other word part of every loop around, and to take a double apart costs as
much. So a form belongs to a place: edges that meet have the form of the uses next to them, and a use counts more for
each loop around it. Edges without a use next to them take the form of a neighbour, through inner loops first.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

from ...analysis import Block
from ...flow.graph import Graph
from ...flow.ways import Ways, ways_of
from ..ir import Forms, FunctionPlan
from ..units import PAIR, Unit, Units, float_bits

_LOOP_WEIGHT = 8
"""By how much a use counts more for each loop around it."""


def pair_forms(graph: Graph, units: Units) -> Forms:
    """Return the forms of all pairs of a function."""
    order = graph.order
    forms = Forms.usual(order)
    pairs = [unit for unit in units.all if unit.type == PAIR]
    if not pairs:
        return forms
    ways = ways_of(graph)
    uses = {pc: _uses(graph.blocks[pc], units.fr) for pc in order}
    for unit in pairs:
        split = _split_ways(unit, ways, graph.loop_depths, uses)
        for pc in order:
            if ways.into[pc] in split:
                forms.into[pc] |= unit.bits
            if ways.out[pc] in split:
                forms.out[pc] |= unit.bits
    return forms


def _uses(block: Block, fr: int) -> list[tuple[int, int]]:
    """Return what the instructions of a block use as singles and as doubles."""
    found = (float_bits(instruction, fr) for instruction in block.instructions())
    return [bits for bits in found if bits != (0, 0)]


def _split_ways(unit: Unit, ways: Ways, depths: dict[int, int], uses: dict[int, list[tuple[int, int]]]) -> set[int]:
    """Return the classes of ways on which a pair is two floats."""
    votes: dict[int, int] = {}
    joins: dict[int, list[tuple[int, int]]] = {}  # by class: those beyond blocks that do not use the pair, with depths
    for pc, found in uses.items():
        kinds = [bool(single & unit.bits) for single, double in found if (single | double) & unit.bits]
        if kinds:
            weight: int = _LOOP_WEIGHT ** depths[pc]
            for way, split in ((ways.into[pc], kinds[0]), (ways.out[pc], kinds[-1])):
                votes[way] = votes.get(way, 0) + (weight if split else -weight)
        else:
            a, b = ways.into[pc], ways.out[pc]
            joins.setdefault(a, []).append((-depths[pc], b))
            joins.setdefault(b, []).append((-depths[pc], a))
    decided = {way: vote > 0 for way, vote in votes.items()}
    _spread(decided, joins.get)
    return {way for way, split in decided.items() if split}


def _spread(decided: dict[int, bool], joins: Callable[[int], list[tuple[int, int]] | None]) -> None:
    """Give classes without uses next to them the form of a neighbour, through inner loops first."""
    work = [(order, other, way) for way in decided for order, other in joins(way) or ()]
    heapq.heapify(work)
    while work:
        _, way, source = heapq.heappop(work)
        if way not in decided:
            decided[way] = decided[source]
            for order, other in joins(way) or ():
                heapq.heappush(work, (order, other, way))


def run(plan: FunctionPlan) -> None:
    """Decide the forms of all pairs."""
    if not plan.memory_resident:
        plan.pair_forms = pair_forms(plan.graph, plan.units)
