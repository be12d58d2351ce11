"""A guest that gives up rights: its process trusts root alone from then on, and has no compile server."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from mipsrec import pipeline
from mipsrec.cache.folders import code_path, variant_of
from mipsrec.elf import load_elf
from tests.cli.others import open_to_others
from tests.runtime.twins import compile_guest
from tests.server.starting import Script
from tests.support.paths import PREBUILT
from tests.support.powers import need_to

USER = 54321
FILE = PREBUILT / "mipsel/hello.elf"
OPTIONS = pipeline.Options()
WAYS = ("all", "all but the saved user", "the effective user")


@pytest.fixture(scope="module")
def guest() -> Iterator[Path]:
    """The guest, where the other user may read it."""
    need_to("become another user")
    with open_to_others() as folder:
        yield compile_guest(folder, "little", "gives_up_rights")


@pytest.fixture
def layer() -> Iterator[Path]:
    """A layer of the user whose rights the guest has then, with what is named as code of the file."""
    need_to("give files away")
    with open_to_others() as folder:
        path = code_path(load_elf(FILE).identity, OPTIONS, root=folder)
        path.parent.mkdir(parents=True)
        path.write_text("nonsense")
        for one in (folder, *folder.rglob("*")):
            os.chown(one, USER, USER)
        yield folder


@pytest.mark.parametrize("way", WAYS)
def test_it_trusts_root_alone(way: str, host: Path, guest: Path, layer: Path) -> None:
    words = [host, "--stats", "--layers", layer, "--variant", variant_of(OPTIONS), guest, way, str(USER), FILE]
    done = subprocess.run(words, capture_output=True, text=True, cwd="/")
    assert done.returncode == 0 and f"the code of {FILE} is not used: " in done.stderr
    assert "belongs to another user" in done.stderr


@pytest.mark.parametrize("way", WAYS)
def test_no_server_starts(way: str, host: Path, guest: Path) -> None:
    """Where the cache's path is too long for a socket, it would be in a folder of /tmp."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        cache = Path(folder) / ("long" * 20) / "cache"
        cache.mkdir(mode=0o700, parents=True)
        script = Script(host, cache)
        script.prepare()
        before = set(os.listdir("/tmp"))
        words = [host, "--stats", *script.words(), guest, way, str(USER), FILE]
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
        assert done.returncode == 0 and "in translated or interpreted code" in done.stderr
        assert f"mipsrec-{USER}" not in set(os.listdir("/tmp")) - before
