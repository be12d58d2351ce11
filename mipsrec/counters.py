"""Counters of executed decisions: which byte of the map each has. The runtime has the same rule (base/counters.h).

A *decision* is a branch with a condition, or a jump or call by a register other than ra. A branch has two counters,
one for each way. A jump has one for each target. What else a program executes follows from these. A counter depends on
the file and the pc alone, so all tiers count in the same places, and no tier need know what was executed before.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Collection

MAP_POWER = 16
"""The map has 2 to the power of this many bytes, as AFL++ gives a program that says nothing (MAP_SIZE_POW2)."""
MULTIPLIER = 0x9E3779B1
"""Of Fibonacci hashing: 2**32 divided by the golden ratio (Knuth, volume 3, section 6.4)."""

MAP_BYTES = 1 << MAP_POWER
HASH_SHIFT = 32 - MAP_POWER
"""What the hash of a target is shifted by."""

_MASK = MAP_BYTES - 1


def is_range(word: str) -> bool:
    """Return whether a word of --cover is a range of addresses."""
    return re.fullmatch("[0-9a-fA-Fx]+-[0-9a-fA-Fx-]*", word) is not None


def counts(words: Collection[str], name: str, is_program: bool) -> bool:
    """Return whether a file of a name counts where --cover has named these: as runtime/coverage/coverage.c."""
    if "all" in words or (is_program and "program" in words):
        return True
    return any(name == word or name.startswith(f"{word}.") for word in words)


def seed_of(content: bytes, byte_order: str) -> int:
    """Return what the counters of a file are moved by, even, from its ELF header: so files differ from each other."""
    sections: int
    order = "<" if byte_order == "little" else ">"
    entry: int
    entry, _, sections = struct.unpack_from(f"{order}3I", content, 24)
    return (((entry * MULTIPLIER ^ sections * MULTIPLIER) & 0xFFFFFFFF) >> 15) & _MASK & ~1


def place(seed: int, pc: int) -> int:
    """Return the first counter of a decision, of two: an even number.

    MIPS32 instructions have two bytes of the map each, so those of 128 KiB of code share none.
    """
    at = pc - 1 if pc % 2 else pc // 2
    return (seed + at) & _MASK
