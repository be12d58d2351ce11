"""What all tests share: a cache of their own for each run of the tests, and the host, built once in it."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from tests.support.hosts import plain_host

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


@pytest.fixture(scope="session")
def host() -> Path:
    """The host executable."""
    return plain_host()
