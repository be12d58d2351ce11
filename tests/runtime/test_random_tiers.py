"""Tiers are switched at random points of programs with signals and threads: they print what they print interpreted.

`--threshold random:SEED` translates places at different times, forgets translated code, abandons frames of recompiled
code, and passes over recompiled functions. The memory of code is small, so that it is used again and again. Each run is
tried in one byte order, in both with MIPSREC_TIERS=all; MIPSREC_SEEDS=N tries N seeds.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from mipsrec import pipeline
from tests.runtime import twins
from tests.support.compiled import ORDERS, library_at
from tests.support.paths import PREBUILT
from tests.support.sampling import ALL, sampled
from tests.support.tiers import INTERPRETED

SEEDS = range(1, 1 + int(os.environ.get("MIPSREC_SEEDS", "1")))
SOURCES = {"threads": ("threads", "threads_ends"), "signals": ("signals",), "timers": ("timers",)}
RUNS = {
    "threads": ("values", "queue", "atomics", "memory", "signals", "owners", "processes", "spawns", "exit"),
    "signals": ("",),
    "timers": ("signals", "others", "threads", "intervals"),
}  # fmt: skip
SOME = "[a-c]*"
"""Shell pattern of the functions that are recompiled: calls go to and fro all the time."""
PAIRS = [(name, run) for name, runs in RUNS.items() for run in runs]
CASES = [
    (order, name, run)
    for number, (name, run) in enumerate(PAIRS)
    for order in (ORDERS if ALL else list(ORDERS)[number % 2 :: 2])
]


class Program:
    """A guest, and what it prints interpreted."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.interpreted = cache(self._interpreted)
        self.library = cache(self._library)

    def _interpreted(self, host: Path, run: str) -> str:
        return twins.output(host, *INTERPRETED, self.path, *run.split(), cwd=self.path.parent)

    def _library(self) -> Path:
        return library_at(pipeline.open_guest(self.path), self.path.parent, "light", SOME)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Program]:
    """The guest of a name, made once in each byte order."""

    @cache
    def made(order: str, name: str) -> Program:
        folder = tmp_path_factory.mktemp(f"{name}-{order}")
        return Program(twins.compile_guest(folder, order, *SOURCES[name], options=twins.THREADS))

    return made


def assert_as_interpreted(host: Path, guest: Program, run: str, tier: str, *words: str | Path) -> None:
    for seed in SEEDS:
        options = ["--tier", tier, "--threshold", f"random:{seed}", "--code-cache", "1024"]
        command = [host, *options, *words, guest.path, *run.split()]
        assert twins.output(*command, cwd=guest.path.parent) == guest.interpreted(host, run), seed


@pytest.mark.parametrize(("order", "name", "run"), CASES)
def test_translated(host: Path, program: Callable[[str, str], Program], order: str, name: str, run: str) -> None:
    assert_as_interpreted(host, program(order, name), run, "baseline")


@pytest.mark.parametrize("tier", ["auto", "aot"])
@pytest.mark.parametrize(("order", "name", "run"), sampled(CASES))
def test_recompiled(
    host: Path, program: Callable[[str, str], Program], order: str, name: str, run: str, tier: str
) -> None:
    guest = program(order, name)
    assert_as_interpreted(host, guest, run, tier, "--library", guest.library())


def test_seeds_choose(host: Path) -> None:
    """A seed makes the same choices again, another one makes others."""
    guest = PREBUILT / "mipsel" / "callbacks.elf"

    def counted(seed: int) -> str:
        command = [host, "--stats", "--tier", "baseline", "--threshold", f"random:{seed}", guest]
        return subprocess.run(command, capture_output=True, text=True, timeout=600).stderr

    assert counted(1) == counted(1) != counted(2)


@pytest.mark.parametrize("word", ["random:", "random:x", "random:-1", "random"])
def test_bad_seeds(host: Path, word: str) -> None:
    result = subprocess.run([host, "--threshold", word, "/"], capture_output=True, text=True, timeout=600)
    assert result.returncode == 2 and result.stderr.count("\n") == 1, result
