"""Threads of a static glibc program: recompiled and interpreted, they print what they print natively and under qemu.

Of the recompiled program, the guest's own functions are lifted, and of glibc's those that lock for one byte order, and
those that make, join and wake threads for the other; with MIPSREC_TIERS=all both for both, with MIPSREC_PROGRAMS=all
everything. qemu-user 7.2 has no robust mutexes, runs no second program, and its vfork is a fork. Under qemu and under
the sanitizers, every second way runs here; `make conformance ARGS='tiers'` runs all.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.support.commandline import assert_one_line, mipsrec
from tests.support.compiled import ORDERS, QEMU, readelf_symbols
from tests.support.compiler_runs import run_compiler
from tests.support.hosts import sanitized_host
from tests.support.locks import made_once
from tests.support.paths import GUESTS
from tests.support.sampling import ALL, sampled
from tests.support.tools import need

pytestmark = pytest.mark.sampled

SOURCES = [str(GUESTS / name) for name in ("threads.c", "threads_ends.c")]
OPTIONS = ("-O2", "-Wall", "-Wextra", "-Werror", "-pthread", "-latomic")
WAYS = (
    "values", "queue", "locals", "atomics", "spinning", "memory", "signals", "cancels", "owners", "processes",
    "spawns", "detached", "exit", "first",
)  # fmt: skip
SAME_UNDER_QEMU = tuple(way for way in WAYS if way not in ("owners", "processes", "spawns"))
LOCKS = ("*pthread_[mr]*", "*lll_*", "__atomic_*")
WAKERS = ("*pthread_[!mr]*", "*futex_*", "start_thread")
LIBRARY = {"big": ("light", WAKERS), "little": ("auto", LOCKS)}
"""Of each byte order: the level, and which of glibc's functions are recompiled."""
EVERYTHING = os.environ.get("MIPSREC_PROGRAMS") == "all"


def output(*command: Path | str) -> str:
    """Return the standard output of a command, and how it ended."""
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)
    return f"{result.stdout}status {result.returncode}\n{result.stderr}"


def order_of(guest: Path) -> str:
    """Return the byte order of an ELF file."""
    return "little" if guest.read_bytes()[5] == 1 else "big"


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """What the program prints on this machine."""
    program = tmp_path_factory.mktemp("native") / "threads"
    run_compiler([need("gcc"), *SOURCES, "-o", program, *OPTIONS], program)

    @cache
    def print_way(way: str) -> str:
        return output(program, way)

    return print_way


def compile_for(order: str, folder: Path) -> None:
    """Make the program, and the object of its own functions alone."""
    triple = ORDERS[order]
    compiler = need(f"{triple}-gcc", f"gcc-{triple}")
    unlinked = str(folder / "threads.o")
    subprocess.run([compiler, "-r", *SOURCES, "-o", unlinked, *OPTIONS], check=True)
    subprocess.run([compiler, "-static", unlinked, "-o", str(folder / "threads"), *OPTIONS], check=True)


@pytest.fixture(scope="module", params=ORDERS)
def guest(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program for MIPS."""
    name = f"threads-{request.param}"
    return made_once(tmp_path_factory, name, lambda folder: compile_for(request.param, folder)) / "threads"


@pytest.fixture(scope="module")
def library(guest: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its library."""
    order = order_of(guest)

    def build(folder: Path) -> None:
        own = {symbol[0] for symbol in readelf_symbols(order, guest.with_suffix(".o")) if symbol[3] == "FUNC"}
        level, patterns = ("auto", LOCKS + WAKERS) if ALL else LIBRARY[order]
        chosen = [] if EVERYTHING else [word for name in (*sorted(own), *patterns) for word in ("--function", name)]
        result = mipsrec("build", guest, "-o", folder / "threads.so", "--jobs", "1", "--opt", level, *chosen)
        assert result.returncode == 0, result.stderr

    return made_once(tmp_path_factory, f"threads-library-{order}", build) / "threads.so"


@pytest.mark.parametrize("way", WAYS)
def test_recompiled(host: Path, guest: Path, library: Path, native: Callable[[str], str], way: str) -> None:
    assert output(host, "--library", library, guest, way) == native(way)


@pytest.mark.parametrize("way", WAYS)
def test_interpreted(host: Path, guest: Path, native: Callable[[str], str], way: str) -> None:
    assert output(host, "--engine", "interp", guest, way) == native(way)


@pytest.mark.parametrize("way", sampled(SAME_UNDER_QEMU))
def test_qemu_agrees(guest: Path, native: Callable[[str], str], way: str) -> None:
    assert output(need(QEMU[order_of(guest)], "qemu-user"), guest, way) == native(way)


@pytest.mark.parametrize("way", sampled(WAYS))
def test_under_sanitizers(guest: Path, native: Callable[[str], str], way: str) -> None:
    assert output(sanitized_host(), "--engine", "interp", guest, way) == native(way)


def test_trace_and_counters(host: Path, guest: Path) -> None:
    """Lines are whole, tell whose call it is, and all threads are counted."""
    command = [str(host), "--engine", "interp", "--strace", "--stats", str(guest), "locals"]
    lines = subprocess.run(command, capture_output=True, text=True, timeout=600).stderr.splitlines()
    line = re.compile(r"(\[\d+\] )?\w+\(.*\) (= -?(\d+|0x[0-9a-f]+)( E\w+ \(.*\))?|\.\.\.)")
    share = r"mipsrec-host: interpreted instructions: \d+ \(100\.0 %\) in .*, which has no recompiled code"
    assert re.fullmatch(share, lines.pop())
    assert [text for text in lines[:-1] if not line.fullmatch(text) and " is not there (ENOSYS)" not in text] == []
    assert sum(text.endswith("exit(0) ...") for text in lines) == 4
    assert len({found[1] for text in lines if (found := line.fullmatch(text)) and found[1]}) >= 5
    counted = re.fullmatch(r"mipsrec-host: (\d+) instructions interpreted, .* (\d+) system calls, .*", lines[-1])
    assert counted and int(counted[1]) > 20_000 and int(counted[2]) >= len(lines) - 3


@pytest.mark.parametrize("guest", sampled(list(ORDERS)), indirect=True)
def test_verify_refuses(guest: Path, tmp_path: Path) -> None:
    library = tmp_path / "library.so"
    assert mipsrec("build", guest, "-o", library, "--calls", "instrumented", "--function", "square").returncode == 0
    result = mipsrec("verify", "--library", library, guest, "values")
    assert_one_line(result, "verify follows one thread")
