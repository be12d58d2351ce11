"""Fixtures for tests that run guests: the host, built when its sources have changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tools import need

from mipsrec.host import host_executable

WARNINGS = ("-Wall", "-Wextra", "-Werror")
SANITIZERS = ("-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def plain_host() -> Path:
    """Return the host as `mipsrec run` uses it; the one that MIPSREC_HOST names, if set."""
    need("cc", "gcc")
    given = os.environ.get("MIPSREC_HOST")
    return Path(given) if given else host_executable(WARNINGS)


def sanitized_host() -> Path:
    """Return a host that ends at the first error AddressSanitizer or UndefinedBehaviorSanitizer sees."""
    need("cc", "gcc")
    given = os.environ.get("MIPSREC_SANITIZED_HOST")
    return Path(given) if given else host_executable((*WARNINGS, *SANITIZERS))


@pytest.fixture(scope="session")
def host() -> Path:
    """The host executable."""
    return plain_host()
