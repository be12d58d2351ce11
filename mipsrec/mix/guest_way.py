"""How many guest instructions a thread passes on its way through host code.

Enters: the landmarks of a window, in order. Leaves: a number of guest instructions for each tier. Between two landmarks
the guest goes the shortest way that its control-flow graph has, through calls and returns of one file. So the number is
exact where each branch on the way is a jump of the host as well. It is too small where a loop was vectorised or
unrolled, and where the host chose by a conditional move and the guest went the longer way. Where no way is found, as
from a function that a register has called, the guest is taken to have left the function by the shortest way.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..analysis import End
from .guest_code import FileCode, GuestCode, Place
from .landmarks import Landmark, Tier

_MOST_BLOCKS = 400
"""That a search looks at: a longer way is none."""
_SKIPS_CALL = 1 << 20
"""What it costs to pass by a function that is called: only where there is no way through it."""

_Node = tuple[int, int]
"""A block, with its function, by where they start."""


def _following(code: FileCode, node: _Node) -> Iterator[tuple[_Node, int]]:
    """Yield the blocks that may follow a block, and what it costs to go there beyond the block's instructions."""
    function = code.functions[node[0]]
    block = function.blocks[node[1]]
    target = function.likely_target(block)
    is_call = block.end is End.CALL and target in code.functions
    if is_call or (block.end in (End.JUMP, End.INDIRECT, End.BRANCH) and target in code.functions):
        assert target is not None
        yield (target, target), 0
    for start in function.successors(block):
        yield (function.start, start), _SKIPS_CALL if is_call else 0
    if block.end is End.RETURN:
        for place in code.returns.get(function.start, ()):
            yield place, 0


class Ways:
    """Numbers of instructions between places, each pair of blocks searched for once."""

    def __init__(self) -> None:
        self._between: dict[tuple[int, _Node, _Node | None], int | None] = {}

    def _search(self, code: FileCode, start: _Node, end: _Node | None) -> int | None:
        """Return the instructions of the blocks between the end of one block and the start of another.

        Without an end, of those up to the end of the function, its last block included.
        """
        reached = [(cost, 0, node) for node, cost in _following(code, start)]
        heapq.heapify(reached)
        done: set[_Node] = set()
        while reached and len(done) < _MOST_BLOCKS:
            cost, count, node = heapq.heappop(reached)
            if node == end:
                return count
            if node in done or node[1] not in code.functions[node[0]].blocks:
                continue
            done.add(node)
            block = code.functions[node[0]].blocks[node[1]]
            size = block.instruction_count()
            if end is None and block.end is End.RETURN and node[0] == start[0]:
                return count + size
            for following, extra in _following(code, node):
                heapq.heappush(reached, (cost + size + extra, count + size, following))
        return None

    def passed(self, before: Place, place: Place) -> int | None:
        """Return how many instructions the guest performs from one place to the next; None where no way is found."""
        if before.code is not place.code:
            return None
        start, end = (before.start, before.block_start), (place.start, place.block_start)
        if start == end and before.number < place.number:
            return place.number - before.number
        between = self._kept(place.code, start, end)
        return None if between is None else self._rest(before) + between + place.number

    def _kept(self, code: FileCode, start: _Node, end: _Node | None) -> int | None:
        key = id(code), start, end
        if key not in self._between:
            self._between[key] = self._search(code, start, end)
        return self._between[key]

    def _rest(self, place: Place) -> int:
        """Return how many instructions of its block are behind a place."""
        block = place.code.functions[place.start].blocks[place.block_start]
        return block.instruction_count() - place.number

    def out(self, before: Place, place: Place) -> int:
        """Return the same where no way is found: from a call to an entry, or out of one function into another."""
        if place.is_entry:
            return 0
        block = before.code.functions[before.start].blocks[before.block_start]
        leaves = block.end in (End.RETURN, End.CALL)  # of a call it is not known where it leads
        further = 0 if leaves else self._kept(before.code, (before.start, before.block_start), None) or 0
        return self._rest(before) + further + place.number


@dataclass
class GuestCounts:
    """Guest instructions by tier, and how many of the steps from landmark to landmark no way was found for."""

    instructions: Counter[Tier] = field(default_factory=Counter)
    landmarks: int = 0
    unconnected: int = 0


def _places(way: list[Landmark], code: GuestCode) -> Iterator[tuple[Landmark, Place]]:
    """Yield the landmarks that tell where the guest is; of host jumps that are one guest jump, the first."""
    last: Place | None = None
    seen: set[Landmark] = set()
    for landmark in way:
        place = code.place(landmark)
        if place is None:
            continue
        if landmark.tier is Tier.RECOMPILED and place == last and landmark not in seen:
            seen.add(landmark)
            continue
        last, seen = place, {landmark}
        yield landmark, place


def count_guest(ways: list[list[Landmark]], code: GuestCode) -> GuestCounts:
    """Return the guest instructions of some windows."""
    counts, ways_between = GuestCounts(), Ways()
    for way in ways:
        before: Place | None = None
        for landmark, place in _places(way, code):
            if before is not None:
                passed = ways_between.passed(before, place)
                counts.landmarks += 1
                counts.unconnected += passed is None
                passed = ways_between.out(before, place) if passed is None else passed
                counts.instructions[landmark.tier] += passed
            before = place
    return counts
