"""Silent stores in a compiled program: a store of what a place holds faults where its page is read-only."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from mipsrec import pipeline
from tests.support.compiled import ORDERS, QEMU, compile_guest, library_at
from tests.support.paths import GUESTS
from tests.support.sampling import shared_by_orders
from tests.support.tools import need

pytestmark = pytest.mark.sampled

SOURCE = GUESTS / "silent_stores.c"


@pytest.mark.parametrize("order", ORDERS)
def test_silent_stores(host: Path, tmp_path: Path, order: str) -> None:
    program = compile_guest(tmp_path, order, SOURCE.read_text(), "-static", "-mips32r2")
    words = [need(QEMU[order], "qemu-user"), program]
    said = subprocess.run(words, capture_output=True, timeout=600, check=True).stdout
    lines = said.decode().splitlines()
    assert lines and all(line.endswith(": signal 11, as it was") for line in lines)
    guest = pipeline.open_guest(program)
    for opt in shared_by_orders((0, "light", 3), order):
        library = library_at(guest, tmp_path, opt, "w_*")
        result = subprocess.run([host, "--library", library, program], capture_output=True, timeout=600, check=True)
        assert result.stdout == said
