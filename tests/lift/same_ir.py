#!/usr/bin/env python3
"""Compares the IR text that two commits write for the same guests: `make same-ir BASE=REV`.

Enters: a commit, and this checkout. Leaves: the functions whose text differs, and exit status 1 if there are any. Both
sides are asked through `mipsrec dump-llvm`, which no change of the modules inside concerns. What the base writes is
stored in build/same-ir by its commit. Guests are the prebuilt samples, and of the cross compilers' libraries those
that are installed: they hold most of the instructions that compilers write.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "same-ir"
CHANGED = FOLDER / "changed.txt"
"""A line for each function that differs: the dump, and the file in it."""
WAYS = {
    "auto": (), "light": ("--opt", "light"), "instrumented": ("--calls", "instrumented"),
    "thunked": ("--calls", "thunked"), "paged": ("--memory", "paged"), "thunk": ("--memory", "thunk"),
}  # fmt: skip
LIBRARIES = ("libgcc_s.so.1", "libm.so.6", "ld.so.1")
"""Of each cross compiler; in all ways."""
LARGE_LIBRARIES = ("libc.so.6",)
"""In the first way alone."""
_DECLARATION = re.compile(r"^declare hidden (?:preserve_none|x86_regcall)cc .*\n", re.MULTILINE)
"""Of a function of another module: what calls it says whether it is needed."""
Digests = dict[str, str]
"""Of the text of each function, by its file's name in the dump."""
_NUMBERED = re.compile(r"%(?:l?\d+\.?|x\d+)(?![\w.])|^x\d+(?=:)", re.MULTILINE)
"""Values and labels that the writer numbers as it goes."""


@dataclass(frozen=True)
class Case:
    """One dump."""

    guest: Path
    way: str

    @property
    def name(self) -> str:
        return f"{self.guest.parent.parent.name}/{self.guest.parent.name}/{self.guest.name} {self.way}"


def cases(quick: bool) -> Iterator[Case]:
    """Yield what is compared."""
    for guest in sorted((ROOT / "samples" / "prebuilt").glob("*/*.elf")):
        yield from (Case(guest, way) for way in (("auto",) if quick else WAYS))
    for target in ("mips-linux-gnu", "mipsel-linux-gnu"):
        for name in (*LIBRARIES, *LARGE_LIBRARIES):
            guest = Path("/usr") / target / "lib" / name
            if not guest.exists():
                print(f"same-ir: NOT COMPARED: {guest} (Debian: apt-get install gcc-{target})", file=sys.stderr)
                continue
            yield from (Case(guest, way) for way in (("auto",) if quick or name in LARGE_LIBRARIES else WAYS))


def normalised(text: str) -> str:
    """Return IR with numbered values and labels numbered anew, in the order in which they appear."""
    numbers: dict[str, str] = {}
    return _NUMBERED.sub(lambda found: numbers.setdefault(found[0].removeprefix("%"), f"n{len(numbers)}"), text)


def digests(checkout: Path, normalise: bool, case: Case) -> Digests:
    """Return what a checkout writes for a case; raises CalledProcessError."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "mipsrec", "dump-llvm", *WAYS[case.way], "-o", folder, os.fspath(case.guest)]
        environment = {**os.environ, "PYTHONPATH": os.fspath(checkout)}
        subprocess.run(command, check=True, env=environment, cwd=checkout, stdout=subprocess.DEVNULL)
        found = {}
        for path in Path(folder).glob("*.ll"):
            text = _DECLARATION.sub("", path.read_text())
            text = normalised(text) if normalise else text
            found[path.name] = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
        return found


def base_checkout(commit: str) -> Path:
    """Return a folder with the files of a commit."""
    folder = FOLDER / commit
    if not folder.exists():
        archive = subprocess.run(["git", "-C", ROOT, "archive", commit], check=True, capture_output=True).stdout
        folder.mkdir(parents=True)
        subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
    return folder


def known_digests(commit: str, normalise: bool, chosen: list[Case], jobs: int) -> dict[str, Digests]:
    """Return what a commit writes, which is asked once."""
    path = FOLDER / f"{commit}{'.normalised' if normalise else ''}.json"
    known: dict[str, Digests] = json.loads(path.read_text()) if path.exists() else {}
    missing = [case for case in chosen if case.name not in known]
    if missing:
        with ThreadPoolExecutor(jobs) as pool:
            found = pool.map(partial(digests, base_checkout(commit), normalise), missing)
            known |= {case.name: one for case, one in zip(missing, found, strict=True)}
        path.write_text(json.dumps(known))
    return known


def differences(before: Digests, after: Digests) -> list[str]:
    """Return the functions that are not the same."""
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


def main() -> int:
    parser = argparse.ArgumentParser(description="compare the IR text of this checkout with that of another commit")
    parser.add_argument("base", help="a commit")
    parser.add_argument("--normalise", action="store_true", help="labels and numbers of values may differ")
    parser.add_argument("--quick", action="store_true", help="one way for each guest")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    revision = ["git", "-C", ROOT, "rev-parse", "--verify", f"{arguments.base}^{{commit}}"]
    commit = subprocess.run(revision, check=True, capture_output=True, text=True).stdout.strip()
    FOLDER.mkdir(parents=True, exist_ok=True)
    chosen = list(cases(arguments.quick))
    before = known_digests(commit, arguments.normalise, chosen, arguments.jobs)
    functions, lines = 0, list[str]()
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for case, after in zip(chosen, pool.map(partial(digests, ROOT, arguments.normalise), chosen), strict=True):
            changed = differences(before[case.name], after)
            functions += len(after)
            lines += [f"{case.name} {name}\n" for name in changed]
            if changed:
                print(f"{case.name}: {len(changed)} of {len(after)} differ: {' '.join(changed[:3])}")
    CHANGED.write_text("".join(lines))
    print(f"same-ir: {functions} functions in {len(chosen)} dumps, {len(lines)} differ from {commit[:12]}")
    if lines:
        print(f"same-ir: {CHANGED.relative_to(ROOT)} lists them all; the base's files are in {FOLDER / commit}")
    return 1 if lines or not functions else 0


if __name__ == "__main__":
    sys.exit(main())
