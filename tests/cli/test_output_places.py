"""Where results go: no link of another user chooses the folder, and nobody else has them open."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from mipsrec.files import temporary_folder as temporary_folder_module
from mipsrec.files import trust
from mipsrec.files.temporary_folder import move_file, opened_output, write_in
from tests.cli.others import MALLORY, give, open_to_others
from tests.support.commandline import assert_one_line, mipsrec
from tests.support.paths import PREBUILT
from tests.support.powers import only_who_may

pytestmark = pytest.mark.every_case

SAMPLE = PREBUILT / "mips" / "hello.elf"


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that others may enter: below pytest's own, permissions do not count."""
    with open_to_others() as folder:
        yield folder


@only_who_may("give files away")
def test_no_link_in_a_folder_of_others_is_followed(shared: Path, tmp_path: Path) -> None:
    """They can move a link of this user's there."""
    (shared / "folder").mkdir()
    (shared / "folder/results").symlink_to(tmp_path)
    os.chown(shared / "folder", MALLORY, MALLORY)
    result = mipsrec("build", SAMPLE, "-o", shared / "folder/results/hello.so")
    assert_one_line(result, "a link on the way to it is in a folder of another user")
    assert os.listdir(tmp_path) == []


@only_who_may("give files away")
def test_no_link_of_others_chooses_the_default_output(shared: Path) -> None:
    """In a sysroot, too, where links are followed inside; those of the sysroot's owner are fine."""
    binaries, home = shared / "usr/bin", shared / "home/mallory"
    for folder in (binaries, home):
        folder.mkdir(parents=True)
    shutil.copy(SAMPLE, binaries / "libz")
    (binaries / "libz.so").write_text("precious")
    (home / "program").symlink_to("/usr/bin/libz")
    (shared / "bin").symlink_to("/usr/bin")
    give(home)
    result = mipsrec("build", "-L", shared, "/home/mallory/program")
    assert_one_line(result, "no library goes beside it")
    assert (binaries / "libz.so").read_text() == "precious"
    assert mipsrec("build", "-L", shared, "/bin/libz").returncode == 0
    assert (binaries / "libz.so").read_bytes().startswith(b"\x7fELF")


@only_who_may("give files away")
def test_no_link_on_the_way_to_a_sysroot_chooses_either(shared: Path) -> None:
    (shared / "mine/bin").mkdir(parents=True)
    shutil.copy(SAMPLE, shared / "mine/bin/program")
    (shared / "theirs").symlink_to(shared / "mine")
    os.lchown(shared / "theirs", MALLORY, MALLORY)
    result = mipsrec("build", "-L", shared / "theirs", "/bin/program")
    assert_one_line(result, "no library goes beside it")
    assert os.listdir(shared / "mine/bin") == ["program"]


@pytest.mark.parametrize("across", [False, True], ids=["", "across file systems"])
def test_nobody_opens_a_library_that_is_being_made(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, across: bool
) -> None:
    """Who has a descriptor could write it later, though its mode says no: with the umask of groups, or default ACLs."""
    modes: list[int] = []
    new_file, real_replace = trust.new_file, os.replace

    def spied(folder: int, mode: int) -> tuple[str, int]:
        name, handle = new_file(folder, mode)
        modes.append(stat.S_IMODE(os.fstat(handle).st_mode))
        return name, handle

    def refuse(source: object, target: object, **folders: int) -> None:
        if across and "src_dir_fd" not in folders:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        real_replace(source, target, **folders)  # type: ignore[call-overload]

    monkeypatch.setattr(temporary_folder_module.trust, "new_file", spied)
    monkeypatch.setattr(temporary_folder_module.os, "replace", refuse)
    (tmp_path / "made").write_bytes(b"code")
    (tmp_path / "made").chmod(0o755)
    old = os.umask(0o002)
    try:
        move_file(tmp_path / "made", shared / "library.so")
        with opened_output(shared) as place:
            write_in(place, "host", b"code", 0o755)
    finally:
        os.umask(old)
    assert modes == [0o600] * (2 if across else 1)
    assert [stat.S_IMODE((shared / name).stat().st_mode) for name in ("library.so", "host")] == [0o755] * 2
