"""With --sysroot, a name at the end of a path is what it is in a chroot: the call says whether a link is followed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.runtime.twins import compile_guest
from tests.support.paths import GUESTS
from tests.support.powers import need_to
from tests.support.tools import need

PROGRAM = GUESTS / "last_names.c"


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the guest and its native twin."""
    folder = tmp_path_factory.mktemp("programs")
    compile_guest(folder, "big", "last_names", options=("-pthread",))
    subprocess.run([need("gcc"), "-static", "-pthread", PROGRAM, "-o", folder / "native"], check=True)
    return folder


def root_at(folder: Path, *programs: Path) -> Path:
    for name in ("links", "houses", "yard", "etc"):
        (folder / name).mkdir(parents=True)
    (folder / "etc/only").touch()
    (folder / "etc/nowhere").symlink_to("/gone")
    for program in programs:
        shutil.copy(program, folder / program.name)
    return folder


def what_is_below(folder: Path) -> list[str]:
    """Its names, with the targets of links."""
    found = (path for name in ("links", "houses", "yard", "etc") for path in (folder / name).rglob("*"))
    return sorted(f"{path.relative_to(folder)} {path.readlink() if path.is_symlink() else ''}" for path in found)


@pytest.mark.every_case
@pytest.mark.parametrize("threads", [False, True], ids=["", "threads"])
def test_names_like_in_a_chroot(programs: Path, host: Path, tmp_path: Path, threads: bool) -> None:
    """By the kernel's own lookup, and link by link as with several threads. Both roots have the same names then."""
    need_to("chroot")
    need_to("mount file systems")
    words = ["threads"] if threads else []
    native = root_at(tmp_path / "native", programs / "native")
    guest = root_at(tmp_path / "guest", programs / "last_names")
    options = {"capture_output": True, "text": True, "timeout": 600}
    (native / "proc").mkdir()
    within = ["unshare", "-m", "sh", "-ec", 'mount --bind /proc "$0/proc"; exec chroot "$0" "$@"', native]
    expected = subprocess.run([*within, "/native", *words], **options)
    found = subprocess.run(["unshare", "-m", host, "--sysroot", guest, "/last_names", *words], **options)
    assert expected.stdout.count("\n") > 900
    assert (found.stdout, found.stderr, found.returncode) == (expected.stdout, "", 0)
    assert what_is_below(guest) == what_is_below(native)
