"""`make fuzz-csmith`: random C programs print the same checksum in all tiers, under qemu-user and natively.

Each seed of csmith gives one program, compiled at two levels for both byte orders. A program with unions may mean
another thing in the other byte order, and of floating-point variables csmith's checksum takes the bytes as they lie in
memory. Every fourth seed has neither, and then all must agree; else those of one byte order. Programs that do not end
soon natively are left out. Prints a line per difference, and the commands that show those of a seed again.
"""

from __future__ import annotations

import argparse
import itertools
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tqdm import tqdm

from mipsrec.host_build import host_executable
from tests.conformance.gcc_batch import (
    BUILD_HELP,
    INTERPRETED,
    NO_BUILD_HELP,
    Batch,
    commands,
    compile_batch,
    link_batch,
    run,
)
from tests.conformance.gcc_suites import LEVELS, Case
from tests.support.compiled import QEMU
from tests.support.processor_time import run_for
from tests.support.tools import need, outside_pytest

HEADERS = Path("/usr/include/csmith")
DEFAULT_LEVELS = ["O2", "O3"]
QEMU_UNALIGNED = "signal 10"
"""How qemu-user 7.2 ends a program at an unaligned access (of a packed structure), which a kernel makes good."""
NATIVE_SECONDS = 1
BATCH_SEEDS = 20
FLAGS = (f"-I{HEADERS}",)

SIZE = ("--max-funcs", "5", "--max-block-depth", "4", "--max-expr-complexity", "8")  # some 1200 instructions
ORDERLESS = ("--no-unions", "--no-float")  # what such a program prints does not depend on the byte order
VARIANTS = (ORDERLESS, (), ("--no-unions", "--float"), ("--no-packed-struct",))
"""csmith's further options by seed, in turn."""

_LONG = re.compile(r"\b((?:0x[0-9A-Fa-f]+|[0-9]+)U?)L\b")
"""csmith's constants of 32 bits: as long ones they would have 64 natively, and compare as signed where MIPS' do not."""


@dataclass
class Found:
    """What one seed's program printed, by where it ran."""

    seed: int
    outputs: dict[str, str] = field(default_factory=dict)  # "native", or "LEVEL ORDER WAY"

    def differences(self) -> list[str]:
        """Return the places whose output is not that of qemu-user, or of the native program where that counts."""
        wrong = []
        for place, output in self.outputs.items():
            if place == "native" or (place.endswith("qemu") and output == QEMU_UNALIGNED):
                continue
            level, order = place.split()[:2]
            judges = [self.outputs[f"{level} {order} qemu"]]
            if judges == [QEMU_UNALIGNED]:
                judges = [self.outputs[f"{level} {order} {INTERPRETED}"]]
            if order == "little" or set(ORDERLESS) <= set(variant(self.seed)):
                judges.append(self.outputs["native"])
            if any(output != judge for judge in judges):
                wrong.append(f"{place}: {output}, not {' or '.join(dict.fromkeys(judges))}")
        return wrong


def variant(seed: int) -> tuple[str, ...]:
    """Return csmith's options for a seed."""
    return SIZE + VARIANTS[seed % len(VARIANTS)]


def generate(seed: int, folder: Path) -> Case:
    """Return the program of a seed."""
    source = folder / f"{seed}.c"
    words = [need("csmith"), "--seed", str(seed), *variant(seed), "--output", str(source)]
    subprocess.run(words, check=True, cwd=folder, stdout=subprocess.DEVNULL)
    source.write_text(_LONG.sub(r"\1", source.read_text()))
    return Case("csmith", source.name, (source,), FLAGS)


def native_output(case: Case, folder: Path) -> str | None:
    """Return what a native build prints, None when it takes too long."""
    program = folder / f"{case.name}.native"
    need(str(HEADERS), "libcsmith-dev")
    subprocess.run([need("gcc"), "-w", "-O1", *FLAGS, str(case.files[0]), "-o", str(program)], check=True)
    try:
        result = run_for([program], NATIVE_SECONDS, stdout=subprocess.PIPE, text=True)
    except subprocess.TimeoutExpired:
        return None
    finally:
        program.unlink()
    return result.stdout.strip() or f"status {result.returncode}"


def guest_outputs(
    batch: Batch, folder: Path, host: Path, builds: Sequence[Sequence[str]]
) -> dict[tuple[Case, str], str]:
    """Return what each program of a batch prints, by the way it runs."""
    folder.mkdir()
    inside, _ = compile_batch(batch, folder)
    assert inside == batch.tests, "csmith made what the cross compiler does not take"
    program = link_batch(batch, len(inside), folder)
    processor = ["-cpu", "74Kf"] if "-mdsp" in LEVELS[batch.level] else []  # qemu's own choice lacks the DSP module
    qemu = "qemu", [need(QEMU[batch.order], "qemu-user"), *processor, str(program)]
    outputs = {}
    for way, command in itertools.chain([qemu], commands(host, program, builds)):
        printed = folder / way
        printed.mkdir()
        for number, (case, end) in enumerate(run(command, inside, folder, printed).items()):
            outputs[case, way] = " ".join(filter(None, [(printed / str(number)).read_text().strip(), end]))
    return outputs


def try_seeds(
    seeds: list[int], folder: Path, host: Path, builds: Sequence[Sequence[str]], levels: Sequence[str]
) -> list[Found]:
    """Return what the programs of some seeds print everywhere; those that take too long natively are left out."""
    folder.mkdir()
    cases = {generate(seed, folder): seed for seed in seeds}
    native = {case: native_output(case, folder) for case in cases}
    found = {case: Found(seed, {"native": native[case] or ""}) for case, seed in cases.items() if native[case]}
    for level in levels if found else ():
        for order in QEMU:
            outputs = guest_outputs(Batch(level, order, list(found)), folder / f"{level}-{order}", host, builds)
            for (case, way), output in outputs.items():
                found[case].outputs[f"{level} {order} {way}"] = output
    return list(found.values())


def main(words: list[str]) -> int:
    """Try seeds; return 1 when there was a difference."""
    parser = argparse.ArgumentParser(prog="make fuzz-csmith", description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1, help="the first seed (default 1)")
    parser.add_argument("--count", type=int, default=50, help="how many seeds (default 50)")
    parser.add_argument(
        "--level", choices=LEVELS, action="append", help="how they are compiled (repeatable; default O2 and O3)"
    )
    parser.add_argument("--build", type=str.split, action="append", metavar="WORDS", help=BUILD_HELP)
    parser.add_argument("--no-build", action="store_true", help=NO_BUILD_HELP)
    parser.add_argument("--jobs", type=int, default=2, help="batches at once (default 2)")
    chosen = parser.parse_args(words)
    seeds = range(chosen.seed, chosen.seed + chosen.count)
    parts = [list(seeds[start : start + BATCH_SEEDS]) for start in range(0, len(seeds), BATCH_SEEDS)]
    tried = different = 0
    with tempfile.TemporaryDirectory(prefix="mipsrec-csmith-") as name, ThreadPoolExecutor(chosen.jobs) as pool:
        folders = [Path(name) / str(part[0]) for part in parts]
        builds, levels = [] if chosen.no_build else chosen.build or [[]], chosen.level or DEFAULT_LEVELS
        work = partial(try_seeds, host=host_executable(), builds=builds, levels=levels)
        with tqdm(total=len(seeds), unit=" seeds", file=sys.stderr) as bar:
            for part, results in zip(parts, pool.map(work, parts, folders)):
                bar.update(len(part))
                tried += len(results)
                for found in results:
                    lines = [f"seed {found.seed}: {line}" for line in found.differences()]
                    if lines:
                        words = " ".join(f"--level {level}" for level in chosen.level or [])
                        words += "".join(f' --build="{" ".join(options)}"' for options in chosen.build or [])
                        build = f"ARGS='{words.strip()}'" if words else ""
                        lines.append(f"    make fuzz-csmith SEED={found.seed} COUNT=1 {build}".rstrip())
                        lines.append(f"    csmith --seed {found.seed} {' '.join(variant(found.seed))}")
                        different += 1
                        print(*lines, sep="\n", flush=True)
    left_out = len(seeds) - tried
    print(f"{tried} programs compared ({left_out} did not end in time natively), {different} with differences")
    return different > 0


if __name__ == "__main__":
    sys.exit(outside_pytest(lambda: main(sys.argv[1:])))
