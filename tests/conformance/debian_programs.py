"""Programs of Debian's mipsel packages: 84 commands, run in several ways, with known exit status and output.

  make conformance ARGS='debian --build'             build what they load (hours), run all rows all ways
  make conformance ARGS='debian --only sed,perl --way interp'
  make conformance ARGS='debian --way chroot --table build/table.md --with qemu,native'

Ways: interp, from a sysroot; recompiled, from a sysroot, with the code that the cache has; chroot, where the kernel
starts the host (binfmt_misc of a user namespace; else the host is started by hand), with the code of --opt auto; and
baseline and "baseline at random", the baseline tier as support/tiers.py has it.

Enters: words of the command line. Leaves: a table on standard output, and exit status 0 when every row did what it
must, and programs that compute (50 million instructions) interpreted less than 1 % when recompiled. The rows `find`,
`diff` and `coreutils-stat` print times and sizes: a native run on the same files says what is right.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from mipsrec.cache.folders import cache_folder, variant_of
from mipsrec.commands.run import is_dynamic
from mipsrec.dynamic_linker import closure_of
from mipsrec.elf import load_elf
from mipsrec.errors import MipsrecError
from mipsrec.fill_store import StoreProgress, code_bytes, store_all
from mipsrec.host_build import host_executable
from mipsrec.options import LEVELS, Options
from mipsrec.sysroot import Sysroot, is_mips
from mipsrec.timing import geometric_mean
from tests.conformance.debian_inputs import put_inputs
from tests.conformance.debian_rows import (
    PACKAGES,
    End,
    Judge,
    Row,
    Way,
    by_qemu,
    in_chroot,
    in_tier,
    interpreted,
    load_rows,
    native,
    recompiled,
)
from tests.support.debian import unpacked
from tests.support.tiers import BASELINE, CHECKED

WAYS = ("interp", "recompiled", "chroot", *BASELINE)
OTHERS = ("qemu", "native")
COMPUTES = 50_000_000
MOST_INTERPRETED = 0.01
LONG_SECONDS = 1.0
"""The geometric means are over rows that take qemu as long, and as much processor time: others sleep."""
PLUGINS = ("usr/lib/python3.11/lib-dynload/*.so",)
"""What programs open at run time."""


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(prog="make conformance ARGS=debian", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip

    def names(allowed: Sequence[str]) -> Callable[[str], list[str]]:
        def split(text: str) -> list[str]:
            found = [name for name in text.split(",") if name]
            for name in found:
                if allowed and name not in allowed:
                    raise argparse.ArgumentTypeError(f"{name} is none of {', '.join(allowed)}")
            return found

        return split

    parser.add_argument("--only", type=names(()), default=[], metavar="NAME,...", help="only these rows")
    ways = f"{', '.join(WAYS)}; or checked, which leaves out static programs: they have no symbols"
    parser.add_argument("--way", type=names((*WAYS, *CHECKED)), default=list(WAYS), metavar="WAY,...", help=ways)
    parser.add_argument("--build", action="store_true", help="first build what the rows load and the cache lacks")
    parser.add_argument("--opt", choices=LEVELS, default="auto", help="of what is built and used (default auto)")
    parser.add_argument("--sysroot", type=Path, metavar="DIR",
                        help="this one, not one made of Debian's packages; it gets the inputs in DIR/w")  # fmt: skip
    parser.add_argument("--host", type=Path, help="this one, not one built of the sources")
    parser.add_argument("--jobs", type=int, default=2, help="rows at once (default 2)")
    parser.add_argument("--limit", type=float, default=600, metavar="S", help="seconds for a row (default 600)")
    parser.add_argument("--table", type=Path, metavar="FILE", help="also time the rows, and write that there")
    parser.add_argument("--with", dest="others", type=names(OTHERS), default=[], metavar="OTHER,...",
                        help="beside what to time them: qemu, native")  # fmt: skip
    parser.add_argument("--rounds", type=int, default=3, help="how often each is timed (default 3; the least counts)")
    return parser.parse_args(words)


# ---- building ----


class _Lines(StoreProgress):
    """A line for each file."""

    def begin(self, file_count: int, code_bytes: int) -> None:
        self.left, self.size = file_count, code_bytes

    def file(self, path: Path) -> None:
        print(f"building {path.name}: {self.left} files, {self.size // 1024} KiB to go", file=sys.stderr, flush=True)

    def end(self, path: Path, code_bytes: int) -> None:
        self.left -= 1
        self.size -= code_bytes


def programs_of(rows: Iterable[Row], root: Path) -> list[Path]:
    """Return the programs that the words of some rows name, by path or by name."""
    sysroot = Sysroot(root)
    found: dict[Path, None] = {}
    for row in rows:
        for name in re.findall(r"[\w./+-]+", " ".join(row.argv)):
            for place in (name,) if name.startswith("/") else (f"/bin/{name}", f"/usr/bin/{name}"):
                path = sysroot.host_path(place)
                if path is not None and path.is_file() and is_mips(path):
                    found[path] = None
    return list(found)


def build(rows: list[Row], root: Path, options: Options) -> list[str]:
    """Build all that some rows load at the start, and plugins; return a line for each file that was left out."""
    closure = closure_of(programs_of(rows, root), Sysroot(root))
    images = dict(closure.images)
    if any("python" in row.name for row in rows):
        for pattern in PLUGINS:
            images |= {path: load_elf(path) for path in sorted(root.glob(pattern))}
    report = store_all(images.items(), options, _Lines())
    size = sum(map(code_bytes, images.values()))
    print(f"{len(images)} files with {size // 1024} KiB of code: {len(report.built)} built, "
          f"{len(report.present)} were there", file=sys.stderr)  # fmt: skip
    return [*closure.missing, *report.skipped]


# ---- running ----


@dataclass
class Result:
    """What became of a row: ends by the name of the way, and what was wrong with them."""

    row: Row
    ends: dict[str, End] = field(default_factory=dict)
    wrong: dict[str, str] = field(default_factory=dict)

    def share(self) -> float | None:
        """Return how much of its instructions the recompiled run interpreted; None where that is not known."""
        whole = self.ends["interpreted"].interpreted if "interpreted" in self.ends else None
        rest = self.ends["recompiled"].interpreted if "recompiled" in self.ends else None
        return rest / whole if whole and rest is not None else None

    def computes(self) -> bool:
        """Return whether the share counts: start-up is little of what the row does."""
        end = self.ends.get("interpreted")
        return end is not None and (end.interpreted or 0) >= COMPUTES


def run_row(row: Row, ways: list[Way], judge: Judge, limit: float) -> Result:
    """Run a row all ways, one after the other."""
    result = Result(row)
    for way in ways:
        end = result.ends[way.name] = way.run(row, limit)
        wrong = judge.wrong(row, end)
        if wrong:
            result.wrong[way.name] = wrong
    share = result.share()
    if share is not None and share > MOST_INTERPRETED and result.computes() and "recompiled" not in result.wrong:
        result.wrong["recompiled"] = f"{share:.1%} of its instructions were interpreted; is all built? (--build)"
    return result


def run_all(rows: list[Row], ways: list[Way], judge: Judge, limit: float, jobs: int) -> list[Result]:
    """Run rows, `jobs` at once; say what went wrong as soon as it does."""
    results = []
    with ThreadPoolExecutor(jobs) as pool:
        for result in pool.map(lambda row: run_row(row, ways, judge, limit), rows):
            results.append(result)
            for way, wrong in result.wrong.items():
                print(f"FAILED {result.row.name} {way}: {wrong}", file=sys.stderr, flush=True)
    return results


def summary(results: list[Result], ways: list[Way]) -> list[str]:
    """Return a line for each row: result and seconds each way, instructions, and the part interpreted."""
    head = f"{'row':20}" + "".join(f"{way.name:>18}" for way in ways) + f"{'instructions':>16}{'interpreted':>13}"
    lines = [head]
    for result in results:
        line = f"{result.row.name:20}"
        for way in ways:
            state = "FAILED" if way.name in result.wrong else "ok"
            line += f"{state + f' {result.ends[way.name].seconds:8.2f} s':>18}"
        whole = result.ends["interpreted"].interpreted if "interpreted" in result.ends else None
        share = result.share()
        line += f"{whole:16,}" if whole is not None else f"{'':16}"
        line += f"{share:12.2%}{'*' if result.computes() else ''}" if share is not None else ""
        lines.append(line.rstrip())
    if any(result.computes() for result in results) and any(result.share() is not None for result in results):
        lines.append(f"* at least {COMPUTES // 1_000_000} million instructions: must be under {MOST_INTERPRETED:.0%}")
    return lines


# ---- timing ----


def timed(rows: list[Row], ways: list[Way], judge: Judge, rounds: int, limit: float) -> list[dict[str, float]]:
    """Return the least seconds of each row, by way: they take turns, so that all meet the same machine."""
    found = []
    for row in rows:
        best: dict[str, float] = {}
        for _ in range(rounds):
            for way in ways:
                end = way.run(row, limit)
                if end.status == row.status:  # others print other sums where programs and machines differ
                    best[way.name] = min(best.get(way.name, end.seconds), end.seconds)
                    computing = f"{way.name} computing"
                    best[computing] = min(best.get(computing, end.processor_seconds), end.processor_seconds)
        found.append(best)
        said = ", ".join(f"{way.name} {best[way.name]:.3f} s" for way in ways if way.name in best)
        print(f"timed {row.name}: {said}", file=sys.stderr, flush=True)
    return found


def _ratio(times: dict[str, float], over: str, under: str) -> float | None:
    return times[over] / times[under] if over in times and under in times else None


def markdown(rows: list[Row], times: list[dict[str, float]], command: str) -> list[str]:
    """Return the lines of the document: seconds of the whole command in a chroot, and how much faster than qemu."""
    lines = [f"Written by `{command}`. Seconds in a chroot, the least of several, taken in turns; "
             "some 8 ms of each are namespaces and mounts.", "",
             "| row | native | mipsrec | qemu | times faster than qemu | times native |",
             "|---|---|---|---|---|---|"]  # fmt: skip
    for row, best in zip(rows, times):
        cells = [f"{best[name]:.3f}" if name in best else "" for name in ("native", "chroot", "qemu")]
        ratios = (_ratio(best, "qemu", "chroot"), _ratio(best, "chroot", "native"))
        cells += [f"{ratio:.2f}" if ratio is not None else "" for ratio in ratios]
        lines.append("| " + " | ".join([row.name, *cells]) + " |")
    long = [best for best in times if min(best.get("qemu", 0), best.get("qemu computing", 0)) >= LONG_SECONDS]
    for over, under, text in (("qemu", "chroot", "faster than qemu"), ("chroot", "native", "times native")):
        ratios = [ratio for best in long if (ratio := _ratio(best, over, under)) is not None]
        if ratios:
            lines += ["", f"Geometric mean over the {len(ratios)} rows that take qemu {LONG_SECONDS:.0f} s or more: "
                      f"{geometric_mean(ratios):.2f} {text} "
                      f"(from {min(ratios):.2f} to {max(ratios):.2f})."]  # fmt: skip
    return lines


# ---- all of it ----


def main(words: list[str]) -> int:
    """Run the rows; return the exit status."""
    chosen = parse(words)
    rows = load_rows(chosen.only)
    root = chosen.sysroot.resolve() if chosen.sysroot else unpacked(PACKAGES, name="corpus")
    put_inputs(root, large=any("text20" in word for row in rows for word in row.argv))
    if "checked" in chosen.way:
        rows = [row for row in rows if is_dynamic(root / row.argv[0].lstrip("/"))]
    options, host = Options(opt=chosen.opt), (chosen.host or host_executable()).resolve()
    left_out = []
    if chosen.build:
        try:
            left_out = build(rows, root, options)
        except MipsrecError as error:
            print(f"conformance: {error}", file=sys.stderr)
            return 1
    kinds = {
        "interp": interpreted(root, host), "recompiled": recompiled(root, host, cache_folder(), variant_of(options)),
        "chroot": in_chroot(root, host, cache_folder()),
        **{name: in_tier(root, host, name) for name in (*BASELINE, *CHECKED)},
    }  # fmt: skip
    ways, judge, start = [kinds[name] for name in chosen.way], Judge(root), time.monotonic()
    results = run_all(rows, ways, judge, chosen.limit, chosen.jobs)
    print(*summary(results, ways), sep="\n")
    failed = [f"{result.row.name} {way}: {wrong}" for result in results for way, wrong in result.wrong.items()]
    print(*failed, *left_out, sep="\n")
    print(f"{len(rows)} rows, {len(ways)} ways, {len(failed)} failed; {time.monotonic() - start:.0f} s")
    if chosen.table:
        others = {"qemu": lambda: by_qemu(root), "native": lambda: native(_native_root(rows))}
        beside = [kinds["chroot"], *(others[name]() for name in chosen.others)]
        times = timed(rows, beside, judge, chosen.rounds, chosen.limit)
        command = f"make conformance ARGS='debian {' '.join(words)}'"
        chosen.table.write_text("\n".join([*markdown(rows, times, command), ""]))
    return bool(failed)


def _native_root(rows: list[Row]) -> Path:
    root = unpacked(PACKAGES, "amd64", name="corpus")
    put_inputs(root, large=any("text20" in word for row in rows for word in row.argv))
    return root
