"""Guests that are compiled for this machine as well: what both print must be equal.

Enters: the name of a source in tests/guests. Leaves: programs for MIPS and for this machine, and what they print.
A guest may take the name of one of its ways as its first argument.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.support.commandline import heed_interrupts
from tests.support.compiled import ORDERS
from tests.support.compiler_runs import run_compiler
from tests.support.musl import compile_with_musl
from tests.support.paths import GUESTS
from tests.support.tools import need

OPTIONS = ("-w", "-O1", "-D_GNU_SOURCE")
THREADS = ("-pthread", "-latomic")
"""Options of programs with threads."""


def compile_native(folder: Path, name: str, *options: str) -> Path:
    """Return the program for this machine."""
    return _compile([need("gcc")], folder, [name], options)


def compile_guest(folder: Path, byte_order: str, name: str, *others: str, options: tuple[str, ...] = ()) -> Path:
    """Return the static program for MIPS, with glibc; others: sources that belong to it."""
    triple = ORDERS[byte_order]
    return _compile([need(f"{triple}-gcc", f"gcc-{triple}"), "-static"], folder, [name, *others], options)


def compile_musl(folder: Path, architecture: str, name: str) -> Path:
    """Return a static program with Debian's musl."""
    return compile_with_musl([GUESTS / f"{name}.c"], folder / name, architecture, *OPTIONS, "-pthread")


def _compile(command: list[str], folder: Path, names: list[str], options: tuple[str, ...]) -> Path:
    program = folder / names[0]
    sources = [str(GUESTS / f"{name}.c") for name in names]
    run_compiler([*command, *OPTIONS, *sources, *options, "-o", program], program)
    return program


def output(*command: Path | str, cwd: Path | None = None) -> str:
    """Return the standard output of a command, and how it ended."""
    result = subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600,
                            preexec_fn=heed_interrupts)  # fmt: skip
    return f"{result.stdout}status {result.returncode}\n"


def output_in_empty_folder(folder: Path, command: list[str | Path]) -> str:
    """Return the standard output and how the command ended; it runs in the folder, which must not exist yet."""
    folder.mkdir()
    return output(*command, cwd=folder)


def natives(factory: pytest.TempPathFactory, name: str, musl: bool = False) -> Callable[[str], str]:
    """Return the function that says what the program with threads for this machine prints in one of its ways."""
    folder = factory.mktemp(f"native-{name}")
    program = compile_musl(folder, "amd64", name) if musl else compile_native(folder, name, *THREADS)
    return cache(lambda way: output(program, *way.split(), cwd=folder))


def natives_in_empty_folders(factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Return the function that says what the program of a name prints here; words may stand before and after it."""

    @cache
    def printed(name: str, before: tuple[str, ...] = (), after: tuple[str, ...] = ()) -> str:
        folder = factory.mktemp(name)
        return output_in_empty_folder(folder / "run", [*before, compile_native(folder, name), *after])

    return printed
