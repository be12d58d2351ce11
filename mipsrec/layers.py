"""Layers: folders like the cache that others fill, and in which code is looked for when the cache has none.

Enters: $MIPSREC_CACHE_PATH, folders with colons between them, and the system's folders. Leaves: the folders that are
there, and whether code is taken from them. The host has the same rules (runtime/lifted/caches.c), and goes by its own.
Nothing here writes into a layer but `mipsrec build --into FOLDER`.
"""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path

from .cache import cache_folder, code_path, variant_of
from .errors import BuildError
from .options import Options
from .target_cpu import native_level

SYSTEM = ("/var/cache/mipsrec", "/usr/lib/mipsrec/cache")
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_OTHERS_ENTER = stat.S_IXGRP | stat.S_IXOTH


def layer_folders() -> list[Path]:
    """Return the layers that are there, in the order in which they are asked."""
    named = os.environ.get("MIPSREC_CACHE_PATH", "").split(":")
    found = [cache_folder().resolve()]
    for name in (*filter(None, named), *SYSTEM):
        folder = Path(name).resolve()
        if folder.is_dir() and folder not in found:
            found.append(folder)
    return found[1:]


def distrust(path: Path) -> str | None:
    """Return who else than root and this user can change what a path names, or None: code is taken from it."""
    try:
        real = path.resolve(strict=True)
        names = [*reversed(real.parents), real]
        closed = False
        for name in names:
            status = name.lstat()
            if status.st_uid not in (0, os.geteuid()):
                return "it, or a folder above it, belongs to another user"
            holds_file = name == real.parent and not real.is_dir()
            sticky = status.st_mode & stat.S_ISVTX and name != real and not holds_file
            if status.st_mode & _OTHERS_WRITE and not closed and not sticky:
                return "others can write it, or a folder above it"
            closed = closed or (stat.S_ISDIR(status.st_mode) and not status.st_mode & _OTHERS_ENTER)
    except OSError:
        return "it is out of reach"
    return None


def check_trust(folder: Path) -> None:
    """Raise BuildError where no code would be taken from a folder."""
    reason = distrust(folder)
    if reason is not None:
        raise BuildError(f"{folder}: {reason}, so no code is taken from it; change that (chmod go-w), or name another")


def code_paths(identity: str, options: Options) -> list[Path]:
    """Return where the library of a file may be: in the cache or in a layer; or in the folder that is being filled."""
    own = code_path(identity, options)
    if options.into is not None:
        return [own]
    return [own, *(code_path(identity, options, root=folder) for folder in layer_folders())]


def paths_to_run(identity: str, options: Options) -> list[Path]:
    """Return the same for a run, which by default also takes what was made for lesser processors."""
    roots, variants = (cache_folder(), *layer_folders()), variants_to_run(options)
    return [code_path(identity, options, variant, root) for root in roots for variant in variants]


def variants_to_run(options: Options) -> list[str]:
    """Return the variants whose code the host takes, the best first."""
    if not is_default(options):
        return [variant_of(options)]
    lesser = ["generic"] if native_level() == 0 else ["x86-64", "x86-64-v2", "x86-64-v3"][: native_level()]
    return [f"flat-direct-auto-{name}" for name in reversed(lesser)]


def is_default(options: Options) -> bool:
    """Return whether the options choose the variant that the host looks for when none is named."""
    usual = Options()
    return replace(options, jobs=usual.jobs, reuse=usual.reuse, into=usual.into) == usual
