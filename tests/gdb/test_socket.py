"""The socket of --gdb in the file system: it goes with the wait for a debugger, however that ends."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from tests.cli.others import MALLORY, open_to_others
from tests.gdb.debugger import DebuggedGuest
from tests.support.commandline import heed_interrupts
from tests.support.compiled import BARE, compile_guest
from tests.support.hosts import plain_host
from tests.support.powers import need_to

CRASHES = "int __start(void) { *(volatile int *)8 = 1; return 0; }"


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_guest(tmp_path_factory.mktemp("crashing"), "big", CRASHES, *BARE)


@pytest.mark.parametrize("option", ["--gdb", "--gdb-on-crash"])
def test_a_signal_that_ends_the_wait(guest: Path, tmp_path: Path, option: str) -> None:
    path = tmp_path / "socket"
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        with DebuggedGuest([plain_host(), option, path, guest], path, before=heed_interrupts) as waiting:
            waiting.wait_until_it_listens()
            assert path.exists()
            waiting.process.send_signal(number)
            assert waiting.process.wait() == -number
        assert not path.exists()


def test_what_takes_the_name_of_its_folder_stays(guest: Path, tmp_path: Path) -> None:
    """The socket goes from the folder that was found, whatever has that folder's name meanwhile."""
    (tmp_path / "folder").mkdir()
    path = tmp_path / "folder/socket"
    with DebuggedGuest([plain_host(), "--gdb", path, guest], path, before=heed_interrupts) as waiting:
        waiting.wait_until_it_listens()
        assert path.stat().st_mode & 0o777 == 0o600
        (tmp_path / "folder").rename(tmp_path / "moved")
        (tmp_path / "folder").mkdir()
        path.write_text("kept")
        waiting.process.send_signal(signal.SIGTERM)
        assert waiting.process.wait() == -signal.SIGTERM
    assert path.read_text() == "kept" and os.listdir(tmp_path / "moved") == []


def test_a_socket_that_is_left_over(guest: Path, tmp_path: Path) -> None:
    """That of a host that was killed is replaced; neither that of one that waits, nor any other file."""
    path = tmp_path / "socket"
    with DebuggedGuest([plain_host(), "--gdb", path, guest], path) as killed:
        killed.wait_until_it_listens()
    assert path.exists()
    with DebuggedGuest([plain_host(), "--gdb", path, guest], path) as waiting:
        waiting.wait_until_it_listens()
        with DebuggedGuest([plain_host(), "--gdb", path, guest], path) as late:
            assert late.process.wait() == 1
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
    path.unlink(missing_ok=True)
    path.write_text("kept")
    with DebuggedGuest([plain_host(), "--gdb", path, guest], path) as refused:
        assert refused.process.wait() == 1
    assert path.read_text() == "kept" and os.listdir(tmp_path) == ["socket"]


def test_a_link_of_another_user_on_the_way(guest: Path) -> None:
    """He would choose where a socket is made, and a left one goes. Links of the user's own are followed."""
    need_to("become another user")
    with open_to_others() as folder:
        private = folder / "private"
        private.mkdir(mode=0o700)
        for name, owner in (("theirs", MALLORY), ("own", os.getuid())):
            (folder / name).symlink_to(private)
            os.chown(folder / name, owner, owner, follow_symlinks=False)
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(str(private / "socket"))
        before = (private / "socket").stat().st_ino
        words = [plain_host(), "--gdb", folder / "theirs/socket", guest]
        refused = subprocess.run(words, capture_output=True, text=True, timeout=600)
        assert refused.returncode == 1 and "its folder is behind a link: " in refused.stderr
        assert (private / "socket").stat().st_ino == before
        path = folder / "own/socket"
        with DebuggedGuest([plain_host(), "--gdb", path, guest], path, before=heed_interrupts) as waiting:
            waiting.wait_until_it_listens()
            waiting.process.send_signal(signal.SIGTERM)
            waiting.process.wait()
        assert os.listdir(private) == []
