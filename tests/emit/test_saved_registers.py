"""Saved registers in compiled programs: what their stack frames hold, and what others make of it, is as on MIPS."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from mipsrec import pipeline
from tests.support.compiled import BARE, ORDERS, QEMU, compile_guest, library_at
from tests.support.paths import GUESTS
from tests.support.tools import need

pytestmark = pytest.mark.sampled

SOURCE = GUESTS / "saved_registers.c"
OPTIONS = (*BARE, f"-I{SOURCE.parent}")


@pytest.fixture(scope="module", params=ORDERS)
def guest(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The guest, and what qemu-user says it prints."""
    program = compile_guest(tmp_path_factory.mktemp("frames"), request.param, SOURCE.read_text(), *OPTIONS)
    judge = need(QEMU[request.param], "qemu-user")
    said = subprocess.run([judge, program], capture_output=True, text=True, timeout=600, check=True).stdout
    assert said.count("\n") == 27
    return program, said


def test_interpreted(host: Path, guest: tuple[Path, str]) -> None:
    result = subprocess.run(
        [host, "--engine", "interp", guest[0]], capture_output=True, text=True, timeout=600, check=True
    )
    assert result.stdout == guest[1]


@pytest.mark.parametrize("opt", [0, 3])
def test_recompiled(host: Path, guest: tuple[Path, str], tmp_path: Path, opt: int) -> None:
    library = library_at(pipeline.open_guest(guest[0]), tmp_path, opt)
    result = subprocess.run(
        [host, "--library", library, guest[0]], capture_output=True, text=True, timeout=600, check=True
    )
    assert result.stdout == guest[1]


@pytest.mark.parametrize("case", range(1, 9))
@pytest.mark.parametrize("order", ORDERS)
def test_faults_and_odd_returns(host: Path, tmp_path: Path, order: str, case: int) -> None:
    """Loads that nobody needs fault in functions that call themselves; ra in the slot of a return is for later."""
    source = (SOURCE.parent / "saved_registers_odd.c").read_text()
    program = compile_guest(tmp_path, order, source, *OPTIONS, f"-DCASE={case}")
    library = tmp_path / "library.so"
    pipeline.build(pipeline.open_guest(program), library, pipeline.Options(opt="2", jobs=1))
    judge = need(QEMU[order], "qemu-user")
    ends = [
        subprocess.run([*map(str, words), program], capture_output=True, text=True, timeout=600, cwd=tmp_path)
        for words in ([judge], [host, "--engine", "interp"], [host, "--library", library])
    ]
    assert len({(end.returncode, end.stdout) for end in ends}) == 1
    assert ends[0].returncode == (0 if case in (6, 7) else -signal.SIGSEGV)
