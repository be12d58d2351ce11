"""Signals that come faster than the guest takes them: none is kept away for longer than until what came is taken."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.runtime import twins
from tests.support.compiled import ORDERS


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    return twins.natives(tmp_path_factory, "storm")


@pytest.fixture(scope="module", params=ORDERS)
def guest(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return twins.compile_guest(tmp_path_factory.mktemp(request.param), request.param, "storm")


@pytest.mark.parametrize("way", ["execs", "ignored"])
def test_storm(host: Path, guest: Path, native: Callable[[str], str], way: str) -> None:
    assert twins.output(host, "--engine", "interp", guest, way) == native(way)
