"""Which parts of a huge file are analysed: those around where it is hot, the hottest first.

To analyse tens of MB of code takes minutes. A function outside is not compiled, and a call of it goes through the
dispatch table, as calls of other files do. One that reaches out of a window hands over to the baseline tier there. So
what is left out costs speed, and nothing else.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ..abi import ARRIVED
from ..analysis import Ranges
from ..elf import Image

HUGE_BYTES = 3 << 20
"""Of code: a smaller file is analysed as a whole."""
WINDOW_BYTES = 1 << 14
"""A window begins and ends at multiples of this."""
MOST_BYTES = 2 << 20
"""Of all windows of a file, for one task."""
MOST_COMPACTED_BYTES = 16 << 20
"""Of the windows of a whole library: a larger one is left as it is."""


def is_huge(image: Image) -> bool:
    return sum(end - start for start, end in image.executable_ranges) > HUGE_BYTES


def windows_around(counts: Mapping[int, int], before: Collection[int]) -> frozenset[int]:
    """Return the numbers of the windows of samples, the hottest first, and those before as well if there is room.

    A function may go on into the next window, and one that has samples may begin in the window before.
    """
    found: set[int] = set()
    for pc, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        if len(found) * WINDOW_BYTES >= MOST_BYTES:
            break
        found |= {(pc & ~ARRIVED) // WINDOW_BYTES + more for more in (-1, 0, 1)}
    both = found | set(before)
    return frozenset(both if len(both) * WINDOW_BYTES <= MOST_BYTES else found)


def windows_of(starts: Collection[int]) -> frozenset[int]:
    """Return the numbers of the windows that functions begin in, and of those behind these."""
    return frozenset(start // WINDOW_BYTES + more for start in starts for more in (0, 1))


def inside(starts: Collection[int], windows: Collection[int]) -> frozenset[int]:
    """Return the starts that lie in windows."""
    return frozenset(start for start in starts if start // WINDOW_BYTES in windows)


def ranges_of(image: Image, windows: Collection[int]) -> Ranges:
    """Return the executable code in windows."""
    found: list[tuple[int, int]] = []
    for number in sorted(windows):
        low, high = number * WINDOW_BYTES, (number + 1) * WINDOW_BYTES
        for start, end in image.executable_ranges:
            first, last = max(low, start), min(high, end)
            if first >= last:
                continue
            if found and found[-1][1] == first:
                found[-1] = found[-1][0], last
            else:
                found.append((first, last))
    return tuple(found)
