"""The bound on what the cache takes: MIPSREC_CACHE_LIMIT, and the room that it leaves for a build."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from ..errors import UsageError
from .entries import CacheEntry, cache_entries, remove
from .folders import CODE, LIBRARIES

DEFAULT_LIMIT = "16G"
BOUNDED = (CODE, LIBRARIES)
"""What MIPSREC_CACHE_LIMIT bounds; objects have a limit of their own (objects.py), and hosts are small."""
FREE_SHARE = 8
"""Where the limit is passed, room is made for a while: a share of it, so that not each build removes something."""

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def parse_size(text: str) -> int:
    """Return the bytes that "4G" or "500M" means; raises ValueError."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if found is None:
        raise ValueError(f"{text!r} is no size; write a number with K, M, G or T behind it, such as 4G")
    return int(float(found[1]) * _UNITS[found[2].upper()])


def size_text(size_bytes: float) -> str:
    """Return a size for people."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size_bytes < 1024:
            return f"{size_bytes:.0f} {unit}" if unit == "bytes" else f"{size_bytes:.1f} {unit}"
        size_bytes /= 1024
    return f"{size_bytes:.1f} TiB"


def limit_bytes() -> int | None:
    """Return what MIPSREC_CACHE_LIMIT says, None for no limit; raises UsageError when it says nothing of sense."""
    text = os.environ.get("MIPSREC_CACHE_LIMIT") or DEFAULT_LIMIT
    if text == "none":
        return None
    try:
        return parse_size(text)
    except ValueError as error:
        raise UsageError(f"MIPSREC_CACHE_LIMIT: {error}, or none") from error


def beyond(found: Collection[CacheEntry], limit: int, needed: Collection[Path] = ()) -> list[CacheEntry]:
    """Return what has to go, used longest ago first, so that the rest is within a limit; `needed` stays."""
    excess = sum(one.size_bytes for one in found) - limit
    going: list[CacheEntry] = []
    for one in sorted(found, key=lambda one: one.used):
        if excess <= 0:
            break
        if one.path not in needed:
            going.append(one)
            excess -= one.size_bytes
    return going


class Room:
    """What MIPSREC_CACHE_LIMIT leaves for one build: what others made goes for it, used longest ago first."""

    def __init__(self, needed: Collection[Path], bounded: bool = True) -> None:
        self.limit = limit_bytes() if bounded else None
        found = list(cache_entries(BOUNDED)) if self.limit is not None else []
        self._others = sorted((one for one in found if one.path not in needed), key=lambda one: -one.used)
        self._others_bytes = sum(one.size_bytes for one in self._others)
        self._own_bytes = sum(one.size_bytes for one in found if one.path in needed)

    def is_full(self) -> bool:
        """Return whether what this build needs has reached the limit alone."""
        return self.limit is not None and self._own_bytes >= self.limit

    def add(self, path: Path) -> None:
        """Count a library that was made, and make room for it; some more at once, lest each does it anew."""
        if self.limit is None:
            return
        there = [one for one in self._others if one.path == path]  # this room was made after the library
        self._others = [one for one in self._others if one.path != path]
        self._others_bytes -= sum(one.size_bytes for one in there)
        with suppress(OSError):
            self._own_bytes += path.stat().st_size
        if self._own_bytes + self._others_bytes <= self.limit:
            return
        while self._others and self._own_bytes + self._others_bytes > self.limit - self.limit // FREE_SHARE:
            one = self._others.pop()
            self._others_bytes -= one.size_bytes
            remove(one)
