"""Handlers of faults, traps and signals find memory, stack and registers as on a real machine, and may change them."""

from __future__ import annotations

from pathlib import Path

import pytest

from mipsrec import pipeline
from tests.support.compiled import BARE, ORDERS, QEMU, compile_guest, library_at, printed
from tests.support.paths import GUESTS
from tests.support.tools import need

SOURCE = GUESTS / "handlers.c"


@pytest.fixture(scope="module", params=ORDERS)
def guest(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The guest, and what qemu-user says it prints."""
    order = request.param
    options = [*BARE, "-mips32r2", f"-I{SOURCE.parent}", *(["-Wa,--defsym,LITTLE=1"] if order == "little" else [])]
    program = compile_guest(tmp_path_factory.mktemp("handlers"), order, SOURCE.read_text(), *options)
    said = printed(need(QEMU[order], "qemu-user"), program)
    assert said.count("\n") == 10
    return program, said


def test_interpreted(host: Path, guest: tuple[Path, str]) -> None:
    assert printed(host, "--engine", "interp", guest[0]) == guest[1]


@pytest.mark.parametrize("opt", [0, "light", 3])
def test_recompiled(host: Path, guest: tuple[Path, str], tmp_path: Path, opt: int | str) -> None:
    library = library_at(pipeline.open_guest(guest[0]), tmp_path, opt)
    assert printed(host, "--library", library, guest[0]) == guest[1]
