"""In which form each pair of floating-point registers crosses from block to block: whole, or as two floats.

A function that uses a pair as a double here and as singles there needs it in both forms. To put a single into a whole
pair makes the other half part of every loop around, and to take a double apart costs as much: so the form belongs to a
place. Ways between blocks that meet have the same form, that of the uses next to them, in inner loops before all.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field

from ...analysis import Block, End, Function
from ...flow.loops import loops_with
from ..units import PAIR, Unit, Units, float_bits

_MAX_DEPTH = 8
_LOOP_WEIGHT = 8
"""By how much a use counts more for each loop around it."""


@dataclass
class _Ways:
    """The ways into and out of blocks, as classes of those that meet."""

    into: dict[int, int]
    out: dict[int, int]


@dataclass
class PairForms:
    """Bits of the pairs that are two floats on the ways into a block, and out of it."""

    into: dict[int, int] = field(default_factory=dict)
    out: dict[int, int] = field(default_factory=dict)


def whole_pairs(order: list[int]) -> PairForms:
    """Return the forms of pairs that are never two floats between blocks."""
    return PairForms(dict.fromkeys(order, 0), dict.fromkeys(order, 0))


def pair_forms(function: Function, units: Units, order: list[int], entries: list[int]) -> PairForms:
    """Return the forms of all pairs of a function, `entries` being the blocks that control enters from outside."""
    forms = whole_pairs(order)
    pairs = [unit for unit in units.all if unit.type == PAIR]
    if not pairs:
        return forms
    ways = _ways(function, order, entries)
    depths = dict.fromkeys(order, 0)
    for body in loops_with(function, order, tuple(End)).values():
        for pc in body:
            depths[pc] = min(depths[pc] + 1, _MAX_DEPTH)
    uses = {pc: _uses(function.blocks[pc], units.fr) for pc in order}
    for unit in pairs:
        split = _split_ways(unit, ways, depths, uses)
        for pc in order:
            if ways.into[pc] in split:
                forms.into[pc] |= unit.bits
            if ways.out[pc] in split:
                forms.out[pc] |= unit.bits
    return forms


def _ways(function: Function, order: list[int], entries: list[int]) -> _Ways:
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
        for successor in function.successors(function.blocks[pc]):
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
