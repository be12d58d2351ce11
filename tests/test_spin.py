"""Loops that wait for memory that somebody else writes come to their end, at full optimisation."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from compiled import ORDERS, compile_guest

from mipsrec import pipeline

SOURCE = Path(__file__).parent / "guests" / "spin.c"
OPTIONS = ("-nostdlib", "-static", "-ffreestanding", "-mno-abicalls", "-fno-pic", "-G0")
SIGALRM = 14


@pytest.fixture(scope="module", params=ORDERS)
def guest(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The guest and its library."""
    folder = tmp_path_factory.mktemp("spin")
    program = compile_guest(folder, request.param, SOURCE.read_text(), *OPTIONS)
    library = folder / "library.so"
    pipeline.build(pipeline.open_guest(program), library, pipeline.Options(opt=3, jobs=1))
    return program, library


def run(folder: Path, timeout: float, *command: Path | str) -> int:
    """Return the exit status of a command whose standard input is a page."""
    page = folder / "page"
    page.write_bytes(bytes(4096))
    with page.open("r+b") as file:
        result = subprocess.run(command, stdin=file, capture_output=True, timeout=timeout, check=False)
    assert result.stderr == b""
    return result.returncode


@pytest.mark.parametrize("who, found", [("mapping", 5), ("child", 77)])
def test_other_mapping(host: Path, guest: tuple[Path, Path], tmp_path: Path, who: str, found: int) -> None:
    program, library = guest
    assert run(tmp_path, 20, host, "--library", library, program, who) == found


def test_handler_interpreted(host: Path, guest: tuple[Path, Path], tmp_path: Path) -> None:
    assert run(tmp_path, 20, host, "--engine", "interp", guest[0], "handler") == SIGALRM


@pytest.mark.xfail(
    raises=subprocess.TimeoutExpired,
    strict=True,
    reason="recompiled code takes signals from outside at system calls only: README, Limits",
)
def test_handler(host: Path, guest: tuple[Path, Path], tmp_path: Path) -> None:
    program, library = guest
    assert run(tmp_path, 3, host, "--library", library, program, "handler") == SIGALRM
