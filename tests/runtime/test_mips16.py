"""Programs with MIPS16 code print what they print under qemu-user, in each tier and byte order."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from mipsrec import pipeline
from tests.support.commandline import mipsrec
from tests.support.compiled import ORDERS, QEMU, compile_guest, library_at, printed_alone
from tests.support.paths import GUESTS
from tests.support.tiers import AUTO, BASELINE, INTERPRETED
from tests.support.tools import need

SOURCE = GUESTS / "mips16.c"


@pytest.mark.parametrize("order", ORDERS)
def test_both_kinds_of_code(host: Path, tmp_path: Path, order: str) -> None:
    guest = compile_guest(tmp_path, order, SOURCE.read_text(), "-static")
    expected = printed_alone(need(QEMU[order], "qemu-user"), guest, status=9)
    assert len(expected.splitlines()) == 4
    for tier in (INTERPRETED, *BASELINE.values()):
        assert printed_alone(host, *tier, guest, status=9) == expected
    library = library_at(pipeline.open_guest(guest), tmp_path, 1, "long_*", "on_fault", "printf", "__vfprintf_internal")
    assert printed_alone(host, "--library", library, guest, status=9) == expected
    assert printed_alone(host, *AUTO["auto at random"], "--library", library, guest, status=9) == expected
    assert "MIPS16 code, which the interpreter runs" in mipsrec("info", guest).stdout


ASSEMBLY = """
    .set noreorder
    .text
    .globl __start
    .set mips16
    .ent __start
__start:
    li $4, 3
    {instruction}
    jal finish
    nop
    .end __start
    .set nomips16
    .align 2
    .globl finish
    .ent finish
finish:
    li $v0, 4001
    syscall
    .end finish
"""


@pytest.mark.parametrize("order", ORDERS)
def test_it_may_start_so(host: Path, tmp_path: Path, order: str) -> None:
    """The entry point is odd. What is no MIPS16 code ends by SIGILL, and is named."""
    options = ("-nostdlib", "-static", "-mno-abicalls", "-fno-pic")
    guest = compile_guest(tmp_path, order, ASSEMBLY.format(instruction="addiu $4, 4"), *options, language="assembler")
    for tier in (INTERPRETED, *BASELINE.values()):
        assert subprocess.run([host, *tier, guest]).returncode == 7
    library = library_at(pipeline.open_guest(guest), tmp_path, 1)
    assert subprocess.run([host, "--library", library, guest]).returncode == 7
    assert "16 code, which the interpreter runs: __start" in mipsrec("info", guest).stdout
    guest = compile_guest(tmp_path, order, ASSEMBLY.format(instruction=".half 0xe801"), *options, language="assembler")
    result = subprocess.run([host, guest], capture_output=True, text=True)
    assert result.returncode == -4 and "is no MIPS16 code" in result.stderr
