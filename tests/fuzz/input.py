"""Breaks real programs in every way mutated_elf.py knows and runs the commands on them: `make fuzz-input COUNT=20000`.

Each mutant meets one command, in a forked child of this process that has everything imported already. What may never
happen: a traceback, an end by a signal that is not the guest's, more than 10 s of processor time or 1 GiB of memory, a
write outside of the output, a file left behind, a message of more than one line. A guest that loops or waits is stopped
early and is no finding. Guests are made harmless first (harmless.py). The same seed and number make the same trial;
a finding is kept as a folder with the mutant, the words and the output, and its command is printed.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import random
import re
import resource
import select
import shutil
import signal
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import mipsrec.commands.build
import mipsrec.commands.disasm
import mipsrec.commands.dump_llvm
import mipsrec.commands.info
import mipsrec.commands.run
import mipsrec.native.library
from mipsrec.cli import main as mipsrec_main
from tests.fuzz import harmless
from tests.fuzz.mutated_elf import Layout, layout_of, mutant
from tests.support.compiled import CATCHES, FREESTANDING, HELLO, ORDERS, compile_guest
from tests.support.hosts import plain_host, sanitized_host
from tests.support.paths import PREBUILT
from tests.support.tools import outside_pytest

CPU_SECONDS, WALL_SECONDS, MEMORY_BYTES, FILE_BYTES = 10, 120, 1 << 30, 64 << 20
GUEST_CPU_SECONDS, GUEST_WALL_SECONDS, GUEST_DATA_BYTES = 1, 4, 1600 << 20
CRASHES = (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGTRAP, signal.SIGABRT, signal.SIGSYS)
SOON_TRANSLATED_BYTES = 1 << 16  # a whole libc takes seconds, unbroken too
TRANSLATING = ("dump-llvm", "build", "run")
WEIGHTS = {"info": 30, "disasm": 22, "dump-llvm": 9, "build": 3, "interpret": 34, "run": 2}


# ---- programs ----


@dataclass(frozen=True)
class Program:
    name: str
    content: bytes
    layout: Layout
    weight: float


def _program(path: Path, name: str, weight: float) -> Program:
    content = path.read_bytes()
    return Program(name, content, layout_of(content), weight)


def programs(folder: Path) -> list[Program]:
    """Return the programs to break: the committed samples, and compiled ones with other tables in them."""
    found = [_program(p, f"{p.parent.name}/{p.name}", 1.0) for p in sorted(PREBUILT.glob("*/*.elf"))]
    pie = ("-static-pie", "-nostdlib", "-nostartfiles", "-Wl,--no-dynamic-linker")
    bare = ("-nostdlib", "-static", "-Wl,-e,main", "-Wl,--unresolved-symbols=ignore-all")
    kinds = {
        "unwinding": (CATCHES, bare, "c++", 6.0),
        "relocated": (FREESTANDING, pie, "c", 4.0),
        "libc": (HELLO, ("-static",), "c", 0.15),
    }
    for order in ORDERS:
        for name, (source, options, language, weight) in kinds.items():
            place = folder / f"{order}-{name}"
            place.mkdir()
            found.append(_program(compile_guest(place, order, source, *options, language=language), place.name, weight))
    return found


# ---- a trial ----


@dataclass(frozen=True)
class Trial:
    """Number `number` of `seed`: a mutant of one of the programs, and the words of the command for it."""

    seed: int
    number: int
    kind: str
    words: tuple[str, ...]
    program: str
    content: bytes

    @property
    def guest_runs(self) -> bool:
        return self.kind in ("interpret", "run")


def trial(seed: int, number: int, choices: Sequence[Program], only: Sequence[str] = ()) -> Trial:
    chance = random.Random(f"{seed} {number}")
    kinds = only or list(WEIGHTS)
    kind = chance.choices(kinds, [WEIGHTS[kind] for kind in kinds])[0]
    if kind in TRANSLATING:
        choices = [choice for choice in choices if len(choice.content) < SOON_TRANSLATED_BYTES]
    program = chance.choices(choices, [choice.weight for choice in choices])[0]
    model = chance.choice(("flat", "flat", "paged", "thunk"))
    words = {
        "info": ("info", *(["--json"] if number & 1 else [])),
        "disasm": ("disasm",),
        "dump-llvm": ("dump-llvm", "-o", "output", "--memory", model),
        "build": ("build", "-o", "output", "--opt", "0", "--jobs", "1", "--memory", model),
        "interpret": ("run", "--tier", "interp", "--report"),
        "run": ("run", "--report", "--opt", "0", "--jobs", "1", "--memory", model),
    }[kind]
    content = mutant(program.content, program.layout, chance)
    return Trial(seed, number, kind, (*words, "mutant", *(["2"] if "run" in words else [])), program.name, content)


@dataclass
class Result:
    status: int = 0  # as os.waitstatus_to_exitcode
    stopped: bool = False
    output: str = ""
    errors: str = ""
    memory_bytes: int = 0
    seconds: float = 0.0
    left: list[str] = field(default_factory=list)


# ---- the child ----


def _watch_writes(scratch: str) -> None:
    """Say so on standard error when Python code changes a file outside of the scratch folder."""
    changes = ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate")

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open":
            flags = arguments[2]
            if not isinstance(flags, int) or not flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                return
        elif event not in changes:
            return
        path = arguments[0]
        if isinstance(path, (str, bytes, os.PathLike)):
            place = os.path.abspath(os.fsdecode(path))
            if not place.startswith((scratch + "/", "/dev/")) and not (event == "os.mkdir" and os.path.isdir(place)):
                os.write(2, f"WRITTEN OUTSIDE: {event} {place}\n".encode())

    sys.addaudithook(hook)


def _limit(guest_runs: bool) -> None:
    seconds = GUEST_CPU_SECONDS if guest_runs else CPU_SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _become_guest(path: str | os.PathLike[str], words: Sequence[str]) -> NoReturn:
    _limit(True)
    if not sanitized:
        resource.setrlimit(resource.RLIMIT_DATA, (GUEST_DATA_BYTES, GUEST_DATA_BYTES))
    harmless.renounce()
    _execv(path, words)


_execv = os.execv
sanitized = False
"""Whether the host has the sanitizers, whose shadow memory alone is beyond every limit."""


def _in_child(trial: Trial, scratch: str) -> NoReturn:
    status = 70
    try:
        os.setsid()
        os.chdir(scratch)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for number, name in ((1, "stdout"), (2, "stderr")):
            os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
        os.environ.update(TMPDIR=f"{scratch}/tmp", HOME=scratch)
        tempfile.tempdir = None
        _limit(False)
        _watch_writes(scratch)
        os.execv = _become_guest
        status = mipsrec_main(list(trial.words))
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)


# ---- the parent ----


def _wait(child: int, seconds: float) -> tuple[int, resource.struct_rusage, bool]:
    """Return the wait status, the resources used, and whether the child had to be killed."""
    descriptor = os.pidfd_open(child)
    try:
        ready = select.select([descriptor], [], [], seconds)[0]
    finally:
        os.close(descriptor)
    if not ready:
        os.killpg(child, signal.SIGKILL)
    _, status, used = os.wait4(child, 0)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # workers that outlive it would be a finding of their own, in `left`
    return status, used, not ready


KEEP = ("mutant", "stdout", "stderr", "tmp")


def run(trial: Trial, scratch: Path) -> Result:
    """Run one trial in an empty folder."""
    shutil.rmtree(scratch, ignore_errors=True)
    (scratch / "tmp").mkdir(parents=True)
    (scratch / "mutant").write_bytes(trial.content)
    own_cache = trial.kind in ("run", "build")  # with the host in it
    if own_cache:
        (scratch / "cache").mkdir()
        (scratch / "cache" / "host").symlink_to(Path(os.environ["MIPSREC_CACHE"]) / "host")
    child = os.fork()
    if child == 0:
        if own_cache:
            os.environ["MIPSREC_CACHE"] = str(scratch / "cache")
        _in_child(trial, str(scratch))
    status, used, stopped = _wait(child, GUEST_WALL_SECONDS if trial.kind == "interpret" else WALL_SECONDS)
    result = Result(os.waitstatus_to_exitcode(status), stopped, memory_bytes=used.ru_maxrss << 10)
    result.seconds = used.ru_utime + used.ru_stime
    result.output = (scratch / "stdout").read_text(errors="replace") if (scratch / "stdout").exists() else ""
    result.errors = (scratch / "stderr").read_text(errors="replace") if (scratch / "stderr").exists() else ""
    made = {"dump-llvm": {"output"}, "build": {"output", "cache"}, "run": {"cache"}}.get(trial.kind, set())
    present = {path.name for path in scratch.iterdir()} | {f"tmp/{path.name}" for path in (scratch / "tmp").iterdir()}
    result.left = sorted(present - made - set(KEEP))
    if "output" in made and result.status != 0 and (scratch / "output").exists():
        result.left.append("output")
    return result


_GUEST_DIES = re.compile(r"^mipsrec-host: the guest dies of signal", re.MULTILINE)
_OURS = ("Traceback (most", "internal error", "WRITTEN OUTSIDE", "Sanitizer", "runtime error:", "compiler process died",
         "Assertion", "MemoryError", "LLVM ERROR")  # fmt: skip


def faults(trial: Trial, result: Result) -> list[str]:
    """Return what is wrong with how the trial ended."""
    found = [text for text in _OURS if text in result.errors]
    if result.left:
        found.append(f"left behind: {', '.join(result.left)}")
    killed = signal.Signals(-result.status) if -64 < result.status < 0 and result.status > -32 else None
    if trial.guest_runs and (result.stopped or killed is not None or _GUEST_DIES.search(result.errors)):
        if killed in CRASHES and not _GUEST_DIES.search(result.errors):
            found.append(f"the host died of {killed.name}")
    elif result.stopped or killed in (signal.SIGXCPU, signal.SIGKILL):
        found.append("too slow")
    elif killed is not None:
        found.append(f"died of {killed.name}")
    elif not trial.guest_runs or result.errors.startswith("mipsrec: "):
        if result.status not in (0, 1) or (result.status == 1) != result.errors.startswith("mipsrec: "):
            found.append(f"status {result.status}")
        if result.errors.count("\n") > 1:
            found.append("more than one line")
    if result.memory_bytes > MEMORY_BYTES:
        found.append(f"{result.memory_bytes >> 20} MiB")
    if not trial.guest_runs and result.seconds > CPU_SECONDS:
        found.append(f"{result.seconds:.1f} s")
    return found


def keep(trial: Trial, result: Result, found: list[str], folder: Path) -> None:
    """Write a finding where it can be looked at, and say how to see it again."""
    place = folder / f"{trial.seed}-{trial.number}"
    place.mkdir(parents=True, exist_ok=True)
    (place / "mutant").write_bytes(trial.content)
    (place / "stderr").write_text(result.errors)
    (place / "command").write_text(f"mipsrec {' '.join(trial.words)}\n# of {trial.program}: {'; '.join(found)}\n")
    again = f"python -m tests.fuzz.input {' '.join(sys.argv[1:])} --first {trial.number} --count 1"
    last = result.errors.strip().splitlines()[-1:] or [""]
    print(f"{'; '.join(found)}: mipsrec {' '.join(trial.words)} (in {place}; {again})\n    {last[0][:200]}", flush=True)


@dataclass
class Summary:
    trials: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    findings: int = 0
    most_memory: Counter[str] = field(default_factory=Counter)
    most_seconds: dict[str, float] = field(default_factory=dict)

    def add(self, trial: Trial, result: Result, found: list[str]) -> None:
        end = "stopped" if result.stopped else "signal" if result.status < 0 else f"status {min(result.status, 2)}"
        self.trials[trial.kind] += 1
        self.ends[f"{trial.kind}: {end}"] += 1
        self.findings += bool(found)
        self.most_memory[trial.kind] = max(self.most_memory[trial.kind], result.memory_bytes >> 20)
        self.most_seconds[trial.kind] = max(self.most_seconds.get(trial.kind, 0.0), result.seconds)

    def lines(self) -> list[str]:
        found = []
        for kind, count in sorted(self.trials.items()):
            ends = ", ".join(
                f"{name[len(kind) + 2 :]} {n}" for name, n in sorted(self.ends.items()) if name.startswith(f"{kind}:")
            )
            most = f"at most {self.most_memory[kind]} MiB and {self.most_seconds[kind]:.2f} s"
            found.append(f"{kind:10}{count:6} mutants, {most}: {ends}")
        return found


def fuzz(
    seed: int, numbers: Sequence[int], choices: Sequence[Program], only: Sequence[str], scratch: Path, findings: Path
) -> Summary:
    """Run the trials of these numbers."""
    summary = Summary()
    gc.collect()
    gc.freeze()  # children do not touch the pages of what is here
    for number in numbers:
        one = trial(seed, number, choices, only)
        if one.guest_runs and not harmless.available:
            continue
        result = run(one, scratch)
        found = faults(one, result)
        if found:
            keep(one, result, found, findings)
        summary.add(one, result, found)
    return summary


def use_host() -> None:
    """Build the host, and look for it only once: its key is a digest of all sources."""
    host = sanitized_host() if sanitized else plain_host()
    mipsrec.commands.run.host_executable = lambda: host


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make fuzz-input", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first trial")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--only", choices=list(WEIGHTS), action="append", default=[], help="this command (repeatable)")
    parser.add_argument("--sanitized", action="store_true", help="a host with the sanitizers; with --only interpret")
    parser.add_argument("--findings", type=Path, default=Path("build") / "findings")
    return parser.parse_args()


def main() -> int:
    arguments = _parse()
    folder = Path(tempfile.mkdtemp(prefix="mipsrec-fuzz-"))
    os.environ.setdefault("MIPSREC_CACHE", str(folder / "cache"))
    try:
        use_host()
        choices = programs(folder)
        if not harmless.available:
            print("fuzz-input: NOT RUNNING GUESTS: there is no system call filter for this machine", file=sys.stderr)
        numbers = range(arguments.first, arguments.first + arguments.count)
        findings = arguments.findings.resolve()
        summary = fuzz(arguments.seed, numbers, choices, arguments.only, folder / "scratch", findings)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("\n".join(summary.lines()))
    print(f"{sum(summary.trials.values())} mutants, {summary.findings} findings")
    return 1 if summary.findings else 0


if __name__ == "__main__":
    sys.exit(outside_pytest(main))
