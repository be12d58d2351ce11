"""A program that a guest executes in another root gets no library: its name may be another file's there."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from mipsrec import pipeline
from tests.support.compiled import BARE, ORDERS, compile_guest, library_at
from tests.support.powers import NOBODY, need_to

EXECUTES_ITSELF = """
static long call(long number, const void *first, const void *second, long third)
{
    register long v0 __asm__("$2") = number, a0 __asm__("$4") = (long)first, a1 __asm__("$5") = (long)second;
    register long a2 __asm__("$6") = third, a3 __asm__("$7");
    __asm__ volatile("syscall" : "+r"(v0), "=r"(a3) : "r"(a0), "r"(a1), "r"(a2) : "memory");
    return a3 ? -v0 : v0;
}
static const char *const words[] = {"/guest", 0};
void __start(void)
{
    if (call(4012, "root", 0, 0) == 0 && call(4061, ".", 0, 0) == 0) /* chdir, which fails a second time, and chroot */
        call(4011, words[0], words, 0);
    else
        call(4004, (void *)1, "executed\\n", 9);
    call(4001, 0, 0, 0);
}
"""


@pytest.mark.parametrize("byte_order", ORDERS)
def test_a_library_of_another_root(host: Path, tmp_path: Path, byte_order: str) -> None:
    """The program is the same, but its library is a file of another user there."""
    need_to("chroot")
    need_to("give files away")
    program = compile_guest(tmp_path, byte_order, EXECUTES_ITSELF, *BARE)
    library = library_at(pipeline.open_guest(program), tmp_path, 0)
    there = tmp_path / "root" / library.relative_to("/")
    there.parent.mkdir(parents=True)
    shutil.copy(library, there)
    os.chown(there, NOBODY, NOBODY)
    os.link(program, tmp_path / "root/guest")
    for trust in ([], ["--trust-library"]):
        words = [host, "--stats", *trust, "--library", library, program]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stdout) == (0, "executed\n"), done
        assert "which has no recompiled code" in done.stderr
