"""Dynamically linked guests: against the cross compilers' own C library, or tiny ones without any.

Enters: a folder and a byte order. Leaves: programs, libraries, and folders that stand for a guest's /.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.support.compiled import ORDERS
from tests.support.compiler_runs import run_compiler
from tests.support.tools import need

SUM = """
#include <stdio.h>
int fill(int);
int main(void) { printf("%d\\n", fill(100000)); return 0; }
"""
"""What it prints is the same on every machine."""
FILL = """
int table[10];
int fill(int n)
{
    unsigned s = 0;
    for (int i = 0; i < n; i++) {
        table[i % 10] += i;
        s += (unsigned)(table[i % 10] ^ i);
    }
    return (int)s;
}
"""
SUM_PRINTS = "147304632\n"


def compiler(byte_order: str) -> str:
    triple = ORDERS[byte_order]
    return need(f"{triple}-gcc", f"gcc-{triple}")


def cross_libraries(byte_order: str) -> Path:
    """Return the folder with the cross compiler's ld.so.1 and libc.so.6."""
    folder = Path(f"/usr/{ORDERS[byte_order]}/lib")
    need(str(folder / "ld.so.1"), f"libc6-{'mips' if byte_order == 'big' else 'mipsel'}-cross")
    return folder


def compile_to(output: Path, byte_order: str, source: str, *options: str | Path) -> Path:
    """Return what the cross compiler makes of a source text."""
    output.parent.mkdir(parents=True, exist_ok=True)
    text = output.with_name(output.name + ".c")
    text.write_text(source)
    run_compiler([compiler(byte_order), "-O2", text, *options, "-o", output], output)
    text.unlink()
    return output


def library(output: Path, byte_order: str, *options: str | Path, source: str = "int one(void) { return 1; }") -> Path:
    """Return a library without the C library; its soname is its file's name."""
    extra = ["-shared", "-fPIC", "-nostdlib", f"-Wl,-soname,{output.name}", "-Wl,--no-as-needed"]
    return compile_to(output, byte_order, source, *extra, *options)


def program(output: Path, byte_order: str, *options: str | Path, interpreter: str = "/lib/ld.so.1") -> Path:
    """Return a dynamic program without the C library, for tests that do not run it."""
    extra = ["-nostdlib", f"-Wl,--dynamic-linker={interpreter}", "-Wl,--no-as-needed"]
    source = "void __start(void) { for (;;); }"
    return compile_to(output, byte_order, source, *extra, "-Wl,--unresolved-symbols=ignore-all", *options)


def summing_guest(folder: Path, byte_order: str) -> tuple[Path, Path]:
    """Return a program that prints SUM_PRINTS and its library libfill.so, in a folder with ld.so.1 and libc.so.6."""
    folder.mkdir(parents=True, exist_ok=True)
    libraries = cross_libraries(byte_order)
    for name in ("ld.so.1", "libc.so.6"):
        shutil.copy(libraries / name, folder / name)
    fill = library(folder / "libfill.so", byte_order, source=FILL)
    guest = compile_to(
        folder / "sum", byte_order, SUM, fill, f"-Wl,-rpath,{folder}", f"-Wl,--dynamic-linker={folder}/ld.so.1"
    )
    return guest, fill


def summing_guests(factory: pytest.TempPathFactory) -> Callable[[str], tuple[Path, Path]]:
    """Return the function that makes that program and its library of a byte order, once."""
    return cache(lambda byte_order: summing_guest(factory.mktemp("guest"), byte_order))


def checked(result: subprocess.CompletedProcess[str]) -> str:
    """Return what a run of that program said on standard error; it must have done what it does."""
    assert (result.returncode, result.stdout) == (0, SUM_PRINTS), result.stderr
    assert "internal error" not in result.stderr
    return result.stderr


def recompiled_files(statistics: str) -> list[str]:
    """Return the files whose code was bound in a run, as --stats names them (mr_modules_report)."""
    return re.findall(r"^mipsrec-host: recompiled (.*?), \d+ entries", statistics, re.MULTILINE)


def used(statistics: str) -> set[str]:
    """Return the names of these files, without their folders."""
    return {Path(path).name for path in recompiled_files(statistics)}
