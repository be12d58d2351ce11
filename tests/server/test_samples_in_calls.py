"""No sample decides how a system call ends: only a signal of the guest's ends it, and that one always does."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.compiled import ORDERS, compile_guest
from tests.support.paths import GUESTS

ROUNDS = {"masked": 1500, "plain": 600, "ended": 100, "sent": 20}


@pytest.fixture(scope="module", params=list(ORDERS))
def guest(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(request.param)
    return compile_guest(folder, request.param, (GUESTS / "interrupted.c").read_text(), "-static")


@pytest.fixture
def growing(tmp_path: Path) -> list[object]:
    """Return options by which samples are taken for a server that nobody starts: others may enter its folder."""
    server = tmp_path / "cache" / "server"
    server.mkdir(parents=True)
    server.chmod(0o755)
    return ["--cache", server.parent, "--compile-server", "/nonexistent"]


@pytest.mark.parametrize("how", list(ROUNDS))
def test_growth(host: Path, guest: Path, growing: list[object], how: str) -> None:
    """The call works for long before it waits, so that samples fall due in it."""
    assert run([host, *growing, guest, how, ROUNDS[how]]) == "wrong: 0\n"


@pytest.mark.parametrize("how", list(ROUNDS))
def test_profile(host: Path, guest: Path, tmp_path: Path, how: str) -> None:
    assert run([host, "--profile", tmp_path / "profile", guest, how, ROUNDS[how]]) == "wrong: 0\n"


def run(words: list[object]) -> str:
    result = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=600, check=False)
    assert (result.stderr, result.returncode) == ("", 0)
    return result.stdout
