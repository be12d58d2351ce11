"""Compiles small MIPS programs for tests and reads what binutils says about them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from mipsrec import pipeline
from tests.support.compiler_runs import run_compiler
from tests.support.paths import SAMPLES
from tests.support.tools import need

ORDERS = {"big": "mips-linux-gnu", "little": "mipsel-linux-gnu"}
QEMU = {"big": "qemu-mips", "little": "qemu-mipsel"}
BARE = ("-nostdlib", "-static", "-ffreestanding", "-mno-abicalls", "-fno-pic", "-G0")
"""Options for programs without a C library and without gp."""
_OUT = SAMPLES / "freestanding"
OUT = (*BARE, "-DSAMPLE_FREESTANDING", f"-I{_OUT}", *(str(_OUT / name) for name in ("start.S", "out.c", "memory.c")))
"""For programs that have `main` and samples/freestanding/out.h in place of a C library: they are analysed at once."""

HELLO = """
#include <stdio.h>
int counter; const char *const names[] = {"one", "two"};
int main(int count, char **words) { printf("%s %d\\n", names[count & 1], counter); return 0; }
"""

CATCHES = """
extern "C" __attribute__((noipa)) int work(int value) { if (value > 1) throw value; return value; }
struct Guard { ~Guard() { work(0); } };
int two(int x) { Guard g; try { return work(x); } catch (int e) { return e; } catch (...) { return 7; } }
int nested(int x) { try { work(1); try { work(x); } catch (long) { work(3); } } catch (char) { return 1; } return 0; }
int main(int count, char **) { return two(count) + nested(count); }
"""

FREESTANDING = """
typedef int (*operation)(int);
static int one(int x) { return x + 1; }
static int two(int x) { return x * 2; }
operation table[] = {one, two};
int counter;
__attribute__((used)) void __start(void) { for (;;) counter += table[counter & 1](counter); }
"""


def compile_guest(folder: Path, byte_order: str, source: str, *options: str, language: str = "c") -> Path:
    """Return the program that the cross compiler makes of a source text with -O2 and the options."""
    triple, suffix = ORDERS[byte_order], "gcc" if language == "c" else "g++"
    compiler = need(f"{triple}-{suffix}", f"{suffix}-{triple}")
    text = folder / ("guest.s" if language == "assembler" else "guest.c" if language == "c" else "guest.cc")
    text.write_text(source)
    program = folder / "guest"
    run_compiler([compiler, "-O2", *options, text, "-o", program], program)
    return program


def library_at(guest: pipeline.Guest, folder: Path, opt: int | str, *patterns: str, memory: str = "flat") -> Path:
    """Return a library of a guest at a level, of all its functions or those that shell patterns name."""
    path = folder / f"library-{opt}-{memory}.so"
    functions = guest.functions_like(list(patterns)) if patterns else None
    pipeline.build(guest, path, pipeline.Options(opt=opt, jobs=1, memory=memory), functions=functions)
    return path


def printed(*command: str | Path) -> str:
    """Return what a command prints that ends with status 0."""
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=True).stdout


def printed_alone(*command: str | Path, status: int = 0) -> str:
    """Return what a command prints that ends with a status, and says nothing on standard error."""
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert (result.returncode, result.stderr) == (status, ""), result
    return result.stdout


def binutils(byte_order: str, tool: str, *arguments: str | Path) -> str:
    """Return the output of a tool of binutils."""
    triple = ORDERS[byte_order]
    command = [need(f"{triple}-{tool}", f"binutils-{triple}"), *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def readelf_symbols(byte_order: str, program: Path) -> set[tuple[str, int, int, str, str]]:
    """Return (name, address, size, type, binding) of the symbols that name code or data."""
    found = set()
    for line in binutils(byte_order, "readelf", "-sW", program).splitlines():
        fields = line.split(None, 7)
        if len(fields) < 7 or not re.fullmatch(r"\d+:", fields[0]) or fields[3] not in ("FUNC", "OBJECT", "NOTYPE"):
            continue
        if fields[6] in ("UND", "ABS", "COM"):
            continue
        name = fields[7] if len(fields) == 8 else ""
        size = int(fields[2], 0)
        found.add((name.split("@")[0], int(fields[1], 16), size, fields[3], fields[4]))
    return found
