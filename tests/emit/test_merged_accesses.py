"""Merged accesses: copies and fills of consecutive words, done as vectors, leave what they leave word by word."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from mipsrec import pipeline
from mipsrec.lift.passes.access_merge import find_merged
from tests.support.compiled import BARE, ORDERS, compile_guest, library_at
from tests.support.paths import GUESTS

SOURCE = GUESTS / "access_merging.c"
OPTIONS = (*BARE, "-mips32r2")
VECTORS = {
    "copy",
    "stepped",
    "in_loop",
    "eight",
    "base_last",
    "read_between",
    "own_base",
    "fill",
    "fill_five",
    "fill_base",
}


@pytest.mark.parametrize("order", ORDERS)
def test_runs(host: Path, tmp_path: Path, order: str) -> None:
    program = compile_guest(tmp_path, order, SOURCE.read_text(), *OPTIONS, f"-I{SOURCE.parent}")
    guest = pipeline.open_guest(program)
    found = set()
    for function in guest.program.functions.values():
        if any(find_merged(block, set(), 0).stores for block in function.blocks.values()):
            found.add(function.name.removeprefix("w_"))
    assert found == VECTORS | {"twice"}
    said = subprocess.run([host, "--engine", "interp", program], capture_output=True, timeout=600, check=True).stdout
    for opt in (0, 3):
        library = library_at(guest, tmp_path, opt)
        result = subprocess.run([host, "--library", library, program], capture_output=True, timeout=600, check=True)
        assert result.stdout == said
