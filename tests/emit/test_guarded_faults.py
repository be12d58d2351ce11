"""Handlers of faults that throw: landing pads find registers and memory as MIPS has them; ra is that of the call."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from mipsrec import pipeline
from tests.support.compiled import ORDERS, compile_guest, library_at
from tests.support.paths import GUESTS
from tests.support.sampling import shared_by_orders

pytestmark = pytest.mark.sampled

SOURCE = GUESTS / "guarded_faults.cc"
OPTIONS = ("-static", "-fnon-call-exceptions", "-fasynchronous-unwind-tables", "-fno-optimize-sibling-calls")
OWN = ("_ZN12_GLOBAL__N_1*", "main")
TIERS = {"interpreted": ("--engine", "interp"), "baseline": ("--threshold", "1")}
LEVELS = ("0", "light", "2")


def expected() -> str:
    """Return what is right: the sums follow from the source."""
    lines = []
    for n in (0, 1):
        lines += [
            f"load: {(103 + n) ^ 0x100} 0",
            f"store: {201 + n} 0",
            f"leaf: {3 * (300 + n)} 0",
            f"loop: {1 + 2 + 3 + 4} 0",
            f"double: 0 {1.5 * (2 + n):g}",
            f"recursive: {(10 + n) * (1 + 2 + 3)} 0",
            "call: 0 0", "call: ra of the call", "calls: 0 0", "calls: ra of the call",
        ]  # fmt: skip
    return "".join(f"{line}\n" for line in lines)


@pytest.fixture(scope="module", params=ORDERS)
def order(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def program(order: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("guarded")
    return compile_guest(folder, order, SOURCE.read_text(), *OPTIONS, language="c++")


def run(host: Path, program: Path, *options: str | Path) -> None:
    """Run the program, and compare what it prints with what is right."""
    result = subprocess.run([host, *options, program], capture_output=True, text=True, timeout=600)
    assert (result.stdout, result.stderr, result.returncode) == (expected(), "", 0)


@pytest.mark.parametrize("tier", TIERS)
def test_below(host: Path, program: Path, tier: str) -> None:
    run(host, program, *TIERS[tier])


def test_recompiled(host: Path, order: str, program: Path) -> None:
    guest = pipeline.open_guest(program)
    for level in shared_by_orders(LEVELS, order):
        run(host, program, "--library", library_at(guest, program.parent, level, *OWN))


@pytest.mark.parametrize("memory", ["paged", "thunk"])
def test_where_the_host_makes_the_accesses(host: Path, program: Path, memory: str) -> None:
    library = library_at(pipeline.open_guest(program), program.parent, "2", *OWN, memory=memory)
    run(host, program, "--library", library)
