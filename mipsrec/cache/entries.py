"""What is in the cache: libraries, objects and hosts, each with its size, age and origin.

Enters: the cache folder (folders.py) or a layer. Leaves: `CacheEntry`s. There are libraries of the store
(`code/VERSION/VARIANT/`), libraries with a name of their own (`libraries/`: of profiles, or of some functions), objects
of earlier builds (`objects/`), records of what those were made of (`records/`) and hosts (`host/`). All of it may go at
any time: what is missed is made again, or interpreted. A file that is used while it is removed stays with its users.

When a file was used last is its access time, or its modification time where that is later. File systems that note no
accesses do not matter: a use is noted by the host, once a day (runtime/lifted/store.c), or by notes.py.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..files import trust
from ..files.trust import listed, subfolders
from .folders import CODE, HOSTS, LIBRARIES, OBJECTS, RECORDS, cache_folder, source_digest
from .library_file import Damaged, check_footer, read_library

_MOST_BYTES = 1 << 26
"""Of a description."""
GROWING = "-hot"
"""Ends the names of libraries that the compile server makes (runtime/lifted/store.c)."""


@dataclass(frozen=True)
class CacheEntry:
    """One thing in the cache. `version` is of the mipsrec that made it, "" where nothing says so."""

    kind: str
    path: Path
    size_bytes: int
    used: float
    version: str = ""
    variant: str = ""
    source: str = ""
    """The guest's file, as it was named when this was made of it; "" where it is not known."""
    soname: str = ""
    server_seconds: float = 0.0
    """Processor time that the compile server has spent on it."""

    @property
    def identity(self) -> str:
        """The hash of the guest's file, for a library of the store."""
        return self.path.stem.removesuffix(GROWING) if self.kind == CODE else ""

    @property
    def is_current(self) -> bool:
        """Whether this mipsrec made it, or may use it."""
        return self.kind in (OBJECTS, RECORDS) or self.version == source_digest()


def describe(library: Path, made_of: Path, soname: str | None) -> None:
    """Write beside a library which file it was made of; where that fails, only names are missing later."""
    facts = {"path": str(made_of.absolute()), "soname": soname, "version": source_digest()}
    with suppress(OSError):
        trust.write(library.with_suffix(".json"), (json.dumps(facts) + "\n").encode())


def read_description(path: Path) -> dict[str, Any]:
    """Return what the description of a library says; raises OSError, or ValueError where it is none."""
    try:
        facts = json.loads(trust.read(path, _MOST_BYTES))
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if not isinstance(facts, dict):
        raise ValueError("it is no description")
    return facts


def _described(library: Path) -> dict[str, str | float]:
    try:
        facts = read_description(library.with_suffix(".json"))
    except (OSError, ValueError):
        return {}
    return {str(k): v for k, v in facts.items() if isinstance(v, (str, float))}


def _entry(
    kind: str, path: Path, version: str = "", variant: str = "", described: bool = False
) -> Iterator[CacheEntry]:
    """Yield a file as it is now, if it is still there."""
    with suppress(OSError):
        status = path.lstat()
        facts = _described(path) if described else {}
        made_by, source, soname = (str(facts.get(name, "")) for name in ("version", "path", "soname"))
        used, seconds = max(status.st_atime, status.st_mtime), facts.get("seconds")
        yield CacheEntry(
            kind, path, status.st_size, used, version or made_by, variant, source, soname,
            seconds if isinstance(seconds, float) else 0.0,
        )  # fmt: skip


def _libraries_in(kind: str, folder: Path, version: str = "", variant: str = "") -> Iterator[CacheEntry]:
    for entry in listed(folder):
        if entry.name.endswith(".so") and not entry.name.startswith("."):
            yield from _entry(kind, Path(entry.path), version, variant, described=True)


def cache_entries(
    kinds: Collection[str] = (CODE, LIBRARIES, OBJECTS, RECORDS, HOSTS), folder: Path | None = None
) -> Iterator[CacheEntry]:
    """Yield what the cache, or a layer, has of some kinds."""
    root = folder or cache_folder()
    if CODE in kinds:
        for version in subfolders(root / CODE):
            for variant in subfolders(version):
                for group in subfolders(variant):
                    yield from _libraries_in(CODE, group, version.name, variant.name)
    if LIBRARIES in kinds:
        yield from _libraries_in(LIBRARIES, root / LIBRARIES)
    for kind in (OBJECTS, RECORDS):
        for group in subfolders(root / kind) if kind in kinds else ():
            for entry in listed(group):
                if not entry.name.startswith("."):
                    yield from _entry(kind, Path(entry.path))
    if HOSTS in kinds:
        for folder in subfolders(root / HOSTS):
            yield from _entry(HOSTS, folder / "mipsrec-host", _host_version(folder))


def _host_version(folder: Path) -> str:
    """Return the version that a host says it looks for; "" when it says none."""
    with suppress(OSError):
        return trust.read(folder / "version", 1000).decode("ascii", "replace").strip()
    return ""


def damage_of(library: CacheEntry) -> str | None:
    """Return how a library is damaged; None when it is as it was made. Of other versions the checksum says it all."""
    try:
        if not library.is_current or library.kind != CODE:
            check_footer(library.path)
        elif read_library(library.path, whole=True).identity != library.identity:
            raise Damaged("it is of another file than its name says")
    except Damaged as damage:
        return str(damage)
    return None


def remove(entry: CacheEntry) -> bool:
    """Remove it with what describes it, and folders that are empty now; return whether it is gone."""
    if not remove_path(entry.path):
        return False
    beside = "version" if entry.kind == HOSTS else entry.path.with_suffix(".json").name
    remove_path(entry.path.with_name(beside))
    remove_empty_folders(entry.path.parent)
    return True


def remove_path(path: Path) -> bool:
    """Remove what has a path in the cache, a folder with all that is in it; return whether it is gone."""
    try:
        trust.remove(path, cache_folder())
    except FileNotFoundError:
        pass
    except OSError:
        return False
    return True


def remove_empty_folders(folder: Path) -> None:
    """Remove a folder of the cache, and those above it, as far as they are empty."""
    root = cache_folder()
    while folder != root and root in folder.parents and not folder.is_symlink():
        try:
            with trust.opened_folder(folder.parent) as above:
                os.rmdir(folder.name, dir_fd=above)
        except OSError:
            break
        folder = folder.parent
