"""gcc's own tests, recompiled and interpreted: every test, level and byte order of the lists, or what options choose.

Enters: words of the command line. Leaves: a table by suite, level and byte order on standard output, a line for each
test that failed, and exit status 0 when none did.
"""

from __future__ import annotations

import argparse
import itertools
import resource
import sys
import tempfile
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

from tqdm import tqdm

from mipsrec.host_build import host_executable
from tests.conformance.gcc_batch import BUILD_HELP, NO_BUILD_HELP, UNBUILT, Batch, run_batch, ways
from tests.conformance.gcc_suites import LEVELS, SUITES, load_test, read_suite, sources
from tests.support.paths import ROOT

BATCH_TESTS = 400
ORDERS = ("big", "little")


def parse(words: list[str]) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(prog="make conformance ARGS=gcc", description=__doc__.splitlines()[0])
    parser.add_argument("--suite", choices=SUITES, action="append", help="only this one (repeatable)")
    parser.add_argument("--level", choices=LEVELS, action="append", help="only this one (repeatable)")
    parser.add_argument("--order", choices=ORDERS, action="append", help="only this one")
    parser.add_argument("--match", default="", help="only tests with this in their names")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only each N-th test")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="begin with the N-th test (default 0)")
    parser.add_argument("--build", type=str.split, action="append", metavar="WORDS", help=BUILD_HELP)
    parser.add_argument("--no-build", action="store_true", help=NO_BUILD_HELP)
    parser.add_argument("--jobs", type=int, default=2, help="batches at once (default 2)")
    return parser.parse_args(words)


def batches(chosen: argparse.Namespace, testsuite: Path) -> list[Batch]:
    """Return all there is to do, in batches of similar size."""
    found = []
    for suite in map(read_suite, chosen.suite or SUITES):
        for level in (level for level in suite.all_levels() if level in (chosen.level or LEVELS)):
            names = [name for name in suite.tests(level) if chosen.match in name][chosen.first :: chosen.every]
            tests = [load_test(testsuite, suite, name) for name in names]
            count = -(-len(tests) // BATCH_TESTS)
            for order in (order for order in suite.orders if order in (chosen.order or ORDERS)):
                found += [Batch(level, order, tests[part::count]) for part in range(count)]
    return found


def run_all(todo: list[Batch], host: Path, builds: list[list[str]], jobs: int, folder: Path) -> list[Batch]:
    """Run batches, `jobs` at once; return them, and those that were made of tests that cannot share a program."""
    finished: list[Batch] = []
    names = (str(number) for number in itertools.count())
    tests = sum(len(batch.tests) for batch in todo)
    with tqdm(total=tests, unit=" tests", file=sys.stderr, mininterval=1) as bar, ThreadPoolExecutor(jobs) as pool:

        def submit(batch: Batch) -> Future[list[Batch]]:
            return pool.submit(run_batch, batch, folder / next(names), host, builds)

        pending = {submit(batch): batch for batch in todo}
        while pending:
            done, _ = wait(pending, return_when=FIRST_COMPLETED)
            for future in done:
                finished.append(pending.pop(future))
                try:
                    alone = future.result()
                except BaseException:
                    pool.shutdown(cancel_futures=True)
                    raise
                pending |= {submit(batch): batch for batch in alone}
                bar.update(len(finished[-1].tests) - len(alone))
                for line in failures(finished[-1:]):
                    bar.write(line, file=sys.stderr)
    return finished


def table(finished: list[Batch], names: list[str]) -> list[str]:
    """Return a line per suite, level and byte order: how many tests there are, passed each way, and did not build."""
    rows: dict[tuple[int, int, str], list[tuple[str, str]]] = {}
    for batch in finished:
        for (way, test), end in batch.results.items():
            place = SUITES.index(test.suite), list(LEVELS).index(batch.level), batch.order
            rows.setdefault(place, []).append((way, end))
    lines = ["| " + " | ".join(["suite", "level", "byte order", "tests", *names, "not built"]) + " |"]
    lines.append("|" + "---|" * (lines[0].count("|") - 1))
    totals = [0] * (len(names) + 2)
    for (suite, level, order), ends in sorted(rows.items()):
        passed = [ends.count((way, "")) for way in names]
        counts = [len(ends) // len(names), *passed, ends.count((names[0], UNBUILT))]
        totals = [total + count for total, count in zip(totals, counts)]
        lines.append("| " + " | ".join([SUITES[suite], list(LEVELS)[level], order, *map(str, counts)]) + " |")
    return [*lines, "| all | | | " + " | ".join(map(str, totals)) + " |"]


def failures(finished: list[Batch]) -> list[str]:
    """Return a line per test and way that did not pass."""
    return sorted(
        f"{test.suite} {batch.level} {batch.order} {way}: {test.name}: {end}"
        for batch in finished
        for (way, test), end in batch.results.items()
        if end
    )


def main(words: list[str]) -> int:
    """Run the tests; return the exit status."""
    chosen = parse(words)
    testsuite = sources(ROOT / "build" / "gcc-testsuite")
    builds = [] if chosen.no_build else chosen.build or [[]]
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mipsrec-gcc-") as name:
        finished = run_all(batches(chosen, testsuite), host_executable(), builds, chosen.jobs, Path(name))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    failed = failures(finished)
    print(*table(finished, ways(builds)), *failed, sep="\n")
    print(f"{time.monotonic() - start:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of processor time")
    return bool(failed)
