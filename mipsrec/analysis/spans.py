"""A set of addresses as disjoint ranges: the code that analysis has covered."""

from __future__ import annotations

from bisect import bisect_left, bisect_right


class Spans:
    """Ranges [start, end), in order; those that meet are one."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def add(self, start: int, end: int) -> int:
        """Add a range; return the end of the range that it now belongs to."""
        first, last = bisect_left(self._ends, start), bisect_right(self._starts, end)
        if first < last:
            start, end = min(start, self._starts[first]), max(end, self._ends[last - 1])
        self._starts[first:last] = [start]
        self._ends[first:last] = [end]
        return end

    def __contains__(self, address: int) -> bool:
        index = bisect_right(self._starts, address) - 1
        return index >= 0 and address < self._ends[index]

    def next_start(self, position: int) -> int:
        """Return where the first range at or above a position starts; 1 << 32 where there is none."""
        index = bisect_left(self._starts, position)
        return self._starts[index] if index < len(self._starts) else 1 << 32
