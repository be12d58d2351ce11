"""Checks the plans of programs: `python -m tests.lift.checked_plans [PROGRAM...]`.

By default those of all prebuilt guests, and of Debian's busybox where apt can download it, in one way. Each is printed
and parsed, too. Leaves: one line, or the findings and exit status 1.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from mipsrec import pipeline
from mipsrec.errors import LiftError
from mipsrec.lift.check import findings
from mipsrec.lift.ir import FunctionPlan
from mipsrec.lift.parse import parse
from mipsrec.lift.text import plan_text
from mipsrec.options import Options
from tests.support.debian import sample
from tests.support.paths import PREBUILT
from tests.support.tools import outside_pytest

WAYS = (
    Options(), Options(opt="light"), Options(calls="instrumented"), Options(calls="thunked"), Options(memory="paged"),
    Options(memory="thunk"),
)  # fmt: skip


def default_programs() -> Iterator[tuple[Path, Sequence[Options]]]:
    """Yield programs with the ways to plan them."""
    yield from ((path, WAYS) for path in sorted(PREBUILT.glob("*/*.elf")))
    try:
        yield sample() / "bin/busybox", WAYS[:1]
    except pytest.skip.Exception as reason:
        print(f"The plans of busybox are NOT checked: {reason}", file=sys.stderr)


def text_findings(plan: FunctionPlan, symbol: str) -> list[str]:
    """Return why the text of a plan does not give the plan again."""
    try:
        parse(plan_text(plan, symbol))
    except LiftError as error:
        return [f"its text: {error}"]
    return []


def checked(program: tuple[Path, Sequence[Options]]) -> tuple[int, list[str]]:
    """Return how many plans a program has, and what is wrong with them."""
    (path, ways), count, found = program, 0, []
    guest = pipeline.open_guest(path)
    for options in ways:
        for symbol, plan in pipeline.plans(guest, options):
            count += 1
            for text in [*findings(plan), *text_findings(plan, symbol)]:
                found.append(f"{path}: {symbol} ({options.memory}, {options.calls}, {options.opt}): {text}")
    return count, found


def main(names: list[str]) -> int:
    programs = [(Path(name), WAYS) for name in names] or list(default_programs())
    plan_count = wrong = 0
    with ProcessPoolExecutor() as workers:
        for count, found in workers.map(checked, programs):
            plan_count += count
            wrong += len(found)
            print("".join(f"{text}\n" for text in found), end="")
    print(f"{plan_count:,} plans of {len(programs)} programs: {wrong} findings")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(outside_pytest(lambda: main(sys.argv[1:])))
