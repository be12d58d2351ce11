"""Handlers of faults, traps and signals find memory, stack and registers as on a real machine, and may change them."""

from __future__ import annotations

from pathlib import Path

import pytest

from mipsrec import pipeline
from tests.support.compiled import BARE, ORDERS, QEMU, compile_guest, library_at, printed
from tests.support.paths import GUESTS
from tests.support.tiers import AUTO
from tests.support.tools import need

SOURCE, NESTED = GUESTS / "handlers.c", GUESTS / "nested_handler.c"


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


@pytest.mark.parametrize("order", ORDERS)
def test_ends_in_a_loop_of_its_call(host: Path, tmp_path: Path, order: str) -> None:
    """A handler on a stack above ends in the loop that ran its call: waiting recompiled code goes on all the same."""
    program = compile_guest(tmp_path, order, NESTED.read_text(), "-static", "-O2")
    said = printed(need(QEMU[order], "qemu-user"), program)
    assert said == "".join(f"round {number}: right\n" for number in range(10))
    guest, library = pipeline.open_guest(program), tmp_path / "two.so"
    pipeline.build(guest, library, functions=guest.functions_named(["touch", "handler"]))
    assert printed(host, *AUTO["auto"], "--library", library, program) == said
