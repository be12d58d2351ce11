"""Seeded faults: `mipsrec fuzz` finds them from an input of one byte, and a native build dies of the same signal."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.seeded import FAULTS, SECONDS, Fault, find
from tests.support.sampling import thorough
from tests.support.tools import need

QUICK = ("heap_overflow",)
"""What is found in seconds; the others take up to a minute and more."""


@pytest.mark.every_case
@pytest.mark.parametrize(
    "fault", [pytest.param(fault, id=fault.name, marks=() if fault.name in QUICK else thorough) for fault in FAULTS]
)
def test_fault(fault: Fault, tmp_path: Path, host: Path) -> None:
    """Without recompiled code, which would have to be made first."""
    need("afl-fuzz", "afl++")
    found = find(fault, tmp_path, "--no-build", "--jobs", "2", "--seconds", str(SECONDS))
    assert found.is_right(fault), found
