"""Exceptions and faults of single instructions arrive as a Linux kernel on MIPS delivers them (guests/traps.c)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from mipsrec import pipeline
from tests.support.compiled import ORDERS, compile_guest, library_at
from tests.support.hosts import sanitized_host
from tests.support.paths import GUESTS, SAMPLES
from tests.support.sampling import ALL
from tests.support.tools import need

pytestmark = pytest.mark.sampled

FREESTANDING = SAMPLES / "freestanding"
FLAGS = (
    "-O1", "-march=mips32r2", "-mfp32", "-mno-abicalls", "-fno-pic", "-G0", "-static", "-nostdlib", "-ffreestanding",
    "-fno-stack-protector", "-Wa,-mno-fix-loongson3-llsc", "-DSAMPLE_FREESTANDING", f"-I{FREESTANDING}",
    "-Wall", "-Wextra", "-Werror",
)  # fmt: skip
SOURCES = [GUESTS / "traps.c", *(FREESTANDING / name for name in ("start.S", "out.c", "memory.c"))]


@pytest.fixture(scope="module", params=list(ORDERS))
def guest(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    triple = ORDERS[request.param]
    program = tmp_path_factory.mktemp("traps") / "traps"
    command = [need(f"{triple}-gcc", f"gcc-{triple}"), *FLAGS, *map(str, SOURCES), "-o", str(program)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return program


def output(*command: str | Path) -> str:
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout


WAYS = {"interpreted": ORDERS, "flat 2": ["big"], "flat 0": ["little"], "paged 1": ["big"], "thunk 1": ["little"]}
if ALL:
    WAYS = dict.fromkeys(WAYS, ORDERS)


@pytest.mark.parametrize(("guest", "way"), [(o, way) for way in WAYS for o in WAYS[way]], indirect=["guest"])
def test_signals(guest: Path, host: Path, tmp_path: Path, way: str) -> None:
    """Caught, with what the handler is told; skipped by the handler; and not caught."""
    engine = ["--engine", "interp"]
    if way != "interpreted":
        memory, opt = way.split()
        library = tmp_path / "library.so"
        pipeline.build(pipeline.open_guest(guest), library, pipeline.Options(opt=int(opt), memory=memory, jobs=1))
        engine = ["--library", str(library)]
    assert output(host, *engine, guest) == "probes 271\n"
    assert output(host, *engine, guest, "die") == "dead\n"


def test_under_sanitizers(guest: Path) -> None:
    assert output(sanitized_host(), "--engine", "interp", guest) == "probes 271\n"


WRITES_FCSR = """
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
static sigjmp_buf place;
static volatile int count;
static volatile double zero;
static void change(unsigned bits) {
    unsigned fcsr;
    __asm__ volatile("cfc1 %0, $31\\n\\tor %0, %0, %1\\n\\tctc1 %0, $31" : "=&r"(fcsr) : "r"(bits));
}
static void on_float(int number) { count++; change(2); siglongjmp(place, number); }
int main(void) {
    signal(SIGFPE, on_float);
    change(1 << 10); /* enables division by zero */
    while (count < 3)
        if (sigsetjmp(place, 1) == 0)
            zero = 1 / zero;
    printf("%d\\n", count);
}
"""


def test_handler_that_writes_fcsr(host: Path, tmp_path: Path) -> None:
    """The causes that trapped do not trap again when the handler sets the rounding mode."""
    program = compile_guest(tmp_path, "little", WRITES_FCSR, "-static")
    library = library_at(pipeline.open_guest(program), tmp_path, "auto", "main", "on_float")
    for engine in (["--engine", "interp"], ["--library", library]):
        assert output(host, *engine, program) == "3\n"


ENABLES_IN_HANDLER = """
#include <signal.h>
#include <stdlib.h>
static volatile double zero;
__attribute__((noipa)) void enable(void) { __asm__ volatile("ctc1 %0, $31" : : "r"(1 << 10)); }
void on_float(int number) { _Exit(number); }
void on_fault(int number) { enable(); zero = 1 / zero; _Exit(1); }
int main(void) {
    signal(SIGFPE, on_float);
    signal(SIGSEGV, on_fault);
    *(volatile int *)16 = 1;
}
"""


def test_enabled_while_frames_wait(host: Path, tmp_path: Path) -> None:
    """The handler of a fault has interpreted code enable an exception; its own frame must not go on recompiled."""
    program = compile_guest(tmp_path, "big", ENABLES_IN_HANDLER, "-static")
    library = library_at(pipeline.open_guest(program), tmp_path, "auto", "main", "on_*")
    for engine in (["--engine", "interp"], ["--library", library]):
        assert subprocess.run([host, *engine, program], timeout=600).returncode == 8
