#!/usr/bin/env python3
"""Measures what each optimisation is worth, by switching it off: `make pass-worth`.

Enters: the sources in samples/, and this checkout. Leaves: a table of Markdown. For each optimisation
it has the time of the samples without it relative to the time with it, as geometric means of those whose code differs:
minima of paired rounds. It has the size of their code, and the processor time that one larger program takes to
translate. More than 1 is what the optimisation gains; what is there for exactness costs, and has less than 1.
"""

from __future__ import annotations

import argparse
import math
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, os.fspath(ROOT))

from mipsrec import pipeline  # noqa: E402
from mipsrec.analysis import Program  # noqa: E402
from mipsrec.cache.library_file import code_bytes  # noqa: E402
from mipsrec.commands.bench import load_samples_module  # noqa: E402
from mipsrec.host_build import host_executable  # noqa: E402
from mipsrec.lift import build, policy  # noqa: E402
from mipsrec.lift.convention import Callee  # noqa: E402
from mipsrec.options import Options  # noqa: E402
from mipsrec.timing import Contender, compare, geometric_mean  # noqa: E402

TRANSLATED = "png"
"""The program whose translation is timed."""


NEEDED = ("guarded-accesses",)
"""Passes without which the plan of the others is none."""


def _without_pass(name: str) -> Callable[[], None]:
    def switch() -> None:
        kept = tuple(one for one in build.PIPELINE if one.name != name)
        assert len(kept) == len(build.PIPELINE) - 1, name
        build.decide.__defaults__ = (kept,)

    return switch


def _replacing(module: Any, name: str, value: Any) -> Callable[[], None]:
    def switch() -> None:
        assert hasattr(module, name), name
        setattr(module, name, value)

    return switch


def _with_cold(
    program: Program, callees: Mapping[int, Callee], starts: Collection[int], memory_resident: Collection[int] = ()
) -> dict[int, Callee]:
    """Return the callees as policy.py does, but for registers in the state where a function is cold."""
    found = policy.with_cold(program, callees, memory_resident, memory_resident)
    return {start: replace(one, cold=one.cold or start in starts) for start, one in found.items()}


SWITCHES: dict[str, Callable[[], None]] = {
    "memory-resident interpreters": _replacing(pipeline, "large_interpreters", lambda program, starts: set()),
    "memory-resident cold functions": _replacing(pipeline, "with_cold", _with_cold),
    "SSA in cold functions": _replacing(policy, "COLD_IN_SSA", 0),
    "copies into loops": _replacing(policy, "copied_functions", lambda program: set()),
    "copies of tiny functions": _replacing(policy, "TINY_INSTRUCTIONS", 0),
    **{one.name: _without_pass(one.name) for one in build.PIPELINE if one.name not in NEEDED},
}  # fmt: skip


@dataclass(frozen=True)
class Sample:
    """A program that is built, and the arguments of its measured run."""

    name: str
    guest: Path
    arguments: tuple[str, ...]


def samples(module: ModuleType, chosen: list[str], target: str, folder: Path) -> Iterator[Sample]:
    """Build the samples of those names; if there are none, all that are measured but whole programs."""
    for name, sample in module.load_samples().items():
        if sample.bench is not None and (name in chosen if chosen else sample.group != "program"):
            yield Sample(name, module.build_guest(name, target, out_dir=folder), sample.bench)


def _build(guest: Path, library: Path, switch: str, reuse: bool) -> None:
    if switch:
        SWITCHES[switch]()
    pipeline.build(pipeline.open_guest(guest), library, Options(reuse=reuse))


def _translate(guest: Path, library: Path, switch: str, reuse: bool) -> float:
    """Build a library with an optimisation off, in a process of its own; return its processor time in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = get_context("fork").Process(target=_build, args=(guest, library, switch, reuse))
    process.start()
    process.join()
    assert process.exitcode == 0, (guest, switch)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _quotient(host: Path, sample: Sample, usual: Path, other: Path, rounds: int) -> float:
    """Return the time with one library relative to that with another, of the quickest of paired runs."""
    contenders = [
        Contender(label, tuple(map(str, (host, "--library", library, sample.guest, *sample.arguments))))
        for label, library in (("usual", usual), ("other", other))
    ]
    found = compare(sample.name, contenders, rounds)
    assert not found.wrong, (sample.name, found.wrong)
    return min(found.seconds["other"]) / min(found.seconds["usual"])


def _row(switch: str, found: list[Sample], folder: Path, rounds: int, host: Path) -> str:
    """Return a row of the table."""
    times: dict[str, float] = {}
    sizes: list[float] = []
    for sample in found:
        usual, other = folder / f"{sample.name}.so", folder / f"{sample.name}.off.so"
        _translate(sample.guest, other, switch, reuse=True)
        if usual.read_bytes() == other.read_bytes():
            continue
        sizes.append(code_bytes(other) / code_bytes(usual))
        times[sample.name] = _quotient(host, sample, usual, other, rounds)
    most = sorted(times, key=lambda name: -abs(math.log(times[name])))[:3]
    named = ", ".join(f"{name} {times[name]:.2f}" for name in most)
    time_mean, size_mean = geometric_mean(list(times.values())) or 1, geometric_mean(sizes) or 1
    return f"| {switch} | {len(times)} | {time_mean:.3f} | {named} | {size_mean:.3f} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], choices=SWITCHES, metavar="OPTIMISATION")
    parser.add_argument("--sample", action="append", default=[], help="only these (default: all but whole programs)")
    parser.add_argument("--target", choices=("mipsel", "mips"), default="mipsel")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    module, host = load_samples_module(), host_executable()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = list(samples(module, arguments.sample, arguments.target, folder))
        translated = module.build_guest(TRANSLATED, arguments.target, out_dir=folder)
        for sample in found:
            _translate(sample.guest, folder / f"{sample.name}.so", "", reuse=True)
        plain = min(_translate(translated, folder / "t.so", "", reuse=False) for _ in range(2))
        print("| off | programs | time | most | code | translation |\n|---|---:|---:|---|---:|---:|", flush=True)
        for switch in arguments.only or SWITCHES:
            begun = time.monotonic()
            row = _row(switch, found, folder, arguments.rounds, host)
            seconds = min(_translate(translated, folder / "t.so", switch, reuse=False) for _ in range(2))
            print(f"{row} {seconds / plain:.3f} |", flush=True)
            print(f"{switch}: {time.monotonic() - begun:.0f} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
