"""Unaligned words in a compiled program: both halves done at once leave what they leave one by one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from mipsrec import pipeline
from mipsrec.lift.passes.unaligned import unaligned_words
from tests.support.compiled import BARE, ORDERS, QEMU, compile_guest, library_at
from tests.support.paths import GUESTS
from tests.support.tools import need

SOURCE = GUESTS / "unaligned.c"
OPTIONS = (*BARE, "-mips32r2")
PAIRS = {
    "next": 1, "right_first": 1, "apart": 1, "crossed": 2, "in_slot": 1, "in_slot_of_jump": 1, "dead": 1, "again": 1,
    "put_next": 1,
}  # fmt: skip


@pytest.mark.parametrize("order", ORDERS)
def test_pairs(host: Path, tmp_path: Path, order: str) -> None:
    program = compile_guest(tmp_path, order, SOURCE.read_text(), *OPTIONS, f"-I{SOURCE.parent}")
    guest = pipeline.open_guest(program)
    found: dict[str, int] = {}
    for function in guest.program.functions.values():
        count = sum(len(unaligned_words(block, order == "big", 0)) for block in function.blocks.values())
        if count:
            found[function.name.removeprefix("w_")] = count
    assert found == PAIRS
    words = [need(QEMU[order], "qemu-user"), program]
    said = subprocess.run(words, capture_output=True, timeout=600, check=True).stdout
    libraries = [library_at(guest, tmp_path, opt) for opt in ("0", "light", "3")]
    for way in (["--engine", "interp"], *(["--library", library] for library in libraries)):
        result = subprocess.run([host, *way, program], capture_output=True, timeout=600, check=True)
        assert result.stdout == said
