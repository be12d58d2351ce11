"""Control that comes to a function, or to a jump, otherwise than by its beginning."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.commandline import mipsrec
from tests.support.compiled import BARE, ORDERS, compile_guest
from tests.support.hosts import plain_host

INTO_THE_NEXT = """
    .set noreorder
    .text
    .globl __start
    .type __start, @function
__start:
    addu $t0, $ra, $zero
    addiu $a0, $zero, 1
    addiu $t9, $zero, 1
    jal change
    addiu $a1, $zero, 1
    .globl next                 # which the call returns to
    .type next, @function
next:
    addu $v0, $a0, $t9
    addu $ra, $t0, $zero
    jr $ra
    addu $v0, $v0, $a1
    .globl change
    .type change, @function
change:
    addiu $a0, $zero, 40
    jr $ra
    addiu $t9, $zero, 1
"""


@pytest.mark.parametrize("order", ORDERS)
def test_call_at_the_end_of_a_function(order: str, tmp_path: Path) -> None:
    """What runs on into the next function takes along what the call left there, not what the function had before."""
    options = (*BARE, "-mips2")
    guest = compile_guest(tmp_path, order, INTO_THE_NEXT, *options, language="assembler")
    library = tmp_path / "lib.so"
    assert mipsrec("build", guest, "-o", library, "--opt", "0").returncode == 0
    at = mipsrec("disasm", guest, "--function", "__start").stdout.split()[0]
    words = [plain_host(), "--library", library, "--call", at, guest]
    output = subprocess.run(words, capture_output=True, text=True).stdout
    assert output.splitlines()[0] == "v0 = 0x0000002a (42)"


INTO_THE_SWITCH = """
    .set noreorder
    .text
    .globl __start
    .ent __start
__start:
    lui $t0, %hi(table)
    addiu $t0, $t0, %lo(table)
    bne $a1, $zero, other
    sltiu $t1, $a0, 3
    beq $t1, $zero, out
    sll $t2, $a0, 2
    addu $t2, $t0, $t2
    lw $t3, 0($t2)
middle:                         # where others come with a target of their own
    nop
    jr $t3
    nop
out:
    jr $ra
    addiu $v0, $zero, 99
zero:
    jr $ra
    addiu $v0, $zero, 40
one:
    jr $ra
    addiu $v0, $zero, 41
two:
    jr $ra
    addiu $v0, $zero, 42
other:
    lui $t3, %hi(one)
    addiu $t3, $t3, %lo(one)
    lui $t4, %hi(middle)
    addiu $t4, $t4, %lo(middle)
    addu $t5, $t4, $a0
    jr $t5
    nop
    .end __start
    .rdata
table: .word zero, one, two
"""


@pytest.mark.parametrize("order", ORDERS)
def test_jump_to_between_the_load_of_a_table_and_its_jump(order: str, tmp_path: Path) -> None:
    """The block of the jump does not know the entry's address; the target is found all the same."""
    options = (*BARE, "-mips2")
    guest = compile_guest(tmp_path, order, INTO_THE_SWITCH, *options, language="assembler")
    library = tmp_path / "lib.so"
    result = mipsrec("build", guest, "-o", library, "--opt", "0")
    assert result.returncode == 0, result.stderr
    at = mipsrec("disasm", guest, "--function", "__start").stdout.split()[0]
    for index, way, value in ((0, 0, 40), (2, 0, 42), (3, 0, 99), (0, 1, 41)):
        words = [plain_host(), "--library", library, "--call", at, str(index), str(way), guest]
        output = subprocess.run(words, capture_output=True, text=True).stdout
        assert output.splitlines()[0].endswith(f"({value})"), (index, way)
