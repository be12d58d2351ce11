"""Small sysroots to build into a store, and what is in the store then."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.support.dynamic import library
from tests.support.paths import ROOT, RUNTIME

LEVEL = ("--opt", "0", "--jobs", "1")
OTHER = "0123456789abcdef" * 2
"""The name of a version that is none."""
Build = Callable[..., "subprocess.CompletedProcess[str]"]


def libraries(store: Path) -> list[Path]:
    """Return the libraries of a cache or layer."""
    return sorted(store.glob("code/*/*/*/*.so"))


def stored(cache: Path) -> set[str]:
    """Return the identities that the store has, of whatever version."""
    return {path.stem for path in libraries(cache)}


def unfinished(cache: Path) -> list[Path]:
    """Return what a build that has ended should not leave."""
    return [path for path in cache.glob("code/*/*/*/*") if path.suffix not in (".so", ".json")]


def make_root(root: Path, order: str, count: int = 3, functions: int = 1) -> list[Path]:
    """Return libraries in a sysroot, each with other contents."""
    source = "".join(f"int f{n}(int x) {{ return x * {n + 3} + NUMBER; }}\n" for n in range(functions))
    return [
        library(root / f"lib/lib{n}.so", order, f"-DNUMBER={1000 + n}", source=source) for n in range(count)
    ]  # fmt: skip


def other_version(folder: Path) -> str:
    """Return where a mipsrec is that differs in a comment, for PYTHONPATH."""
    shutil.copytree(ROOT / "mipsrec", folder / "mipsrec", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "runtime").symlink_to(RUNTIME)
    with (folder / "mipsrec" / "lift" / "policy.py").open("a") as stream:
        stream.write("# another version\n")
    return str(folder)
