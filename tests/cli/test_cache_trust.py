"""A cache in which another user has a hand is neither read, written, pruned nor executed from; no link is pruned."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mipsrec import host_build, stencils
from mipsrec.cache import folders, objects
from mipsrec.cache.limit import Room
from mipsrec.errors import NoCacheError
from mipsrec.files import private_group, trust
from tests.cli.others import GIVES_AWAY, MALLORY, change, give, snapshot
from tests.cli.storing import OTHER, libraries, make_root
from tests.support.commandline import assert_one_line, environment, mipsrec
from tests.support.hosts import command_that_builds_at_once
from tests.support.mounts import in_namespace
from tests.support.paths import PREBUILT

SAMPLE = PREBUILT / "mips/hello.elf"


# ---- the rule, in Python ----


def close(folder: Path, inner: Path) -> None:
    folder.chmod(0o700)
    inner.chmod(0o777)


CASES: dict[str, tuple[Callable[[Path], None], bool]] = {
    "private": (lambda top: None, True),
    "others may read": (lambda top: change(top / "a/b", 0o755), True),
    "all may write it": (lambda top: change(top / "a/b", 0o777), False),
    "it is sticky": (lambda top: change(top / "a/b", 0o1777), False),
    "the group may write it": (lambda top: change(top / "a/b", 0o775), False),
    "the user's own group may write it": (lambda top: change(top / "a/b", 0o775), True),
    "set-group-ID": (lambda top: change(top / "a/b", 0o2755), True),
    "above it all may write": (lambda top: change(top / "a", 0o777), False),
    "above it is sticky": (lambda top: change(top / "a", 0o1777), True),
    "below a closed folder": (lambda top: close(top / "a", top / "a/b"), False),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_folders(case: str, shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose a group is stands in lists of this machine (test_private_group.py)."""
    monkeypatch.setattr(private_group, "is_private", lambda group: "own group" in case)
    (shared / "a/b").mkdir(parents=True)
    prepare, trusted = CASES[case]
    prepare(shared)
    assert (trust.distrust(shared / "a/b") is None) == trusted
    assert (trust.distrust(shared / "a/x/../b") is None) is False, "what is not there leads nowhere"
    assert (trust.distrust(shared / "a/../a/./b/") is None) == trusted


@GIVES_AWAY
def test_owners_of_folders_files_and_links(shared: Path) -> None:
    (shared / "mine").mkdir()
    (shared / "mine/file").write_text("mine")
    (shared / "theirs").mkdir()
    (shared / "theirs/link").symlink_to(shared / "mine")
    (shared / "link").symlink_to("mine")
    give(shared / "theirs")
    assert trust.resolve(shared / "link/file") == shared / "mine/file"
    assert trust.distrust(shared / "theirs") is not None
    assert trust.distrust(shared / "theirs/link/file") is not None, "who made the link chooses"
    change(shared / "link", owner=MALLORY)
    assert trust.distrust(shared / "link/file") is not None
    change(shared / "mine/file", owner=MALLORY)
    assert trust.distrust(shared / "mine/file") is not None and not trust.is_file(shared / "mine/file")
    with pytest.raises(OSError):
        trust.read(shared / "mine/file", 100)


def test_a_file_in_a_sticky_folder(shared: Path) -> None:
    (shared / "file").write_text("")
    assert trust.is_file(shared / "file")
    shared.chmod(0o1777)
    assert not trust.is_file(shared / "file")


def test_folders_are_made_for_this_user_alone(shared: Path) -> None:
    before = os.umask(0)
    try:
        assert trust.resolve(shared / "new/inner", make=True).stat().st_mode & 0o777 == 0o700
        assert trust.make_folder(shared / "new/inner/a/b", shared / "new").stat().st_mode & 0o777 == 0o755
        trust.write(shared / "new/file", b"")
        assert (shared / "new/file").stat().st_mode & 0o777 == 0o644
    finally:
        os.umask(before)
    shared.chmod(0o777)
    with pytest.raises(trust.Distrusted):
        trust.resolve(shared / "other", make=True)
    assert not (shared / "other").exists()


# ---- a cache of another user ----


@pytest.fixture
def theirs(shared: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of another user, which MIPSREC_CACHE names: as with sudo that keeps HOME."""
    folder = shared / "cache"
    (folder / "objects/ab").mkdir(parents=True)
    (folder / "objects/ab/cd").write_text("poison")
    (folder / "code" / OTHER / "v/ab").mkdir(parents=True)
    (folder / "code" / OTHER / "v/ab/x.so").write_text("poison")
    give(folder)
    monkeypatch.setenv("MIPSREC_CACHE", str(folder))
    return folder


@GIVES_AWAY
def test_nothing_is_taken_from_it_or_put_there(theirs: Path, tmp_path: Path, host: Path) -> None:
    before = snapshot(theirs)
    result = mipsrec("build", SAMPLE, "-o", tmp_path / "lib.so", "--opt", "0")
    assert result.returncode == 0 and result.stdout.startswith(str(tmp_path / "lib.so"))
    assert_one_line(subprocess.CompletedProcess([], 1, "", result.stderr), str(theirs), "another user")
    for line in (["run", "--tier", "interp", SAMPLE], ["info", SAMPLE], ["disasm", SAMPLE]):
        words = command_that_builds_at_once(host, *line)
        assert subprocess.run(words, capture_output=True, timeout=600).returncode == 0
    assert snapshot(theirs) == before


@GIVES_AWAY
@pytest.mark.parametrize("words", [("list",), ("verify", "--remove"), ("prune", "--max-size", "0"), ("path",)])
def test_it_is_not_looked_after(theirs: Path, words: tuple[str, ...]) -> None:
    before = snapshot(theirs)
    assert_one_line(mipsrec("cache", *words), str(theirs), "another user")
    assert snapshot(theirs) == before


@GIVES_AWAY
def test_the_host_does_not_use_it(theirs: Path, host: Path) -> None:
    before = snapshot(theirs)
    words = ["--cache", theirs, "--stats", "--compile-server", "/bin/false", SAMPLE]
    result = subprocess.run([host, *words], capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (0, "Hello from MIPS.\n")
    assert "the cache is not used: it, or a folder above it, belongs to another user" in result.stderr
    assert snapshot(theirs) == before


@GIVES_AWAY
def test_no_host_of_theirs_is_executed(theirs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that has the right name is there, and stencils; another one is built, in a folder that goes."""
    monkeypatch.setattr(host_build, "build_host", lambda compiler, output, *rest: output.write_text("good"))
    monkeypatch.setattr(stencils, "make_tables", lambda: stencils._first_line() + "good")
    monkeypatch.setattr(stencils, "shipped_tables", lambda package=None: None)
    with pytest.MonkeyPatch.context() as mine:
        mine.setenv("MIPSREC_CACHE", str(theirs.with_name("mine")))
        key = host_build.host_executable().parent.name
    poison = theirs / "host" / key / "mipsrec-host"
    poison.parent.mkdir(parents=True)
    poison.write_text("poison")
    poison.chmod(0o755)
    (theirs / "host" / stencils.cached_name()).write_text(stencils._first_line() + "poison")
    give(theirs)
    try:
        path = host_build.host_executable()
        assert path.read_text() == "good" and folders.is_private(path) and not path.is_relative_to(theirs)
        assert stencils._tables().endswith("good")
    finally:
        folders.remove_private_folder()
    assert not path.exists()


@GIVES_AWAY
@pytest.mark.parametrize("what", ["host", "host/KEY", "host/KEY/mipsrec-host"])
def test_no_host_that_others_can_write_is_executed(shared: Path, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a cache of this user, in which a folder or file was open."""
    monkeypatch.setenv("MIPSREC_CACHE", str(shared))
    built: list[Path] = []

    def build(compiler: str, output: Path, *rest: object) -> None:
        built.append(output)
        output.touch(0o755)
        output.chmod(0o755)

    monkeypatch.setattr(host_build, "build_host", build)
    path = host_build.host_executable()
    (shared / what.replace("KEY", path.parent.name)).chmod(0o777)
    assert host_build.host_executable() == path and len(built) == 2
    assert trust.distrust(path) is None


@GIVES_AWAY
def test_a_layer_gets_nothing_of_it(shared: Path, tmp_path: Path) -> None:
    """Root fills a layer with HOME kept: the objects there would run for all users."""
    root, (file,) = tmp_path / "root", make_root(tmp_path / "root", "big", 1)
    variables = {"MIPSREC_CACHE": str(shared / "cache")}
    words = ["build", "--opt", "0", "--jobs", "1", file, "-o"]
    assert mipsrec(*words, tmp_path / "a.so", **variables).returncode == 0
    (kept,) = (path for path in (shared / "cache/objects").rglob("*") if path.is_file())
    poison = b"poison" + (kept.parent.name + kept.name).encode()
    poison += objects.footer(poison)
    kept.write_bytes(poison)
    assert mipsrec(*words, tmp_path / "b.so", **variables).returncode == 1, "the poison works for its own user"
    give(shared / "cache")
    into = ["build", "--opt", "0", "--jobs", "1", "--sysroot", root, "--into", tmp_path / "layer"]
    result = mipsrec(*into, **variables)
    assert result.returncode == 0 and result.stderr.count("\n") == 1, result
    assert len(libraries(tmp_path / "layer")) == 1 and kept.read_bytes() == poison


@GIVES_AWAY
def test_a_link_of_another_user_leads_nowhere(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else they would choose what `cache prune` removes: here a folder that has a name of the cache's."""
    (shared / "work/objects/ab").mkdir(parents=True)
    (shared / "work/objects/ab/thesis").write_text("precious")
    (shared / "cache").symlink_to(shared / "work")
    os.lchown(shared / "cache", MALLORY, MALLORY)
    monkeypatch.setenv("MIPSREC_CACHE", str(shared / "cache"))
    assert_one_line(mipsrec("cache", "prune", "--max-size", "0"), "another user")
    assert (shared / "work/objects/ab/thesis").exists()
    with pytest.raises(NoCacheError):
        folders.own_folder()


@GIVES_AWAY
def test_a_folder_of_theirs_gets_no_cache(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """HOME is another user's, and there is no cache yet: none is made there."""
    (shared / "home").mkdir()
    give(shared / "home")
    monkeypatch.delenv("MIPSREC_CACHE")
    monkeypatch.setenv("HOME", str(shared / "home"))
    with pytest.raises(NoCacheError, match="another user"):
        folders.own_folder()
    monkeypatch.setenv("XDG_CACHE_HOME", str(shared / "home"))
    with pytest.raises(NoCacheError, match="another user"):
        folders.own_folder()
    assert list((shared / "home").iterdir()) == []


# ---- pruning ----


PLACES = (
    "objects", "objects/ab", "code", f"code/{OTHER}", f"code/{OTHER}/v", f"code/{OTHER}/v/ab", "libraries", "host",
    f"host/{OTHER}", "identities", "code/x/v/ab/.unfinished", "objects/ab/.partial-1", "libraries/x.so",
)  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
def test_pruning_follows_no_link(place: str, mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (mine / place).parent.mkdir(parents=True, exist_ok=True)
    (mine / place).symlink_to(mine.with_name("elsewhere"))
    os.utime(mine / place, (1, 1), follow_symlinks=False)
    before = snapshot(mine.with_name("elsewhere"))
    assert mipsrec("cache", "prune", "--max-size", "0", "--other-versions", "--older-than", "0s").returncode == 0
    objects.trim(0)
    monkeypatch.setenv("MIPSREC_CACHE_LIMIT", "0")
    Room(()).add(mine / "libraries/none.so")
    mipsrec("cache", "verify", "--remove")
    assert snapshot(mine.with_name("elsewhere")) == before


@GIVES_AWAY
def test_pruning_stays_on_its_file_system(mine: Path) -> None:
    """Also where a part of the same one is mounted there."""
    (mine / "objects/ab").mkdir(parents=True)
    (mine / "code/x/v/ab/.unfinished").mkdir(parents=True)
    elsewhere = mine.with_name("elsewhere")
    script = (
        "import os, sys; from mipsrec import cli; from mipsrec.cache import objects\n"
        "assert cli.main(['cache', 'prune', '--max-size', '0', '--older-than', '0s']) == 0\nobjects.trim(0)\n"
    )
    mounts = [
        f"mount --bind {elsewhere} {mine / 'objects/ab'}",
        f"mount --bind {elsewhere} {mine / 'code/x/v/ab/.unfinished'}",
    ]
    before = snapshot(elsewhere)
    result = in_namespace(mounts, [sys.executable, "-c", script], environment())
    assert result.returncode == 0 and snapshot(elsewhere) == before, result


@GIVES_AWAY
def test_pruning_leaves_files_of_others(mine: Path) -> None:
    (mine / "objects/ab").mkdir(parents=True)
    (mine / "objects/ab/cd").write_text("theirs")
    give(mine / "objects/ab/cd")
    assert "0 removed" in mipsrec("cache", "prune", "--max-size", "0").stdout
    assert (mine / "objects/ab/cd").exists()


def test_a_folder_that_was_open_is_not_pruned(mine: Path) -> None:
    """A user who could write it may have put links there, or change them meanwhile."""
    (mine / "objects/ab").mkdir(parents=True)
    (mine / "objects/ab/cd").write_text("")
    (mine / "objects").chmod(0o777)
    mine.chmod(0o755)
    assert "0 removed" in mipsrec("cache", "prune", "--max-size", "0").stdout
