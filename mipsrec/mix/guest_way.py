"""How many guest instructions a thread passes on its way through host code.

Enters: the landmarks of a window, in order. Leaves: a number of guest instructions for each tier. Between two landmarks
the guest goes the shortest way that its control-flow graph has, through calls and returns of one file. So the number is
exact where each branch on the way is a jump of the host as well. It is too small where a loop was vectorised or
unrolled, and where the host chose by a conditional move and the guest went the longer way. From one file to another,
and where no way is found, only the instructions of the second landmark's block count.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..analysis import End
from ..target.running_code import Kind
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
        self._between: dict[tuple[int, _Node, _Node], int | None] = {}

    def _search(self, code: FileCode, start: _Node, end: _Node) -> int | None:
        """Return the instructions of the blocks between the end of one block and the start of another."""
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
            size = code.functions[node[0]].blocks[node[1]].instruction_count()
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
        key = id(place.code), start, end
        if key not in self._between:
            self._between[key] = self._search(place.code, start, end)
        between = self._between[key]
        if between is None:
            return None
        block = before.code.functions[before.start].blocks[before.block_start]
        return block.instruction_count() - before.number + between + place.number


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


def _without_tests(places: list[tuple[Landmark, Place]]) -> Iterator[tuple[Landmark, Place]]:
    """Leave out the tests that callers perform for callees (lift/facts/partial_inline.py), where the callee is called.

    It performs the test again, by other code.
    """
    for (landmark, place), call, again in zip(places, [*places[1:], None], [*places[2:], None, None]):
        is_test = (
            call is not None and again is not None and call[0].kind is Kind.CALL
            and place == again[1] and landmark != again[0] and place.block_start == place.start == call[1].target()
        )  # fmt: skip
        if not is_test:
            yield landmark, place


def count_guest(ways: list[list[Landmark]], code: GuestCode) -> GuestCounts:
    """Return the guest instructions of some windows."""
    counts, ways_between = GuestCounts(), Ways()
    for way in ways:
        before: Place | None = None
        for landmark, place in _without_tests(list(_places(way, code))):
            if before is not None:
                passed = ways_between.passed(before, place)
                counts.landmarks += 1
                counts.unconnected += passed is None
                counts.instructions[landmark.tier] += place.number if passed is None else passed
            before = place
    return counts
