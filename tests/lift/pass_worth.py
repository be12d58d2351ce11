#!/usr/bin/env python3
"""Measures what each optimisation is worth, by switching it off: `make pass-worth`.

Enters: the sources in samples/, and this checkout. Leaves: a table of Markdown. For each optimisation
it has the time of the samples without it relative to the time with it, as geometric means of those whose code differs:
minima of paired rounds. It has the size of their code, and the processor time that one larger program takes to
translate. More than 1 is what the optimisation gains; what is there for exactness costs, and has less than 1.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, os.fspath(ROOT))

from mipsrec import pipeline  # noqa: E402
from mipsrec.analysis import Program  # noqa: E402
from mipsrec.host_build import host_executable  # noqa: E402
from mipsrec.lift import build, policy  # noqa: E402
from mipsrec.lift.convention import Callee  # noqa: E402
from mipsrec.options import Options  # noqa: E402

TRANSLATED = "png"
"""The program whose translation is timed."""


def _without_pass(name: str) -> Callable[[], None]:
    def switch() -> None:
        kept = tuple(run for run in build.PIPELINE if run.__module__.split("passes.")[1] != name)
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
    "copies into loops": _replacing(policy, "copied_functions", lambda program: set()),
    "copies of tiny functions": _replacing(policy, "TINY_INSTRUCTIONS", 0),
    "saved-register handoff": _replacing(policy, "framed_functions", lambda program: set()),
    "registers dead at a self-call": _replacing(policy, "with_dead_registers", lambda function, frame, takes: frame),
    "partial inlining": _replacing(build, "find_partial_inline", lambda function: None),
    **{
        name.replace("_", " "): _without_pass(name)
        for name in (
            "fp_pair_forms", "no_wrap", "polled_loads", "vectorize", "scalar_promotion", "access_merge", "unaligned",
            "switches", "trapping_loads", "silent_stores", "spin_loads",
        )
    },
}  # fmt: skip


@dataclass(frozen=True)
class Sample:
    """A program that is built, and the arguments of its measured run."""

    name: str
    guest: Path
    arguments: tuple[str, ...]


def built(name: str, target: str) -> Path:
    """Return a sample, built for a target if it is not there."""
    guest = ROOT / "samples/build" / f"{name}-{target}-O2"
    if not guest.exists():
        subprocess.run([sys.executable, ROOT / "samples/build.py", name, "--target", target], check=True)
    return guest


def samples(chosen: list[str], target: str) -> Iterator[Sample]:
    """Yield the samples of those names; if there are none, all that are measured but whole programs."""
    manifest = json.loads((ROOT / "samples/manifest.json").read_text())
    for entry in manifest["samples"]:
        name = entry["name"]
        if name in chosen if chosen else entry.get("group") not in (None, "program"):
            yield Sample(name, built(name, target), tuple(entry["bench"]))


def _translate(guest: Path, library: Path, switch: str, reuse: bool) -> float:
    """Build a library with an optimisation off, in a process of its own; return its processor time in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = os.fork()
    if process == 0:
        if switch:
            SWITCHES[switch]()
        pipeline.build(pipeline.open_guest(guest), library, Options(reuse=reuse))
        os._exit(0)
    assert os.waitpid(process, 0)[1] == 0, (guest, switch)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _code(library: Path) -> bytes:
    """Return the code of a library, as its size and a digest of what the section `.text` holds."""
    with tempfile.NamedTemporaryFile() as section:
        command = ["objcopy", "-O", "binary", "--only-section=.text", os.fspath(library), section.name]
        subprocess.run(command, check=True)
        data = Path(section.name).read_bytes()
    return len(data).to_bytes(8, "big") + hashlib.blake2b(data).digest()


def _seconds(host: Path, library: Path, sample: Sample) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = [host, "--library", library, sample.guest, *sample.arguments]
    subprocess.run(words, stdout=subprocess.DEVNULL, check=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before.ru_utime


def _mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values)) if values else 1.0


def _row(switch: str, found: list[Sample], folder: Path, rounds: int, host: Path) -> str:
    """Return a row of the table."""
    times: dict[str, float] = {}
    sizes: list[float] = []
    for sample in found:
        usual, other = folder / f"{sample.name}.so", folder / f"{sample.name}.off.so"
        _translate(sample.guest, other, switch, reuse=True)
        one, two = _code(usual), _code(other)
        if one == two:
            continue
        sizes.append(int.from_bytes(two[:8], "big") / int.from_bytes(one[:8], "big"))
        pairs = [(_seconds(host, usual, sample), _seconds(host, other, sample)) for _ in range(rounds)]
        times[sample.name] = min(pair[1] for pair in pairs) / min(pair[0] for pair in pairs)
    most = sorted(times, key=lambda name: -abs(math.log(times[name])))[:3]
    named = ", ".join(f"{name} {times[name]:.2f}" for name in most)
    return f"| {switch} | {len(times)} | {_mean(list(times.values())):.3f} | {named} | {_mean(sizes):.3f} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], choices=SWITCHES, metavar="OPTIMISATION")
    parser.add_argument("--sample", action="append", default=[], help="only these (default: all but whole programs)")
    parser.add_argument("--target", choices=("mipsel", "mips"), default="mipsel")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    found, host = list(samples(arguments.sample, arguments.target)), host_executable()
    translated = built(TRANSLATED, arguments.target)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
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
