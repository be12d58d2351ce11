"""What of a file is worth compiling, given where it was hot.

Enters: an analysed file, and samples by guest pc. Leaves: functions, each with the loop heads that it is entered at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ..abi import ARRIVED
from ..analysis import BlockIndex, Function
from ..flow.graph import Graph
from ..pipeline import Guest

MOST_INSTRUCTIONS = 30_000
"""Of the functions of one choice; more come with the next request."""
_LEAST_SHARE = 0.01
LEAST_INSTRUCTIONS, _INSTRUCTIONS_OF_A_SAMPLE = 6000, 500
"""How many a choice has at most, by the samples that it is made for."""
_ENTERED_SHARE = 0.3
"""Of all samples: a function that has so many may be in a loop that it does not leave for long."""
MOST_HEADS, MOST_ENTRIES = 12, 24
_ARRIVALS = 4
"""At a place that analysis does not know, before it is taken for a function's start."""


class FileIndex:
    """A file with what finds the lifted function and the block of a guest pc."""

    def __init__(self, guest: Guest) -> None:
        self.guest = guest
        self.place = BlockIndex(guest.program.functions[start] for start in guest.starts).place


def heads_around(function: Function, blocks: set[int]) -> set[int]:
    """Return the heads of the loops that have some of these blocks."""
    loops = Graph.whole(function).loops
    sizes = sorted((len(body), head) for head, body in loops.items() if body & blocks and head != function.start)
    return {head for _, head in sizes[:MOST_HEADS]}


@dataclass
class _Heat:
    """Where a file is hot: samples by function, and of each the blocks with samples and those that control came to."""

    executed: set[int] = field(default_factory=set)
    """Functions with samples, or with code that is executed often."""
    samples: Counter[int] = field(default_factory=Counter)
    blocks: dict[int, set[int]] = field(default_factory=dict)
    arrivals: dict[int, set[int]] = field(default_factory=dict)


def _heat(index: FileIndex, counts: Mapping[int, int]) -> _Heat:
    heat = _Heat()
    for pc, count in counts.items():
        place = index.place(pc & ~ARRIVED)
        if place is None:
            continue
        start, block = place[0].start, place[1].start
        heat.executed.add(start)
        if count == 0:
            continue
        heat.samples[start] += count
        heat.blocks.setdefault(start, set()).add(block)
        if pc == block | ARRIVED:
            heat.arrivals.setdefault(start, set()).add(block)
    return heat


def unknown_starts(index: FileIndex, counts: Mapping[int, int]) -> frozenset[int]:
    """Return where control comes to often, but analysis has no block begin: functions that only pointers lead to."""
    found = [pc & ~ARRIVED for pc, count in counts.items() if pc & ARRIVED and count >= _ARRIVALS]
    return frozenset(pc for pc in found if (place := index.place(pc)) is None or place[1].start != pc)


def choose(
    index: FileIndex, counts: Mapping[int, int], there: Mapping[int, frozenset[int]]
) -> dict[int, frozenset[int]]:
    """Return the functions to compile, by start, each with its further entries.

    `there` is what the library has already. A function of it that is hot nevertheless is in a loop that began before:
    it gets entries at that loop's head, and where control came to it. With hot functions go others that are executed,
    since each call between tiers costs time: the more of them, the more time the file takes.
    """
    guest, functions = index.guest, index.guest.program.functions
    heat = _heat(index, counts)
    total = heat.samples.total()
    room = min(MOST_INSTRUCTIONS, LEAST_INSTRUCTIONS + _INSTRUCTIONS_OF_A_SAMPLE * total)
    chosen: dict[int, frozenset[int]] = {}
    for start, count in heat.samples.most_common():
        if count < _LEAST_SHARE * total or room <= 0:
            break
        function = functions[start]
        entries = set(there.get(start, ()))
        if start in there or count >= _ENTERED_SHARE * total:
            more = heat.arrivals.get(start, set()) | heads_around(function, heat.blocks[start])
            entries |= set(sorted(more - function.entries - {start})[:MOST_ENTRIES])
        if start not in there or entries - there[start]:
            chosen[start] = frozenset(entries)
            room -= function.instruction_count()
    for start in _nearest(guest, [*chosen, *(heat.samples.keys() & there.keys())], heat.executed):
        size = functions[start].instruction_count()
        if start not in there and start not in chosen and size <= room:
            chosen[start] = frozenset()
            room -= size
    return chosen


def _nearest(guest: Guest, starts: Iterable[int], executed: set[int]) -> list[int]:
    """Return the functions that are executed by their distance from some in calls, either way; small ones first."""

    def by_size(found: set[int]) -> list[int]:
        return sorted(found, key=lambda start: (guest.program.functions[start].instruction_count(), start))

    beside: dict[int, set[int]] = {start: set() for start in executed}
    for start in executed:
        function = guest.program.functions[start]
        for block in function.blocks.values():
            target = function.likely_target(block)
            if target is not None and target in executed:
                beside[start].add(target)
                beside[target].add(start)
    order = dict.fromkeys(start for start in starts if start in executed)
    layer = list(order)
    while layer:
        layer = by_size({near for start in layer for near in beside[start]} - order.keys())
        order |= dict.fromkeys(layer)
    return [*order, *by_size(executed - order.keys())]
