"""Plans in files: `python -m tests.lift.plan_files [--write] [FILE...]`, by default those of tests/lift/plans/.

A file has one plan or more, as `mipsrec dump-plan` prints them. From the guest part of each, the passes make a plan;
what they decide has to be what the file says. Lines that begin with # are comments; one may name the last pass to run:
`# after: no-wrap`. Leaves: the differences, and exit status 1; with `--write` the files, as the passes decide now.

`--assemble FILE.s` prints the plans of the functions of an assembly text (tests/support/assembler.py), to begin a file
with. What the guest part says may then be changed by hand: options, registers that a callee takes, guarded ranges.
"""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from pathlib import Path

from mipsrec import pipeline
from mipsrec.errors import MipsrecError
from mipsrec.lift.build import decide
from mipsrec.lift.check import findings
from mipsrec.lift.ir import FunctionPlan
from mipsrec.lift.parse import parse_guest, split_plans, undecided
from mipsrec.lift.pipeline import PIPELINE, Pass, passes_up_to
from mipsrec.lift.text import plan_text
from mipsrec.options import Options
from tests.support.assembler import assembled_guest
from tests.support.paths import TESTS

FOLDER = TESTS / "lift" / "plans"
_AFTER = re.compile(r"^# after: (\S+)$", re.MULTILINE)


def files() -> list[Path]:
    """Return the files of tests/lift/plans/."""
    return sorted(FOLDER.glob("*.plan"))


def passes_of(path: Path) -> tuple[Pass, ...]:
    """Return the passes that a file is about."""
    after = _AFTER.search(path.read_text())
    return passes_up_to(after[1]) if after is not None else PIPELINE


def decided(path: Path, without: str = "") -> list[tuple[str, FunctionPlan]]:
    """Return the plans that the passes, but for one, make from the guest parts in a file, with their symbols."""
    text, passes = path.read_text(), [one for one in passes_of(path) if one.name != without]
    found = []
    for line_before, one in split_plans(text):
        guest = parse_guest(one, path.name, line_before)
        found.append((guest.symbol, decide(undecided(guest), passes)))
    return found


def text_as_decided(path: Path, without: str = "") -> str:
    """Return what a file should say: its comments, and its plans as the passes, but for one, decide."""
    comments = [line for line in path.read_text().splitlines() if line.startswith("#")]
    return "\n".join([*comments, *(plan_text(plan, symbol) for symbol, plan in decided(path, without))])


def differences(path: Path) -> str:
    """Return how a file differs from what it should say, as `diff -u` prints it."""
    old, new = path.read_text().splitlines(), text_as_decided(path).splitlines()
    return "\n".join(difflib.unified_diff(old, new, path.name, "as the passes decide", lineterm=""))


def assembled_plans(text: str) -> str:
    """Return the plans of the functions of an assembly text, but for __start."""
    guest = assembled_guest(text, "little")
    chosen = [function for function in guest.program.functions.values() if function.name != "__start"]
    return "".join(plan_text(plan, symbol) for symbol, plan in pipeline.plans(guest, Options(), chosen))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    parser.add_argument("--write", action="store_true", help="write the files as the passes decide")
    parser.add_argument("--assemble", type=Path, metavar="FILE.s", help="print the plans of an assembly text")
    arguments = parser.parse_args()
    if arguments.assemble is not None:
        print(assembled_plans(arguments.assemble.read_text()), end="")
        return 0
    status = 0
    for path in arguments.files or files():
        text = differences(path)
        for symbol, plan in decided(path):
            text += "".join(f"{path.name}: {symbol}: {finding}\n" for finding in findings(plan))
        if text:
            print(text)
            status = 1
        if arguments.write:
            path.write_text(text_as_decided(path))
            status = 0
    return status


if __name__ == "__main__":
    try:
        sys.exit(main())
    except MipsrecError as error:
        sys.exit(str(error))
