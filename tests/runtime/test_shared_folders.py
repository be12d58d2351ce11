"""With --sysroot the kernel's guard of names in shared folders holds as in a chroot: protected_symlinks and its kin."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.others import MALLORY, open_to_others
from tests.runtime.twins import compile_guest
from tests.support.paths import GUESTS
from tests.support.powers import NOBODY, need_to
from tests.support.tools import need

PROGRAM = GUESTS / "shared_folder.c"
NO_LINKS = 'mount --bind "$0" "$0" && mount -o remount,bind,nosymfollow "$0" && exec "$@"'
AS_NOBODY = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the guest and its native twin."""
    folder = tmp_path_factory.mktemp("programs")
    compile_guest(folder, "little", "shared_folder", options=("-pthread",))
    words = [need("gcc"), "-static", "-pthread", PROGRAM, "-o", folder / "native"]
    subprocess.run(words, check=True)
    return folder


@pytest.fixture
def root(host: Path, programs: Path) -> Iterator[Path]:
    """A root with a /tmp for all, where another user has put names, and the programs, which anyone may run."""
    need_to("chroot")
    need_to("become another user")
    with open_to_others() as folder:
        (folder / "tmp").mkdir()
        (folder / "tmp").chmod(0o1777)
        (folder / "home").mkdir()
        (folder / "home/file").write_text("of the user")
        (folder / "home").chmod(0o755)
        (folder / "tmp/link").symlink_to("/home/file")
        (folder / "tmp/new").symlink_to("/home/new")
        (folder / "tmp/file").touch()
        os.mkfifo(folder / "tmp/pipe")
        for name in ("link", "new", "file", "pipe"):
            os.chown(folder / "tmp" / name, MALLORY, MALLORY, follow_symlinks=False)
        for name in ("file", "pipe"):
            (folder / "tmp" / name).chmod(0o666)
        for path in (folder / "home", folder / "home/file"):
            os.chown(path, NOBODY, NOBODY)
        for path in (host, programs / "shared_folder", programs / "native"):
            shutil.copy(path, folder / path.name)
        yield folder


def answers(root: Path, *command: str | Path, links: bool) -> list[str]:
    before = [] if links else ["unshare", "-m", "sh", "-c", NO_LINKS, root / "tmp"]
    done = subprocess.run([*before, *command], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout.splitlines()


@pytest.mark.parametrize("links", [True, False], ids=["", "nosymfollow"])
@pytest.mark.parametrize("threads", [False, True], ids=["", "threads"])
def test_answers_like_a_chroot(root: Path, host: Path, links: bool, threads: bool) -> None:
    """What these are depends on the machine (/proc/sys/fs/protected_symlinks), but not on who asks."""
    if not links:
        need_to("mount file systems")
    words = ["threads"] if threads else []
    native = ["chroot", f"--userspec={NOBODY}:{NOBODY}", "--groups=", root, "/native", *words]
    expected = answers(root, *native, links=links)
    assert len(expected) == 12 and expected[-1] == "link itself: done"
    guest = [*AS_NOBODY, root / host.name, "--sysroot", root, "/shared_folder", *words]
    assert answers(root, *guest, links=links) == expected
