"""Fixtures for tests that run guests: the host, built once per run of the tests in a cache of their own."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from tools import need

from mipsrec.cache import cache_folder
from mipsrec.host_build import host_executable

_own_cache: str | None = None


def pytest_configure() -> None:
    """Give all processes of this run one cache folder, unless MIPSREC_CACHE names one that is to be kept."""
    global _own_cache
    os.environ["MIPSREC_SERVER"] = "0"  # who wants one says so
    if "MIPSREC_CACHE" not in os.environ:
        os.environ["MIPSREC_CACHE"] = _own_cache = tempfile.mkdtemp(prefix="mipsrec-tests-")


def pytest_unconfigure() -> None:
    if _own_cache is not None:
        shutil.rmtree(_own_cache, ignore_errors=True)


def _built_once(flags: tuple[str, ...]) -> Path:
    """Return the host with these flags; one process at a time builds it."""
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return host_executable(flags)


WARNINGS = ("-Wall", "-Wextra", "-Werror")
SANITIZERS = ("-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


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


@pytest.fixture(scope="session")
def host() -> Path:
    """The host executable."""
    return plain_host()
