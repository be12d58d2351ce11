"""Checks the plans of programs: `python -m tests.lift.checked_plans [PROGRAM...]`.

By default those of all prebuilt guests, and of Debian's busybox where apt can download it, in one way. Leaves: one
line, or the findings and exit status 1.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from mipsrec import pipeline
from mipsrec.lift.check import findings
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


def main(names: list[str]) -> int:
    programs = [(Path(name), WAYS) for name in names] or default_programs()
    checked = wrong = count = 0
    for path, ways in programs:
        count += 1
        guest = pipeline.open_guest(path)
        for options in ways:
            for symbol, plan in pipeline.plans(guest, options):
                checked += 1
                for text in findings(plan):
                    wrong += 1
                    print(f"{path}: {symbol} ({options.memory}, {options.calls}, {options.opt}): {text}")
    print(f"{checked:,} plans of {count} programs: {wrong} findings")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(outside_pytest(lambda: main(sys.argv[1:])))
