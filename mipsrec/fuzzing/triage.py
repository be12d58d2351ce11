"""Sorts crashes: groups of those that are one fault, as far as signal and functions say, with a folder for each group.

Enters: a folder of findings, and the target. Leaves: below it `crashes/SIGNAL-FUNCTION-NUMBER/` with `input`, the
smallest that was found and made smaller by afl-tmin; `report.txt`; and `run.sh`, which shows the crash again. An
index keeps what is sorted, so only new crashes are run.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import shutil
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass, field
from pathlib import Path

from ..errors import BuildError, WriteError
from ..files.temporary_folder import write_result
from ..long_work import bar_for_people
from . import afl
from .afl import Target
from .children import run
from .crash import OUTSIDE, Crash, Place, host_words, seen_again, with_backtrace
from .findings import SORTED, crash_files

MINIMISE_SECONDS = 60
_INDEX = "index.json"
_NOT_SEEN = ""
"""The group of inputs that did not crash again."""


@dataclass
class Group:
    """Crashes of one fault. `inputs` are digests of what is in the files: AFL++ may move them to another folder."""

    name: str
    signal: str
    functions: list[str]
    key: list[str]
    size_bytes: int = 0
    inputs: list[str] = field(default_factory=list)

    def line(self) -> str:
        first, callers = self.functions[:1], self.functions[1:4]
        if self.key[0] == OUTSIDE:
            first, callers = ["a jump to where no code is"], self.functions[:4]
        where = ", called by ".join(filter(None, (first[0] if first else "an unknown place", ", ".join(callers))))
        count = f"{len(self.inputs)} input{'s' if len(self.inputs) != 1 else ''}"
        return f"{self.signal} in {where}; {count}, the smallest of {self.size_bytes} bytes"


@dataclass
class Index:
    """What is sorted: groups by name, and places that were met, each with the name of its group."""

    groups: dict[str, Group] = field(default_factory=dict)
    places: dict[Place, str] = field(default_factory=dict)
    unseen: list[str] = field(default_factory=list)

    def known(self) -> set[str]:
        return {name for group in self.groups.values() for name in group.inputs} | set(self.unseen)


def _read_index(path: Path) -> Index:
    try:
        kept = json.loads(path.read_bytes())
        return Index({one["name"]: Group(**one) for one in kept["groups"]},
                     {Place(*place): name for *place, name in kept["places"]}, kept["unseen"])  # fmt: skip
    except FileNotFoundError:
        return Index()
    except (ValueError, TypeError, KeyError):
        raise BuildError(f"{path}: is no index of mipsrec fuzz; remove {path.parent}, and all is sorted anew") from None


def _write_index(path: Path, index: Index) -> None:
    places = [[*astuple(place), name] for place, name in index.places.items()]
    kept = {"groups": [asdict(group) for group in index.groups.values()], "places": places, "unseen": index.unseen}
    write_result(path, json.dumps(kept, indent=1).encode() + b"\n")


@dataclass(frozen=True)
class _Sorting:
    """What all steps need: the target, the environment of AFL++'s programs, and a folder for files on the way."""

    target: Target
    variables: Mapping[str, str]
    work: Path

    def seen_again(self, path: Path) -> Crash | None:
        """Run a copy of an input by a name that all inputs have, so that the program's stack begins at one place."""
        if path != self.work / "input":
            shutil.copyfile(path, self.work / "input")
        return seen_again(self.target, self.work / "input", self.work)

    def with_backtrace(self, crash: Crash) -> Crash:
        """Return the crash of the input that was run last, with its backtrace."""
        return with_backtrace(crash, self.target, self.work / "input", self.work)


def sort_crashes(folder: Path, target: Target, variables: Mapping[str, str], work: Path) -> Index:
    """Sort the crashes of a folder of findings, those that are not sorted yet; return all of them.

    `work` is a folder for files on the way. Raises WriteError where the folder cannot be written.
    """
    found = crash_files(folder)
    try:
        return _sort(folder, found, _Sorting(target, variables, work))
    except OSError as error:
        raise WriteError(f"{error.filename or folder}: cannot be written ({error.strerror or error})") from error


def _sort(folder: Path, found: list[Path], sorting: _Sorting) -> Index:
    index = _read_index(folder / SORTED / _INDEX)
    paths = {hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest(): path for path in found}
    new = {digest: path for digest, path in paths.items() if digest not in index.known()}
    if not new and not index.groups:
        return index
    (folder / SORTED).mkdir(exist_ok=True)
    changed: dict[str, list[tuple[Path, Crash]]] = defaultdict(list)
    with bar_for_people(desc="mipsrec: sorting crashes", total=len(new), unit=" crashes") as bar:
        for digest, path in new.items():
            group, crash = _group_of(path, index, sorting)
            if group is None or crash is None:
                index.unseen.append(digest)
            else:
                group.inputs.append(digest)
                changed[group.name].append((path, crash))
            bar.update(1)
    for name, crashes in changed.items():
        group = index.groups[name]
        alike = [one for one in crashes if one[1].place.signal == group.signal]
        smallest = min(alike, key=lambda one: (one[0].stat().st_size, one[0]), default=None)
        if smallest is not None:
            _write_group(folder, group, smallest, index, sorting)
    for group in index.groups.values():
        if not (folder / SORTED / group.name).is_dir():
            continue  # the user has removed it
        names = [paths[digest].relative_to(folder) for digest in group.inputs if digest in paths]
        write_result(folder / SORTED / group.name / "inputs.txt", "".join(f"{name}\n" for name in names).encode())
    _write_index(folder / SORTED / _INDEX, index)
    return index


def _group_of(path: Path, index: Index, sorting: _Sorting) -> tuple[Group | None, Crash | None]:
    """Return the group of an input, a new one if need be, and its crash; None for each where it does not crash."""
    crash = sorting.seen_again(path)
    if crash is None:
        return None, None
    name = index.places.get(crash.place)
    if name is not None:
        return index.groups[name], crash
    crash = sorting.with_backtrace(crash)
    group = next((one for one in index.groups.values() if one.key == list(crash.key)), None)
    if group is None:
        name = _new_name(f"{crash.place.signal}-{re.sub('[^A-Za-z0-9_.]+', '_', crash.function)[:60]}", index)
        group = index.groups[name] = Group(name, crash.place.signal, list(crash.functions), list(crash.key))
    index.places[crash.place] = group.name
    return group, crash


def _new_name(stem: str, index: Index) -> str:
    number = 1
    while f"{stem}-{number}" in index.groups:
        number += 1
    return f"{stem}-{number}"


def _write_group(folder: Path, group: Group, found: tuple[Path, Crash], index: Index, sorting: _Sorting) -> None:
    """Write the folder of a group, or renew it where an input was found that is smaller than the one that it has."""
    place = folder / SORTED / group.name
    kept, (path, crash) = place / "input", found
    if not kept.exists() or path.stat().st_size < kept.stat().st_size:
        smallest = _minimised(path, group, index, sorting)
        place.mkdir(exist_ok=True)
        crash = sorting.with_backtrace(sorting.seen_again(smallest) or crash)
        write_result(kept, smallest.read_bytes())
        write_result(place / "run.sh", _script(sorting.target).encode())
        (place / "run.sh").chmod(0o755)
        group.size_bytes = kept.stat().st_size
        text = f"backtrace:\n{crash.backtrace}\n" if crash.backtrace else ""
        write_result(place / "report.txt", f"{_command(sorting.target, kept)}\n\n{text}{crash.report}".encode())


def _minimised(path: Path, group: Group, index: Index, sorting: _Sorting) -> Path:
    """Return what afl-tmin makes of an input, if that crashes at the same place; else a copy of the input."""
    target, work = sorting.target, sorting.work
    own, smaller, same = work / "whole", work / "smaller", work / "input"
    shutil.copyfile(path, own)
    smaller.unlink(missing_ok=True)
    words = [afl.find("afl-tmin"), "-Q", "-t", "5000", "-i", str(own), "-o", str(smaller), "--"]
    run([*words, str(target.program), *target.arguments], MINIMISE_SECONDS, variables=sorting.variables)
    if smaller.exists() and smaller.stat().st_size:
        again = sorting.seen_again(smaller)
        if again is not None and _is_in(group, again, index, sorting):
            return same
    shutil.copyfile(own, same)
    return same


def _is_in(group: Group, crash: Crash, index: Index, sorting: _Sorting) -> bool:
    """Return whether the crash of the input that was run last is one of a group, by the same signal."""
    if crash.place.signal != group.signal:
        return False
    known = index.places.get(crash.place)
    return known == group.name or list(sorting.with_backtrace(crash).key) == group.key


def _words(target: Target) -> list[str]:
    return ["mipsrec", "run", *host_words(target)]


def _command(target: Target, path: Path) -> str:
    """Return what shows a crash again, as a line of a shell."""
    given = "" if target.reads_file else f" < {shlex.quote(str(path))}"
    return shlex.join([*_words(target), *target.words(path)]) + given


def _script(target: Target) -> str:
    """Return the same as a script that stands beside the input."""
    words = ['"$here"/input'.join(shlex.quote(part) if part else "" for part in word.split(afl.INPUT))
             for word in target.arguments]  # fmt: skip
    given = "" if target.reads_file else ' < "$here"/input'
    command = shlex.join([*_words(target)[1:], str(target.program)])
    return ("#!/bin/sh\n# Shows the crash again. MIPSREC names the command where it is not in PATH.\n"
            'here=$(cd "$(dirname "$0")" && pwd)\n'
            f'exec ${{MIPSREC:-mipsrec}} {command} {" ".join(words)}{given}\n')  # fmt: skip
