"""Compiles the modules of tests once, before each of several processes of pytest compiles them all.

Enters: the folders and modules that pytest is to look at. Leaves: code in `__pycache__`, as Python and pytest keep it.
"""

from __future__ import annotations

import compileall
import importlib
import os
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from tests.support.paths import ROOT, TESTS


def compile_modules(paths: Iterable[Path]) -> None:
    """Compile all that tests below some paths import, where the code of one of these tests is missing."""
    found = {test for path in paths for test in (path.rglob("test_*.py") if path.is_dir() else [path])}
    new = sorted(test for test in found if not _is_compiled(test))
    if sys.dont_write_bytecode or not new:
        return
    sources = [*(ROOT / "mipsrec").rglob("*.py"), *TESTS.rglob("*.py")]
    _share(_compile, [path for path in sources if not path.name.startswith("test_")])
    _share(_import, new)


def _is_compiled(test: Path) -> bool:
    """Return whether pytest has kept the code of a module, which is not Python's: its assertions are rewritten."""
    kept = (test.parent / "__pycache__").glob(f"{test.stem}.{sys.implementation.cache_tag}-pytest-*.pyc")
    return any(path.stat().st_mtime > test.stat().st_mtime for path in kept)


def _compile(source: Path) -> None:
    compileall.compile_file(source, quiet=2)


def _import(test: Path) -> None:
    """Import a module, which has pytest keep its code; what is wrong with it is said when its tests are collected."""
    with suppress(BaseException):
        importlib.import_module(".".join(test.relative_to(ROOT).with_suffix("").parts))


def _share(work: Callable[[Path], None], paths: list[Path]) -> None:
    """Do a work for all paths in as many processes as there are cores; this one imports nothing."""
    cores = len(os.sched_getaffinity(0))
    children = [_begin(work, paths[first::cores]) for first in range(cores)]
    for child in children:
        os.waitpid(child, 0)


def _begin(work: Callable[[Path], None], paths: list[Path]) -> int:
    child = os.fork()
    if child:
        return child
    try:
        for path in paths:
            work(path)
    finally:
        os._exit(0)
