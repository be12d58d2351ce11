"""Jumps that no compiler makes do not fill the host's stack, and go where a processor goes (guests/odd_jumps.c)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from compiled import BARE, ORDERS, compile_guest, library_at

from mipsrec import pipeline

SOURCE = Path(__file__).parent / "guests" / "odd_jumps.c"
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
    return compile_guest(tmp_path_factory.mktemp("odd_jumps"), request.param, SOURCE.read_text(), *BARE)


@pytest.fixture(scope="module", params=(2, 0, "interpreted"))
def engine(request: pytest.FixtureRequest, program: Path) -> list[str | Path]:
    """The host's options for one way to run the guest."""
    if request.param == "interpreted":
        return ["--engine", "interp"]
    return ["--library", library_at(pipeline.open_guest(program), program.parent, request.param)]


@pytest.mark.parametrize("kind", KINDS)
def test_jumps(host: Path, program: Path, engine: list[str | Path], kind: str) -> None:
    result = subprocess.run([host, *engine, program, kind], capture_output=True, timeout=30)
    assert (result.returncode, result.stdout, result.stderr) == (7, b"", b"")
