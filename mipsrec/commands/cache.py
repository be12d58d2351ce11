"""cache: what is kept, whether it is whole, and what can go."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from .. import kept
from ..cache import cache_folder, source_digest
from ..kept import Kept, size_text
from ..layers import distrust, layer_folders
from ..library_file import Damaged, LibraryFacts, read_library

_KINDS = {
    kept.CODE: "recompiled libraries in the store",
    kept.LIBRARIES: "libraries of some functions, or made with a profile",
    kept.OBJECTS: "objects of earlier builds",
    kept.HOSTS: "hosts",
}


def _age(seconds: float) -> str:
    for unit, length in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit} ago"
    return "now"


def _facts(library: Kept) -> LibraryFacts | None:
    try:
        return read_library(library.path)
    except Damaged:
        return None


def _name(library: Kept) -> str:
    return library.source or library.soname or "?"


def _as_json(library: Kept) -> dict[str, Any]:
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


def _totals(found: Iterable[Kept]) -> dict[str, dict[str, int]]:
    totals = {kind: {"count": 0, "bytes": 0} for kind in _KINDS}
    for one in found:
        totals[one.kind]["count"] += 1
        totals[one.kind]["bytes"] += one.size_bytes
    return totals


def _print_libraries(libraries: list[Kept]) -> None:
    now = time.time()

    def place(one: Kept) -> tuple[bool, str, str]:
        return not one.is_current, one.version, one.variant

    for (other, version, variant), group in groupby(sorted(libraries, key=place), place):
        members = sorted(group, key=lambda one: (-one.used, _name(one)))
        whose = "another version of mipsrec" if other else "this mipsrec"
        print(f"\n{variant}, made by {whose} ({version[:12]}):")
        for one in members:
            facts = _facts(one)
            entries = f"{facts.entry_count} entries" if facts else "unreadable"
            print(
                f"  {one.identity[:12]} {size_text(one.size_bytes):>11} {entries:>15}   "
                f"{_age(now - one.used):14} {_name(one)}"
            )
        print(f"  {len(members)} libraries, {size_text(sum(one.size_bytes for one in members))}")


@dataclass(frozen=True)
class _Layer:
    """A layer; `reason` says why no code is taken from it, if that is so."""

    folder: Path
    libraries: list[Kept]
    reason: str | None

    @property
    def size_bytes(self) -> int:
        return sum(one.size_bytes for one in self.libraries)

    @property
    def current(self) -> int:
        return sum(one.is_current for one in self.libraries)


def _layers() -> list[_Layer]:
    return [_Layer(folder, list(kept.kept((kept.CODE,), folder)), distrust(folder)) for folder in layer_folders()]


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
        print(f"  {layer.folder}: {layer.current} libraries of this mipsrec, {of_others} of other versions, "
              f"{size_text(layer.size_bytes)}")  # fmt: skip
        if layer.reason is not None:
            print(f"    no code is taken from it: {layer.reason}")


def list_kept(arguments: argparse.Namespace) -> int:
    """Print what the cache has."""
    found, limit = list(kept.kept()), kept.limit_bytes()
    left = list(kept.leftovers())
    totals = _totals(found)
    total_bytes = sum(total["bytes"] for total in totals.values())
    if arguments.json:
        libraries = [_as_json(one) for one in found if one.kind in (kept.CODE, kept.LIBRARIES)]
        facts = {
            "folder": str(cache_folder()), "limit": limit, "version": source_digest(), "libraries": libraries,
            "totals": totals, "total_bytes": total_bytes, "leftovers": len(left),
            "layers": [_layer_as_json(layer) for layer in _layers()],
        }  # fmt: skip
        print(json.dumps(facts, indent=2))
        return 0
    bound = "no limit" if limit is None else f"the limit for libraries is {size_text(limit)}"
    print(f"{cache_folder()}: {size_text(total_bytes)}; {bound}")
    reason = distrust(cache_folder())
    if reason is not None:
        print(f"no code is taken from it: {reason}")
    _print_libraries([one for one in found if one.kind == kept.CODE])
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
    for one in [*kept.kept((kept.CODE, kept.LIBRARIES)), *layers]:
        count += 1
        damage = kept.damage_of(one)
        if damage is None:
            continue
        damaged += 1
        gone = arguments.remove and one not in layers and kept.remove(one)
        removed += gone
        end = ": removed" if gone else ": cannot be removed" if arguments.remove else ""
        print(f"mipsrec: {one.path} (of {_name(one)}): {damage}{end}", file=sys.stderr)
    advice = "" if removed == damaged else "; with --remove they go, and the next build makes them again"
    print(f"{count} libraries checked, {damaged} damaged{advice}")
    return 1 if damaged else 0


def prune(arguments: argparse.Namespace) -> int:
    """Remove what nothing needs, and what the options say."""
    rules = kept.Rules(arguments.max_size, arguments.older_than, arguments.other_versions, arguments.dry_run)
    gone = kept.prune(rules)
    counts: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for one in gone:
        if isinstance(one, Kept) and one.kind in (kept.CODE, kept.LIBRARIES):
            print(f"{one.path}: {size_text(one.size_bytes)}, of {_name(one)}")
        what = (_KINDS[one.kind] if isinstance(one, Kept) else f"leftovers: {one.what}") or ""
        counts[what] += 1
        sizes[what] += one.size_bytes
    for what in counts:
        print(f"{counts[what]:7} {what}, {size_text(sizes[what])}")
    verb = "would be removed" if arguments.dry_run else "removed"
    print(f"{len(gone)} {verb}, {size_text(sum(one.size_bytes for one in gone))}")
    return 0


def cache(arguments: argparse.Namespace) -> int:
    """Do what the action says."""
    if arguments.action == "path":
        print(cache_folder())
        return 0
    if arguments.action == "warm":
        from .warm import warm

        return warm(arguments)
    return {"list": list_kept, "verify": verify, "prune": prune}[arguments.action](arguments)
