"""A run never fails for want of a cache, nor does what needs none: `build -o`, `dump-llvm`, `info` and `verify`."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from mipsrec.cache import folders
from mipsrec.errors import WriteError
from tests.support.commandline import assert_one_line, environment, mipsrec
from tests.support.hosts import command_that_builds_at_once
from tests.support.mounts import in_namespace, read_only, small
from tests.support.paths import PREBUILT, ROOT
from tests.support.powers import may, only_who_may

GIVES_AWAY = only_who_may("give files away")
HELLO = PREBUILT / "mipsel/hello.elf"
USER = 12345


def run(host: Path, *words: object, **changes: str | None) -> str:
    """Run a command that must do its work; return what it says on standard error."""
    result = subprocess.run(
        command_that_builds_at_once(host, *words), capture_output=True, text=True, timeout=600,
        stdin=subprocess.DEVNULL, env=environment(**{"MIPSREC_CACHE": None, "XDG_CACHE_HOME": None, **changes}),
    )  # fmt: skip
    assert result.returncode == 0, result
    if "run" in words:
        assert result.stdout == "Hello from MIPS.\n", result
    return result.stderr


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def _file(home: Path) -> str:
    home.write_text("")
    return str(home)


def _of_another_user(home: Path) -> str:
    home.mkdir()
    os.chown(home, USER, USER)
    return str(home)


HOMES: dict[str, Callable[[Path], str]] = {
    "a file": _file,
    "too long": lambda home: "/" + "x/" * 3000,
    "a name too long": lambda home: f"/tmp/{'x' * 300}",
    "of the kernel": lambda home: "/proc/self",
}
if may("give files away"):
    HOMES["another user's"] = _of_another_user


@pytest.mark.parametrize("kind", HOMES)
def test_homes(kind: str, home: Path, tmp_path: Path, host: Path) -> None:
    """The reason is said in one line, and the folder that took the place of the cache is gone afterwards."""
    named = HOMES[kind](home)
    (tmp_path / "tmp").mkdir()
    said = run(host, "run", HELLO, HOME=named, TMPDIR=str(tmp_path / "tmp"))
    assert said.startswith("mipsrec: ") and said.endswith("; going on without a cache\n"), said
    assert said.count("\n") == 1 and list((tmp_path / "tmp").iterdir()) == []
    if home.is_dir():
        assert list(home.iterdir()) == []


@pytest.mark.parametrize("cache_folder", ["/dev/null", "/dev/null/cache", "/proc"])
@pytest.mark.parametrize("words", [(), ("--tier", "aot"), ("--tier", "interp"), ("--build",)], ids=" ".join)
def test_cache_that_is_named_and_cannot_be_made(cache_folder: str, words: tuple[str, ...], host: Path) -> None:
    """That is said in one line, whether recompiled code is missing for it, or the host, or both."""
    said = run(host, "run", *words, HELLO, MIPSREC_CACHE=cache_folder)
    assert said.startswith(f"mipsrec: {cache_folder}") and said.count("\n") == 1, said


@pytest.mark.parametrize("words", [("--build",), ("--no-server",), ("--tier", "aot"), ("--opt", "1"), ("--stats",)])
def test_options_of_run(words: tuple[str, ...], home: Path, host: Path) -> None:
    run(host, "run", *words, HELLO, HOME=_file(home))


def test_other_commands(home: Path, tmp_path: Path, host: Path) -> None:
    named = {"HOME": _file(home)}
    run(host, "build", HELLO, "-o", tmp_path / "lib.so", "--opt", "0", **named)
    run(host, "info", tmp_path / "lib.so", **named)
    assert run(host, "info", HELLO, **named) == ""
    assert run(host, "dump-llvm", HELLO, "-o", tmp_path / "ir", **named) == ""
    assert "agree at" in run(host, "verify", "--opt", "0", HELLO, **named)
    run(host, "run", "--library", tmp_path / "lib.so", HELLO, **named)


def test_a_name_with_a_line_break(tmp_path: Path, host: Path) -> None:
    """It is a name like others; in messages it makes no line of its own."""
    home = tmp_path / "a\nmipsrec: b"
    home.mkdir()
    assert run(host, "run", HELLO, HOME=str(home)) == "" and (home / ".cache/mipsrec/host").is_dir()
    (tmp_path / "b\nmipsrec: b").touch()
    said = run(host, "run", HELLO, HOME=str(tmp_path / "b\nmipsrec: b"))
    assert said.count("\n") == 1 and r"\nmipsrec: b" in said


def test_no_home_at_all(home: Path, host: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """HOME is unset, and the user is in no list of users."""

    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)
    for name in ("MIPSREC_CACHE", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    assert not folders.has_folder()
    try:
        folder = folders.cache_folder()
        assert folders.is_private(folder) and stat.S_IMODE(folder.stat().st_mode) == 0o700
    finally:
        folders.remove_private_folder()
    assert not folder.exists()


@GIVES_AWAY
def test_read_only_and_full(tmp_path: Path, host: Path) -> None:
    """With nothing in the cache; with the host in it; and full of files, though not of bytes."""
    variables = {"HOME": str(tmp_path / "home"), "MIPSREC_CACHE": "", "XDG_CACHE_HOME": "", "PYTHONPATH": str(ROOT)}
    (tmp_path / "home/.cache").mkdir(parents=True)
    for mounts in (
        read_only(tmp_path / "home"),
        small(tmp_path / "home", 4096, fill=True),
        small(tmp_path / "home", 1 << 20, options="nr_inodes=4"),
        small(tmp_path / "home", 1 << 16),
    ):
        for words in (["run", HELLO], ["run", "--no-server", HELLO], ["verify", "--opt", "0", HELLO]):
            result = in_namespace(mounts, command_that_builds_at_once(host, *words), variables)
            assert result.returncode == 0 and result.stdout == "Hello from MIPS.\n", result
            assert "Traceback" not in result.stderr


def test_layers_are_asked_without_a_cache(home: Path, tmp_path: Path, host: Path) -> None:
    layer = tmp_path / "layer"
    assert mipsrec("build", "--cpu", "generic", "--into", layer, HELLO).returncode == 0
    said = run(host, "run", "--stats", HELLO, HOME=_file(home), MIPSREC_CACHE_PATH=str(layer))
    assert "1 modules" in said or "hello" in said, said


def test_what_needs_a_cache_says_so(home: Path) -> None:
    """What these would make, nobody would find."""
    named = {"HOME": _file(home), "MIPSREC_CACHE": None, "XDG_CACHE_HOME": None}
    for words in (["cache", "list"], ["cache", "warm", HELLO], ["compile-server"], ["build", "--sysroot", PREBUILT]):
        assert_one_line(mipsrec(*words, **named), "home", "cannot be written")


def test_a_cache_that_has_no_room_is_given_up_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then all of the process goes on in the private folder; where that has no room either, it is an error."""
    monkeypatch.setenv("MIPSREC_CACHE", str(tmp_path))
    monkeypatch.setattr(folders, "_private", folders._Private())
    tries: list[Path] = []

    def make() -> Path:
        tries.append(folders.cache_folder())
        if len(tries) != 2:
            raise WriteError("no room")
        return tries[-1]

    try:
        made = folders.with_room(make)
        assert tries == [tmp_path, made] and folders.is_private(made) and not folders.has_folder()
        with pytest.raises(WriteError):
            folders.with_room(make)
    finally:
        folders.remove_private_folder()
