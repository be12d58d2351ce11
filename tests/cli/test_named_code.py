"""Libraries and hosts that a user names: what others can have chosen runs only if he says so, and not for all users."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mipsrec.files import trust
from tests.cli.others import GIVES_AWAY, MALLORY, change, give, open_to_others, snapshot
from tests.support.commandline import assert_one_line, environment, mipsrec
from tests.support.paths import PREBUILT
from tests.support.powers import need_to

SAMPLE = PREBUILT / "mips/hello.elf"


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that others may enter, in a sticky one that all may write."""
    with open_to_others() as folder:
        yield folder


# ---- libraries ----


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("library") / "lib.so"
    result = mipsrec("build", SAMPLE, "-o", path, "--opt", "0", before=lambda: os.umask(0) and None)
    assert result.returncode == 0 and path.stat().st_mode & 0o022 == 0
    return path


CHOSEN = (
    "open file", "open folder", "sticky folder", "sticky link", "below a closed folder",
    "their file", "their folder", "their link",
)  # fmt: skip


@pytest.mark.parametrize("how", CHOSEN)
def test_a_library_that_others_can_have_chosen(how: str, library: Path, shared: Path, host: Path) -> None:
    """It runs only where the user says so; `info` tells of it in any case."""
    if how.startswith("their"):
        need_to("give files away")
    (shared / "folder").mkdir()
    path = shared / "folder/lib.so"
    shutil.copy(library, path)
    ways: dict[str, Callable[[], object]] = {
        "open file": lambda: path.chmod(0o666), "open folder": lambda: path.parent.chmod(0o777),
        "sticky folder": lambda: path.parent.chmod(0o1777),
        "sticky link": lambda: (  # it may come out of a folder of theirs
            path.rename(shared / "lib.so"), path.symlink_to(shared / "lib.so"), path.parent.chmod(0o1777)
        ),
        "below a closed folder": lambda: (path.chmod(0o666), path.parent.chmod(0o700)),
        "their file": lambda: change(path, owner=MALLORY),
        "their folder": lambda: change(path.parent, owner=MALLORY),
        "their link": lambda: (
            path.rename(shared / "lib.so"), path.symlink_to(shared / "lib.so"), change(path, owner=MALLORY)
        ),
    }  # fmt: skip
    words = ("run", "--static-lib" if "file" in how else "--library", path, SAMPLE)
    assert mipsrec(*words).stdout == "Hello from MIPS.\n"
    ways[how]()
    result = mipsrec(*words)
    assert (result.returncode, result.stdout) == (1, "") and "--trust-library" in result.stderr, result
    starts = (f"mipsrec-host: {path}: {words}" for words in ("it, or", "others", "a link on the way to it is in"))
    assert result.stderr.startswith(tuple(starts))
    assert trust.distrust(path) is not None
    assert mipsrec("run", "--trust-library", *words[1:]).stdout == "Hello from MIPS.\n"
    assert "entries" in mipsrec("info", path).stdout


# ---- the host to register ----


@GIVES_AWAY
@pytest.mark.parametrize("how", [("--install",), (), ("--format", "binfmt.d")])
def test_a_host_to_register_must_be_nobody_else_s(how: tuple[str, ...], shared: Path) -> None:
    """The kernel would execute it for all users, and another user writes the lines there."""
    (shared / "mipsrec-host").write_text("")
    (shared / "mipsrec-host").chmod(0o755)
    give(shared / "mipsrec-host")
    result = mipsrec("binfmt", *how, "--host", shared / "mipsrec-host")
    assert_one_line(result, "another user", "it would run for all users")


def test_a_host_is_made_where_nobody_else_can_write(shared: Path, host: Path) -> None:
    """Where it is refused, nothing is left; no link is followed."""
    (shared / "open").mkdir()
    (shared / "open").chmod(0o777)
    (shared / "sticky").mkdir()
    (shared / "sticky").chmod(0o1777)
    (shared / "link").symlink_to(shared / "target")
    before = snapshot(shared)
    for place in ("open/mipsrec-host", "open/new/mipsrec-host", "sticky/mipsrec-host"):
        result = mipsrec("binfmt", "--host", shared / place)
        assert_one_line(result, str(shared / place), "others can write", "it would run for all users")
    assert_one_line(mipsrec("binfmt", "--host", shared / "link"), "leads to no file")
    assert_one_line(mipsrec("binfmt", "--host", shared / "new:" / "mipsrec-host"), "colons")
    assert snapshot(shared) == before
    for place in ("sticky/new/mipsrec-host", "mipsrec-host"):
        result = mipsrec("binfmt", "--host", shared / place, before=lambda: os.umask(0) and None)
        assert result.returncode == 0 and str(shared / place) in result.stdout, result
        assert (shared / place).read_bytes() == host.read_bytes()
        assert (shared / place).stat().st_mode & 0o777 == (shared / place).parent.stat().st_mode & 0o777 == 0o755


def test_no_host_is_registered_that_goes(shared: Path) -> None:
    """Without a cache it is in a folder of this process."""
    (shared / "file").write_text("")
    script = (
        "import pathlib\nfrom mipsrec import cli\nfrom mipsrec.cache import folders\n"
        "from mipsrec.commands import binfmt\n"
        "binfmt.host_executable = lambda: folders.cache_folder() / 'mipsrec-host'\n"
        "raise SystemExit(cli.main(['binfmt']))\n"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                            env=environment(MIPSREC_CACHE=str(shared / "file/cache")))  # fmt: skip
    assert result.returncode == 1 and result.stderr.endswith("there is no cache; say --host PATH\n"), result
