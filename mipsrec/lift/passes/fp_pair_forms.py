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
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ...analysis import Block
from ...flow.graph import Graph
from ..ir import FunctionPlan, PairForms
from ..units import PAIR, Unit, Units, float_bits

_MAX_DEPTH = 8
_LOOP_WEIGHT = 8
"""By how much a use counts more for each loop around it."""


@dataclass
class _Ways:
    """The ways into and out of blocks, as classes of those that meet."""

    into: dict[int, int]
    out: dict[int, int]


def whole_pairs(order: Iterable[int]) -> PairForms:
    """Return the forms of pairs that are never two floats between blocks."""
    return PairForms(dict.fromkeys(order, 0), dict.fromkeys(order, 0))


def pair_forms(graph: Graph, units: Units) -> PairForms:
    """Return the forms of all pairs of a function."""
    order = graph.order
    forms = whole_pairs(order)
    pairs = [unit for unit in units.all if unit.type == PAIR]
    if not pairs:
        return forms
    ways = _ways(graph)
    depths = dict.fromkeys(order, 0)
    for body in graph.loops.values():
        for pc in body:
            depths[pc] = min(depths[pc] + 1, _MAX_DEPTH)
    uses = {pc: _uses(graph.blocks[pc], units.fr) for pc in order}
    for unit in pairs:
        split = _split_ways(unit, ways, depths, uses)
        for pc in order:
            if ways.into[pc] in split:
                forms.into[pc] |= unit.bits
            if ways.out[pc] in split:
                forms.out[pc] |= unit.bits
    return forms


def _ways(graph: Graph) -> _Ways:
    order, entries = graph.order, graph.entries
    parents = list(range(2 * len(order)))

    def root(number: int) -> int:
        while parents[number] != number:
            parents[number] = parents[parents[number]]
            number = parents[number]
        return number

    into = {pc: 2 * index for index, pc in enumerate(order)}
    out = {pc: 2 * index + 1 for index, pc in enumerate(order)}
    for pc in entries[1:]:
        parents[root(into[pc])] = root(into[entries[0]])
    for pc in order:
        for successor in graph.successors[pc]:
            parents[root(into[successor])] = root(out[pc])
    return _Ways(*({pc: root(number) for pc, number in side.items()} for side in (into, out)))


def _uses(block: Block, fr: int) -> list[tuple[int, int]]:
    """Return what the instructions of a block use as singles and as doubles."""
    found = (float_bits(instruction, fr) for instruction in block.instructions())
    return [bits for bits in found if bits != (0, 0)]


def _split_ways(unit: Unit, ways: _Ways, depths: dict[int, int], uses: dict[int, list[tuple[int, int]]]) -> set[int]:
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
