"""Halves of words that are loaded and stored as one access leave what they leave by themselves."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from compiled import ORDERS, compile_guest
from tools import need

from mipsrec import pipeline
from mipsrec.codegen.unaligned import find_pairs

SOURCE = Path(__file__).parent / "guests" / "halves.c"
OPTIONS = ("-nostdlib", "-static", "-ffreestanding", "-mno-abicalls", "-fno-pic", "-G0", "-mips32r2")
QEMU = {"big": "qemu-mips", "little": "qemu-mipsel"}
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
        count = sum(len(find_pairs(block, order == "big", 0)) for block in function.blocks.values())
        if count:
            found[function.name.removeprefix("w_")] = count
    assert found == PAIRS
    said = subprocess.run([need(QEMU[order], "qemu-user"), program], capture_output=True, timeout=60, check=True).stdout
    ways: list[list[str | Path]] = [["--engine", "interp"]]
    for opt in ("0", "light", "3"):
        library = tmp_path / f"{opt}.so"
        pipeline.build(guest, library, pipeline.Options(opt=opt, jobs=1))
        ways.append(["--library", library])
    for way in ways:
        result = subprocess.run([host, *way, program], capture_output=True, timeout=60, check=True)
        assert result.stdout == said
