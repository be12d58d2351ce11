"""--desock: a service has standard input as its one connection, answers to standard output, and ends."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.support.compiled import ORDERS, compile_guest
from tests.support.paths import GUESTS
from tests.support.tiers import BASELINE, INTERPRETED
from tests.support.tools import need

WAYS = {"one after another": "0", "a process each": "1", "poll": "2", "a thread each": "3", "IPv6": "4"}


@pytest.fixture(scope="module", params=ORDERS)
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("service")
    return compile_guest(folder, request.param, (GUESTS / "service.c").read_text(), "-static", "-w")


def run(host: Path, *words: str | Path, given: bytes) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([host, *words], input=given, capture_output=True, timeout=300)


@pytest.mark.parametrize("way", WAYS)
def test_a_service(service: Path, host: Path, way: str) -> None:
    for tier in (INTERPRETED, BASELINE["baseline"]):
        for given in (b"hello\n", b"", bytes(400)):
            result = run(host, *tier, "--desock", "80", service, WAYS[way], given=given)
            assert (result.returncode, result.stdout) == (0, b"%d bytes\n" % len(given)), result.stderr
    result = run(host, "--desock", "any", service, WAYS[way], given=b"BUG\n")
    assert (result.returncode, result.stdout) == (-signal.SIGSEGV, b"")


def test_a_service_at_another_port(service: Path, host: Path) -> None:
    """It waits for connections as ever."""
    words = [host, "--desock", "81", service]
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=2)
        process.kill()


@pytest.mark.parametrize("port", ["0", "65536", "http", ""])
def test_wrong_ports(service: Path, host: Path, port: str) -> None:
    result = run(host, "--desock", port, service, given=b"")
    assert result.returncode == 1 and result.stderr.count(b"\n") == 1
    assert b"must be the port that the service listens at, or any" in result.stderr


def test_under_a_fuzzer(service: Path, host: Path, tmp_path: Path) -> None:
    """afl-showmap hands inputs over so; the map of an input is always the same, and depends on it."""
    (tmp_path / "afl-qemu-trace").symlink_to(host)
    settings = os.environ | {"AFL_PATH": str(tmp_path), "MIPSREC_DESOCK": "any"}
    maps = []
    for given in (b"hello\n", b"BUX", b"hello\n"):
        words = [need("afl-showmap", "afl++"), "-q", "-Q", "-o", tmp_path / "map", "--", service]
        subprocess.run(words, input=given, capture_output=True, timeout=60, env=settings)
        maps.append((tmp_path / "map").read_text())
    assert maps[0] == maps[2] != maps[1] and maps[0].count("\n") > 100
