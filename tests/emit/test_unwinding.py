"""Ways out of deep calls with every optimisation on: what guests/unwinding.cc prints, recompiled and interpreted.

A native build says what is right. Of the guest, its own functions and those of the C library that go elsewhere are
recompiled; with MIPSREC_PROGRAMS=all (`make conformance`) all of it, C++'s unwinder and the C library as well.
`make conformance ARGS='tiers'` runs it at level 0 too.
"""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from mipsrec import pipeline
from tests.support.compiled import ORDERS, compile_guest, library_at
from tests.support.compiler_runs import run_compiler
from tests.support.paths import GUESTS
from tests.support.sampling import sampled
from tests.support.tools import need

pytestmark = pytest.mark.sampled

SOURCE = GUESTS / "unwinding.cc"
OWN = ["_ZN12_GLOBAL__N_1*", "main", "*longjmp*", "*setjmp*", "*context", "*kill"]
ALL = os.environ.get("MIPSREC_PROGRAMS") == "all"
WAYS = ("interpreted", "opt 0", "opt 2", "opt 3") if ALL else tuple(sampled(("interpreted", "opt 0", "opt 2")))
KINDS = ("direct", "mutual", "pointer", "virtual")
DEEP = 1_000_000
ROUNDS = 100_000
AGAIN = 10_000
AGAIN_KILOBYTES = 2_000  # a host frame left behind each time would be ten times as much
DEEP_STACK_BYTES, USUAL_STACK_BYTES = 250 << 20, 8 << 20


@dataclass
class Built:
    """The guest of one byte order, and how to run it each way."""

    path: Path
    folder: Path
    host: Path

    def run(
        self, way: str, *words: str, prepare: Callable[[], None] | None = None, options: tuple[str, ...] = ()
    ) -> subprocess.CompletedProcess[str]:
        engine = ["--engine", "interp"] if way == "interpreted" else ["--library", str(self._library(way))]
        command = [str(self.host), *engine, *options, str(self.path), *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=600, preexec_fn=prepare)

    def _library(self, way: str) -> Path:
        library = self.folder / f"{way}.so"
        if not library.exists():
            guest = pipeline.open_guest(self.path)
            chosen = None if ALL else guest.functions_like(OWN)
            options = pipeline.Options(calls="thunked") if way == "thunked" else pipeline.Options(opt=int(way[-1]))
            pipeline.build(guest, library, replace(options, jobs=1), functions=chosen)
        return library


@pytest.fixture(scope="module", params=ORDERS)
def guest(request: pytest.FixtureRequest, host: Path, tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("unwinding")
    program = compile_guest(folder, request.param, SOURCE.read_text(), "-static", language="c++")
    return Built(program, folder, host)


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("native") / "unwinding"
    run_compiler([need("g++"), "-O2", "-Wall", "-Wextra", SOURCE, "-o", program], program)
    return program


@pytest.mark.parametrize("way", WAYS)
def test_ways_out(guest: Built, native: Path, way: str) -> None:
    """Exceptions, longjmp, siglongjmp out of a handler, swapcontext, backtraces; up to 60 calls deep."""
    expected = subprocess.run([native], capture_output=True, text=True, check=True, timeout=600).stdout
    result = guest.run(way)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == expected


@pytest.mark.parametrize("way", WAYS)
def test_endless_recursion(guest: Built, way: str) -> None:
    """It ends as the guest's SIGSEGV, which a handler on another stack may leave, and which kills without one."""
    result = guest.run(way, "overflow")
    assert (result.returncode, result.stderr) == (-signal.SIGSEGV, "")
    lines = [line.split() for line in result.stdout.splitlines()]
    assert [(name, end) for name, end, _ in lines] == [(name, "overflows") for name in KINDS]
    assert len({kept for *_, kept in lines}) == 1


@pytest.mark.parametrize("way", [*WAYS, "thunked"])
def test_again_and_again(guest: Built, native: Path, way: str) -> None:
    """The host's stack does not grow with jumps out of calls into one frame, nor while two contexts take turns."""
    words = ["again", str(AGAIN)]
    expected = subprocess.run([native, *words], capture_output=True, text=True, check=True, timeout=600).stdout
    few, many = guest.run(way, "again", "10"), guest.run(way, *words)
    assert (many.returncode, many.stdout) == (0, expected)
    assert int(many.stderr) - int(few.stderr) < AGAIN_KILOBYTES


@pytest.mark.parametrize("guest", ORDERS if ALL else ["little"], indirect=True)
def test_frames_stay(guest: Built, native: Path) -> None:
    """The caller of a function that was left for a handler is recompiled code still when that function returns."""
    words = ["stays", str(ROUNDS)]
    expected = subprocess.run([native, *words], capture_output=True, text=True, check=True, timeout=600).stdout
    result = guest.run("opt 2", *words, options=("--stats",))
    assert (result.returncode, result.stdout) == (0, expected)
    few = guest.run("opt 2", "stays", "1", options=("--stats",))
    assert _interpreted(result.stderr) - _interpreted(few.stderr) < ROUNDS // 10


def _interpreted(statistics: str) -> int:
    found = re.search(r"(\d+) instructions interpreted", statistics)
    assert found
    return int(found[1])


def _with_stack(size_bytes: int) -> Callable[[], None]:
    _, most = resource.getrlimit(resource.RLIMIT_STACK)
    return lambda: resource.setrlimit(resource.RLIMIT_STACK, (size_bytes, most))


@pytest.mark.parametrize("way", WAYS)
def test_deep_recursion(guest: Built, native: Path, way: str) -> None:
    """A million calls that the guest's stack has room for return, with what each of them kept."""
    words, large = ["depth", str(DEEP)], _with_stack(DEEP_STACK_BYTES)
    expected = subprocess.run(
        [native, *words], capture_output=True, text=True, check=True, timeout=600, preexec_fn=large
    ).stdout
    result = guest.run(way, *words, prepare=large)
    assert (result.returncode, result.stderr, result.stdout) == (0, "", expected)
    small = guest.run(way, *words, prepare=_with_stack(USUAL_STACK_BYTES))
    assert small.returncode == -signal.SIGSEGV and small.stderr == ""


COLD = """
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
void *outside[5];
jmp_buf inside;
volatile int sink, never;
#define FOUR(x) x x x x
__attribute__((noipa)) void leave(int n)
{
    if (never && setjmp(inside))
        return;
    FOUR(FOUR(FOUR(sink += n; sink ^= n * 3;)))
    __builtin_longjmp(outside, 1);
}
__attribute__((noipa)) void between(int n) { leave(n); sink = 0; }
__attribute__((noipa)) int around(int n)
{
    for (volatile int round = 0; round < n; round++)
        if (__builtin_setjmp(outside) == 0)
            between(round);
    return sink;
}
int main(int count, char **words)
{
    printf("%x ", around(atoi(words[count - 1])));
    char line[200];
    FILE *status = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, status))
        if (!strncmp(line, "VmHWM:", 6))
            printf("%ld", strtol(line + 6, 0, 10));
    return 0;
}
"""


@pytest.mark.parametrize("order", ORDERS if ALL else ["big"])
def test_cold_function_that_jumps_out(host: Path, tmp_path: Path, order: str) -> None:
    """One LLVM function for all entries leaves no frames of the host behind either."""
    guest = pipeline.open_guest(compile_guest(tmp_path, order, COLD, "-static"))
    library = library_at(guest, tmp_path, "auto", "leave", "between", "around", "main")
    said = []
    for way in ([], ["--engine", "interp"]):
        for rounds in ("100", "50000"):
            words = [host, *(way or ["--library", library]), guest.image.path, rounds]
            said.append(subprocess.run(words, capture_output=True, text=True, timeout=600, check=True).stdout.split())
    assert [words[0] for words in said[:2]] == [words[0] for words in said[2:]]
    assert int(said[1][1]) - int(said[0][1]) < AGAIN_KILOBYTES
