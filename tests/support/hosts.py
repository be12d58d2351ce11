"""The host executables that tests run guests with, built once in the cache that all processes of a run share."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from mipsrec.cache.folders import cache_folder
from mipsrec.host_build import host_executable
from tests.support.locks import locked
from tests.support.paths import ROOT
from tests.support.tools import need, need_link

WARNINGS = ("-Wall", "-Wextra", "-Werror")
SANITIZERS = ("-O1", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


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
    given = os.environ.get("MIPSREC_SANITIZED_HOST")
    if not given:
        need_link(os.environ.get("CC", "cc"), SANITIZERS, "gcc")
    return Path(given) if given else _built_once((*WARNINGS, *SANITIZERS))


_AS_BUILT = """
import shutil, sys
sys.path.insert(0, {root!r})
from mipsrec import cli, host_build
def build(compiler, output, *rest):
    try:
        shutil.copy({host!r}, output)
    except OSError as error:
        raise host_build.WriteError(f"{{output}}: cannot be written ({{error.strerror}})")
host_build.build_host = build
sys.exit(cli.main({words!r}))
"""


def command_that_builds_at_once(host: Path, *words: object) -> list[str]:
    """Return a command of mipsrec that, where it has to build the host, copies this one, which takes no time."""
    text = _AS_BUILT.format(root=str(ROOT), host=str(host), words=list(map(str, words)))
    return [sys.executable, "-c", text]


def cache_with_host(folder: Path) -> Path:
    """Make a cache that has nothing but the host."""
    plain_host()
    folder.mkdir()
    (folder / "host").symlink_to(Path(os.environ["MIPSREC_CACHE"]) / "host")
    return folder
