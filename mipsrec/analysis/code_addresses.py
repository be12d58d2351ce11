"""Words of read-only data that may be code addresses: what computed gotos may go to."""

from __future__ import annotations

from bisect import bisect_left

from ..architecture import is_aligned, is_mips16, may_be_code
from ..memory import AddressSpace


class CodeAddresses:
    """Aligned words of read-only data that may be code addresses, as they stand or relative to gp; found once."""

    def __init__(self, memory: AddressSpace, gp: int | None) -> None:
        ranges = memory.image.executable_ranges
        low = min((start for start, _ in ranges), default=0)
        high = max((end for _, end in ranges), default=0)
        words = {word for _, word in memory.aligned_words_in_data(low, high) if may_be_code(word)}
        relative: set[int] = set()
        if gp is not None:
            for first, last in _unsigned_ranges(low - gp, high - gp):
                relative.update(word + gp & 0xFFFFFFFF for _, word in memory.aligned_words_in_data(first, last))
        self.absolute = sorted(word for word in words if is_aligned(word))
        self.mips16 = sorted(word for word in words if is_mips16(word))
        self._relative = sorted(pc for pc in relative if is_aligned(pc))

    def inside(self, start: int, limit: int) -> list[int]:
        """Return all candidates in [start, limit)."""
        found: set[int] = set()
        for addresses in (self.absolute, self._relative):
            found.update(addresses[bisect_left(addresses, start) : bisect_left(addresses, limit)])
        return sorted(found)


def _unsigned_ranges(low: int, high: int) -> list[tuple[int, int]]:
    """Return [low, high) modulo 2^32 as ranges that do not wrap."""
    if low < 0 <= high:
        return [(low & 0xFFFFFFFF, 1 << 32), (0, high)]
    return [(low & 0xFFFFFFFF, (high - 1 & 0xFFFFFFFF) + 1)]
