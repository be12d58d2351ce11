"""Compiler processes that die, and a program that tells whether what was built without a function is right."""

from __future__ import annotations

import faulthandler
import os

import pytest

from mipsrec.native import codegen, library

SOURCE = """
#define OWN __attribute__((noipa))
static volatile int one = 1;
OWN int bottom(int x) { int sum = 0; for (int i = 0; i < x * one; i++) sum += i; return sum; }
OWN int fatal(int x) { int sum = 0; for (int i = 0; i < x; i++) sum = 3 * sum + bottom(i); return sum; }
OWN int caller(int x) { return fatal(x) + one; }
OWN int other(int x) { return bottom(x) - caller(x - 1); }
OWN int (*volatile pointer)(int) = fatal;
OWN int last(int x) { return pointer(x) * 2; }
void __start(void)
{
    int wrong = (caller(5) != 25) | (other(6) != -10) << 1 | (last(5) != 48) << 2;
    register int v0 __asm__("$2") = 4001;
    register int status __asm__("$4") = wrong;
    __asm__ volatile("syscall" : : "r"(v0), "r"(status));
}
"""
"""It ends with 0. `fatal` is called, called by pointer, and calls."""


def abort(words: str = "") -> None:
    """Die as LLVM does, perhaps with words."""
    faulthandler.disable()  # it reports what is meant
    os.write(2, words.encode())
    os.abort()


def die_of(monkeypatch: pytest.MonkeyPatch, starts: set[int], words: str = "") -> None:
    """Have the compiler process abort that has the code of any of these functions; workers inherit this."""
    whole = codegen.compile_texts

    def compile_texts(texts: list[tuple[str, str]], *rest: object) -> bytes:
        lines = [line for _, text in texts for line in text.splitlines() if line.startswith("define")]
        if any(f".{start:08x}" in line.partition("(")[0] for line in lines for start in starts):
            abort(words)
        return whole(texts, *rest)  # type: ignore[arg-type]

    for module in (codegen, library):
        monkeypatch.setattr(module, "compile_texts", compile_texts)
