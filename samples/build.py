#!/usr/bin/env python3
"""Builds the samples: for MIPS big-endian and little-endian with Debian's cross compilers, and natively with gcc.

Enters: manifest.json and the sources beside it. Leaves: executables where the caller wants them, the committed ELF
files under prebuilt/, the expected outputs under expected/. Running guests is not done here.

Samples may have sources of others: those of Debian source packages, which `mipsrec bench --fetch` unpacks into
`sources_folder()`; `$SOURCES` in the manifest stands for it.

As a library: `load_samples`, `build_guest`, `build_native`, `expected_output`, `prebuilt_path`, `check_prebuilt`.
As a program: `build.py --help`.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SAMPLES = Path(__file__).resolve().parent
PREBUILT = SAMPLES / "prebuilt"

COMPILERS = {
    "mips": "mips-linux-gnu-gcc",
    "mipsel": "mipsel-linux-gnu-gcc",
    "native": "gcc",
    "native32": "i686-linux-gnu-gcc",
}
TARGETS = ("mips", "mipsel")  # guests; the others are for this machine
NATIVE32_FLAGS = ("-msse2", "-mfpmath=sse")  # not the x87, which rounds otherwise
PACKAGES = {
    "mips-linux-gnu-gcc": "gcc-mips-linux-gnu",
    "mipsel-linux-gnu-gcc": "gcc-mipsel-linux-gnu",
    "mips-linux-gnu-g++": "g++-mips-linux-gnu",
    "mipsel-linux-gnu-g++": "g++-mipsel-linux-gnu",
    "gcc": "gcc libc6-dev",
    "clang": "clang",
    "g++": "g++",
    "i686-linux-gnu-gcc": "gcc-i686-linux-gnu",
    "i686-linux-gnu-g++": "g++-i686-linux-gnu",
}

SUPPORT = ("freestanding/out.c", "freestanding/memory.c", "freestanding/arithmetic.c")
HEADERS = ("freestanding/out.h",)

COMMON_FLAGS = (
    "-Wall", "-Wextra", "-fno-ident", "-ffunction-sections", "-fdata-sections",
    "-fno-math-errno",  # sqrt as one instruction where there is one
    "-ffp-contract=off",  # a fused multiply-add would round once where other machines round twice
)  # fmt: skip
LANGUAGE_FLAGS = {".c": ("-std=gnu11",), ".cc": ("-std=gnu++17",), ".cpp": ("-std=gnu++17",), ".S": ()}
FREESTANDING_CXX_FLAGS = ("-fno-exceptions", "-fno-rtti")
WITHOUT_LIBC_FLAGS = ("-DSAMPLE_FREESTANDING", "-fno-asynchronous-unwind-tables")
LINK_FLAGS = ("-Wl,--build-id=none", "-Wl,--gc-sections")
SMALL_LINK_FLAGS = ("-Wl,-z,max-page-size=4096", "-Wl,-z,noseparate-code")


class SampleError(Exception):
    """A sample that does not exist or cannot be built; the message says what to do."""


class MissingTool(SampleError):
    """A compiler or header is not installed; names the Debian package."""


@dataclass(frozen=True)
class Sample:
    """One entry of manifest.json.

    kind: `assembly` (no other object linked), `freestanding` (our start-up and output, no libc in MIPS builds) or
    `libc` (static by default). bench: arguments for a run of 0.3 to 1 s natively, None for samples that only test;
    brief: for about a tenth of it, None where a tenth of bench's first number does it. group: what it is timed as.
    prebuilt: flags of the committed ELF files, None when none are. needs: file that must exist -> its package.
    package: the source package that some of its sources are of, "" when all are ours; those get no warnings. config:
    a folder of ours whose config.h has what the package's own configure would find, included before each source.
    flags: what the package's code needs of a compiler, beside defines. guest_flags: what guests are built with besides.
    """

    name: str
    kind: str
    sources: tuple[str, ...]
    bench: tuple[str, ...] | None
    prebuilt: tuple[str, ...] | None
    headers: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    needs: tuple[tuple[str, str], ...] = ()
    group: str = ""
    brief: tuple[str, ...] | None = None
    package: str = ""
    defines: tuple[str, ...] = ()
    config: str = ""
    flags: tuple[str, ...] = ()
    guest_flags: tuple[str, ...] = ()

    def missing(self) -> str:
        """What building it takes besides compilers and is not there, and how to get it; "" when all is there."""
        if self.package and not (sources_folder() / self.package).is_dir():
            return f"sample {self.name}: no source package {self.package} here; `mipsrec bench --fetch` gets it"
        if self.package and (reason := _distrust(sources_folder() / self.package)):
            otherwise = "name a folder of your own in MIPSREC_SOURCES"
            return f"sample {self.name}: {reason}, so nothing is built of it; {otherwise}"
        for path, package in self.needs:
            if not Path(path).exists():
                return f"sample {self.name}: {path} is not installed; on Debian: apt-get install {package}"
        return ""

    @property
    def is_cxx(self) -> bool:
        return any(source.endswith(".cc") for source in self.sources)


def sources_folder() -> Path:
    """Where source packages are unpacked: $MIPSREC_SOURCES, else `sources` in mipsrec's cache folder."""
    named = os.environ.get("MIPSREC_SOURCES")
    cache = os.environ.get("MIPSREC_CACHE")
    base = Path(cache) if cache else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mipsrec"
    return Path(named).absolute() if named else base.absolute() / "sources"


@functools.cache
def _distrust(sources: Path) -> str | None:
    """Who else can change the sources, which become programs that this user runs; None: nobody."""
    _find_mipsrec()
    from mipsrec.files.trusted_tree import distrust_all

    return distrust_all(sources)


def _find_mipsrec() -> None:
    """Let mipsrec be imported where this file is a program in a checkout."""
    if str(SAMPLES.parent) not in sys.path and SAMPLES.name == "samples":
        sys.path.append(str(SAMPLES.parent))


def _find_tool(name: str) -> str | None:
    """Return the path of a tool as mipsrec.compiler.find_tool does."""
    _find_mipsrec()
    from mipsrec.native.compiler import find_tool

    return find_tool(name)


def _run_tool(command: Sequence[str]) -> Any:
    """Run a compiler by mipsrec.compiler.run_tool; return its CompletedProcess."""
    _find_mipsrec()
    from mipsrec.native.compiler import run_tool

    return run_tool(command, cwd=SAMPLES, capture_output=True, text=True)


def _expanded(pattern: str) -> list[str]:
    """A file of the manifest; those of source packages, which it may name by a shell pattern, with the whole path."""
    if not pattern.startswith("$SOURCES/"):
        return [pattern]
    relative = pattern.removeprefix("$SOURCES/")
    return sorted(map(str, sources_folder().glob(relative))) or [str(sources_folder() / relative)]


def load_packages() -> dict[str, dict[str, Any]]:
    """The source packages: `tools` (program -> package) that `prepare`, commands to run in the folder, takes.

    `$SAMPLES` in a command stands for the folder of this file.
    """
    packages: dict[str, dict[str, Any]] = json.loads((SAMPLES / "manifest.json").read_text())["packages"]
    return packages


def load_samples() -> dict[str, Sample]:
    """Every sample of the manifest by name, in its order."""
    entries = json.loads((SAMPLES / "manifest.json").read_text())["samples"]
    samples = {}
    for entry in entries:
        fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in entry.items()}
        fields["needs"] = tuple(entry.get("needs", {}).items())
        for key in ("sources", "include"):
            fields[key] = tuple(path for pattern in entry.get(key, ()) for path in _expanded(pattern))
        samples[entry["name"]] = Sample(**fields)
    return samples


def find_sample(name: str) -> Sample:
    samples = load_samples()
    if name not in samples:
        raise SampleError(f"no sample {name!r}; there are: {', '.join(samples)}")
    return samples[name]


def expected_output(name: str) -> str:
    """What the sample prints when run without arguments."""
    return (SAMPLES / "expected" / f"{find_sample(name).name}.txt").read_text()


def prebuilt_path(name: str, target: str) -> Path:
    """Where the committed ELF of a sample is; SampleError when it has none."""
    if find_sample(name).prebuilt is None:
        raise SampleError(f"sample {name!r} has no committed ELF file")
    return PREBUILT / target / f"{name}.elf"


def require_tool(tool: str) -> str:
    """The tool's name, or MissingTool naming the package that has it."""
    if not _find_tool(tool):
        raise MissingTool(f"{tool} is not installed; on Debian: apt-get install {PACKAGES[tool]}")
    return tool


def _all_sources(sample: Sample, target: str) -> tuple[str, ...]:
    """The sample's own sources and those linked with it, start-up first."""
    if sample.kind == "assembly":
        return sample.sources
    if sample.kind == "libc":
        return (*sample.sources, "freestanding/out.c")
    start = ("freestanding/start.S",) if target in TARGETS else ()
    return (*start, *sample.sources, *SUPPORT)


def _compiler(target: str, cxx: bool = False) -> list[str]:
    """The command of a target's compiler without flags."""
    if target == "native32" and not _find_tool(COMPILERS[target]):
        return ["g++" if cxx else "gcc", "-m32"]
    return [COMPILERS[target].replace("gcc", "g++") if cxx else COMPILERS[target]]


def _compile_commands(sample: Sample, target: str, flags: Sequence[str], clang: bool = False) -> list[list[str]]:
    """One command per source; the last two words are the source and `-o`, so that an object's name can follow."""
    compiler = _compiler(target)
    if clang:
        compiler = ["clang", f"--target={target}-linux-gnu"] if target in TARGETS else ["clang"]
    commands = []
    for source in _all_sources(sample, target):
        suffix = Path(source).suffix
        command = [*compiler, *COMMON_FLAGS, *LANGUAGE_FLAGS[suffix]]
        if suffix == ".cc" and sample.kind == "freestanding":
            command += FREESTANDING_CXX_FLAGS
        if target in TARGETS and sample.kind == "freestanding":
            command += WITHOUT_LIBC_FLAGS
        if target == "native32":
            command += NATIVE32_FLAGS
        if Path(source).is_absolute():
            command += ["-w", "-Wno-address"]  # of the latter -w leaves the notes
        command += [*sample.flags, *(f"-D{define}" for define in sample.defines)]
        if sample.config:
            command += ["-isystem", sample.config, "-include", f"{sample.config}/config.h"]
        for folder in sample.include:
            command += ["-isystem", folder]
        if target in TARGETS:
            command += sample.guest_flags
        commands.append([*command, *_without_mode(flags, source), "-c", source, "-o"])
    return commands


def _without_mode(flags: Sequence[str], source: str) -> list[str]:
    """The flags for a source: -mips16 would make the assembler read MIPS16e code, which has no system call."""
    is_assembly = source.endswith((".S", "freestanding/out.c"))
    return [flag for flag in flags if not (is_assembly and flag == "-mips16")]


def _link_command(sample: Sample, target: str, flags: Sequence[str], static: bool, strip: bool) -> list[str]:
    """The link step without its objects and output."""
    driver = _compiler(target, sample.is_cxx and sample.kind == "libc")
    command = [*driver, *flags, *LINK_FLAGS]
    if sample.kind == "assembly" or (sample.kind == "freestanding" and target in TARGETS):
        command += ["-nostdlib", "-static", *SMALL_LINK_FLAGS]
    elif static and (target in TARGETS or driver[0].startswith("i686-")):
        command.append("-static")
    return [*command, "-s"] if strip else command


def _run(command: list[str], name: str) -> None:
    done = _run_tool(command)
    if done.returncode:
        raise SampleError(f"sample {name}: {' '.join(command)} failed:\n{done.stderr}")
    if done.stderr:
        sys.stderr.write(done.stderr)


def _build(
    name: str,
    target: str,
    flags: Sequence[str],
    out_dir: Path,
    static: bool = True,
    strip: bool = False,
    clang: bool = False,
) -> Path:
    sample = find_sample(name)
    if sample.missing():
        raise MissingTool(sample.missing())
    link = _link_command(sample, target, flags, static, strip)
    for tool in (_compiler(target)[0], link[0], *(["clang"] if clang else [])):
        require_tool(tool)
    out_dir = Path(out_dir).resolve()
    out_dir.mkdir(parents=True, exist_ok=True)
    words = "".join("-" + re.sub(r"[^\w.]+", "_", flag).strip("_") for flag in flags)
    words += "".join(word for word, on in (("-clang", clang), ("-dynamic", not static), ("-stripped", strip)) if on)
    result = out_dir / f"{name}-{target}{words}"
    with tempfile.TemporaryDirectory(prefix="sample-", dir=out_dir) as scratch:
        commands = _compile_commands(sample, target, flags, clang)
        objects = [f"{scratch}/{number}.o" for number in range(len(commands))]

        def compile_one(command: list[str], output: str) -> None:
            _run([*command, output, f"-ffile-prefix-map={SAMPLES}=."], name)

        pool = ThreadPoolExecutor(len(os.sched_getaffinity(0)))
        try:
            list(pool.map(compile_one, commands, objects))  # raises what the first failure raised
        finally:
            pool.shutdown(cancel_futures=True)  # after a failure or Ctrl-C the rest is not compiled
        own = ["-lgcc"] if "-mips16" in link else []  # has what does floating point for MIPS16e code
        libraries = own if "-nostdlib" in link else ["-lm"]
        _run([*link, *objects, "-o", str(result), *libraries], name)
    return result


def build_guest(
    name: str,
    target: str,
    flags: Sequence[str] = ("-O2",),
    out_dir: Path = Path("."),
    *,
    static: bool = True,
    strip: bool = False,
    clang: bool = False,
) -> Path:
    """The sample built for `mips` or `mipsel`, as a file in out_dir whose name tells sample, target and flags.

    static concerns samples of kind `libc` only; clang compiles those of the other kinds with clang instead of gcc,
    whose code has other shapes. Raises MissingTool, or SampleError with the compiler's words.
    """
    if target not in TARGETS:
        raise SampleError(f"no target {target!r}; there are: {', '.join(TARGETS)}")
    if clang and find_sample(name).kind == "libc":
        raise SampleError(f"sample {name!r} needs libc, which is there for gcc only")
    return _build(name, target, flags, out_dir, static, strip, clang)


def build_native(
    name: str, flags: Sequence[str] = ("-O2",), out_dir: Path = Path("."), compiler: str = "gcc"
) -> Path:
    """The same sources built for this machine with `gcc`, `clang` or, as a 32-bit program, `gcc32`.

    Raises as build_guest does.
    """
    return _build(name, "native32" if compiler == "gcc32" else "native", flags, out_dir, clang=compiler == "clang")


# ---- committed ELF files ----


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _compiler_version(target: str) -> str:
    """First lines of what compiler and linker say of themselves; both decide the bytes of an ELF file."""
    compiler = require_tool(COMPILERS[target])
    lines = []
    for tool in (compiler, compiler.replace("gcc", "ld")):
        said = _run_tool([tool, "--version"]).stdout
        lines.append(said.splitlines()[0])
    return "; ".join(lines)


def _prebuilt_entry(sample: Sample, target: str) -> dict[str, object]:
    """What the bytes of a committed ELF depend on, besides the compiler."""
    flags = sample.prebuilt or ()
    sources = sorted({*_all_sources(sample, target), *sample.headers, *(() if sample.kind == "assembly" else HEADERS)})
    commands = [*_compile_commands(sample, target, flags), _link_command(sample, target, flags, True, True)]
    return {
        "flags": list(flags),
        "commands_sha256": hashlib.sha256(json.dumps(commands).encode()).hexdigest(),
        "sources": {source: _sha256(SAMPLES / source) for source in sources},
    }


def _prebuilt_samples() -> list[tuple[Sample, str]]:
    return [(s, target) for target in TARGETS for s in load_samples().values() if s.prebuilt is not None]


def build_prebuilt() -> None:
    """Rebuilds every committed ELF file and their manifest."""
    files = {}
    with tempfile.TemporaryDirectory(prefix="prebuilt-") as scratch:
        for sample, target in _prebuilt_samples():
            path = prebuilt_path(sample.name, target)
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(build_guest(sample.name, target, sample.prebuilt or (), Path(scratch), strip=True), path)
            path.chmod(0o755)
            entry = _prebuilt_entry(sample, target)
            files[f"{target}/{sample.name}.elf"] = {"sha256": _sha256(path), **entry}
    compilers = {target: _compiler_version(target) for target in TARGETS}
    manifest = {"compilers": compilers, "files": files}
    (PREBUILT / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")


def check_prebuilt(every: int = 1) -> list[str]:
    """What is wrong with the committed ELF files, one line each.

    Their sources and commands must be those recorded. With the recorded compiler and linker installed one of so many is
    built again and must come out byte for byte; with another version, or none, that step is left out.
    """
    manifest = json.loads((PREBUILT / "manifest.json").read_text())
    problems = []
    wanted = {f"{target}/{sample.name}.elf": (sample, target) for sample, target in _prebuilt_samples()}
    present = {str(path.relative_to(PREBUILT)) for path in PREBUILT.glob("*/*.elf")}
    problems += [f"prebuilt/{name}: not in manifest.json" for name in sorted(present - wanted.keys())]
    with tempfile.TemporaryDirectory(prefix="prebuilt-") as scratch:
        for number, (name, (sample, target)) in enumerate(wanted.items()):
            recorded = dict(manifest["files"].get(name, {}))
            digest = recorded.pop("sha256", None)
            if name not in present or digest != _sha256(PREBUILT / name):
                problems.append(f"prebuilt/{name}: missing, or not the file that was recorded")
            elif recorded != _prebuilt_entry(sample, target):
                problems.append(f"prebuilt/{name}: built from other sources or flags; run build.py --prebuilt")
            elif number % every == 0 and can_rebuild(target, manifest["compilers"]):
                again = build_guest(sample.name, target, sample.prebuilt or (), Path(scratch), strip=True)
                if _sha256(again) != digest:
                    problems.append(f"prebuilt/{name}: building it again gives other bytes")
    return problems


def can_rebuild(target: str, compilers: dict[str, str] | None = None) -> bool:
    """Whether the compiler and linker that built the committed files of this target are installed."""
    if compilers is None:
        compilers = json.loads((PREBUILT / "manifest.json").read_text())["compilers"]
    return bool(_find_tool(COMPILERS[target])) and _compiler_version(target) == compilers[target]


def write_expected() -> None:
    """Writes expected/NAME.txt of every sample from native builds."""
    with tempfile.TemporaryDirectory(prefix="expected-") as scratch:
        for name, sample in load_samples().items():
            if sample.missing():
                print(f"expected/{name}.txt stays: {sample.missing()}", file=sys.stderr)
                continue
            native = build_native(name, ("-O2",), Path(scratch))
            done = subprocess.run([native], capture_output=True, text=True, check=True)
            (SAMPLES / "expected" / f"{name}.txt").write_text(done.stdout)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Build the sample guests.")
    parser.add_argument("names", nargs="*", help="samples to build (default: none, with one of the options below)")
    parser.add_argument("--target", choices=(*TARGETS, "native"), action="append", help="default: all three")
    parser.add_argument("--flags", default="-O2", help="compiler flags (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=SAMPLES / "build", help="folder (default: samples/build)")
    parser.add_argument("--prebuilt", action="store_true", help="rebuild the committed ELF files")
    parser.add_argument("--check", action="store_true", help="check that the committed ELF files match their sources")
    parser.add_argument("--expected", action="store_true", help="rewrite the expected outputs from native builds")
    options = parser.parse_args(argv)
    if not (options.names or options.prebuilt or options.check or options.expected):
        parser.error("nothing to do: name samples, or give --prebuilt, --check or --expected")
    try:
        for name in options.names:
            for target in options.target or (*TARGETS, "native"):
                print(_build(name, target, options.flags.split(), options.out))
        if options.expected:
            write_expected()
        if options.prebuilt:
            build_prebuilt()
        problems = check_prebuilt() if options.check else []
    except SampleError as error:
        print(f"build.py: {error}", file=sys.stderr)
        return 1
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
