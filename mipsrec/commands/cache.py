"""cache: what is kept, whether it is whole, and what can go."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable
from itertools import groupby
from typing import Any

from .. import kept
from ..cache import cache_folder, source_digest
from ..kept import Kept, size_text
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
        }  # fmt: skip
        print(json.dumps(facts, indent=2))
        return 0
    bound = "no limit" if limit is None else f"the limit for libraries is {size_text(limit)}"
    print(f"{cache_folder()}: {size_text(total_bytes)}; {bound}")
    _print_libraries([one for one in found if one.kind == kept.CODE])
    print()
    for kind, what in _KINDS.items():
        print(f"{totals[kind]['count']:7} {what}, {size_text(totals[kind]['bytes'])}")
    print(f"{len(left):7} leftovers, which `mipsrec cache prune` removes")
    return 0


def verify(arguments: argparse.Namespace) -> int:
    """Check every library; name the damaged ones, and remove them if asked to."""
    count = damaged = removed = 0
    for one in kept.kept((kept.CODE, kept.LIBRARIES)):
        count += 1
        damage = kept.damage_of(one)
        if damage is None:
            continue
        damaged += 1
        gone = arguments.remove and kept.remove(one)
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
    return {"list": list_kept, "verify": verify, "prune": prune}[arguments.action](arguments)
