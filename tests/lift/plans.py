"""The plans of whole programs, for tests that look at what was decided."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from mipsrec import pipeline
from mipsrec.lift.ir import FunctionPlan
from mipsrec.options import Options


@cache
def open_guest(path: Path) -> pipeline.Guest:
    """Return a program, which is analysed once."""
    return pipeline.open_guest(path)


def plans(path: Path, options: Options | None = None) -> Iterator[tuple[str, FunctionPlan]]:
    """Yield the plans of all variants of a program's functions that are no thunks, with their symbols."""
    return pipeline.plans(open_guest(path), options or Options())
