"""The per-user cache: files named after what they were made from, written whole or not at all.

Folder: $MIPSREC_CACHE, else $XDG_CACHE_HOME/mipsrec, else ~/.cache/mipsrec. It may be deleted at any time. One that
another user can write is not used, since the code in it runs with the user's rights (files/trust.py). Without a cache,
what a command cannot do without is made in a private folder, which goes with the process.
"""

from __future__ import annotations

import atexit
import errno
import hashlib
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

from .. import profiles
from ..errors import NoCacheError, WriteError, one_line
from ..files import trust
from ..files.temporary_folder import made_if_ours, temporary_places
from ..interrupts import held
from ..options import Options
from ..target.cpu import chosen_cpu

Made = TypeVar("Made")

CODE, LIBRARIES, OBJECTS, HOSTS = "code", "libraries", "objects", "host"
"""Its folders: the store, libraries with names of their own, objects of earlier builds, hosts."""
RECORDS = "records"
"""Its folder for what earlier builds were made of, by what they were made from (native/kept_parts.py)."""


def _named() -> Path:
    """Return the cache folder as the environment names it; raises NoCacheError where it names none."""
    named, xdg = os.environ.get("MIPSREC_CACHE"), os.environ.get("XDG_CACHE_HOME")
    try:
        return Path(named) if named else Path(xdg or Path.home() / ".cache") / "mipsrec"
    except RuntimeError as error:
        raise NoCacheError("this user has no home folder; set MIPSREC_CACHE to a folder of yours") from error


def own_folder() -> Path:
    """Return the user's cache folder without links, made if necessary.

    Raises NoCacheError where it cannot be, and where another user has a hand in it: what is there is neither read nor
    written.
    """
    base = _named()
    if _private.given_up is not None:
        raise NoCacheError(_private.given_up)
    try:
        folder = trust.resolve(base, make=True)
        if folder.is_dir():
            return folder
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    except trust.Distrusted as reason:
        raise NoCacheError(
            f"{base}: {reason}, so it is not used; remove it, or set MIPSREC_CACHE to a folder where only you can write"
        ) from reason
    except OSError as error:
        raise NoCacheError(f"{base}: {cannot_write(error)}") from error


def has_folder() -> bool:
    """Return whether there is a cache that may be used; where there is none, say so once."""
    try:
        own_folder()
    except NoCacheError as error:
        say_once(f"{error}; going on without a cache")
        return False
    return True


def cache_folder() -> Path:
    """Return the user's cache folder; where it may not be used, a private one that goes at the end of this process."""
    return own_folder() if has_folder() else _private_folder()


def with_room(make: Callable[[], Made]) -> Made:
    """Return what a function makes in the cache; where that cannot be written, have it made in the private folder."""
    try:
        return make()
    except WriteError as error:
        if _private.given_up is not None or not has_folder():
            raise
        _private.given_up = str(error)
        has_folder()
        return make()


def say_once(text: str) -> None:
    """Say that the cache cannot be used, unless that has been said: whatever else is missing for it is no news."""
    if not _private.said:
        _private.said = True
        print(f"mipsrec: {one_line(text)}", file=sys.stderr)


# ---- the private folder ----


@dataclass
class _Private:
    """What takes the place of the cache in this process."""

    folder: Path | None = None
    given_up: str | None = None
    """Why the user's cache is not used any more, after a write to it has failed."""
    said: bool = False


_private = _Private()
_ROOM_BYTES = 1 << 26
"""A host and what is needed to build it take no more."""


def _private_folder() -> Path:
    if _private.folder is None:
        with held():
            _private.folder = _new_private_folder()
            atexit.register(remove_private_folder, os.getpid())
    return _private.folder


def _new_private_folder() -> Path:
    """Make a folder for this process, if possible where there is room; raises NoCacheError."""
    places = temporary_places()
    for enough in (_has_room, os.path.isdir):
        for place in places:
            with suppress(OSError, ValueError):
                if enough(place):
                    folder = made_if_ours("mipsrec-", place)
                    if folder is not None:
                        return Path(folder)
    raise NoCacheError(f"no folder for temporary files can be written ({', '.join(places)}); set TMPDIR to one")


def _has_room(place: str) -> bool:
    found = os.statvfs(place)
    return found.f_bavail * found.f_frsize >= _ROOM_BYTES and (found.f_files == 0 or found.f_favail > 100)


def is_private(path: Path) -> bool:
    """Return whether a path lies in the private folder, which goes at the end of this process."""
    return _private.folder is not None and path.is_relative_to(_private.folder)


def remove_private_folder(owner: int | None = None) -> None:
    """Remove the private folder, if there is one, unless another process than `owner` asks."""
    if _private.folder is not None and owner in (None, os.getpid()):
        shutil.rmtree(_private.folder, ignore_errors=True)
        _private.folder = None


def cannot_write(error: OSError) -> str:
    """Return what to say when a file or folder of the cache cannot be made."""
    return f"cannot be written ({error.strerror or error}); set MIPSREC_CACHE to a folder with room that you may write"


def library_path(guest_identity: str, options: Options, starts: Sequence[int] = ()) -> Path:
    """Return where the cache keeps the library of a guest; the name changes with options, the machine and mipsrec.

    `starts` are those of the only functions in it; without any, it has all.
    """
    sampled = _sampled(options.profile) if options.profile is not None else None
    key = " ".join(
        map(str, (
            guest_identity, options.opt, options.memory, options.calls, chosen_cpu(options.cpu).name, list(starts),
            sampled, source_digest(), options.cover, *options.without,
        ))
    )  # fmt: skip
    name = hashlib.blake2b(key.encode(), digest_size=16).hexdigest()
    return cache_folder() / LIBRARIES / f"{name}.so"


def _sampled(path: str) -> list[tuple[str, list[int]]]:
    """Return where a profile has samples: all that a library that heeds it depends on."""
    files = profiles.read(path).files
    found = [(file.identity, sorted(set().union(*file.samples.values()))) for file in files if file.identity]
    return sorted((identity, pcs) for identity, pcs in found if pcs)


def variant_of(options: Options) -> str:
    """Return the name of the ways to translate that the options choose, for the store (runtime/lifted/caches.c)."""
    name = f"{options.memory}-{options.calls}-{options.opt}-{chosen_cpu(options.cpu).name}"
    name += "".join(f"-without-{one}" for one in sorted(set(options.without)))
    if options.profile is not None:
        digest = hashlib.blake2b(repr(_sampled(options.profile)).encode(), digest_size=8)
        name += f"-profile-{digest.hexdigest()}"
    return name + ("-counters" if options.cover else "")


def variant_folder(variant: str, root: Path | None = None) -> Path:
    """Return the folder of a variant of this version, in the store of the cache or of `root`."""
    return (root or cache_folder()) / CODE / source_digest() / variant


def code_path(guest_identity: str, options: Options, variant: str | None = None, root: Path | None = None) -> Path:
    """Return where the store has the library of a guest's file, in another variant than the options' if named.

    The store is in the cache, in the folder that the options fill, or in `root`.
    """
    if root is None and options.into is not None:
        root = Path(options.into)
    return variant_folder(variant or variant_of(options), root) / guest_identity[:2] / f"{guest_identity}.so"


def partial_variant(options: Options, chosen: Sequence[tuple[str, Sequence[int]]]) -> str:
    """Return the name of a variant that has only the functions of those starts in files of those identities."""
    digest = hashlib.blake2b(repr(sorted((name, sorted(starts)) for name, starts in chosen)).encode(), digest_size=8)
    return f"{variant_of(options)}-only-{digest.hexdigest()}"


_NOT_TRANSLATING = (
    "__main__.py", "_runtime/", "_samples/", "cache/entries.py", "cache/layers.py", "cache/limit.py", "cache/notes.py",
    "cache/prune.py", "cache/store.py", "cli.py", "commands/", "demo.py", "files/folder_walk.py",
    "files/private_group.py", "files/temporary_folder.py", "files/this_user.py", "files/trust", "fill_store.py",
    "fuzzing/", "host_build.py", "interrupts.py", "native/workers.py", "packaging/", "profile_report.py", "stencils/",
    "sysroot.py", "timing.py",
)  # fmt: skip
"""What comes after a library is made, only asks for one, or says who makes it: its contents do not depend on these."""


@cache
def source_digest() -> str:
    """Return a digest of mipsrec's own Python code: what a cached result must have been made by."""
    digest = hashlib.blake2b(digest_size=16)
    package = Path(__file__).parent.parent
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package).as_posix()
        if not name.startswith(_NOT_TRANSLATING):
            digest.update(name.encode() + path.read_bytes())
    return digest.hexdigest()
