"""A dynamic server of each byte order and a client of this machine: a sample of `make conformance ARGS=firmware`."""

from __future__ import annotations

import subprocess
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.runtime.test_dynamic import ENGINES, TIMEOUT, World
from tests.support.compiled import ORDERS
from tests.support.hosts import sanitized_host
from tests.support.paths import GUESTS

GUEST = GUESTS / "page.c"
REQUESTS = 12


def assert_serves(world: World) -> None:
    program = world.compile(GUEST, "page")
    world.recompile(program)
    page = bytes(number * number % 251 for number in range(300_000))
    (world.folder / "page.html").write_bytes(page)
    words = world.words(program, str(world.folder / "page.html"), str(REQUESTS))
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address, port = server.stdout.readline().split()
            assert address == "127.0.0.1"

            def get(_: int) -> bytes:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=TIMEOUT) as answer:
                    assert answer.headers["X-Peer"].startswith("127.0.0.1:")
                    return bytes(answer.read())

            with ThreadPoolExecutor(4) as pool:
                assert set(pool.map(get, range(REQUESTS))) == {page}
            assert server.stdout.read() == f"{REQUESTS} served\n"
            assert server.wait(TIMEOUT) == 0
        finally:
            server.kill()


@pytest.mark.parametrize("byte_order", ORDERS)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_page_is_served(host: Path, tmp_path: Path, byte_order: str, engine: str) -> None:
    assert_serves(World(host, tmp_path, byte_order, engine))


@pytest.mark.parametrize("byte_order", ORDERS)
def test_under_sanitizers(tmp_path: Path, byte_order: str) -> None:
    assert_serves(World(sanitized_host(), tmp_path, byte_order, "interp"))
