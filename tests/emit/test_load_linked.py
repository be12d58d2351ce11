"""`sc` writes only where `ll` has read: and what follows does not need it to have been tried."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from mipsrec import pipeline
from tests.support.compiled import BARE, ORDERS, QEMU, compile_guest, library_at
from tests.support.tools import need

ADDS_AT_A_WAY_IN = """
    .text; .set noreorder; .set mips32r2
    .globl __start; .ent __start
__start:
    lui   $a0, %hi(words)
    jal   increment
    addiu $a0, $a0, %lo(words)
    move  $a0, $v0
    li    $v0, 4001
    syscall
    .end __start
    .globl increment; .ent increment
increment:
    ll    $t0, 0($a0)
    bnez  $t0, 1f
    nop
    b     2f
    nop
1:  addiu $t0, $t0, 1
2:  sc    $t0, 0($a0)        # begins a block
    lw    $v0, 4($a0)
    lw    $v1, 0($a0)
    jr    $ra
    addu  $v0, $v0, $v1
    .end increment
    .data
words: .word 3, 4
"""


@pytest.mark.parametrize("order", ORDERS)
def test_block_of_sc(host: Path, tmp_path: Path, order: str) -> None:
    program = compile_guest(tmp_path, order, ADDS_AT_A_WAY_IN, *BARE, language="assembler")
    library = library_at(pipeline.open_guest(program), tmp_path, 0)
    for way in ([need(QEMU[order], "qemu-user")], [host, "--library", library]):
        assert subprocess.run([*way, program], timeout=600, check=False).returncode == 4 + 4
