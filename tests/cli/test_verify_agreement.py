"""`mipsrec verify`: lifted code that is right agrees with the interpreter.

Where a libc is linked, only the guest's own functions are lifted by default, and with MIPSREC_PROGRAMS=all everything.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from mipsrec import pipeline
from tests.cli.verifying import AGREES
from tests.support.commandline import command, environment, mipsrec
from tests.support.compiled import BARE, ORDERS, compile_guest, readelf_symbols
from tests.support.hosts import plain_host
from tests.support.paths import GUESTS, PREBUILT, SAMPLES

ALL = os.environ.get("MIPSREC_PROGRAMS") == "all"


CASES = [
    ("callbacks", "mips", ("--opt", "1", "--calls", "direct")),
    ("jumptable", "mipsel", ("--opt", "2", "--memory", "paged")),
    ("virtual", "mips", ("--opt", "0", "--memory", "thunk", "--scan", "50")),
    ("recursion", "mipsel", ("--opt", "1", "--calls", "thunked")),
]
if ALL:
    CASES += [(path.stem, path.parent.name, ()) for path in sorted(PREBUILT.glob("mips*/*.elf"))]


@pytest.mark.parametrize(("name", "target", "options"), CASES)
def test_samples(name: str, target: str, options: tuple[str, ...]) -> None:
    result = mipsrec("verify", *options, "--jobs", "1", PREBUILT / target / f"{name}.elf")
    assert result.stdout == (SAMPLES / "expected" / f"{name}.txt").read_text(), result.stderr
    assert result.returncode == 0 and result.stderr.startswith(AGREES), result.stderr


def own_options(byte_order: str, guest: Path, source: Path) -> list[str]:
    """Return the options that lift what the guest's source defines, or everything."""
    if ALL:
        return ["--opt", "0"]
    text = source.read_text()
    names = sorted(name for name, _, _, kind, _ in readelf_symbols(byte_order, guest) if kind == "FUNC")
    if source.suffix == ".cc":
        words = {f"{len(word)}{word}" for word in re.findall(r"\b([a-z_]\w*)\(", text)}
        mangled = [name for name in names if name.startswith("_Z") and not re.match("_ZN?K?S", name)]
        own = ["main", *(name for name in mangled if any(word in name for word in words))]
    else:
        own = [name for name in names if re.search(rf"^[a-z].*\b{re.escape(name)}\(.*\)\n", text, re.M)]
    return ["--opt", "1", "--function", ",".join(own)]


def test_results_in_registers(tmp_path: Path) -> None:
    """Where a callee returns elsewhere, the state has v0 and v1 again before they are compared."""
    guest = compile_guest(tmp_path, "little", (GUESTS / "results.c").read_text(), *BARE, "-march=mips32r2")
    words = command("verify", "--opt", "1", "--jobs", "1", guest)
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, env=environment())
    assert (done.returncode, done.stderr[: len(AGREES)]) == (0, AGREES), done.stderr


@pytest.mark.parametrize(
    ("name", "byte_order"), [(n, o) for n in ("signals", "mappings", "processes", "files") for o in ORDERS]
    if ALL else [("signals", "little"), ("mappings", "big")],
)  # fmt: skip
def test_programs(name: str, byte_order: str, tmp_path: Path) -> None:
    """Signals, longjmp out of handlers, faults that a handler mends, mappings, files, fork: the output is the same as
    that of the interpreter, which runtime/test_system_calls.py compares with native builds."""
    host = plain_host()
    source = GUESTS / f"{name}.c"
    guest = compile_guest(tmp_path, byte_order, source.read_text(), "-static", "-w", "-D_GNU_SOURCE", f"-I{GUESTS}")
    options = own_options(byte_order, guest, source)
    outputs = []
    for number, words in enumerate(([host, guest], command("verify", *options, "--jobs", "1", guest))):
        folder = tmp_path / str(number)
        folder.mkdir()
        done = subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600,
                              env=environment())  # fmt: skip
        outputs.append((done.returncode, done.stdout))
    assert done.stderr.startswith(AGREES), done.stderr
    assert outputs[0] == outputs[1]


NANS = ("-O2", "-O3 -march=mips2 -mfp32", "-O2 -march=mips32r2 -mfp64", "-O2 -march=mips32r2 -mnan=2008")


@pytest.mark.parametrize(
    ("byte_order", "flags", "opt"), [(order, flags, opt) for order in ORDERS for flags in NANS for opt in "02"]
    if ALL else [("little", NANS[0], "2"), ("big", NANS[1], "2"), ("big", NANS[0], "2"), ("little", NANS[2], "0")],
)  # fmt: skip
def test_nans(byte_order: str, flags: str, opt: str, tmp_path: Path) -> None:
    """Numbers among which are infinities and NaNs, in the shapes of loops that are treated in ways of their own."""
    options = (*flags.split(), "-nostdlib", "-static", "-ffreestanding", "-fno-math-errno", "-mno-abicalls", "-fno-pic")
    guest = compile_guest(tmp_path, byte_order, (GUESTS / "nans.c").read_text(), *options)
    result = mipsrec("verify", "--opt", opt, "--jobs", "1", guest)
    assert result.returncode == 0 and result.stderr.startswith(AGREES), result.stderr


def test_exceptions(tmp_path: Path) -> None:
    """C++ exceptions and longjmp through frames of lifted code: landing pads are entered from the interpreter."""
    source, byte_order = GUESTS / "everything.cc", "big"
    guest = compile_guest(tmp_path, byte_order, source.read_text(), "-static", "-std=gnu++17", language="c++")
    result = mipsrec("verify", *own_options(byte_order, guest, source), "--jobs", "1", guest)
    assert result.returncode == 7 and result.stderr.startswith(AGREES), result.stderr
    assert result.stdout.endswith("destroyed after main\n")


RETURNS_TWICE = """
#include <setjmp.h>
#include <stdio.h>
jmp_buf here;
volatile int sink;
#define FOUR(x) x x x x
__attribute__((noipa)) void go_back(int n) { FOUR(FOUR(sink += n;)) longjmp(here, n); }
void (*volatile goes_back)(int) = go_back;
__attribute__((noipa)) int twice(int a, int b, int c, int d, int e, int f)
{
    volatile int kept = a + e * f;
    if (setjmp(here))
        return kept + sink;
    FOUR(FOUR(FOUR(sink += a * c; sink ^= b - d;)))
    goes_back(kept);
    return 0;
}
int main(void) { printf("%d\\n", twice(1, 2, 3, 4, 5, 6)); return 0; }
"""


def test_one_entry_besides_the_start(tmp_path: Path) -> None:
    """A cold function that longjmp comes back to in one place: there registers are in the state, not in parameters."""
    guest = compile_guest(tmp_path, "little", RETURNS_TWICE, "-static")
    source, library = pipeline.open_guest(guest), tmp_path / "lib.so"
    options = pipeline.Options("light", calls="instrumented", jobs=1)
    chosen = source.functions_like(["twice", "go_back", "main", "*setjmp*", "*longjmp*"])
    pipeline.build(source, library, options, functions=chosen)
    result = mipsrec("verify", "--library", library, guest)
    assert (result.returncode, result.stdout) == (0, "463\n") and result.stderr.startswith(AGREES), result.stderr
