"""Signals from 32 on: those that libcs keep for themselves, and those that only MIPS has.

The guests print the same on this machine, where there are fewer signals: they print what went wrong, which is nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.runtime import twins
from tests.support.compiled import ORDERS
from tests.support.hosts import sanitized_host

pytestmark = pytest.mark.sampled

REALTIME = ("itself", "blocked", "threads", "processes", "groups", "defaults", "next")
SETXID = ("identities", "cancelling", "owners", "inheritance")


@pytest.fixture(scope="module")
def realtime(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    return twins.natives(tmp_path_factory, "realtime")


@pytest.fixture(scope="module")
def setxid(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    return twins.natives(tmp_path_factory, "setxid")


@pytest.fixture(scope="module")
def setxid_musl(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    return twins.natives(tmp_path_factory, "setxid", musl=True)


@pytest.fixture(scope="module", params=ORDERS)
def order(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    return chosen


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, order: str) -> Path:
    """Both guests in one byte order."""
    made = tmp_path_factory.mktemp(order)
    for name in ("realtime", "setxid"):
        twins.compile_guest(made, order, name, options=twins.THREADS)
    return made


@pytest.fixture(scope="module")
def musl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The guest with the other libc; Debian has that for one byte order."""
    return twins.compile_musl(tmp_path_factory.mktemp("musl"), "mipsel", "setxid")


@pytest.mark.parametrize("way", REALTIME)
def test_all_signals(host: Path, folder: Path, realtime: Callable[[str], str], way: str) -> None:
    assert twins.output(host, "--engine", "interp", folder / "realtime", way) == realtime(way)


@pytest.mark.parametrize("way", SETXID)
def test_signals_of_glibc(host: Path, folder: Path, setxid: Callable[[str], str], way: str) -> None:
    """Before, the host's libc got signal 33 of the second thread, and died; there was no list of robust mutexes."""
    assert twins.output(host, "--engine", "interp", folder / "setxid", way) == setxid(way)


@pytest.mark.parametrize("way", SETXID)
def test_signals_of_musl(host: Path, musl: Path, setxid_musl: Callable[[str], str], way: str) -> None:
    assert twins.output(host, "--engine", "interp", musl, way) == setxid_musl(way)


@pytest.mark.parametrize("way", REALTIME)
def test_all_signals_under_sanitizers(folder: Path, realtime: Callable[[str], str], way: str) -> None:
    assert twins.output(sanitized_host(), "--engine", "interp", folder / "realtime", way) == realtime(way)


@pytest.mark.parametrize("way", SETXID)
def test_libcs_under_sanitizers(folder: Path, setxid: Callable[[str], str], way: str) -> None:
    assert twins.output(sanitized_host(), "--engine", "interp", folder / "setxid", way) == setxid(way)
