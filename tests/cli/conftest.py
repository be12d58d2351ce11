"""What tests of several commands need: a small guest, and `mipsrec build` with a cache of the test's own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mipsrec.cache.folders import own_folder
from tests.cli.others import open_to_others
from tests.cli.storing import LEVEL, OTHER, Build
from tests.support.commandline import mipsrec
from tests.support.compiled import BARE, ORDERS, compile_guest

GUEST = """
    .set noreorder
    .text
    .globl __start
__start:                        # copies its input, prints its arguments, ends with status 7, or by a signal
    lw $s0, 0($sp)
    addiu $s1, $sp, 8
    addiu $s0, $s0, -1
next_word:
    beq $s0, $zero, copy
    lw $a1, 0($s1)
    lbu $t0, 0($a1)
    addiu $t1, $zero, '!'
    beq $t0, $t1, fault
    addiu $s0, $s0, -1
    jal length
    addu $a0, $a1, $zero
    addu $a2, $v0, $zero
    jal write
    nop
    lui $a1, %hi(newline)
    addiu $a1, $a1, %lo(newline)
    jal write
    addiu $a2, $zero, 1
    b next_word
    addiu $s1, $s1, 4
copy:
    lui $a1, %hi(buffer)
    addiu $a1, $a1, %lo(buffer)
    addu $a0, $zero, $zero
    addiu $a2, $zero, 64
    addiu $v0, $zero, 4003
    syscall
    blez $v0, done
    addu $a2, $v0, $zero
    jal write
    nop
    b copy
    nop
done:
    addiu $a0, $zero, 7
    addiu $v0, $zero, 4001
    syscall
fault:
    sw $zero, 0($zero)
    .globl write
write:
    addiu $a0, $zero, 1
    addiu $v0, $zero, 4004
    syscall
    jr $ra
    nop
    .globl length
    .type length, @function
length:
    addu $v0, $zero, $zero
1:  addu $t0, $a0, $v0
    lbu $t0, 0($t0)
    bnel $t0, $zero, 1b
    addiu $v0, $v0, 1
    jr $ra
    nop
    .globl mix
    .type mix, @function
mix:                            # v0 = a0 - a1, v1 = a2 ^ a3
    subu $v0, $a0, $a1
    jr $ra
    xor $v1, $a2, $a3
    .data
newline: .ascii "\\n"
buffer: .space 64
"""


@pytest.fixture(scope="module", params=ORDERS)
def guest(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that copies its input, prints its arguments, and ends with status 7, or by a signal."""
    options = (*BARE, "-mips2")
    folder = tmp_path_factory.mktemp("guest")
    return compile_guest(folder, request.param, GUEST, *options, language="assembler")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A folder for a cache; nothing is in it."""
    return tmp_path / "cache"


@pytest.fixture
def build(cache: Path) -> Build:
    """`mipsrec build` with that cache, at a level that takes little time."""

    def run(*words: object, **changes: str | None) -> subprocess.CompletedProcess[str]:
        return mipsrec("build", *LEVEL, *words, **{"MIPSREC_CACHE": str(cache), **changes})

    return run


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that others may enter, in a sticky one that all may write."""
    with open_to_others() as folder:
        yield folder


@pytest.fixture
def open_folder(shared: Path) -> Path:
    """A folder that everyone can write: as good as one of another user."""
    folder = shared / "open"
    folder.mkdir()
    folder.chmod(0o777)
    return folder


@pytest.fixture
def mine(shared: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache whose places lead elsewhere by links, and a folder there that is none of the cache's."""
    folder = shared / "cache"
    monkeypatch.setenv("MIPSREC_CACHE", str(folder))
    own_folder()
    for place in ("ab/cd", f"{OTHER}/v/ab/x.so", "x.so", f"{OTHER}/mipsrec-host", "1-2", "v/ab/x.so", "ab/x.so"):
        path = shared / "elsewhere" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("precious")
        os.utime(path, (1, 1))
    return folder
