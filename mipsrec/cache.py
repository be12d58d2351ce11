"""The per-user cache: files named after what they were made from, written whole or not at all.

Folder: $MIPSREC_CACHE, else $XDG_CACHE_HOME/mipsrec, else ~/.cache/mipsrec. It may be deleted at any time. Others may
not write it, since the code in it runs with the user's rights.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from . import profiles
from .errors import BuildError
from .options import Options
from .target_cpu import chosen_cpu


def cache_folder() -> Path:
    """Return the cache folder, made if necessary; raises BuildError when it cannot be."""
    named = os.environ.get("MIPSREC_CACHE")
    base = Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mipsrec"
    try:
        base.mkdir(0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise BuildError(f"{base}: {cannot_write(error)}") from error
    return base


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
            sampled, source_digest(),
        ))
    )  # fmt: skip
    name = hashlib.blake2b(key.encode(), digest_size=16).hexdigest()
    return cache_folder() / "libraries" / f"{name}.so"


def _sampled(path: str) -> list[tuple[str, list[int]]]:
    """Return where a profile has samples: all that a library that heeds it depends on."""
    files = profiles.read(path).files
    found = [(file.identity, sorted(set().union(*file.samples.values()))) for file in files if file.identity]
    return sorted((identity, pcs) for identity, pcs in found if pcs)


def variant_of(options: Options) -> str:
    """Return the name of the ways to translate that the options choose, for the store (runtime/lifted/caches.c)."""
    name = f"{options.memory}-{options.calls}-{options.opt}-{chosen_cpu(options.cpu).name}"
    if options.profile is None:
        return name
    digest = hashlib.blake2b(repr(_sampled(options.profile)).encode(), digest_size=8)
    return f"{name}-profile-{digest.hexdigest()}"


def code_path(guest_identity: str, options: Options, variant: str | None = None, root: Path | None = None) -> Path:
    """Return where the store has the library of a guest's file, in another variant than the options' if named.

    The store is in the cache, in the folder that the options fill, or in `root`.
    """
    root = root or (Path(options.into) if options.into is not None else cache_folder())
    folder = root / "code" / source_digest() / (variant or variant_of(options))
    return folder / guest_identity[:2] / f"{guest_identity}.so"


def partial_variant(options: Options, chosen: Sequence[tuple[str, Sequence[int]]]) -> str:
    """Return the name of a variant that has only the functions of those starts in files of those identities."""
    digest = hashlib.blake2b(repr(sorted((name, sorted(starts)) for name, starts in chosen)).encode(), digest_size=8)
    return f"{variant_of(options)}-only-{digest.hexdigest()}"


_NOT_TRANSLATING = {
    "__main__.py", "_runtime", "_samples", "cache_entries.py", "cache_limit.py", "cache_notes.py", "cache_prune.py",
    "cli.py", "commands", "demo.py", "host_build.py", "interrupts.py", "layers.py", "packaging", "profile_report.py",
    "stencils", "store.py", "sysroot.py", "temporary_folder.py", "timing.py", "workers.py",
}  # fmt: skip
"""What comes after a library is made, only asks for one, or says who makes it: its contents do not depend on these."""


@cache
def source_digest() -> str:
    """Return a digest of mipsrec's own Python code: what a cached result must have been made by."""
    digest = hashlib.blake2b(digest_size=16)
    package = Path(__file__).parent
    for path in sorted(package.rglob("*.py")):
        if path.relative_to(package).parts[0] not in _NOT_TRANSLATING:
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()
