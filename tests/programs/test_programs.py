"""Whole programs, recompiled and interpreted, print what native builds of their sources print.

By default a few rows of the matrix of compilers, options, memory models and calling models; all of them with
MIPSREC_PROGRAMS=all, which `make conformance` sets.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from mipsrec import pipeline
from tests.support.compiled import ORDERS
from tests.support.compiler_runs import run_compiler
from tests.support.musl import compile_with_musl
from tests.support.paths import GUESTS
from tests.support.samples import load_samples
from tests.support.tools import need

ALL = os.environ.get("MIPSREC_PROGRAMS") == "all"
TIMEOUT = 600
samples = load_samples()


@dataclass(frozen=True)
class Way:
    """How to run a guest; without a memory model the interpreter does."""

    memory: str = ""
    calls: str = "direct"
    opt: str = "2"
    only: tuple[str, ...] = ()
    """Patterns of the functions that are recompiled; none: all."""

    def __str__(self) -> str:
        return f"{self.memory}-{self.calls}-{self.opt}" if self.memory else "interp"

    def run(self, host: Path, guest: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
        options = []
        if self.memory:
            library = folder / "library.so"
            chosen = pipeline.Options(opt=self.opt, memory=self.memory, calls=self.calls, jobs=0 if ALL else 1)
            program = pipeline.open_guest(guest)
            functions = program.functions_like(list(self.only)) if self.only else None
            pipeline.build(program, library, chosen, functions=functions)
            options = ["--library", str(library)]
        command = [host, *options, guest, *words]
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT, cwd=folder)


INTERPRETED = Way()
WAYS = [Way(memory, calls) for memory in ("flat", "paged", "thunk") for calls in ("direct", "thunked")]


def assert_output(result: subprocess.CompletedProcess[bytes], expected: str, status: int = 0) -> None:
    assert (result.returncode, result.stderr) == (status, b""), result.stderr.decode(errors="replace")[-2000:]
    assert result.stdout.decode() == expected


# ---- C++ with everything ----

CXX = GUESTS / "everything.cc"
CXX_FLAGS = ("-std=gnu++17", "-Wall", "-Wextra")
CXX_STATUS = 7
CXX_WAYS = [
    *(Way("flat", opt=opt) for opt in ("3", "light", "0", "2", "1")),
    Way("flat", "thunked"),
    Way("paged", opt="light"),
]
"""In the whole matrix each program is recompiled in one of these ways, besides the default one."""


@pytest.fixture(scope="session")
def cxx_output(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What a native build prints."""
    program = tmp_path_factory.mktemp("native") / "everything"
    run_compiler([need("g++"), *CXX_FLAGS, "-O2", CXX, "-o", program], program)
    result = subprocess.run([program], capture_output=True, text=True)
    assert result.returncode == CXX_STATUS and result.stdout.endswith("destroyed after main\n")
    return result.stdout


CXX_SAMPLE = ("main", "_Z[0-9]*", "_ZN[0-9]*", "_ZSt*", "_Unwind*", "__cxa*", "__gxx*")
"""Functions that one case recompiles: the program's own, and what raises and catches exceptions."""


def _cxx_cases() -> list[tuple[str, str, bool, Way]]:
    rows = [(order, opt, strip) for order in ORDERS for opt in ("-O0", "-O2", "-O3") for strip in (False, True)]
    if not ALL:
        few = [("big", "-O0", True), ("little", "-O2", False)]
        return [*((*row, INTERPRETED) for row in few), (*few[-1], Way("flat", opt="0", only=CXX_SAMPLE))]
    cases = [(*row, INTERPRETED) for row in rows]
    cases += [(*row, Way("flat", opt="auto")) for row in rows]
    return cases + [(*row, way) for row, way in zip(rows, itertools.cycle(CXX_WAYS))]


def _cxx_object(order: str, opt: str, folder: Path) -> Path:
    output = folder / "everything.o"
    run_compiler([_cxx_compiler(order), *CXX_FLAGS, opt, "-c", CXX, "-o", output], output)
    return output


def _cxx_compiler(order: str) -> str:
    return need(f"{ORDERS[order]}-g++", f"g++-{ORDERS[order]}")


@pytest.mark.parametrize("order, opt, strip, way", _cxx_cases(), ids=str)
def test_cxx(host: Path, cxx_output: str, tmp_path: Path, order: str, opt: str, strip: bool, way: Way) -> None:
    """Exceptions across frames, iostream, map, string, setjmp and longjmp, qsort callbacks: static glibc, libstdc++."""
    guest = tmp_path / "everything"
    words = ["-static", *(["-s"] if strip else []), _cxx_object(order, opt, tmp_path), "-o", guest]
    subprocess.run([_cxx_compiler(order), *words], check=True)
    assert_output(way.run(host, guest, tmp_path), cxx_output, CXX_STATUS)


# ---- samples: compilers' options ----

FLAGS = (
    "-O0", "-O1", "-O2", "-O3", "-Os", "-O2 -march=mips1 -mfp32", "-O2 -march=mips2", "-O2 -march=mips32r2",
    "-O2 -fno-pic -mno-abicalls", "-O3 -fno-pic -mno-abicalls -march=mips2", "-O2 -march=mips32r2 -mfp64",
)  # fmt: skip
FEW_LEVELS = ("0", "2", "light", "0")
FREESTANDING = [name for name, sample in samples.load_samples().items() if sample.kind == "freestanding"]


def _sample_cases() -> list[tuple[str, str, str, Way]]:
    every = [(target, flags) for flags in FLAGS for target in ("mips", "mipsel")]
    ways = [INTERPRETED, *WAYS, *(Way("flat", opt=opt) for opt in ("light", "0", "1", "3", "auto"))]
    if ALL:
        return [(name, *row, way) for name in FREESTANDING for row in every for way in (INTERPRETED, Way("flat"))] + [
            (name, target, "-O2", way) for name in FREESTANDING for target in ("mips", "mipsel") for way in ways
        ]
    return [
        (name, *every[(5 * number + 3) % len(every)], replace(WAYS[number % len(WAYS)], opt=FEW_LEVELS[number % 4]))
        for number, name in enumerate(FREESTANDING)
    ]


@pytest.mark.parametrize("name, target, flags, way", _sample_cases(), ids=str)
def test_samples(host: Path, tmp_path: Path, name: str, target: str, flags: str, way: Way) -> None:
    """Freestanding samples, of gcc; in the short matrix each is recompiled in one way, and interpreted beside."""
    compiler = samples.COMPILERS[target]
    need(compiler, samples.PACKAGES[compiler])
    guest = samples.build_guest(name, target, tuple(flags.split()), tmp_path)
    for each in [way] if ALL else [way, INTERPRETED]:
        assert_output(each.run(host, guest, tmp_path), samples.expected_output(name))


def test_the_short_matrix_has_every_kind() -> None:
    """Each set of options, each byte order and each way to recompile."""
    cases = _sample_cases()
    assert {flags for _, _, flags, _ in cases} == {*FLAGS}
    assert {target for _, target, _, _ in cases} == {"mips", "mipsel"}
    assert {*WAYS} <= {replace(way, opt="2") for *_, way in cases} and {way.opt for *_, way in cases} == {*FEW_LEVELS}
    assert {name for name, *_ in cases} == {*FREESTANDING}


CLANG = ["jumptable", "structs", "virtual", "replay_vm", "barriers", "format"]


@pytest.mark.parametrize("target", ["mips", "mipsel"])
@pytest.mark.parametrize("name", CLANG if ALL else CLANG[:4])
def test_clang(host: Path, tmp_path: Path, name: str, target: str) -> None:
    """Freestanding samples, of clang: other idioms."""
    need("clang")
    need(samples.COMPILERS[target], samples.PACKAGES[samples.COMPILERS[target]])
    guest = samples.build_guest(name, target, ("-O2",), tmp_path, clang=True)
    way = Way("flat", opt="2" if ALL or target == "mips" else "0")
    assert_output(way.run(host, guest, tmp_path), samples.expected_output(name))


# ---- programs with a C library ----

SETJMP_SAMPLE = (
    "main", "compare_until", "count_up", "*sort*", "*setjmp*", "*sigjmp*", "*longjmp*", "out_*", "sample_*",
)  # fmt: skip
"""The program's own functions, and those of the library that jump and sort."""


def _libc_cases() -> list[tuple[str, str, str, Way]]:
    if not ALL:
        return [
            ("setjmp", "mips", "-O2", Way("flat", only=SETJMP_SAMPLE)),
            ("exceptions", "mipsel", "-O0", INTERPRETED),
            ("png", "mipsel", "-O2 -march=mips32r2", Way("paged", "thunked", "0", ("main", "stb*"))),
            ("depgraph", "mips", "-O3", INTERPRETED),
        ]
    rows = [
        (target, flags) for target in ("mips", "mipsel") for flags in ("-O0", "-O2", "-O3", "-O2 -static-pie -fPIE")
    ]
    names = [name for name, sample in samples.load_samples().items() if sample.kind == "libc"]
    return [(name, *row, way) for name in names for row in rows for way in (INTERPRETED, Way("flat"))]


@pytest.mark.parametrize("name, target, flags, way", _libc_cases(), ids=str)
def test_libc(host: Path, tmp_path: Path, name: str, target: str, flags: str, way: Way) -> None:
    """Static glibc; Debian's for MIPS has no static-pie."""
    sample = samples.load_samples()[name]
    for path, package in sample.needs:
        need(path, package)
    if sample.missing():
        pytest.skip(sample.missing())
    for tool in {
        samples.COMPILERS[target],
        samples.COMPILERS[target].replace("gcc", "g++" if sample.is_cxx else "gcc"),
    }:
        need(tool, samples.PACKAGES[tool])
    guest = samples.build_guest(name, target, tuple(flags.split()), tmp_path)
    assert_output(way.run(host, guest, tmp_path), samples.expected_output(name))


MUSL = [(False, INTERPRETED), (True, INTERPRETED), (True, Way("thunk", "thunked", "2" if ALL else "0"))][not ALL :]
"""In the short matrix a program that is position-independent, which is the rarer kind; setjmp of glibc is not."""


@pytest.mark.parametrize("pie, way", MUSL, ids=str)
def test_musl(host: Path, tmp_path: Path, pie: bool, way: Way) -> None:
    """Debian's, also position-independent without an interpreter."""
    sources = [samples.SAMPLES / source for source in (*samples.load_samples()["setjmp"].sources, "freestanding/out.c")]
    guest = compile_with_musl(sources, tmp_path / "setjmp", "mipsel", "-O2", "-std=gnu11", pie=pie)
    assert_output(way.run(host, guest, tmp_path), samples.expected_output("setjmp"))


ZIG_TARGETS = ["mips-linux-musleabihf", "mipsel-linux-musleabi", "mipsel-linux-musleabihf", "mips-linux-musleabi"]
ZIG_SAMPLES = ["floats", "structs", "jumptable", "callbacks", "bits64", "setjmp"]
PIE = ("-pie", "-fPIE")


def _zig_cases() -> list[tuple[str, str, tuple[str, ...], Way]]:
    if not ALL:
        return [("floats", ZIG_TARGETS[0], (), Way("flat"))]
    rows = [(name, target, pie) for name in ZIG_SAMPLES for target in ZIG_TARGETS for pie in ((), PIE)]
    return [(*row, way) for row in rows for way in (INTERPRETED, *WAYS)]


@pytest.mark.skipif(not ALL, reason="compiles musl first, most of a minute (make conformance); test_musl does not")
@pytest.mark.parametrize("name, target, pie, way", _zig_cases(), ids=str)
def test_zig(host: Path, tmp_path: Path, name: str, target: str, pie: tuple[str, ...], way: Way) -> None:
    """Static musl and LLVM's code, hard and soft float, also position-independent."""
    pytest.importorskip("ziglang", reason="ziglang is not installed: pip install ziglang")
    sample = samples.load_samples()[name]
    sources = [*sample.sources, *(samples.SUPPORT if sample.kind == "freestanding" else ("freestanding/out.c",))]
    guest = tmp_path / name
    flags = ["-target", target, "-static", *pie, "-O2", "-std=gnu11", "-ffp-contract=off", "-fno-math-errno"]
    command = [sys.executable, "-m", "ziglang", "cc", *flags, *sources, "-lm", "-o", str(guest)]
    subprocess.run(command, cwd=samples.SAMPLES, check=True)
    assert_output(way.run(host, guest, tmp_path), samples.expected_output(name))
