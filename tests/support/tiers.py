"""The ways in which suites run guests in tiers: options of the host, by name.

A threshold of 1 makes code of everything as soon as it runs; `random:SEED` switches tiers at random points.
"""

from __future__ import annotations

INTERPRETED = ("--tier", "interp")
BASELINE = {
    "baseline": ("--tier", "baseline", "--threshold", "1"),
    "baseline at random": ("--tier", "baseline", "--threshold", "random:1"),
}
"""Without recompiled code."""
CHECKED = {"checked": ("--tier", "baseline", "--threshold", "1", "--check-memory")}
"""With a look at each access, and a heap of the host's own."""
AUTO = {
    "auto": ("--tier", "auto", "--threshold", "1"),
    "auto at random": ("--tier", "auto", "--threshold", "random:1"),
}
"""Beside recompiled code."""
