"""Where things are: the one place of the tests that knows how the repository's folders lie."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TESTS = ROOT / "tests"
GUESTS = TESTS / "guests"
"""Sources of the programs that tests compile for MIPS."""
VECTORS = TESTS / "vectors"
RUNTIME = ROOT / "runtime"
SAMPLES = ROOT / "samples"
PREBUILT = SAMPLES / "prebuilt"
"""Committed programs: a folder for each byte order, mips and mipsel."""
