"""Calls of the host on ways that are seldom taken cost a function nothing where it does not go that way."""

from __future__ import annotations

import subprocess

import pytest

from tests.lift.plans import open_guest
from tests.support.compiled import compile_guest, library_at
from tests.support.tools import need

SOURCE = """
#define APART __attribute__((noinline))
APART unsigned divided(unsigned a, unsigned b) { return a / b; } /* traps if b is 0 */
APART unsigned counted(unsigned a) { while (a & 3) a = a * 5 + a / 7; return a; } /* polls */
APART int called(int a) { /* makes a system call */
    register int number __asm__("$2") = 4020;
    if (a) return a + 1;
    __asm__ volatile ("syscall" : "+r"(number) :: "memory", "$3", "$7", "$8", "$9", "$10", "$11", "$12", "$13", "$14",
                      "$15", "$24", "$25", "hi", "lo");
    return number;
}
APART unsigned modes(int a) { return a ? __builtin_mips_get_fcsr() : 1; }
APART unsigned thread(unsigned a) { if (a) return a; __asm__("rdhwr %0, $2" : "=r"(a)); return a; }
int main(int n, char **w) {
    (void)w;
    return divided(n, n) + counted(n) + (called(0) < 1) + (modes(0) != 1) + (thread(1) != 1) - 1;
}
"""
NAMES = ("divided", "counted", "called", "modes", "thread")


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("doors")
    guest = compile_guest(folder, "little", SOURCE, "-static", "-O2", "-march=mips32r2")
    library = library_at(open_guest(guest), folder, 2, *NAMES)
    return subprocess.run([need("objdump"), "-d", library], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("name", NAMES)
def test_no_vector_register_is_saved(code: str, name: str) -> None:
    _, found, rest = code.partition(f"<{name}.")
    assert found
    body, _, _ = rest.partition("\n\n")
    assert "<mr_" not in body
    assert "xmm8" not in body and "xmm15" not in body


def test_doors_are_called(code: str) -> None:
    for door in ("exception", "poll", "syscall", "cfc1", "rdhwr"):
        assert f"<{door}>" in code
