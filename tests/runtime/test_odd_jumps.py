"""Jumps that no compiler makes do not fill the host's stack, and go where a processor goes (guests/odd_jumps.c)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from mipsrec import pipeline
from tests.support.compiled import BARE, ORDERS, compile_guest, library_at
from tests.support.compiler_runs import run_compiler
from tests.support.paths import GUESTS
from tests.support.tools import need

pytestmark = pytest.mark.sampled

SOURCE = GUESTS / "odd_jumps.c"
OPTIONS = (*BARE, f"-I{SOURCE.parent}")
KINDS = {
    "links": "calls that link through another register than ra",
    "generated": "generated code and the program's own jump to each other",
    "stacks": "they do so with two stack pointers in turn, until the host's stack is full",
    "comes": "the handler of a fault comes to the instruction that faulted itself",
    "misaligned": "the handler of an alarm jumps to a misaligned place, out of the loop that it interrupted",
    "past": "the handler of a fault goes on past it, where no frames wait any more",
}


@pytest.fixture(scope="module", params=ORDERS)
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The guest."""
    return compile_guest(tmp_path_factory.mktemp("odd_jumps"), request.param, SOURCE.read_text(), *OPTIONS)


@pytest.fixture(scope="module", params=(2, 0, "interpreted"))
def engine(request: pytest.FixtureRequest, program: Path) -> list[str | Path]:
    """The host's options for one way to run the guest."""
    if request.param == "interpreted":
        return ["--engine", "interp"]
    return ["--library", library_at(pipeline.open_guest(program), program.parent, request.param)]


@pytest.mark.parametrize("kind", KINDS)
def test_jumps(host: Path, program: Path, engine: list[str | Path], kind: str) -> None:
    result = subprocess.run([host, *engine, program, kind], capture_output=True, timeout=600)
    assert (result.returncode, result.stdout, result.stderr) == (7, b"", b"")


def test_overflow_in_a_handler(host: Path, program: Path) -> None:
    """Frames of the host that a handler's calls leave above those that wait for it fill that stack: SIGSEGV again."""
    library = library_at(pipeline.open_guest(program), program.parent, 0)  # LLVM makes a loop of the calls at level 2
    result = subprocess.run([host, "--library", library, program, "overflow"], capture_output=True, timeout=600)
    assert (result.returncode, result.stdout, result.stderr) == (7, b"", b"")


DEEP_THREAD = """
#include <pthread.h>
#include <stdio.h>
static __attribute__((noipa)) unsigned deep(unsigned n, unsigned a, unsigned b)
{
    unsigned found = n != 0 ? deep(n - 1, b, a + n) : a;
    return found + (a ^ b);
}
static void *body(void *unused) { printf("%08x\\n", deep(1500000, 1, 2)); return unused; }
int main(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 << 20);
    return pthread_create(&thread, &attributes, body, 0) || pthread_join(thread, 0);
}
"""


@pytest.mark.parametrize("order", ORDERS)
def test_depth_of_a_thread(host: Path, tmp_path: Path, order: str) -> None:
    """The host's stack has room for what the guest's has, also where the guest has chosen its size."""
    program = compile_guest(tmp_path, order, DEEP_THREAD, "-static")
    native = tmp_path / "native"
    run_compiler([need("gcc"), "-O2", "-pthread", tmp_path / "guest.c", "-o", native], native)
    library = library_at(pipeline.open_guest(program), tmp_path, 0, "deep", "body", "main")
    expected = subprocess.run([native], capture_output=True, check=True).stdout
    result = subprocess.run([host, "--library", library, program], capture_output=True, timeout=600)
    assert (result.returncode, result.stdout, result.stderr) == (0, expected, b"")
