"""Layers: folders like the cache that others fill, and in which code is looked for when the cache has none.

Enters: $MIPSREC_CACHE_PATH, folders with colons between them, and the system's folders. Leaves: the folders that are
there, and whether code is taken from them. The host has the same rules (runtime/lifted/caches.c), and goes by its own.
Nothing here writes into a layer but `mipsrec build --into FOLDER`.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from ..errors import BuildError
from ..files.trust import distrust, resolve
from ..options import Options
from ..target.cpu import choice_of, cpus_to_run
from .folders import cache_folder, code_path, has_folder, own_folder, variant_of

SYSTEM = ("/var/cache/mipsrec", "/usr/lib/mipsrec/cache")


def layer_folders() -> list[Path]:
    """Return the layers that are there, in the order in which they are asked."""
    named = os.environ.get("MIPSREC_CACHE_PATH", "").split(":")
    own = [own_folder()] if has_folder() else []
    found = list(own)
    for name in (*filter(None, named), *SYSTEM):
        folder = _without_links(name)
        if folder.is_dir() and folder not in found:
            found.append(folder)
    return found[len(own) :]


def _without_links(name: str) -> Path:
    """Return a folder's path without links, unless others chose where these lead: then it is distrusted as it is."""
    try:
        return resolve(name)
    except (OSError, ValueError):
        return Path(os.path.abspath(name))


def check_trust(path: Path, consequence: str = "no code is taken from it") -> None:
    """Raise BuildError where others than root and this user can change what a path names."""
    reason = distrust(path)
    if reason is not None:
        raise refusal(path, reason, consequence)


def refusal(path: Path, reason: str, consequence: str) -> BuildError:
    """Return what to say of a path that is not trusted. To take rights from others is not enough: they had them."""
    return BuildError(f"{path}: {reason}, so {consequence}; name another, or make it anew where only you can write")


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
    return [variant_of(Options(cpu=choice_of(cpu.name))) for cpu in reversed(cpus_to_run())]


def is_default(options: Options) -> bool:
    """Return whether the options choose the variant that the host looks for when none is named."""
    usual = Options()
    return replace(options, jobs=usual.jobs, reuse=usual.reuse, into=usual.into) == usual
