"""Says on standard error what takes long, before it starts: to people only, so nothing where that is not a terminal.

In scripts a guest's standard error has nothing else in it. A bar is taken away when the work is done.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from .errors import one_line

if TYPE_CHECKING:
    from tqdm import tqdm


def bar_for_people(desc: str = "", **shape: Any) -> tqdm:
    """Return a bar of tqdm's, to be closed by the caller."""
    from tqdm import tqdm  # a tenth of the time in which `mipsrec run` starts

    with suppress(OSError):
        if os.get_terminal_size(sys.stderr.fileno()).columns == 0:  # it knows no size: tqdm would draw nothing
            shape = {"ncols": 80, "nrows": 24, **shape}
    return tqdm(desc=one_line(desc), file=sys.stderr, disable=not sys.stderr.isatty(), leave=False, **shape)


@contextmanager
def long_work(what: str) -> Iterator[Callable[[float], None]]:
    """Say what is done, with a bar; yield what is called with each share of the work, from 0 to 1, that is done."""
    with bar_for_people(total=1, desc=f"mipsrec: {what}", bar_format="{desc} {percentage:3.0f}%|{bar}|") as bar:
        yield bar.update


@contextmanager
def long_wait(what: str) -> Iterator[None]:
    """Say what is done, where nobody knows how much of it there is."""
    with bar_for_people(total=1, desc=f"mipsrec: {what}", bar_format="{desc}..."):
        yield
