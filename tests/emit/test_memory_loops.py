"""Loops that step through memory become vectors, and no calls of the host's library: their faults are the guest's."""

from __future__ import annotations

import platform
import re
import subprocess
from pathlib import Path

import pytest

from mipsrec import pipeline
from tests.support.compiled import ORDERS, compile_guest
from tests.support.paths import GUESTS
from tests.support.tools import need

SOURCE = GUESTS / "memory_loops.c"
OPTIONS = ("-nostdlib", "-static", "-ffreestanding", "-mno-abicalls", "-fno-pic", "-G0")


@pytest.fixture(scope="module", params=ORDERS)
def guest(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The guest and its library."""
    program = compile_guest(tmp_path_factory.mktemp("loops"), request.param, SOURCE.read_text(), *OPTIONS)
    library = program.parent / "library.so"
    pipeline.build(pipeline.open_guest(program), library, pipeline.Options(jobs=1))
    return program, library


@pytest.mark.parametrize("way", ["fill", "copy", "length", "sum"])
def test_fault_at_the_end(host: Path, guest: tuple[Path, Path], way: str) -> None:
    program, library = guest
    for engine in (["--library", library], ["--engine", "interp"]):
        result = subprocess.run([host, *engine, program, way], capture_output=True, timeout=600, check=False)
        assert (result.returncode, result.stderr) == (0, b"")


def test_no_functions_of_the_host(guest: tuple[Path, Path]) -> None:
    command = [need("nm", "binutils"), "-D", "--undefined-only", str(guest[1])]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert {name for name in names if re.match("mem|str|b", name)} == set()


@pytest.mark.skipif(platform.machine() != "x86_64", reason="vectors of x86-64")
@pytest.mark.parametrize("name", ["fill", "copy", "sum"])
def test_vectors(guest: tuple[Path, Path], tmp_path: Path, name: str) -> None:
    opened = pipeline.open_guest(guest[0])
    assert pipeline.dump_llvm(opened, tmp_path, functions=[opened.function(name)], optimized=True) == 1
    text = "".join(path.read_text() for path in tmp_path.glob("*.ll"))
    assert re.search(r"(load|store) <\d+ x i(8|32)>", text)
