"""A tour for newcomers: `python -m mipsrec.demo [NAME...]` recompiles committed sample programs and times them.

Needs a C compiler and nothing of MIPS; qemu-user takes part where it is installed. Every step says which command of
`mipsrec` does the same.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from . import pipeline
from .cli import report_errors
from .commands.bench import load_samples_module
from .commands.progress import progress_bar
from .errors import BuildError, MipsrecError
from .files.temporary_folder import temporary_folder
from .files.trusted_path import check_program
from .host_build import host_executable
from .native.compiler import find_compiler, find_tool
from .options import Options
from .timing import Contender, compare, geometric_mean

TOUR = (("sha256", "mipsel"), ("tone_filter", "mips"), ("nbody", "mipsel"))
ROUNDS = 3
SLOW_SHARE = 50  # the interpreter and qemu-user get this much less work than the others


@dataclass(frozen=True)
class Program:
    """A committed guest, its native twin, and the arguments with which both run for about half a second."""

    name: str
    guest: Path
    qemu: str
    native: Path
    bench: tuple[str, ...]
    expected: bytes


def _shown(path: Path) -> str:
    """Return a path as one would type it here."""
    relative = os.path.relpath(path)
    return relative if len(relative) < len(str(path)) else str(path)


def _show(label: str, text: str) -> None:
    print(f"  {label:11} {text}", flush=True)


def _prepare(samples: ModuleType, name: str, target: str, folder: Path) -> Program:
    """Find the guest and build its twin with the system's C compiler."""
    samples.COMPILERS["native"] = find_compiler()
    try:
        guest = samples.prebuilt_path(name, target)
        native = samples.build_native(name, ("-O2",), folder)
        bench, expected = samples.find_sample(name).bench, samples.expected_output(name)
    except samples.SampleError as error:
        raise BuildError(str(error).splitlines()[0]) from error
    if bench is None:
        raise BuildError(f"{name}: is a sample for tests; it has nothing to time")
    return Program(name, guest, "qemu-" + target, native, bench, expected.encode())


def _recompile(program: Program, folder: Path) -> Path:
    """Say what the guest is, translate it, and return the library."""
    guest = pipeline.open_guest(program.guest)
    image, functions = guest.image, guest.program.functions.values()
    blocks = [block for function in functions for block in function.blocks.values()]
    instructions = sum(block.instruction_count() for block in blocks)
    _show("program", f"{_shown(program.guest)}: {image.byte_order}-endian {image.e_flags.arch}, {len(functions)} "
          f"functions, {len(blocks)} basic blocks, {instructions} instructions")  # fmt: skip
    library = folder / f"{program.name}.so"
    start = time.perf_counter()
    with progress_bar("build", len(guest.starts)) as progress:
        pipeline.build(guest, library, Options(), progress)
    seconds = time.perf_counter() - start
    _show("translated", f"into {library.stat().st_size // 1024} KiB of {platform.machine()} code in {seconds:.1f} s")
    return library


def _run_once(program: Program, command: tuple[str, ...]) -> None:
    """Run the guest as it is and compare what it prints."""
    check_program(command[0])
    result = subprocess.run(command, capture_output=True, check=False)
    if result.returncode != 0 or result.stdout != program.expected:
        raise MipsrecError(f"{program.guest}: printed something else than it should (exit status {result.returncode})")
    last = result.stdout.decode().splitlines()[-1]
    _show("ran", f"and printed what it should, at the end `{last}`")


def _time(program: Program, host: str, library: Path) -> dict[str, float]:
    """Return times relative to the native build by executor, and show them."""
    native, guest = str(program.native), str(program.guest)
    less = (str(max(1, int(program.bench[0]) // SLOW_SHARE)), *program.bench[1:])
    lifted = Contender("recompiled", (host, "--library", str(library), guest, *program.bench), is_host=True)
    slow = [Contender("interpreter", (host, "--tier", "interp", guest, *less), is_host=True)]
    qemu = find_tool(program.qemu)
    if qemu is not None:
        slow.insert(0, Contender("qemu-user", (qemu, guest, *less)))
    ratios: dict[str, float] = {}
    for count, arguments, contenders in ((ROUNDS, program.bench, [lifted]), (1, less, slow)):
        result = compare(program.name, [Contender("native", (native, *arguments)), *contenders], count)
        if result.wrong:
            complaints = "; ".join(f"{label}: {complaint}" for label, complaint in result.wrong.items())
            raise MipsrecError(f"{program.name}: not as the native build: {complaints}")
        if contenders == [lifted]:
            _show("native", f"{min(result.seconds['native']):.2f} s, built by the C compiler for this machine")
        for contender in contenders:
            ratio = ratios[contender.label] = result.ratio(contender.label) or 0.0
            exact = f"{min(result.seconds[contender.label]):.2f} s, {ratio:.2f} times" if contender is lifted else ""
            _show(contender.label, f"{exact or f'about {ratio:.0f} times'} the native build's time")
    return ratios


def tour(names: list[str]) -> int:
    """Show everything for each named sample; return the exit status."""
    samples = load_samples_module()
    print("mipsrec translates MIPS Linux programs into native code, ahead of time, and runs them.\n", flush=True)
    print("The host gives programs memory and system calls. It is compiled once, in a minute or two, and then kept:",
          end=" ", flush=True)  # fmt: skip
    start = time.perf_counter()
    host = str(host_executable())
    print(f"ready in {time.perf_counter() - start:.1f} s", flush=True)
    ratios = []
    with temporary_folder("mipsrec-demo-") as folder:
        for sample, target in [(n, t) for n, t in TOUR if n in names] if names else TOUR:
            print(f"\n{sample}", flush=True)
            program = _prepare(samples, sample, target, folder)
            library = _recompile(program, folder)
            _run_once(program, (host, "--library", str(library), str(program.guest)))
            ratios.append(_time(program, host, library)["recompiled"])
    mean = geometric_mean(ratios)
    guest = _shown(samples.prebuilt_path(*TOUR[0]))
    python = _shown(Path(sys.executable)) if sys.prefix != sys.base_prefix else "python3"
    print(f"\nRecompiled programs took {mean:.2f} times as long as native builds of the same C (geometric mean).")
    print("The same by hand:")
    for command in (f"info {guest}", f"build {guest} -o sha256.so", f"run --static-lib sha256.so {guest}", "bench"):
        print(f"  {python} -m mipsrec {command}")
    return 0


def main(argv: list[str] | None = None) -> int:
    known = [name for name, _ in TOUR]
    parser = argparse.ArgumentParser(prog="mipsrec.demo", description="Recompile sample programs and time them.")
    parser.add_argument("names", metavar="NAME", nargs="*", help=f"only these of {', '.join(known)}")
    names = parser.parse_args(argv).names
    unknown = [name for name in names if name not in known]
    if unknown:
        parser.error(f"no program {unknown[0]}; there are {', '.join(known)}")
    return report_errors(lambda: tour(names))


if __name__ == "__main__":
    sys.exit(main())
