"""Spin loops: loops that wait for another writer come to their end, and handlers of signals run in all loops."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mipsrec import pipeline
from tests.support.compiled import BARE, ORDERS, compile_guest, library_at
from tests.support.paths import GUESTS

pytestmark = pytest.mark.sampled

SOURCE = GUESTS / "spin_loops.c"
OPTIONS = (*BARE, f"-I{SOURCE.parent}")
SIGALRM = 14


WAYS = {
    "handler": "a loop waits for what the handler writes",
    "leaf": "it calls a function in each round",
    "empty": "the loop does nothing, the handler ends the program",
    "jump": "the handler leaves by longjmp, again and again",
    "tail": "two functions that call each other last",
    "nest": "counted loops around counted loops",
    "wrap": "loops that never end, since their counters jump over the limit or around it",
    "interval": "a computation is interrupted again and again",
}


@pytest.fixture(scope="module", params=ORDERS)
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The guest."""
    return compile_guest(tmp_path_factory.mktemp("spin"), request.param, SOURCE.read_text(), *OPTIONS)


@pytest.fixture(scope="module", params=(3, 0))
def guest(request: pytest.FixtureRequest, program: Path) -> tuple[Path, Path]:
    """The guest and its library."""
    return program, library_at(pipeline.open_guest(program), program.parent, request.param)


def run(folder: Path, timeout: float, *command: Path | str, errors: bytes = b"") -> int:
    """Return the exit status of a command whose standard input is a page."""
    page = folder / "page"
    page.write_bytes(bytes(4096))
    with page.open("r+b") as file:
        result = subprocess.run(command, stdin=file, capture_output=True, timeout=timeout, check=False)
    assert result.stderr.startswith(errors) and (errors or not result.stderr), result.stderr
    return result.returncode


@pytest.mark.parametrize("who, found", [("mapping", 5), ("child", 77), ("address", 77), ("bytes", 0)])
def test_other_mapping(host: Path, guest: tuple[Path, Path], tmp_path: Path, who: str, found: int) -> None:
    program, library = guest
    assert run(tmp_path, 20, host, "--library", library, program, who) == found


@pytest.mark.parametrize("way", WAYS)
def test_handler(host: Path, guest: tuple[Path, Path], tmp_path: Path, way: str) -> None:
    program, library = guest
    assert run(tmp_path, 20, host, "--library", library, program, way) == SIGALRM


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("tier", [("--engine", "interp"), ("--threshold", "1")], ids=["interpreted", "baseline"])
def test_handler_below(host: Path, program: Path, tmp_path: Path, tier: tuple[str, str], way: str) -> None:
    assert run(tmp_path, 20, host, *tier, program, way) == SIGALRM


@pytest.mark.parametrize("way", ["handler", "leaf", "empty", "tail", "interval"])
def test_handler_verified(program: Path, tmp_path: Path, way: str) -> None:
    command = (sys.executable, "-m", "mipsrec", "verify", program, way)
    assert run(tmp_path, 60, *command, errors=b"mipsrec verify: lifted code and the interpreter agree") == SIGALRM
