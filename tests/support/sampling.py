"""Which of many cases `make test` runs. `make conformance ARGS='tiers'` sets MIPSREC_TIERS=all, and runs them all."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

ALL = os.environ.get("MIPSREC_TIERS") == "all"

_Case = TypeVar("_Case")


def sampled(cases: Sequence[_Case]) -> list[_Case]:
    """Return every second case, or all."""
    return list(cases) if ALL else list(cases)[::2]
