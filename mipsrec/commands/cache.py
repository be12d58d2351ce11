"""cache: what is kept, whether it is whole, and what can go."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from .. import stencils
from ..cache.entries import CacheEntry, cache_entries, damage_of, remove
from ..cache.folders import CODE, HOSTS, LIBRARIES, OBJECTS, RECORDS, cache_folder, own_folder, source_digest
from ..cache.layers import layer_folders
from ..cache.library_file import Damaged, LibraryFacts, read_library
from ..cache.limit import limit_bytes, parse_size, size_text
from ..cache.prune import Rules, leftovers
from ..cache.prune import prune as prune_cache
from ..errors import one_line
from ..files.trust import distrust
from .arguments import add_run

_KINDS = {
    CODE: "recompiled libraries in the store",
    LIBRARIES: "libraries of some functions, or made with a profile",
    OBJECTS: "objects of earlier builds",
    RECORDS: "records of what earlier builds were made of",
    HOSTS: "hosts",
}

DESCRIPTION = """\
Recompiled code is kept in a cache: $MIPSREC_CACHE, else $XDG_CACHE_HOME/mipsrec, else ~/.cache/mipsrec. A library there
is of the contents of one file of a guest, so all programs that load this file share it. All of the cache may be deleted
at any time: `build` makes it again, and `run` does without what is not there.

Behind the cache are layers, folders like it that are only read: those of $MIPSREC_CACHE_PATH, with colons between them,
then /var/cache/mipsrec and /usr/lib/mipsrec/cache. `mipsrec build --into FOLDER --sysroot DIR` fills one. Code is taken
only where nobody but root and the user can write the folder, those above it and what is in it.

  mipsrec cache list                       what is kept, of which files, how large, and when it was used last
  mipsrec cache verify                     is every library as it was made? Exit status 1 if not
  mipsrec cache verify --remove            damaged ones go; the next build makes them again
  mipsrec cache prune                      what nothing needs any more goes: stale notes, parts of unfinished builds
  mipsrec cache prune --other-versions     and what other versions of mipsrec made, which this one does not use
  mipsrec cache prune --older-than 30d     and what was not used for 30 days
  mipsrec cache prune --max-size 4G        and what was used longest ago, until the rest takes 4 GiB
  mipsrec cache warm prog.elf ARG...       run a program; wait until what was hot in it is recompiled, and list it
  mipsrec cache path                       the folder

`list` and `verify` look into layers, too; `prune` and `--remove` leave them alone.

A build keeps the libraries within MIPSREC_CACHE_LIMIT (default 16G; none: no limit): what was used longest ago goes,
but not what that build needs. Pruning while programs run is safe: they keep what they have loaded.
"""


def _size(text: str) -> int:
    try:
        return parse_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def _duration(text: str) -> float:
    """Return the seconds that "30d" means."""
    number, unit = text[:-1], text[-1:]
    if unit not in _SECONDS or not number.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no time; write a number and s, m, h, d or w, such as 30d")
    return int(number) * _SECONDS[unit]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="list|verify|prune|path|warm")
    action = actions.add_parser("list", help="what is kept, by version of mipsrec and way to translate")
    action.add_argument("--json", action="store_true", help="machine-readable")
    action = actions.add_parser("verify", help="check every library; exit status 1 if one is damaged")
    action.add_argument("--remove", action="store_true", help="remove those that are damaged")
    action = actions.add_parser("prune", help="remove what nothing needs, and what the options say")
    action.add_argument("--max-size", type=_size, metavar="SIZE",
                        help="remove what was used longest ago, until all takes no more than SIZE (4G)")  # fmt: skip
    action.add_argument("--older-than", type=_duration, metavar="TIME",
                        help="remove what was not used for TIME (30d, 12h)")  # fmt: skip
    action.add_argument("--other-versions", action="store_true",
                        help="remove what other versions of mipsrec made")  # fmt: skip
    action.add_argument("--dry-run", action="store_true", help="only say what would go")
    action = actions.add_parser("warm", help="run a program, and have all that is hot in it recompiled for later runs")
    add_run(action)
    actions.add_parser("path", help="print the folder")


def _age(seconds: float) -> str:
    for unit, length in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit} ago"
    return "now"


def _facts(library: CacheEntry) -> LibraryFacts | None:
    try:
        return read_library(library.path)
    except Damaged:
        return None


def _name(library: CacheEntry) -> str:
    return one_line(library.source or library.soname or "?")


def _as_json(library: CacheEntry) -> dict[str, Any]:
    facts = _facts(library)
    return {
        "kind": library.kind,
        "path": str(library.path),
        "version": library.version,
        "current": library.is_current,
        "variant": library.variant,
        "identity": library.identity or (facts.identity if facts else ""),
        "source": library.source,
        "soname": library.soname,
        "producer": facts.producer if facts else "",
        "options": facts.options if facts else "",
        "entries": facts.entry_count if facts else None,
        "bytes": library.size_bytes,
        "used": int(library.used),
        "server_seconds": library.server_seconds,
    }


def _totals(found: Iterable[CacheEntry]) -> dict[str, dict[str, int]]:
    totals = {kind: {"count": 0, "bytes": 0} for kind in _KINDS}
    for one in found:
        totals[one.kind]["count"] += 1
        totals[one.kind]["bytes"] += one.size_bytes
    return totals


def _print_libraries(libraries: list[CacheEntry]) -> None:
    now = time.time()

    def place(one: CacheEntry) -> tuple[bool, str, str]:
        return not one.is_current, one.version, one.variant

    for (other, version, variant), group in groupby(sorted(libraries, key=place), place):
        members = sorted(group, key=lambda one: (-one.used, _name(one)))
        whose = "another version of mipsrec" if other else "this mipsrec"
        print(f"\n{one_line(variant)}, made by {whose} ({one_line(version[:12])}):")
        for one in members:
            facts = _facts(one)
            entries = f"{facts.entry_count} entries" if facts else "unreadable"
            print(
                f"  {one_line(one.identity[:12])} {size_text(one.size_bytes):>11} {entries:>15}   "
                f"{_age(now - one.used):14} {_name(one)}"
            )
        print(f"  {len(members)} libraries, {size_text(sum(one.size_bytes for one in members))}")


@dataclass(frozen=True)
class _Layer:
    """A layer; `reason` says why no code is taken from it, if that is so."""

    folder: Path
    libraries: list[CacheEntry]
    reason: str | None

    @property
    def size_bytes(self) -> int:
        return sum(one.size_bytes for one in self.libraries)

    @property
    def current(self) -> int:
        return sum(one.is_current for one in self.libraries)


def _layers() -> list[_Layer]:
    return [_layer(folder) for folder in layer_folders()]


def _layer(folder: Path) -> _Layer:
    """Return what a layer has; one of another user is not read."""
    reason = distrust(folder)
    return _Layer(folder, list(cache_entries((CODE,), folder)) if reason is None else [], reason)


def _layer_as_json(layer: _Layer) -> dict[str, Any]:
    return {
        "folder": str(layer.folder), "trusted": layer.reason is None, "reason": layer.reason or "",
        "current": layer.current, "bytes": layer.size_bytes, "libraries": [_as_json(one) for one in layer.libraries],
    }  # fmt: skip


def _print_layers() -> None:
    layers = _layers()
    if layers:
        print("\nLayers, which are only read:")
    for layer in layers:
        of_others = len(layer.libraries) - layer.current
        folder = one_line(str(layer.folder))
        if layer.reason is not None:
            print(f"  {folder}: no code is taken from it: {layer.reason}")
            continue
        print(f"  {folder}: {layer.current} libraries of this mipsrec, {of_others} of other versions, "
              f"{size_text(layer.size_bytes)}")  # fmt: skip


def list_entries(arguments: argparse.Namespace) -> int:
    found, limit = list(cache_entries()), limit_bytes()
    left = list(leftovers(stencils.cached_name()))
    totals = _totals(found)
    total_bytes = sum(total["bytes"] for total in totals.values())
    if arguments.json:
        libraries = [_as_json(one) for one in found if one.kind in (CODE, LIBRARIES)]
        facts = {
            "folder": str(cache_folder()), "limit": limit, "version": source_digest(), "libraries": libraries,
            "totals": totals, "total_bytes": total_bytes, "leftovers": len(left),
            "layers": [_layer_as_json(layer) for layer in _layers()],
        }  # fmt: skip
        print(json.dumps(facts, indent=2))
        return 0
    bound = "no limit" if limit is None else f"the limit for libraries is {size_text(limit)}"
    print(f"{one_line(str(cache_folder()))}: {size_text(total_bytes)}; {bound}")
    _print_libraries([one for one in found if one.kind == CODE])
    print()
    for kind, what in _KINDS.items():
        print(f"{totals[kind]['count']:7} {what}, {size_text(totals[kind]['bytes'])}")
    if seconds := sum(one.server_seconds for one in found):
        print(f"{seconds:7.0f} s of processor time, which the compile server took for libraries of hot functions")
    print(f"{len(left):7} leftovers, which `mipsrec cache prune` removes")
    _print_layers()
    return 0


def verify(arguments: argparse.Namespace) -> int:
    """Check every library; name the damaged ones, and remove them if asked to, but not from layers."""
    count = damaged = removed = 0
    layers = [one for layer in _layers() for one in layer.libraries]
    for one in [*cache_entries((CODE, LIBRARIES)), *layers]:
        count += 1
        damage = damage_of(one)
        if damage is None:
            continue
        damaged += 1
        gone = arguments.remove and one not in layers and remove(one)
        removed += gone
        end = ": removed" if gone else ": cannot be removed" if arguments.remove else ""
        print(f"mipsrec: {one_line(str(one.path))} (of {_name(one)}): {damage}{end}", file=sys.stderr)
    advice = "" if removed == damaged else "; with --remove they go, and the next build makes them again"
    print(f"{count} libraries checked, {damaged} damaged{advice}")
    return 1 if damaged else 0


def prune(arguments: argparse.Namespace) -> int:
    rules = Rules(arguments.max_size, arguments.older_than, arguments.other_versions, arguments.dry_run)
    gone = prune_cache(rules, stencils.cached_name())
    counts: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for one in gone:
        if isinstance(one, CacheEntry) and one.kind in (CODE, LIBRARIES):
            print(f"{one_line(str(one.path))}: {size_text(one.size_bytes)}, of {_name(one)}")
        what = (_KINDS[one.kind] if isinstance(one, CacheEntry) else f"leftovers: {one.what}") or ""
        counts[what] += 1
        sizes[what] += one.size_bytes
    for what in counts:
        print(f"{counts[what]:7} {what}, {size_text(sizes[what])}")
    verb = "would be removed" if arguments.dry_run else "removed"
    print(f"{len(gone)} {verb}, {size_text(sum(one.size_bytes for one in gone))}")
    return 0


def main(arguments: argparse.Namespace) -> int:
    folder = own_folder()  # only this one is looked after
    if arguments.action == "path":
        sys.stdout.buffer.write(os.fsencode(folder) + b"\n")
        return 0
    if arguments.action == "warm":
        from . import warm  # only now: the others need no compiler

        return warm.main(arguments)
    return {"list": list_entries, "verify": verify, "prune": prune}[arguments.action](arguments)
