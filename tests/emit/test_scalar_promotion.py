"""Scalar promotion in compiled programs: loops are found, and memory is as if each iteration loaded and stored."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from mipsrec.lift.check import findings
from tests.lift.plans import open_guest, plans
from tests.support.compiled import ORDERS, QEMU, compile_guest, library_at
from tests.support.paths import GUESTS
from tests.support.sampling import sampled, shared_by_orders
from tests.support.tools import need

pytestmark = pytest.mark.sampled

SOURCE = GUESTS / "scalar_promotion.c"
PROMOTED = {
    "word", "half", "byte", "single", "product", "in_double", "in_parts", "annulled", "annulled_load", "on_one_way",
    "test_above", "through_two", "stores", "stores_bytes", "stores_singles", "stores_across", "by_pointer",
    "until_handled", "handled", "handled_global", "faults", "faults_at_once", "by_frame",
}  # fmt: skip


@pytest.fixture(scope="module", params=ORDERS)
def order(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def guest(order: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_guest(tmp_path_factory.mktemp("promotion"), order, SOURCE.read_text(), "-static")


@pytest.fixture(scope="module")
def library(order: str, guest: Path) -> Callable[[str], Path]:
    """The library of a level."""
    return cache(lambda level: library_at(open_guest(guest), guest.parent, level, "loop_*"))


def run(folder: Path, *words: object) -> str:
    """Return what a guest prints whose standard input is a page."""
    page = folder / "page"
    page.write_bytes(bytes(4096))
    with page.open("r+b") as file:
        command = [*map(str, words)]
        return subprocess.run(command, stdin=file, capture_output=True, text=True, timeout=600, check=True).stdout


def test_found(guest: Path) -> None:
    chosen = [plan for _, plan in plans(guest, None, "loop_*")]
    assert {plan.function.name[5:] for plan in chosen if plan.promoted} == PROMOTED
    assert [finding for plan in chosen for finding in findings(plan)] == []


@pytest.mark.parametrize("way", [(), ("page",)], ids=str)
def test_recompiled(
    host: Path, order: str, guest: Path, library: Callable[[str], Path], tmp_path: Path, way: tuple[str, ...]
) -> None:
    expected = run(tmp_path, host, "--engine", "interp", guest, *way)
    for level in shared_by_orders(("0", "auto", "3"), order):
        assert run(tmp_path, host, "--library", library(level), guest, *way) == expected, level


@pytest.mark.parametrize("way", [("aligned",), ("page",)], ids=str)
def test_as_qemu_says(host: Path, order: str, guest: Path, tmp_path: Path, way: tuple[str, ...]) -> None:
    expected = run(tmp_path, need(QEMU[order], "qemu-user"), guest, *way)
    assert run(tmp_path, host, "--engine", "interp", guest, *way) == expected


@pytest.mark.parametrize("order", sampled(list(ORDERS)), indirect=True)
def test_verified(guest: Path) -> None:
    functions = ",".join(f"loop_{name}" for name in sorted(PROMOTED))
    command = [sys.executable, "-m", "mipsrec", "verify", "--function", functions, str(guest)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert result.returncode == 0 and "agree at" in result.stderr, result.stderr
