"""Exceptions and faults of single instructions arrive as a Linux kernel on MIPS delivers them (guests/traps.c)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from compiled import ORDERS
from conftest import sanitized_host
from tools import need

from mipsrec import pipeline

ROOT = Path(__file__).resolve().parent.parent
FREESTANDING = ROOT / "samples" / "freestanding"
FLAGS = (
    "-O1", "-march=mips32r2", "-mfp32", "-mno-abicalls", "-fno-pic", "-G0", "-static", "-nostdlib", "-ffreestanding",
    "-fno-stack-protector", "-Wa,-mno-fix-loongson3-llsc", "-DSAMPLE_FREESTANDING", f"-I{FREESTANDING}",
    "-Wall", "-Wextra", "-Werror",
)  # fmt: skip
SOURCES = [ROOT / "tests" / "guests" / "traps.c", *(FREESTANDING / name for name in ("start.S", "out.c", "memory.c"))]


@pytest.fixture(scope="module", params=list(ORDERS))
def guest(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    triple = ORDERS[request.param]
    program = tmp_path_factory.mktemp("traps") / "traps"
    command = [need(f"{triple}-gcc", f"gcc-{triple}"), *FLAGS, *map(str, SOURCES), "-o", str(program)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return program


def output(*command: str | Path) -> str:
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout


WAYS = {"interpreted": ORDERS, "flat 2": ORDERS, "flat 0": ["little"], "paged 1": ["big"], "thunk 1": ["little"]}


@pytest.mark.parametrize(("guest", "way"), [(o, way) for way in WAYS for o in WAYS[way]], indirect=["guest"])
def test_signals(guest: Path, host: Path, tmp_path: Path, way: str) -> None:
    """Caught, with what the handler is told; skipped by the handler; and not caught."""
    engine = ["--engine", "interp"]
    if way != "interpreted":
        memory, opt = way.split()
        library = tmp_path / "library.so"
        pipeline.build(pipeline.open_guest(guest), library, pipeline.Options(opt=int(opt), memory=memory, jobs=1))
        engine = ["--library", str(library)]
    assert output(host, *engine, guest) == "probes 244\n"
    assert output(host, *engine, guest, "die") == "dead\n"


def test_under_sanitizers(guest: Path) -> None:
    assert output(sanitized_host(), "--engine", "interp", guest) == "probes 244\n"
