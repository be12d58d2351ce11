"""A progress bar on standard error, for people only: nothing is drawn where standard error is not a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..long_work import bar_for_people
from ..native.shard_work import WORK_BEGINS
from ..pipeline import Progress


@contextmanager
def printing() -> Iterator[None]:
    """Keep the bars and what is printed on standard output apart, where both go to a terminal."""
    if not (sys.stdout.isatty() and sys.stderr.isatty()):
        yield
        return
    from tqdm import tqdm  # a tenth of the time in which `mipsrec run` starts

    with tqdm.external_write_mode(file=sys.stderr):
        yield
        sys.stdout.flush()


@contextmanager
def progress_bar(what: str, function_count: int | Callable[[], int]) -> Iterator[Progress]:
    """Yield a callback (functions done, instructions done) that moves a bar of `function_count` functions.

    If that is to be asked for, it is when work begins: an unchanged build needs no functions, so nobody counts them.
    """
    total = function_count if isinstance(function_count, int) else None
    with bar_for_people(total=total, desc=what, unit=" functions") as bar:

        def advance(functions: int, instructions: int) -> None:
            if (functions, instructions) == WORK_BEGINS and not isinstance(function_count, int):
                bar.total = function_count()
                bar.refresh()
            bar.update(functions)

        yield advance
