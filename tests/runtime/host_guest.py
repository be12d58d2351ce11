"""A small guest of many functions for tests of the host, and how its runs are judged."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.support.compiled import BARE, compile_guest, readelf_symbols
from tests.support.paths import GUESTS

GUEST = """
    .set noreorder
    .text
    .globl __start
__start:
    addiu $sp, $sp, -64
    addiu $a0, $zero, 30
    jal add
    addiu $a1, $zero, 12
    jal finish
    addu $a0, $v0, $zero
    .globl finish
finish:
    addiu $v0, $zero, 4001
    syscall
    .globl add
add:
    jr $ra
    addu $v0, $a0, $a1
    .globl fifth
fifth:
    lw $v0, 16($sp)
    lw $v1, 24($sp)
    jr $ra
    subu $a0, $v0, $v1
    .globl escape
escape:                                 # as longjmp: leaves the caller's frame, goes on at finish
    addiu $sp, $sp, 64
    lui $t0, %hi(finish)
    addiu $t0, $t0, %lo(finish)
    jr $t0
    addiu $a0, $zero, 7
    .globl load
load:
    jr $ra
    lw $v0, 0($a0)
    .globl store
store:
    sw $a1, 0($a0)
    jr $ra
    nop
    .globl jump
jump:
    jr $a0
    nop
    .globl overflow
overflow:
    jr $ra
    break 6
    .globl break7
break7:
    break 7
    .globl break77
break77:
    .word 0x000001cd                    # the code of `break 7` where the manual has it
    .globl break9
break9:
    break 9
    .globl trap
trap:
    teq $zero, $zero, 9
    .globl trap7
trap7:
    teq $zero, $zero, 7
    .globl reserved
reserved:
    .word 0x70000007
    .data
    .globl cell
    .align 12
cell:
    .space 4094
    .globl across
across:                                 # its last two bytes are in another page
    .word 0x11223344
    .space 4096
"""


class Guest:
    """The guest above for one byte order: its path and its symbols' addresses."""

    def __init__(self, folder: Path, byte_order: str) -> None:
        source = GUEST.replace(".word 0x11223344", ".byte 0x11, 0x22, 0x33, 0x44")
        self.path = compile_guest(folder, byte_order, source, *BARE, language="assembler")
        self.at = {name: value for name, value, *_ in readelf_symbols(byte_order, self.path)}
        self.byte_order = byte_order


def run(host: Path, *words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([host, *map(str, words)], capture_output=True, text=True, timeout=600)


def assert_refused(result: subprocess.CompletedProcess[str], *words: str) -> None:
    """Exit status 1, one line on standard error, and the words in it."""
    assert result.returncode == 1, result
    assert result.stderr.count("\n") == 1 and result.stderr.startswith("mipsrec-host: "), result.stderr
    for word in words:
        assert word in result.stderr


FAULTS = """\
load: signal 11 code 1, address right
store: signal 11 code 1, address right
kernel half: signal 10 code 128, address right
fetch: signal 11 code 1, address right
odd fetch: signal 10 code 128, address right
trap: signal 5 code 128, address right
reserved: signal 4 code 128, address right
sent: signal 11 code -6, address none
sent to all: signal 8 code 0, address none
handled 3009
poke 78, page 77, handled 3010, signal 11 code 2, address right
recursion overflows
recursion overflows
"""


def compiled_guest(folder: Path, byte_order: str, name: str) -> Path:
    source = (GUESTS / f"{name}.c").read_text()
    return compile_guest(folder, byte_order, source, "-static")
