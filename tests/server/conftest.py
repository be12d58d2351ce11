"""Fixtures of the tests of the compile server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.server.starting import Script


@pytest.fixture
def script(host: Path, tmp_path_factory: pytest.TempPathFactory) -> Script:
    """A script that stands for the server, and a cache."""
    cache = tmp_path_factory.mktemp("s") / "cache"  # the name of the socket below it must fit
    cache.mkdir(mode=0o700)
    found = Script(host, cache, variables={"HOME": "/nowhere"})
    found.prepare()
    return found
