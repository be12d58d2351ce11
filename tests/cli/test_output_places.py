"""Where results go: nothing of another user chooses the folder, or removes a file; nobody else has results open."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mipsrec import ir_dump
from mipsrec.cli import main
from mipsrec.commands import bench
from mipsrec.files import temporary_folder as temporary_folder_module
from mipsrec.files import trust
from mipsrec.files.temporary_folder import move_file, opened_output, write_in
from mipsrec.files.trust import Distrusted
from tests.cli.others import MALLORY, give
from tests.support.commandline import assert_one_line, environment, mipsrec
from tests.support.paths import PREBUILT
from tests.support.powers import NOBODY, need_to, only_who_may

pytestmark = pytest.mark.every_case

SAMPLE = PREBUILT / "mips" / "hello.elf"


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


def test_dumps_follow_no_links(open_folder: Path, shared: Path) -> None:
    precious, names = shared / "precious", [path.name for path in _dump(shared / "ir").iterdir()]
    precious.write_text("kept")
    for name in (*names, "index.json.partial"):
        (open_folder / name).symlink_to(precious)
    _dump(open_folder)
    assert precious.read_text() == "kept"
    assert not any((open_folder / name).is_symlink() for name in names)


@only_who_may("give files away")
def test_others_do_not_choose_the_folder_of_results(open_folder: Path, shared: Path, tmp_path: Path) -> None:
    """Who made a link on the way would choose whose `index.json` is replaced, or who can move one there."""
    (shared / "mine").mkdir()
    (shared / "mine/index.json").write_text("kept")
    (open_folder / "link").symlink_to(shared / "mine")
    for way in (("dump-llvm", SAMPLE, "-o", open_folder / "link"), ("build", SAMPLE, "-o", open_folder / "link/a.so")):
        os.lchown(open_folder / "link", NOBODY, NOBODY)
        assert_one_line(mipsrec(*way), "a link on the way to it belongs to another user")
        assert [path.name for path in (shared / "mine").iterdir()] == ["index.json"]
        os.lchown(open_folder / "link", os.geteuid(), os.getegid())
        assert_one_line(mipsrec(*way), "a link on the way to it is in a folder that others can write")
    assert (shared / "mine/index.json").read_text() == "kept"
    (shared / "link").symlink_to(shared / "mine")
    _dump(shared / "link/new")
    assert (shared / "mine/new/index.json").is_file()


def test_links_where_root_has_no_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The owner of the root folder then has the number of everybody else; what is in that folder is root's."""
    (tmp_path / "link").symlink_to(tmp_path)
    monkeypatch.setattr(trust, "is_trusted", lambda owner: False)
    with pytest.raises(Distrusted, match="another user"), opened_output(tmp_path / "link"):
        pass
    links = [name for name in os.listdir("/") if os.path.islink(f"/{name}") and os.path.isdir(f"/{name}")]
    for name in links:
        with opened_output(f"/{name}") as found:
            assert os.path.samestat(os.fstat(found), os.stat(f"/{name}"))


def test_what_is_put_into_an_exchanged_folder_stays(open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others exchange a folder that `dump-llvm` makes with an empty one of the user's, who puts a file there then.

    The command does not work in it; it may be gone, as others could have removed it themselves.
    """
    mkdir, replace_dump, results = os.mkdir, ir_dump._replace_dump, open_folder / "results"
    results.mkdir()
    inode, put = results.stat().st_ino, []

    def exchange(name: str, *words: int, dir_fd: int | None = None) -> None:
        mkdir(name, *words, dir_fd=dir_fd)
        if results.exists() and (open_folder / name).exists():
            (open_folder / name).rename(open_folder / "taken")
            results.rename(open_folder / name)

    def put_first(*words: Any) -> None:
        put.extend(path / "thesis" for path in open_folder.iterdir() if path.stat().st_ino == inode)
        for path in put:
            path.write_text("kept")
        replace_dump(*words)

    monkeypatch.setattr(os, "mkdir", exchange)
    monkeypatch.setattr(ir_dump, "_replace_dump", put_first)
    assert main(["dump-llvm", str(SAMPLE), "-o", str(open_folder)]) == 0
    assert all(path.read_text() == "kept" for path in put) and (open_folder / "index.json").is_file()


@only_who_may("give files away")
def test_an_index_of_others_removes_nothing(open_folder: Path) -> None:
    """In a sticky folder they can make one that names a file of this user's, or move one of this user's there."""
    for mode, owner, kept in ((0o1777, NOBODY, True), (0o1777, os.geteuid(), True), (0o755, os.geteuid(), False)):
        open_folder.chmod(mode)
        (open_folder / "00400100_notes.ll").write_text("kept")
        (open_folder / "index.json").write_text(json.dumps({"functions": [{"file": "00400100_notes.ll"}]}))
        os.chown(open_folder / "index.json", owner, owner)
        _dump(open_folder)
        assert (open_folder / "00400100_notes.ll").exists() == kept


@only_who_may("give files away")
@pytest.mark.parametrize("way", ["moved", "owned", "written"])
def test_an_index_of_a_folder_that_others_choose_removes_nothing(shared: Path, open_folder: Path, way: str) -> None:
    """They can move a folder of this user's to the name, or the index in one of their own, or write in the index."""
    folder = open_folder / "mine" if way == "moved" else shared / "theirs"
    folder.mkdir(mode=0o755)
    (folder / "00400100_notes.ll").write_text("kept")
    (folder / "index.json").write_text(json.dumps({"functions": [{"file": "00400100_notes.ll"}]}))
    if way == "owned":
        os.chown(folder, NOBODY, NOBODY)
    if way == "written":
        (folder / "index.json").chmod(0o666)
    _dump(folder)
    assert (folder / "00400100_notes.ll").exists() and (folder / "index.json").stat().st_size > 100


def test_what_is_named_is_written_as_by_the_shell(open_folder: Path, tmp_path: Path) -> None:
    """Through a link of the user's own, in whatever folder."""
    for name in ("graph.dot", "table"):
        (tmp_path / name).write_text("before")
        (open_folder / name).symlink_to(tmp_path / name)
    assert mipsrec("cfg", SAMPLE, "4000d0", "-o", open_folder / "graph.dot").returncode == 0
    bench._write(str(open_folder / "table"), "after")
    assert (tmp_path / "graph.dot").read_text().startswith("digraph") and (tmp_path / "table").read_text() == "after"
    assert all((open_folder / name).is_symlink() for name in ("graph.dot", "table"))


def test_the_kernel_follows_the_links_to_what_is_named(open_folder: Path, tmp_path: Path) -> None:
    """So its guards hold for each of them, as with the shell: here for links of a mount that has none followed."""
    need_to("mount file systems")
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "graph.dot").symlink_to(open_folder / "theirs")
    (open_folder / "theirs").symlink_to(tmp_path / "precious")
    mounts = 'mount --bind "$0" "$0"; mount -o remount,bind,nosymfollow "$0"; exec "$@"'
    words = [sys.executable, "-m", "mipsrec", "cfg", SAMPLE, "4000d0", "-o", tmp_path / "graph.dot"]
    command = ["unshare", "-m", "sh", "-ec", mounts, open_folder, *words]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=600)
    assert done.returncode == 1 and (tmp_path / "precious").read_text() == "precious", done
    (open_folder / "theirs").unlink()
    assert mipsrec("cfg", SAMPLE, "4000d0", "-o", tmp_path / "graph.dot").returncode == 0
    assert (open_folder / "theirs").read_text().startswith("digraph")


def test_results_stay_in_the_folder_that_was_opened(open_folder: Path, shared: Path) -> None:
    """Whatever has its name meanwhile."""
    (shared / "precious").mkdir()
    with opened_output(open_folder / "out") as place:
        (open_folder / "out").rename(open_folder / "moved")
        (open_folder / "out").symlink_to(shared / "precious")
        write_in(place, "file", b"made")
    assert (open_folder / "moved/file").read_bytes() == b"made" and os.listdir(shared / "precious") == []


def test_folders_of_results_are_found_as_by_the_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "absolute").symlink_to(tmp_path / "a")
    (tmp_path / "a/relative").symlink_to("b/../b")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").write_text("")
    monkeypatch.chdir(tmp_path)
    for name in (".", "a", "a/b/", "./a//b/..", "absolute/relative", tmp_path / "a/relative/../b", "/", "/.."):
        with opened_output(name) as place:
            assert os.path.samestat(os.fstat(place), os.stat(name)), name
    for name in ("loop", "file", "file/x"):
        with pytest.raises(OSError), opened_output(name):
            pass
    with opened_output("new/inner"):
        assert (tmp_path / "new/inner").is_dir()


def _dump(folder: Path) -> Path:
    """Fill a folder with the IR of the sample, and return it."""
    assert mipsrec("dump-llvm", SAMPLE, "-o", folder).returncode == 0
    return folder
