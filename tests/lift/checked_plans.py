"""Checks the plans of programs: `python -m tests.lift.checked_plans [PROGRAM...]`, by default of all prebuilt guests.

Leaves: one line, or the findings and exit status 1.
"""

from __future__ import annotations

import sys
from pathlib import Path

from mipsrec import pipeline
from mipsrec.lift.check import findings
from mipsrec.options import Options
from tests.support.paths import PREBUILT

WAYS = (
    Options(), Options(opt="light"), Options(calls="instrumented"), Options(calls="thunked"), Options(memory="paged"),
    Options(memory="thunk"),
)  # fmt: skip


def main(names: list[str]) -> int:
    paths = [Path(name) for name in names] or sorted(PREBUILT.glob("*/*.elf"))
    checked = wrong = 0
    for path in paths:
        guest = pipeline.open_guest(path)
        for options in WAYS:
            for symbol, plan in pipeline.plans(guest, options):
                checked += 1
                for text in findings(plan):
                    wrong += 1
                    print(f"{path}: {symbol} ({options.memory}, {options.calls}, {options.opt}): {text}")
    print(f"{checked:,} plans of {len(paths)} programs in {len(WAYS)} ways: {wrong} findings")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
