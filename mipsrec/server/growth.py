"""Libraries that grow: of each file those functions that were hot so far (runtime/lifted/store.c finds them).

A library is made of *groups*. A group is what was compiled at once: its functions call each other directly, and others
through the dispatch table, so that nothing in it depends on what comes later. Later groups take over entries of earlier
ones. Objects of groups are kept with those of other builds (cache/objects.py), so that a library grows at the cost of
the new group and a link. When there are many groups, all functions are compiled anew as one.

Beside the library stands what it was made of, in its description (cache_entries.describe). Both appear whole or not at
all, the library first: what the description does not know of is compiled again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from ..analysis import Program
from ..cache import objects
from ..cache.entries import GROWING, read_description
from ..cache.folders import code_path, own_folder, source_digest, variant_folder
from ..cache.library_file import Damaged, read_library
from ..cache.limit import Room
from ..emit.module import module_text
from ..files import trust
from ..native.codegen import choose_options, compile_text, object_key
from ..native.library import BuildOptions, dying_starts, in_workers, lift_shard, link_objects
from ..native.linking import GuestFile, LibraryIdentity
from ..native.plan import Plan, choose
from ..native.shard_work import CompilerDied
from ..native.shards import Shard
from ..native.workers import Death
from ..options import AUTO, Options
from ..pipeline import Guest
from ..target import this_target
from ..target.cpu import Cpu, chosen_cpu
from .choice import FileIndex

MOST_GROUPS = 12
"""More are made one at once."""
_CROWDED_GROUPS, _CROWDED_SHARE = 4, 4
"""So many groups, or as many functions outside the largest as this part of all, are made one when there is time."""
MOST_FUNCTIONS = 5000
"""Of a library: it does not grow beyond."""
_NONSENSE = (OSError, ValueError, KeyError, TypeError, OverflowError)
"""What reading a description raises that another program may have written."""
Functions = dict[int, frozenset[int]]
"""By start: the entries besides those that analysis found."""


@dataclass(frozen=True)
class Part:
    """One object: its key among the kept ones, its level, and which symbol serves which guest pc."""

    key: str
    entries: tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class Group:
    """What was compiled at once."""

    number: int
    functions: Functions
    parts: tuple[Part, ...]


@dataclass
class Library:
    """The library of one file, as it is in the store, with what it was made of."""

    path: Path
    groups: list[Group] = field(default_factory=list)
    seconds: float = 0.0
    """Processor time that servers have spent on it."""
    refused: frozenset[int] = frozenset()
    """Starts of functions that a compiler process dies of; they are not tried again."""
    put_off: frozenset[int] = frozenset()
    """Those for which there was no memory; they are tried again by who reads the library next."""
    _counted: float = 0.0

    def begin_job(self) -> None:
        """Count the processor time from here to `end_job` as spent on this library."""
        self._counted = _processor_seconds()

    def end_job(self) -> None:
        """Add what was spent since `begin_job`, or since this was last called."""
        now = _processor_seconds()
        self.seconds, self._counted = self.seconds + now - self._counted, now

    @property
    def functions(self) -> Functions:
        """Return what it has, each function with the entries that its newest group gives it."""
        found: Functions = {}
        for group in self.groups:
            found |= group.functions
        return found

    def is_crowded(self, any_more_than_one: bool) -> bool:
        """Return whether the groups are to be made one, so that more functions call each other directly."""
        sizes = sorted(len(group.functions) for group in self.groups)
        if any_more_than_one or len(sizes) >= _CROWDED_GROUPS:
            return len(sizes) > 1
        return _CROWDED_SHARE * sum(sizes[:-1]) >= sum(sizes) > 0


def _processor_seconds() -> float:
    """Return what this process and its workers that have ended have used."""
    return sum(os.times()[:4])


def hot_path(identity: str, options: Options) -> Path:
    """Return where the store has the growing library of a file."""
    return code_path(identity, options).with_name(f"{identity}{GROWING}.so")


# ---- what it was made of ----


def read_state(identity: str, options: Options) -> Library:
    """Return the library of a file; one without groups where there is none, or what is there is damaged."""
    library = Library(hot_path(identity, options))
    try:
        if read_library(library.path, whole=True).identity != identity:
            return library
        facts = read_description(library.path.with_suffix(".json"))
        if facts["version"] == source_digest():
            library.seconds = float(facts["seconds"])
            library.refused = frozenset(map(int, facts["refused"]))
            library.groups = [_group(text) for text in facts["groups"]]
    except (Damaged, *_NONSENSE):
        library.groups = []
    return library


def _group(text: Any) -> Group:
    functions = {int(start): frozenset(map(int, entries)) for start, entries in text["functions"]}
    parts = [Part(str(key), tuple((int(pc), str(symbol)) for pc, symbol in entries)) for key, entries in text["parts"]]
    return Group(int(text["number"]), functions, tuple(parts))


def _write_state(library: Library, guest: Guest) -> None:
    groups = [
        {
            "number": group.number,
            "functions": [[start, sorted(entries)] for start, entries in group.functions.items()],
            "parts": [[part.key, part.entries] for part in group.parts],
        }
        for group in library.groups
    ]
    path, soname = str(guest.image.path.absolute()), guest.image.soname
    facts = {
        "path": path, "soname": soname, "version": source_digest(), "groups": groups, "seconds": library.seconds,
        "refused": sorted(library.refused),
    }  # fmt: skip
    trust.write(library.path.with_suffix(".json"), (json.dumps(facts) + "\n").encode(), wait_for_disk=True)


# ---- compiling a group ----


def _compile(shard: Shard, plan: Plan, cpu: Cpu) -> Part:
    choose_options(shard.level)
    lifted = lift_shard(shard, plan)
    text = module_text(lifted, this_target().triple, plan.options.file_name)
    key = object_key([("generated IR", text)], shard.level, cpu)
    if objects.find(key) is None:
        objects.keep(key, compile_text(text, shard.level, cpu))
    entries = tuple((pc, function.symbol) for function in lifted for pc in function.entries)
    return Part(key, entries)


def _plan(guest: Guest, options: Options, functions: Functions, number: int) -> Plan:
    """Return how functions are compiled: with full effort, but those that it is no use for.

    The number of their group ends their symbols: two groups may have the same function.
    """
    program = guest.program
    functions = {
        start: entries & program.functions[start].blocks.keys() for start, entries in functions.items()
        if start in guest.starts
    }  # fmt: skip
    if any(functions.values()):
        more = {
            start: replace(program.functions[start], entries=program.functions[start].entries | entries)
            for start, entries in functions.items()
        }
        program = Program({**program.functions, **more}, program.names, program.warnings)
    chosen = {start: guest.starts[start] for start in functions}
    chosen = {start: replace(callee, symbol=f"{callee.symbol}-{number}") for start, callee in chosen.items()}
    return choose(program, chosen, guest.lift_options(options), AUTO, hot=chosen.keys())


def compile_group(
    guest: Guest, options: Options, functions: Functions, number: int, jobs: int
) -> tuple[Group, dict[int, Death]]:
    """Compile functions as one group, and return it with those that it lacks, and how compiler processes died of them.

    Raises MipsrecError.
    """
    lacking: dict[int, Death] = {}
    build = BuildOptions(jobs, chosen_cpu(options.cpu))
    while True:
        plan = _plan(guest, options, functions, number)
        work = partial(_compile, plan=plan, cpu=build.cpu)  # workers inherit it through fork
        try:
            return Group(number, functions, tuple(in_workers(plan.shards(), work, build))), lacking
        except CompilerDied as died:
            lacking |= dying_starts(died, plan, build, guest.image.path)
            functions = {start: functions[start] for start in functions if start not in lacking}


# ---- the library ----


def grow(index: FileIndex, options: Options, library: Library, chosen: Mapping[int, frozenset[int]], jobs: int) -> None:
    """Add functions to a library, and put it into the store; raises MipsrecError, or OSError."""
    wanted = {start: chosen[start] for start in chosen if start not in library.refused | library.put_off}
    if not wanted or len(library.functions.keys() | wanted.keys()) > MOST_FUNCTIONS:
        return
    group = _next_group(index.guest, options, library, wanted, jobs)
    groups = [one for one in library.groups if not one.functions.keys() <= group.functions.keys()]
    _put(index.guest, options, library, [*groups, group], jobs)


def compact(index: FileIndex, options: Options, library: Library, jobs: int) -> None:
    """Make all groups of a library one."""
    _put(index.guest, options, library, [_next_group(index.guest, options, library, library.functions, jobs)], jobs)


def _next_group(guest: Guest, options: Options, library: Library, functions: Functions, jobs: int) -> Group:
    """Compile functions as a new group of a library, and note which of them it refuses."""
    number = 1 + max((group.number for group in library.groups), default=0)
    group, lacking = compile_group(guest, options, functions, number, jobs)
    put_off = {start for start, death in lacking.items() if death.lacks_memory or death.is_kill}
    library.put_off |= functions.keys() & put_off
    library.refused |= functions.keys() & lacking.keys() - put_off
    return group


def _objects_of(guest: Guest, options: Options, groups: list[Group], jobs: int) -> list[bytes]:
    """Return the objects of groups; those that are kept no more are made again."""
    found: list[bytes] = []
    for group in groups:
        parts = [objects.find(part.key) for part in group.parts]
        if None in parts:
            compile_group(guest, options, group.functions, group.number, jobs)
            parts = [objects.find(part.key) for part in group.parts]
        if None in parts:
            raise OSError(f"{objects.objects_folder()}: keeps no objects")
        found += [data for data in parts if data is not None]
    return found


def _put(guest: Guest, options: Options, library: Library, groups: list[Group], jobs: int) -> None:
    image, lift = guest.image, guest.lift_options(options)
    cpu = chosen_cpu(options.cpu)
    identity = LibraryIdentity(GuestFile.of(image), lift.memory, lift.calls, str(options.opt), cpu, options.cover)
    entries: dict[int, str] = {}
    for group in groups:
        for part in group.parts:
            entries |= dict(part.entries)
    folder = trust.make_folder(library.path.parent, own_folder())
    partial_path = folder / f".{library.path.stem}.{os.getpid()}"
    try:
        parts = _objects_of(guest, options, groups, jobs)
        link_objects(parts, list(entries.items()), cpu, identity, partial_path)
        trust.clear(library.path, folder)
        with partial_path.open("rb") as stream:
            os.fsync(stream.fileno())
        os.replace(partial_path, library.path)
    finally:
        with suppress(OSError):
            partial_path.unlink()
    library.groups = groups
    library.end_job()
    _write_state(library, guest)
    Room(()).add(library.path)


@dataclass(frozen=True)
class Grown:
    """What the store has grown of one file."""

    path: str
    """Of the file."""
    functions: frozenset[int]
    seconds: float
    """Processor time that servers have spent on it."""


def grown(variant: str) -> dict[str, Grown]:
    """Return what the store has grown, by the identity of the file."""
    found = {}
    for path in sorted(variant_folder(variant).glob(f"*/*{GROWING}.json")):
        with suppress(*_NONSENSE):
            facts = read_description(path)
            functions = frozenset().union(*(_group(text).functions for text in facts["groups"]))
            found[path.stem.removesuffix(GROWING)] = Grown(str(facts["path"]), functions, float(facts["seconds"]))
    return found
