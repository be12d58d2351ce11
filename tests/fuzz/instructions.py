"""`make fuzz`: random instructions and short sequences through recompiled code, interpreter, qemu-user and unicorn.

Each batch makes some hundred cases for one byte order and one Status.FR, runs every case on many states in every
executor, and compares all registers, FCSR, memory and signals afterwards. What differs without a reason
(reasons.py) is made small, printed, and kept as a line in tests/vectors/found.txt. The same seed makes the same
batches.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from mipsrec.host_build import host_executable
from mipsrec.isa import ROWS
from tests.fuzz.batch import Failure, Tally, run_batch
from tests.fuzz.guest import MIPS16_MODES, MODES, EngineError, Mode
from tests.fuzz.mips16_cases import all_names
from tests.fuzz.shrink import Shrinker, vector_line
from tests.support.paths import VECTORS

FOUND = VECTORS / "found.txt"
MOST_SHRUNK = 5


def batches(seed: str, wanted: int, modes: tuple[Mode, ...]) -> Iterator[tuple[Mode, str]]:
    """Yield mode and seed of each batch, all modes in turn; 0 wanted: without end."""
    for number in range(wanted) if wanted else count():
        yield modes[number % len(modes)], f"{seed} {number}"


def expected_names(tally: Tally) -> set[str]:
    """Return the names of what the modes of a run have."""
    names: set[str] = set()
    for executed in tally.executions:
        names |= all_names() if "MIPS16" in executed else {row.name for row in ROWS}
    return names


def report(tally: Tally, seed: str) -> str:
    """Return what a run has shown, as text."""
    executions = next(iter(tally.executions.values()), 0)
    total = sum(number for name, number in tally.executions.items() if name.endswith("qemu"))
    lines = [f"seed {seed}", f"states executed: {total} by each executor", f"instructions: {sum(tally.rows.values())}"]
    lines.append(f"states on which qemu or unicorn agrees in everything: {tally.judged}")
    for executor in tally.equal:
        lines.append(
            f"{executor}: {tally.equal[executor]} equal, {tally.explained[executor]} differ for a known reason"
        )
    lines.append(f"without a reason: {len(tally.failures)}")
    lines += ["", "executions by mode:", *(f"  {n} {name}" for name, n in tally.executions.items() if executions)]
    lines += ["", "known reasons met:", *(f"  {reason}" for reason in sorted(tally.reasons))]
    names = sorted(expected_names(tally))
    lines += ["", f"executions by row ({len(names)} mnemonics, fewest {min(map(tally.rows.__getitem__, names))}):"]
    lines += [f"  {tally.rows[name]} {name}" for name in names]
    return "\n".join([*lines, ""])


def explain(failure: Failure, folder: Path, host: Path) -> str:
    """Return a failure as text; made small and with its vector kept, but of MIPS16e code."""
    differences = {name: f"{a:x} {b:x}" for name, (a, b) in failure.differences.items()}
    if failure.mode.mips16:
        return f"{failure.mode} {failure.executor}: {differences}\n  {failure.case.listing()}\n  {failure.state.hex()}"
    shrinker = Shrinker(folder, host)
    small = shrinker.shrink(failure)
    try:
        results = shrinker.results(small)
    except EngineError as error:
        return f"{failure.mode} {failure.executor}: {failure.case}: {error}"
    judge = failure.executor if failure.executor in results and not failure.executor.startswith("lifted") else "qemu"
    line = vector_line(small, results[judge])
    if not FOUND.exists():
        FOUND.write_text("# Found by `make fuzz`; the format stands at the top of integer.txt.\n\n")
    with FOUND.open("a") as file:
        file.write(line + "\n")
    return f"{failure.mode} {failure.executor}: {differences}\n  {line}"


def run(arguments: argparse.Namespace) -> Tally:
    """Run batches until the time or their number is used up."""
    tally, host = Tally(), host_executable()
    end = time.monotonic() + arguments.seconds
    with tempfile.TemporaryDirectory(prefix="mipsrec-fuzz-") as name:
        modes = MIPS16_MODES if arguments.mips16 else (*MODES, *MIPS16_MODES)
        for mode, seed in batches(arguments.seed, arguments.batches, modes):
            if not arguments.batches and time.monotonic() > end:
                break
            started, known = time.monotonic(), len(tally.failures)
            run_batch(Path(name), host, mode, seed, arguments.cases, arguments.states, tally)
            took = time.monotonic() - started
            print(f"{mode}, seed {seed!r}: {took:.1f} s, {len(tally.failures) - known} without a reason", flush=True)
            one_of_each = {failure.case.start: failure for failure in reversed(tally.failures[known:])}
            for failure in list(one_of_each.values())[-MOST_SHRUNK:]:
                print(explain(failure, Path(name), host), flush=True)
            if arguments.report:  # after each batch, for runs that are stopped
                arguments.report.write_text(report(tally, arguments.seed))
    return tally


def main(words: list[str]) -> int:
    """Run; return 1 when something differs without a reason."""
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="begin no batch after that many (default 60)")
    parser.add_argument("--batches", type=int, default=0, help="run that many batches instead")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--cases", type=int, default=500, help="cases in a batch (default 500)")
    parser.add_argument("--states", type=int, default=40, help="states of each case (default 40)")
    parser.add_argument("--mips16", action="store_true", help="cases of MIPS16e code only")
    parser.add_argument("--report", type=Path, help="write the counts here")
    arguments = parser.parse_args(words)
    tally = run(arguments)
    print(report(tally, arguments.seed).partition("\nexecutions by mode")[0])
    return 1 if tally.failures else 0


if __name__ == "__main__":
    os.environ["CI"] = "1"  # a missing tool ends the run
    sys.exit(main(sys.argv[1:]))
