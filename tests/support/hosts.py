"""The host executables that tests run guests with, built once in the cache that all processes of a run share."""

from __future__ import annotations

import os
from pathlib import Path

from mipsrec.cache import cache_folder
from mipsrec.host_build import host_executable
from tests.support.locks import locked
from tests.support.tools import need

WARNINGS = ("-Wall", "-Wextra", "-Werror")
SANITIZERS = ("-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def _built_once(flags: tuple[str, ...]) -> Path:
    """Return the host with these flags; one process at a time builds it."""
    with locked(cache_folder() / "tests"):
        return host_executable(flags)


def plain_host() -> Path:
    """Return the host as `mipsrec run` uses it; the one that MIPSREC_HOST names, if set."""
    need("cc", "gcc")
    given = os.environ.get("MIPSREC_HOST")
    return Path(given) if given else _built_once(())  # the very one that `mipsrec run` looks for


def sanitized_host() -> Path:
    """Return a host that ends at the first error AddressSanitizer or UndefinedBehaviorSanitizer sees."""
    need("cc", "gcc")
    given = os.environ.get("MIPSREC_SANITIZED_HOST")
    return Path(given) if given else _built_once((*WARNINGS, *SANITIZERS))


def cache_with_host(folder: Path) -> Path:
    """Make a cache that has nothing but the host."""
    plain_host()
    folder.mkdir()
    (folder / "host").symlink_to(Path(os.environ["MIPSREC_CACHE"]) / "host")
    return folder
