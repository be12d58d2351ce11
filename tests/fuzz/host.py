"""Runs parts of the host under libFuzzer with the sanitizers: `make fuzz-host SECONDS=600`.

Enters: seconds for each of them. Leaves: exit status 1 when one found something; the input is kept then, and its
command printed. Corpora grow in build/fuzz from one run to the next.
"""

from __future__ import annotations

import argparse
import os
import struct
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from mipsrec.host_build import write_generated_headers
from mipsrec.native.place_table import SECTIONS
from mipsrec.pipeline import open_guest
from tests.support.compiled import library_at
from tests.support.library_sections import contents_of
from tests.support.paths import PREBUILT, ROOT, RUNTIME, TESTS
from tests.support.tools import compiled, need_link, outside_pytest
from tests.support.vectors import load_all

HARNESSES = TESTS / "fuzz"
SANITIZERS = "fuzzer,address,undefined"
FLAGS = (
    "-std=c11", "-O1", "-g", "-D_GNU_SOURCE=", "-pthread", "-frounding-math", "-ffp-contract=off",
    "-fno-strict-aliasing", f"-fsanitize={SANITIZERS}", "-fno-sanitize-recover=all", "-Wall", "-Wextra",
    "-Werror",
)  # fmt: skip
PROBE = "int LLVMFuzzerTestOneInput(const unsigned char *d, unsigned long n) { return d == 0 && n == 1; }"
OWN_SIGNALS = "handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:use_sigaltstack=0:"
CODE_HEAD = 43
"""Bytes of an input of host_interp.c before its code."""
DEBUG_SECTIONS = (*SECTIONS, ".debug_line")
"""Those of an input of host_debug.c, in their order."""
DEBUG_SEEDS = {
    "hello": (bytes.fromhex("9108"), "hello", "*"),
    "inlined": (bytes.fromhex("92060c940420121e31161c9f"), "crc32", "fn_00400450", "fn_004004a0"),
    "ranges": (bytes.fromhex("9e0478563412"), "crc32", "fn_004000d0", "fn_004004a0"),
}
"""An expression, a sample, and which of its functions: such as LLVM inlines in one another, whole or in pieces."""


@dataclass(frozen=True)
class Target:
    """A program of one harness and sources of the host, as patterns; `special` are flags of single sources."""

    name: str
    sources: tuple[str, ...]
    link: tuple[str, ...]
    special: dict[str, tuple[str, ...]]
    longest: int
    own_signals: bool


TARGETS = (
    Target("load", ("linux/load", "linux/marks", "linux/stack", "memory/*", "base/blake2b", "base/kernel_proc",
                    "base/lock", "base/observe", "base/options", "cpu/model"),
           ("-Wl,--wrap=mmap,--wrap=munmap",), {}, 1 << 16, own_signals=False),
    Target("interp", ("base/counters", "base/host_thread", "base/kernel_proc", "base/lock", "base/marks",
                      "base/observe", "base/options", "memory/*", "cpu/interp*", "cpu/fpu*", "cpu/mips16",
                      "cpu/model", "cpu/registers", "lifted/dispatch_table", "run/dispatch", "run/host_stack",
                      "run/interpret", "run/waiting", "linux/abi", "linux/exception", "linux/fault",
                      "linux/signal_*", "linux/wait_call", "host/*/accessed", "host/*/kernel_call"),
           ("-Wl,--wrap=mr_signals_take",), {"fault": ("-Draise=fuzz_raise",)}, 512, own_signals=True),
    Target("debug", ("lifted/places*", "lifted/location", "lifted/lines", "lifted/rows",
                     "host/*/registers"),
           (), {}, 1 << 16, own_signals=False),
)  # fmt: skip


def compiler_with_fuzzer() -> str:
    """Return the path of a clang that has libFuzzer, and the sanitizers."""
    return need_link("clang", (f"-fsanitize={SANITIZERS}",), "clang libclang-rt-dev", PROBE)


def build(target: Target, folder: Path) -> Path:
    """Return the fuzzer, compiled into the folder."""
    compiler = compiler_with_fuzzer()
    write_generated_headers(folder)
    common = [compiler, *FLAGS, f"-I{folder}", f"-I{RUNTIME}"]
    sources = [path for pattern in target.sources for path in sorted(RUNTIME.glob(f"{pattern}.c"))]
    objects = []
    for source in (HARNESSES / f"host_{target.name}.c", *sources):
        objects.append(folder / f"{target.name}-{source.stem}.o")
        compiled([*common, *target.special.get(source.stem, ()), "-o", objects[-1], "-c", source])
    program = folder / f"fuzz-{target.name}"
    compiled([compiler, *FLAGS, *objects, *target.link, "-lm", "-ldl", "-o", program])
    return program


def write_seeds(target: Target, corpus: Path) -> None:
    """Give the fuzzer something to begin with: samples, recompiled ones, or the words of the vectors."""
    if target.name == "load":
        for path in (PREBUILT).glob("*/*.elf"):
            (corpus / f"{path.parent.name}-{path.stem}").write_bytes(path.read_bytes())
        return
    if target.name == "debug":
        write_debug_seeds(corpus)
        return
    words = sorted({word for vector in load_all() for word in vector.code})
    for start in range(0, len(words), 16):
        code = struct.pack(f">{len(words[start : start + 16])}I", *words[start : start + 16])
        (corpus / f"vectors-{start}").write_bytes(bytes([start & 3, 0, 0x3F]) + bytes(range(CODE_HEAD - 3)) + code)


def write_debug_seeds(corpus: Path) -> None:
    """Write inputs of host_debug.c: the sizes of sections, of an expression and of the questions, and then these."""
    questions = bytes(range(64))
    with tempfile.TemporaryDirectory() as folder:
        for name, (expression, sample, *patterns) in DEBUG_SEEDS.items():
            guest = open_guest(PREBUILT / "mips" / f"{sample}.elf")
            sections = contents_of(library_at(guest, Path(folder), 2, *patterns))
            parts = [*(sections.get(section, b"") for section in DEBUG_SECTIONS), expression, questions]
            sizes = struct.pack(f"<{len(parts)}H", *map(len, parts))
            (corpus / name).write_bytes(sizes + b"".join(parts))


def fuzz(target: Target, folder: Path, seconds: int) -> bool:
    """Run one target for so long; return whether it found nothing."""
    program = build(target, folder)
    corpus = folder / f"corpus-{target.name}"
    corpus.mkdir(exist_ok=True)
    write_seeds(target, corpus)
    dictionary = HARNESSES / f"host_{target.name}.dict"
    words = [
        program, f"-max_total_time={seconds}", f"-max_len={target.longest}", "-timeout=10", "-rss_limit_mb=1024",
        *([f"-dict={dictionary}"] if dictionary.exists() else ()),
        f"-artifact_prefix={folder}/{target.name}-", "-print_final_stats=1", "-verbosity=0",
        *(f"-handle_{name}={int(not target.own_signals)}" for name in ("segv", "bus", "fpe", "ill")), corpus,
    ]  # fmt: skip
    options = {
        "ASAN_OPTIONS": f"{OWN_SIGNALS if target.own_signals else ''}detect_leaks=0",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }
    started = time.monotonic()
    result = subprocess.run(words, env=os.environ | options, stderr=subprocess.PIPE, text=True, errors="replace")
    last = "\n".join(line for line in result.stderr.splitlines() if "stat::" in line or result.returncode)
    print(f"{target.name}: {time.monotonic() - started:.0f} s, status {result.returncode}\n{last[-6000:]}", flush=True)
    return result.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="make fuzz-host", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--only", choices=[target.name for target in TARGETS])
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "fuzz")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    chosen = [target for target in TARGETS if arguments.only in (None, target.name)]
    return 0 if all([fuzz(target, arguments.folder, arguments.seconds) for target in chosen]) else 1


if __name__ == "__main__":
    sys.exit(outside_pytest(main))
