"""Where calls and blocks leave out stores of registers that nobody seems to read, values are as on MIPS."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from mipsrec import pipeline
from tests.support.compiled import BARE, ORDERS, QEMU, compile_guest, library_at
from tests.support.paths import GUESTS
from tests.support.tools import need

SOURCE, FLOATS = GUESTS / "left_out.c", GUESTS / "left_out_floats.cc"
LEVELS = ("0", "light", "2")


def said_by(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=True).stdout


@pytest.fixture(scope="module", params=[f"{order}-{fr}" for order in ORDERS for fr in ("fp32", "fp64")])
def guest(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The guest, and what qemu-user says it prints."""
    order, _, fr = request.param.partition("-")
    options = (*BARE, f"-I{SOURCE.parent}", "-mips32r2", f"-m{fr}", "-mhard-float")
    program = compile_guest(tmp_path_factory.mktemp("left"), order, SOURCE.read_text(), *options)
    said = said_by(need(QEMU[order], "qemu-user"), "-cpu", "24Kf" if fr == "fp32" else "74Kf", program)
    assert said.count("\n") == 22
    return program, said


def test_interpreted(host: Path, guest: tuple[Path, str]) -> None:
    assert said_by(host, "--engine", "interp", guest[0]) == guest[1]


@pytest.mark.parametrize("level", LEVELS)
def test_recompiled(
    host: Path, guest: tuple[Path, str], tmp_path: Path, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MIPSREC_CHECK", "1")
    library = library_at(pipeline.open_guest(guest[0]), tmp_path, level)
    assert said_by(host, "--library", library, guest[0]) == guest[1]


@pytest.mark.parametrize("order", ORDERS)
def test_a_landing_pad_reads_a_float(host: Path, tmp_path: Path, order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIPSREC_CHECK", "1")
    options = ("-static", "-O2", "-fnon-call-exceptions")
    program = compile_guest(tmp_path, order, FLOATS.read_text(), *options, language="c++")
    guest, library = pipeline.open_guest(program), tmp_path / "left.so"
    pipeline.build(guest, library, pipeline.Options(opt="2"), functions=guest.functions_like(["faults", "guards"]))
    assert said_by(host, "--library", library, program) == "6\n3f800000\n3f900000\n"
