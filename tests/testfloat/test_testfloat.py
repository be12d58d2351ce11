"""Floating-point instructions against SoftFloat on TestFloat's operands: results, flags, causes, all rounding modes.

A sample runs always; MIPSREC_TESTFLOAT=all, which `make conformance` sets, runs TestFloat's whole level 1. The judge is
lifted code of the same guest, and it is judged by qemu.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from mipsrec import pipeline
from tests.support.tiers import BASELINE
from tests.support.tools import need
from tests.testfloat.guest import build

ALL = os.environ.get("MIPSREC_TESTFLOAT") == "all"
OF_THREE = ("madd_", "msub_", "nmadd_", "nmsub_")  # six million cases each
OF_TWO = "add_ sub_ mul_ div_ sqrt_ recip_ rsqrt_ abs_ neg_ c_ cvt_ round_ trunc_ ceil_ floor_".split()
WRONG_IN_QEMU = {"abs_s", "abs_d", "neg_s", "neg_d"}
"""These change the sign of signalling NaNs there, also without ABS2008; the manual (volume II-A) makes them invalid."""
INSTRUCTION_COUNT = 84


def instructions(output: str) -> dict[str, int]:
    """Return the errors of each instruction, all rounding modes together."""
    found: dict[str, int] = {}
    for name, cases, errors in re.findall(r"^(\w+) \w+: (\d+) cases, (\d+) errors$", output, re.MULTILINE):
        assert int(cases) > 0
        found[name] = found.get(name, 0) + int(errors)
    return found


def run(command: list[str], timeout: int) -> dict[str, int]:
    result = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    assert result.returncode in (0, 1), result.stderr
    assert re.search(r"^\d+ errors$", result.stdout, re.MULTILINE), result.stdout[-500:]
    return instructions(result.stdout)


@pytest.fixture(scope="module", params=["little-fp32", "big-fp64", "little-fp64", "big-fp32"][: 4 if ALL else 1])
def guest(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("testfloat"), *request.param.split("-"))


@pytest.fixture(scope="module", params=["2", "light"])
def library(request: pytest.FixtureRequest, guest: Path) -> Path:
    """The guest's library."""
    path = guest.with_suffix(f".{request.param}.so")
    pipeline.build(pipeline.open_guest(guest), path, pipeline.Options(opt=request.param))
    return path


def test_lifted(host: Path, guest: Path, library: Path) -> None:
    stride = "1" if ALL else "61"
    errors = run([str(host), "--library", str(library), str(guest), "-s", stride, *OF_TWO], 1200)
    if ALL:
        errors |= run([str(host), "--library", str(library), str(guest), *OF_THREE], 3600)
        assert len(errors) == INSTRUCTION_COUNT
    assert {name: count for name, count in errors.items() if count} == {}


def test_interpreted(host: Path, guest: Path, library: Path) -> None:
    """The instructions lie in code that the guest has just made: only those are interpreted."""
    stride = "1" if ALL else "31"
    errors = run([str(host), "--library", str(library), str(guest), "-g", "-s", stride, *OF_TWO], 1200)
    if ALL:
        errors |= run([str(host), "--library", str(library), str(guest), "-g", "-s", "7", *OF_THREE], 3600)
    assert {name: count for name, count in errors.items() if count} == {}


@pytest.mark.parametrize("tier", BASELINE)
def test_baseline(host: Path, guest: Path, tier: str) -> None:
    """The judge runs in the baseline tier, too, and so do instructions in code that the guest has just made."""
    command = [str(host), *BASELINE[tier], str(guest), "-s", "1" if ALL else "61"]
    errors = run([*command, *OF_TWO], 3600)
    assert {name: count for name, count in errors.items() if count} == {}
    errors = run([*command, *(["-g", *OF_TWO] if ALL else ["-g", "add_", "c_"])], 3600)
    assert {name: count for name, count in errors.items() if count} == {}


@pytest.mark.skipif(not ALL, reason="all of it is interpreted: minutes (make conformance)")
def test_interpreted_with_judge(host: Path, guest: Path) -> None:
    errors = run([str(host), "--engine", "interp", str(guest), "-s", "7", *OF_TWO], 3600)
    assert {name: count for name, count in errors.items() if count} == {}


@pytest.mark.skipif(not ALL, reason="qemu takes minutes (make conformance)")
def test_judge(guest: Path) -> None:
    """qemu says the same, but makes every NaN result the default one; its format L wants FR=1."""
    qemu = need("qemu-mipsel" if "little" in guest.name else "qemu-mips", "qemu-user")
    names = [name for name in OF_TWO if guest.name.endswith("fp64") or name in ("add_", "mul_", "div_", "sqrt_", "c_")]
    errors = run([qemu, "-cpu", "74Kf", str(guest), "-q", "-s", "7", *names], 3600)
    assert {name for name, count in errors.items() if count} == WRONG_IN_QEMU & errors.keys()
