"""What the cache keeps, how it is bounded, and what of it can go.

Enters: the cache folder (cache.py). Leaves: what is in it, and what was removed. Kept are libraries of the store
(`code/VERSION/VARIANT/`), libraries with a name of their own (`libraries/`: of profiles, or of some functions), objects
of earlier builds (`objects/`), hosts (`host/`), and notes of the host on files (`identities/`). All of it may go at any
time: what is missed is made again, or interpreted. A file that is used while it is removed stays with its users.

When a file was used last is its access time, or its modification time where that is later. File systems that note no
accesses do not matter: a use is noted by the host, once a day (runtime/lifted/store.c), or by `note_use`.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from . import stencils
from .cache import cache_folder, source_digest
from .errors import BuildError
from .library_file import Damaged, check_footer, open_unused, read_library

DEFAULT_LIMIT = "16G"
NOTE_DAYS = 30
"""A note on a file that was not read for so long is stale: to make it again costs milliseconds."""
UNFINISHED_SECONDS = 3600
"""What an unfinished build left is removed when nothing in it has changed for so long."""
USE_NOTED_SECONDS = 86400
SETTLED_SECONDS = 2
"""What is younger may change, and keep its times."""
FREE_SHARE = 8
"""Where the limit is passed, room is made for a while: a share of it, so that not each build removes something."""

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_NOTE_NAME = re.compile(r"[0-9a-f]+-[0-9a-f]+")
_NOTE = re.compile(r"1 \d+ -?\d+\.\d{9} -?\d+\.\d{9} ([0-9a-f]{64}|whole)\n")
_IDENTITY = re.compile(r"[0-9a-f]{64}")
CODE, LIBRARIES, OBJECTS, HOSTS = "code", "libraries", "objects", "host"
GROWING = "-hot"
"""Ends the names of libraries that the compile server makes (runtime/lifted/grown.c)."""
BOUNDED = (CODE, LIBRARIES)
"""What MIPSREC_CACHE_LIMIT bounds; objects have a limit of their own (objects.py), and hosts are small."""


@dataclass(frozen=True)
class Kept:
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
        return self.kind == OBJECTS or self.version == source_digest()


# ---- sizes ----


def parse_size(text: str) -> int:
    """Return the bytes that "4G" or "500M" means; raises ValueError."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if found is None:
        raise ValueError(f"{text!r} is no size; write a number with K, M, G or T behind it, such as 4G")
    return int(float(found[1]) * _UNITS[found[2].upper()])


def size_text(size_bytes: float) -> str:
    """Return a size for people."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size_bytes < 1024:
            return f"{size_bytes:.0f} {unit}" if unit == "bytes" else f"{size_bytes:.1f} {unit}"
        size_bytes /= 1024
    return f"{size_bytes:.1f} TiB"


def limit_bytes() -> int | None:
    """Return what MIPSREC_CACHE_LIMIT says, None for no limit; raises BuildError when it says nothing of sense."""
    text = os.environ.get("MIPSREC_CACHE_LIMIT") or DEFAULT_LIMIT
    if text == "none":
        return None
    try:
        return parse_size(text)
    except ValueError as error:
        raise BuildError(f"MIPSREC_CACHE_LIMIT: {error}, or none") from error


# ---- what is there ----


def describe(library: Path, made_of: Path, soname: str | None) -> None:
    """Write beside a library which file it was made of; where that fails, only names are missing later."""
    facts = {"path": str(made_of.absolute()), "soname": soname, "version": source_digest()}
    partial = library.with_suffix(f".json.{os.getpid()}")
    try:
        with suppress(OSError):
            partial.write_text(json.dumps(facts) + "\n")
            os.replace(partial, library.with_suffix(".json"))
    finally:  # a signal may end this anywhere
        with suppress(OSError):
            partial.unlink()


def _described(library: Path) -> dict[str, str | float]:
    try:
        facts = json.loads(library.with_suffix(".json").read_text())
    except (OSError, ValueError):
        return {}
    return {str(k): v for k, v in facts.items() if isinstance(v, (str, float))} if isinstance(facts, dict) else {}


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """Return what is in a folder, by name; nothing where it cannot be read."""
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: entry.name)
    except OSError:
        return []


def _folders(folder: Path) -> list[Path]:
    return [Path(entry.path) for entry in _entries(folder) if entry.is_dir(follow_symlinks=False)]


def _kept(kind: str, path: Path, version: str = "", variant: str = "", described: bool = False) -> Iterator[Kept]:
    """Yield a file as it is now, if it is still there."""
    with suppress(OSError):
        status = path.lstat()
        facts = _described(path) if described else {}
        made_by, source, soname = (str(facts.get(name, "")) for name in ("version", "path", "soname"))
        used, seconds = max(status.st_atime, status.st_mtime), facts.get("seconds")
        yield Kept(
            kind, path, status.st_size, used, version or made_by, variant, source, soname,
            seconds if isinstance(seconds, float) else 0.0,
        )  # fmt: skip


def _libraries_in(kind: str, folder: Path, version: str = "", variant: str = "") -> Iterator[Kept]:
    for entry in _entries(folder):
        if entry.name.endswith(".so") and not entry.name.startswith("."):
            yield from _kept(kind, Path(entry.path), version, variant, described=True)


def kept(kinds: Collection[str] = (CODE, LIBRARIES, OBJECTS, HOSTS), folder: Path | None = None) -> Iterator[Kept]:
    """Yield what the cache has of some kinds, or a layer."""
    root = folder or cache_folder()
    if CODE in kinds:
        for version in _folders(root / CODE):
            for variant in _folders(version):
                for group in _folders(variant):
                    yield from _libraries_in(CODE, group, version.name, variant.name)
    if LIBRARIES in kinds:
        yield from _libraries_in(LIBRARIES, root / LIBRARIES)
    if OBJECTS in kinds:
        for group in _folders(root / OBJECTS):
            for entry in _entries(group):
                if not entry.name.startswith("."):
                    yield from _kept(OBJECTS, Path(entry.path))
    if HOSTS in kinds:
        for folder in _folders(root / HOSTS):
            yield from _kept(HOSTS, folder / "mipsrec-host", _host_version(folder))


def _host_version(folder: Path) -> str:
    """Return the version that a host says it looks for; "" when it says none."""
    try:
        return (folder / "version").read_text("ascii").strip()
    except (OSError, ValueError):
        return ""


def damage_of(library: Kept) -> str | None:
    """Return how a library is damaged; None when it is as it was made. Of other versions the checksum says it all."""
    try:
        if not library.is_current or library.kind != CODE:
            check_footer(library.path)
        elif read_library(library.path, whole=True).identity != library.identity:
            raise Damaged("it is of another file than its name says")
    except Damaged as damage:
        return str(damage)
    return None


def note_identity(status: os.stat_result, identity: str) -> None:
    """Write what the host would note of a guest's file that it has read (runtime/lifted/store.c)."""
    if max(status.st_mtime, status.st_ctime) + SETTLED_SECONDS > time.time() or status.st_nlink == 0:
        return
    times = [f"{ns // 10**9}.{ns % 10**9:09}" for ns in (status.st_mtime_ns, status.st_ctime_ns)]
    path = cache_folder() / "identities" / f"{status.st_dev:x}-{status.st_ino:x}"
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    with suppress(OSError):
        path.parent.mkdir(exist_ok=True)
        partial.write_text(f"1 {status.st_size} {times[0]} {times[1]} {identity}\n")
        os.replace(partial, path)


# ---- what can go ----


@dataclass
class Rules:
    """What `prune` removes beside leftovers and what is beyond the limit."""

    max_bytes: int | None = None
    older_seconds: float | None = None
    other_versions: bool = False
    dry_run: bool = False


LOCK = "lock"


@dataclass(frozen=True)
class Leftover:
    """A file or folder that nothing needs: a note, a lock, or part of an unfinished build."""

    what: str
    path: Path
    size_bytes: int


def remove(one: Kept | Leftover) -> bool:
    """Remove it, and folders that are empty now; return whether it is gone."""
    try:
        if isinstance(one, Leftover) and one.what == LOCK:
            if not _remove_lock(one.path):
                return False
        elif one.path.is_dir() and not one.path.is_symlink():
            shutil.rmtree(one.path)
        else:
            one.path.unlink()
    except FileNotFoundError:
        pass
    except OSError:
        return False
    beside = ("version",) if isinstance(one, Kept) and one.kind == HOSTS else (one.path.with_suffix(".json").name,)
    if isinstance(one, Kept):
        for name in beside:
            with suppress(OSError):
                one.path.with_name(name).unlink()
    parent, root = one.path.parent, cache_folder()
    while parent != root and root in parent.parents:
        try:
            parent.rmdir()
        except OSError:
            break
        parent = parent.parent
    return True


def note_use(path: Path) -> None:
    """Note that a library of the cache is used, where the file system has not for a day."""
    if not path.is_relative_to(cache_folder()):
        return  # of a layer
    with suppress(OSError):
        status = path.stat()
        if status.st_atime + USE_NOTED_SECONDS < time.time():
            os.utime(path, ns=(time.time_ns(), status.st_mtime_ns))


def beyond(found: Collection[Kept], limit: int, needed: Collection[Path] = ()) -> list[Kept]:
    """Return what has to go, used longest ago first, so that the rest is within a limit; `needed` stays."""
    excess = sum(one.size_bytes for one in found) - limit
    going: list[Kept] = []
    for one in sorted(found, key=lambda one: one.used):
        if excess <= 0:
            break
        if one.path not in needed:
            going.append(one)
            excess -= one.size_bytes
    return going


class Room:
    """What MIPSREC_CACHE_LIMIT leaves for one build: what others made goes for it, used longest ago first."""

    def __init__(self, needed: Collection[Path], bounded: bool = True) -> None:
        self.limit = limit_bytes() if bounded else None
        found = list(kept(BOUNDED)) if self.limit is not None else []
        self._others = sorted((one for one in found if one.path not in needed), key=lambda one: -one.used)
        self._others_bytes = sum(one.size_bytes for one in self._others)
        self._own_bytes = sum(one.size_bytes for one in found if one.path in needed)

    def is_full(self) -> bool:
        """Return whether what this build needs has reached the limit alone."""
        return self.limit is not None and self._own_bytes >= self.limit

    def add(self, path: Path) -> None:
        """Count a library that was made, and make room for it; some more at once, lest each does it anew."""
        if self.limit is None:
            return
        there = [one for one in self._others if one.path == path]  # this room was made after the library
        self._others = [one for one in self._others if one.path != path]
        self._others_bytes -= sum(one.size_bytes for one in there)
        with suppress(OSError):
            self._own_bytes += path.stat().st_size
        if self._own_bytes + self._others_bytes <= self.limit:
            return
        while self._others and self._own_bytes + self._others_bytes > self.limit - self.limit // FREE_SHARE:
            one = self._others.pop()
            self._others_bytes -= one.size_bytes
            remove(one)


def _is_held(lock: Path) -> bool:
    """Return whether some process has this lock."""
    try:
        with lock.open("rb") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False


def _remove_lock(lock: Path) -> bool:
    """Remove a lock that nobody has, having it oneself (store.py looks whether its lock is still the file)."""
    try:
        with lock.open("rb") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(stream.fileno()), os.stat(lock)):
                lock.unlink()
    except BlockingIOError:
        return False
    return True


def _newest(path: Path) -> float:
    """Return when a file, or anything in a folder, changed last."""
    found = [path.lstat().st_mtime]
    for current, _, names in os.walk(path):
        for name in names:
            with suppress(OSError):
                found.append(Path(current, name).lstat().st_mtime)
    return max(found)


def _size(path: Path) -> int:
    total = 0
    with suppress(OSError):
        total = path.lstat().st_size
    for current, _, names in os.walk(path):
        for name in names:
            with suppress(OSError):
                total += Path(current, name).lstat().st_size
    return total


def _unfinished_in(folder: Path, now: float) -> Iterator[Leftover]:
    """Yield locks that nobody has, and what builds that were killed have left in a folder."""
    held = False
    for entry in sorted(_entries(folder), key=lambda entry: not entry.name.endswith(".lock")):
        path = Path(entry.path)
        if entry.name.endswith(".lock"):
            if _is_held(path):
                held = True
            else:
                yield Leftover(LOCK, path, 0)
        elif entry.name.startswith(".") or ".json." in entry.name:
            with suppress(OSError):
                if not held and _newest(path) + UNFINISHED_SECONDS < now:
                    yield Leftover("unfinished build", path, _size(path))
        elif entry.name.endswith(".json") and not path.with_suffix(".so").exists():
            yield Leftover("description", path, _size(path))


def leftovers() -> Iterator[Leftover]:
    """Yield what nothing needs any more."""
    root, now = cache_folder(), time.time()
    variants = [variant for version in _folders(root / CODE) for variant in _folders(version)]
    groups = [group for variant in variants for group in _folders(variant)]
    hosts = _folders(root / HOSTS)
    for folder in [*groups, root / LIBRARIES, *_folders(root / OBJECTS), *hosts]:
        yield from _unfinished_in(folder, now)
    yield from _stale_stencils(root / HOSTS, now)
    yield from _stale_notes(root, now)


def _stale_stencils(folder: Path, now: float) -> Iterator[Leftover]:
    """Yield tables of stencils that are of another version, or were never finished."""
    for entry in _entries(folder):
        if not entry.name.startswith("stencils-") or entry.name == stencils.cached_name():
            continue
        with suppress(OSError):
            if entry.name.endswith(".h") or entry.stat().st_mtime + UNFINISHED_SECONDS < now:
                yield Leftover("stencils", Path(entry.path), entry.stat().st_size)


def _stale_notes(root: Path, now: float) -> Iterator[Leftover]:
    """Yield notes of the host that are nonsense, of libraries that are gone, or that nobody has read for long."""
    libraries: set[str] = set()
    for library in kept((CODE,)):
        with suppress(OSError):
            status = library.path.stat()
            libraries.add(f"{status.st_dev:x}-{status.st_ino:x}")
    for entry in _entries(root / "identities"):
        path = Path(entry.path)
        with suppress(OSError):
            status = entry.stat(follow_symlinks=False)
            age = now - max(status.st_atime, status.st_mtime)
            if _NOTE_NAME.fullmatch(entry.name) is None:
                if age > UNFINISHED_SECONDS:
                    yield Leftover("note", path, status.st_size)
                continue
            found = _NOTE.fullmatch(_text(path)) if entry.is_file(follow_symlinks=False) else None
            gone = found is not None and found[1] == "whole" and entry.name not in libraries
            if found is None or gone or age > NOTE_DAYS * 86400:
                yield Leftover("note", path, status.st_size)


def _text(path: Path) -> str:
    with open(open_unused(path), "rb") as stream:
        return stream.read(400).decode("ascii", "replace")


def prune(rules: Rules) -> list[Kept | Leftover]:
    """Remove what nothing needs and what the rules say; return what is gone, or with `dry_run` what would be."""
    gone: list[Kept | Leftover] = [one for one in leftovers() if rules.dry_run or remove(one)]
    found, now = list(kept()), time.time()
    going: dict[Path, Kept] = {}
    for one in found:
        foreign = rules.other_versions and not one.is_current
        old = rules.older_seconds is not None and now - one.used > rules.older_seconds
        if foreign or old:
            going[one.path] = one
    limits = [((CODE, LIBRARIES, OBJECTS, HOSTS), rules.max_bytes), (BOUNDED, limit_bytes())]
    for kinds, limit in limits:
        if limit is not None:
            rest = [one for one in found if one.kind in kinds and one.path not in going]
            going |= {one.path: one for one in beyond(rest, limit)}
    gone += [one for one in going.values() if rules.dry_run or remove(one)]
    return gone
