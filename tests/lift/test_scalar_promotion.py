"""Words that loops change in each round: found, and memory is always as if each round loaded and stored them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mipsrec import pipeline
from mipsrec.lift.options import LiftOptions
from mipsrec.lift.passes.safepoints import find_safepoints
from mipsrec.lift.passes.scalar_promotion import slots_of_loops
from mipsrec.lift.passes.spin_loads import changing_masks
from tests.support.compiled import ORDERS, QEMU, compile_guest, library_at
from tests.support.paths import GUESTS
from tests.support.tools import need

SOURCE = GUESTS / "slots.c"
WITH_SLOTS = {
    "word", "half", "byte", "single", "product", "in_double", "in_parts", "annulled", "annulled_load", "on_one_way",
    "test_above", "through_two", "stores", "stores_bytes", "stores_singles", "stores_across", "by_pointer",
    "until_handled", "handled", "handled_global", "faults", "faults_at_once", "by_frame",
}  # fmt: skip


@pytest.fixture(scope="module", params=ORDERS)
def order(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def guest(order: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_guest(tmp_path_factory.mktemp("slots"), order, SOURCE.read_text(), "-static")


@pytest.fixture(scope="module", params=["0", "auto", "3"])
def library(request: pytest.FixtureRequest, guest: Path) -> Path:
    return library_at(pipeline.open_guest(guest), guest.parent, request.param, "loop_*")


def run(folder: Path, *words: object) -> str:
    """Return what a guest prints whose standard input is a page."""
    page = folder / "page"
    page.write_bytes(bytes(4096))
    with page.open("r+b") as file:
        command = [*map(str, words)]
        return subprocess.run(command, stdin=file, capture_output=True, text=True, timeout=120, check=True).stdout


def test_found(order: str, guest: Path) -> None:
    opened = pipeline.open_guest(guest)
    options = LiftOptions(big_endian=order == "big", fr=opened.image.fr)
    found = set()
    for function in opened.program.functions.values():
        if function.name.startswith("loop_"):
            blocks = sorted(function.blocks)
            safepoints = find_safepoints(function, blocks, [function.start], options)
            inside = changing_masks(function, blocks, options.fr)
            if slots_of_loops(function, blocks, [function.start], safepoints, options, inside):
                found.add(function.name[5:])
    assert found == WITH_SLOTS


@pytest.mark.parametrize("way", [(), ("page",)], ids=str)
def test_recompiled(host: Path, guest: Path, library: Path, tmp_path: Path, way: tuple[str, ...]) -> None:
    expected = run(tmp_path, host, "--engine", "interp", guest, *way)
    assert run(tmp_path, host, "--library", library, guest, *way) == expected


@pytest.mark.parametrize("way", [("aligned",), ("page",)], ids=str)
def test_as_qemu_says(host: Path, order: str, guest: Path, tmp_path: Path, way: tuple[str, ...]) -> None:
    expected = run(tmp_path, need(QEMU[order], "qemu-user"), guest, *way)
    assert run(tmp_path, host, "--engine", "interp", guest, *way) == expected


def test_verified(guest: Path) -> None:
    functions = ",".join(f"loop_{name}" for name in sorted(WITH_SLOTS))
    command = [sys.executable, "-m", "mipsrec", "verify", "--function", functions, str(guest)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0 and "agree at" in result.stderr, result.stderr
