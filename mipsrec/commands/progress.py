"""A progress bar on standard error, for people only: nothing is drawn where standard error is not a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..long_work import bar_for_people
from ..pipeline import Progress


@contextmanager
def progress_bar(what: str, function_count: int) -> Iterator[Progress]:
    """Yield a callback (functions done, instructions done) that moves a bar of `function_count` functions."""
    with bar_for_people(total=function_count, desc=what, unit=" functions") as bar:

        def advance(functions: int, instructions: int) -> None:
            bar.update(functions)

        yield advance
