"""Symbols of recompiled code carry the guest's names, whatever these are, and its lines are guest pcs."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from mipsrec.elf import load_elf
from tests.support.commandline import mipsrec
from tests.support.compiled import BARE, ORDERS, binutils, compile_guest, readelf_symbols
from tests.support.dynamic_guest import dynamic_guest
from tests.support.hosts import plain_host
from tests.support.tools import need

pytestmark = pytest.mark.sampled

NAMES = (
    "memset", "llvm.memcpy.p0.p0.i32", "strlen", "1st", "two words", "a-b@c", "_ZN5space4nameEv", "sqrt", "n" * 300,
)  # fmt: skip
"""Names of C's library, LLVM's own, and such as need quotes somewhere."""

CALLS = "".join(f"    jal {i}{i}f\n    nop\n    addu $s0, $s0, $v0\n" for i in range(1, len(NAMES) + 1))
FUNCTIONS = "".join(
    f'    .type "{name}", @function\n"{name}":\n{i}{i}:  addu $v0, $zero, {1 << (i - 1)}\n    jr $ra\n    nop\n'
    for i, name in enumerate(NAMES, 1)
)
ODD = f"""
    .text
    .set noreorder
    .globl __start
    .type __start, @function
__start:
    addu $s0, $zero, $zero
{CALLS}
    sltiu $a0, $s0, {(1 << len(NAMES)) - 1}
    addiu $v0, $zero, 4001
    syscall
{FUNCTIONS}
"""


def symbols_of(library: Path) -> set[str]:
    """Return the names of the functions in a library."""
    listing = subprocess.run([need("nm", "binutils"), library], check=True, capture_output=True, text=True).stdout
    return {line.split(" ", 2)[2] for line in listing.splitlines() if line.split(" ", 2)[1] == "t"}


@pytest.mark.parametrize("order", ORDERS)
def test_names(order: str, tmp_path: Path) -> None:
    """All names become symbols of their own, and none is taken for the function that LLVM or libm knows."""
    options = (*BARE, "-mips2")
    guest = compile_guest(tmp_path, order, ODD, *options, language="assembler")
    library = tmp_path / "guest.so"
    assert mipsrec("build", guest, "-o", library).returncode == 0
    assert mipsrec("run", "--library", library, guest).returncode == 0
    plain = ("memset", "_llvm.memcpy.p0.p0.i32", "strlen", "_1st", "two_words", "a_b_c", NAMES[6], "sqrt", "n" * 200)
    found = symbols_of(library)
    for name in plain:
        assert len([symbol for symbol in found if re.fullmatch(re.escape(name) + r"\.[0-9a-f]{8}", symbol)]) == 1, found
    binutils(order, "strip", guest)
    assert mipsrec("build", guest, "-o", library).returncode == 0
    assert mipsrec("run", "--library", library, guest).returncode == 0
    assert len([symbol for symbol in symbols_of(library) if re.fullmatch(r"fn_[0-9a-f]{8}", symbol)]) == len(NAMES) + 1


RECURSIVE = """
__attribute__((noipa)) static unsigned fibonacci(unsigned n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
void __start(void)
{
    register unsigned long status __asm__("$4") = fibonacci(10) != 55;
    register unsigned long number __asm__("$2") = 4001;
    __asm__ volatile("syscall" : : "r"(status), "r"(number));
}
"""


@pytest.fixture(scope="module")
def recursive(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A program with a recursive function, and its library."""
    folder = tmp_path_factory.mktemp("recursive")
    guest = compile_guest(folder, "little", RECURSIVE, "-nostdlib", "-static", "-mno-abicalls", "-fno-pic", "-G0")
    library = folder / "guest.so"
    assert mipsrec("build", guest, "-o", library).returncode == 0
    return guest, library


def test_lines(recursive: tuple[Path, Path]) -> None:
    """Debuggers and profilers find guest pcs of the function at its host code."""
    guest, library = recursive
    (function,) = (symbol for symbol in readelf_symbols("little", guest) if symbol[0] == "fibonacci")
    listing = subprocess.run([need("nm", "binutils"), "-S", library], check=True, capture_output=True, text=True).stdout
    (start, size) = re.findall(rf"^(\w+) (\w+) t fibonacci\.{function[1]:08x}$", listing, re.MULTILINE)[0]
    addresses = [f"{int(start, 16) + offset:x}" for offset in range(int(size, 16))]
    command = [need("addr2line", "binutils"), "-e", library, *addresses]
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    assert re.fullmatch(rf"guest:{function[1]}( .*)?", found[0]), "what sets up the host's frame is of no instruction"
    lines = {int(line.split(":")[1].split()[0]) for line in found if re.fullmatch(r"guest:\d+( .*)?", line)} - {0}
    assert lines and lines <= set(range(function[1], function[1] + function[2], 4))


# ---- gdb ----


def gdb(commands: list[str], *words: object) -> str:
    """Return what gdb prints of the commands, with breakpoints in libraries that are loaded later."""
    options = [part for line in ("set breakpoint pending on", *commands) for part in ("-ex", line)]
    command = [need("gdb"), "-nx", "-batch", *options, "--args", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL)
    return done.stdout + done.stderr


def line_of_stop(symbols: set[tuple[str, int, int, str, str]], function: str, seen: str, source: str = "guest") -> int:
    """Return the line where gdb has stopped, which is of the function: behind what sets up the frame."""
    (found,) = (symbol for symbol in symbols if symbol[0] == function)
    stops = re.findall(rf"^Breakpoint 1(?:\.\d)?, .*{function}.* at {source}:(\d+)$", seen, re.MULTILINE)
    assert stops and all(found[1] <= int(line) < found[1] + found[2] for line in stops), seen
    return int(stops[0])


def test_gdb(recursive: tuple[Path, Path]) -> None:
    """Breakpoints at functions and at guest pcs, and the functions that called, as in the README."""
    guest, library = recursive
    symbols = readelf_symbols("little", guest)
    (start,) = (symbol[1] for symbol in symbols if symbol[0] == "fibonacci")
    words = (plain_host(), "--library", library, guest)
    seen = gdb([f"break 'fibonacci.{start:08x}'", "run", "continue 3", "backtrace 3"], *words)
    line = line_of_stop(symbols, "fibonacci", seen)
    assert re.search(r"^#0 +fibonacci.* at guest:\d+$", seen, re.MULTILINE), seen
    assert re.search(r"^#1 .* in fibonacci.* at guest:\d+$", seen, re.MULTILINE), seen
    seen = gdb([f"break guest:{line}", "run", "info sharedlibrary"], *words)
    assert line_of_stop(symbols, "fibonacci", seen) == line
    assert re.search(rf" Yes +{re.escape(str(library))}$", seen, re.MULTILINE), seen


@pytest.mark.parametrize("order", ORDERS)
def test_gdb_on_libraries(order: str, tmp_path: Path) -> None:
    """Of a dynamic program: also in a library that it opens at run time, and lines tell whose they are."""
    guest = dynamic_guest(order, tmp_path)
    symbols = {
        (name, value + load_elf(path).bias, size, kind, binding)
        for path in (guest.one, guest.plug)
        for name, value, size, kind, binding in readelf_symbols(order, path)
    }
    start = {name: value for name, value, *_ in symbols}
    words = (plain_host(), *guest.stored(), guest.program)
    seen = gdb([f"break 'plug_in.{start['plug_in']:08x}'", "run", "info symbol $pc"], *words, "plug", guest.plug)
    line_of_stop(symbols, "plug_in", seen, "libplug.so/guest")
    assert re.search(r"^plug_in.* in section \.text of .*\.so$", seen, re.MULTILINE), seen
    seen = gdb([f"break 'one_mix.{start['one_mix']:08x}'", "run"], *words, "walk")
    line = line_of_stop(symbols, "one_mix", seen, "libone.so/guest")
    seen = gdb([f"break libone.so/guest:{line}", "run"], *words, "walk")
    assert line_of_stop(symbols, "one_mix", seen, "libone.so/guest") == line
