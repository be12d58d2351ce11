"""What this user may do on this machine, found by doing it once: root may still lack it in a container.

Enters: a deed by name. Leaves: whether it can be done, or the end of the test.
"""

from __future__ import annotations

import os
import stat
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

NOBODY = 65534
MEMORY = "/dev/shm"


def _give_a_file_away(folder: Path) -> None:
    (folder / "file").touch()
    os.chown(folder / "file", NOBODY, NOBODY)


def _mount(folder: Path) -> None:
    mount = 'mount -t tmpfs tmpfs "$1" && mount --bind "$1" "$1" && mount -o remount,ro,bind "$1"'
    subprocess.run(["unshare", "-m", "sh", "-ec", mount, "sh", folder], check=True, capture_output=True)


def _mount_an_image(folder: Path) -> None:
    mount = 'truncate -s 1M "$1/image" && mke2fs -q -F "$1/image" && mount -o loop "$1/image" "$1"'
    subprocess.run(["unshare", "-m", "sh", "-ec", mount, "sh", folder], check=True, capture_output=True)


def _become_another_user(folder: Path) -> None:
    subprocess.run(["true"], check=True, user=NOBODY, group=NOBODY, extra_groups=[], cwd="/")


def _chroot(folder: Path) -> None:
    subprocess.run(["true"], check=True, preexec_fn=lambda: os.chroot("/"))


def _make_a_user_namespace(folder: Path) -> None:
    subprocess.run(["unshare", "-U", "true"], check=True, capture_output=True)


def _make_a_device(folder: Path) -> None:
    os.mknod(folder / "zero", stat.S_IFCHR | 0o600, os.makedev(1, 5))
    with (folder / "zero").open("rb") as stream:
        stream.read(1)


def _keep_files_in_memory(_folder: Path) -> None:
    subprocess.run(["findmnt", "-t", "tmpfs,ramfs", MEMORY], check=True, capture_output=True)
    with tempfile.NamedTemporaryFile(dir=MEMORY):
        pass


DEEDS: dict[str, Callable[[Path], None]] = {
    "give files away": _give_a_file_away,
    "mount file systems": _mount,
    "mount images": _mount_an_image,
    "become another user": _become_another_user,
    "chroot": _chroot,
    "make user namespaces": _make_a_user_namespace,
    "make devices": _make_a_device,
    "keep files in /dev/shm": _keep_files_in_memory,
}


@cache
def may(deed: str) -> bool:
    """Whether a deed succeeds here."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            DEEDS[deed](Path(folder))
        except (OSError, subprocess.SubprocessError):
            return False
    return True


def need_to(deed: str) -> None:
    """End the test, with the reason, where a deed does not succeed."""
    if not may(deed):
        pytest.skip(f"NOT TESTED: this user may not {deed} here (run the tests as root)")


def only_who_may(deed: str) -> pytest.MarkDecorator:
    """Return the mark of tests that need a deed."""
    return pytest.mark.skipif(not may(deed), reason=f"NOT TESTED: this user may not {deed} here")
