"""With a HOME or a cache of another user, as `sudo` may leave them, nothing that is there runs or is written."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from mipsrec import farm, host_build
from mipsrec.commands import bench_markdown, bench_sources
from mipsrec.errors import BuildError
from mipsrec.files.trust import distrust
from mipsrec.files.trusted_tree import distrust_all
from mipsrec.native.compiler import find_tool, run_compiler, run_tool
from tests.cli.others import GIVES_AWAY, give, open_to_others, snapshot
from tests.support.commandline import mipsrec
from tests.support.compiled import ORDERS
from tests.support.deep import deep_folder
from tests.support.samples import load_samples
from tests.support.tools import need

PACKAGE = "bzip2"


@pytest.fixture(params=["others write a file", pytest.param("another user's", marks=GIVES_AWAY)])
def home(request: pytest.FixtureRequest) -> Path:
    """A home with settings and sources that this user did not choose."""
    with open_to_others() as folder:
        for name in (f"sources/{PACKAGE}", ".config/dask"):
            (folder / name).mkdir(parents=True)
        files = folder / f"sources/{PACKAGE}/bzlib.h", folder / ".config/dask/dask.yaml"
        for path in files:
            path.write_text("")
            path.chmod(0o666)
        if request.param == "another user's":
            give(folder)
        yield folder


def test_links_in_sources(home: Path, tmp_path: Path) -> None:
    """What they lead to is in the sources as well; loops and links to nothing do no harm."""
    (tmp_path / "sources/inner").mkdir(parents=True)
    for name, target in (("loop", "."), ("inner/loop", ".."), ("nothing", "absent"), ("self", "self")):
        (tmp_path / "sources" / name).symlink_to(target)
    assert distrust_all(tmp_path / "sources") is None
    if home.stat().st_uid != os.geteuid():
        (home / "back").symlink_to(tmp_path / "sources")  # they can lead it elsewhere, once it was looked at
        (home / "to nothing").symlink_to(tmp_path / "sources/absent")
    for target in (".config", "absent", "back", "to nothing"):
        (tmp_path / "sources/inner/link").symlink_to(home / target)
        reason = distrust_all(tmp_path / "sources")
        if target == ".config" or distrust(home) is not None:
            assert reason is not None and "inner/link" in reason, target
        (tmp_path / "sources/inner/link").unlink()
    with deep_folder(tmp_path / "sources"):
        assert distrust_all(tmp_path / "sources") is None


def test_no_sample_is_built_of_them(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = snapshot(home)
    monkeypatch.setenv("MIPSREC_SOURCES", str(home / "sources"))
    samples = load_samples()
    monkeypatch.setattr(samples, "load_packages", lambda: {PACKAGE: {"tools": {}, "prepare": []}})
    said = samples.load_samples()[PACKAGE].missing()
    assert f"{home}/sources/{PACKAGE}" in said and "nothing is built of it" in said
    with pytest.raises(samples.MissingTool):
        samples.build_native(PACKAGE, ("-O2",), home)
    with pytest.raises(BuildError, match="nothing is built of it|belongs to another user"):
        bench_sources.fetch(samples)
    for triple in ORDERS.values():
        need(f"{triple}-gcc", f"gcc-{triple}")  # else that is what it says
    result = mipsrec("bench", "--only", PACKAGE, MIPSREC_SOURCES=str(home / "sources"))
    assert "nothing is built of it" in result.stdout + result.stderr
    assert snapshot(home) == before


def test_dask_takes_no_settings_from_there(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(home))
    with pytest.raises(BuildError, match="dask would take its settings there"):
        farm._check_settings()
    monkeypatch.setenv("HOME", str(home / "sources"))
    if home.stat().st_uid == os.geteuid():
        farm._check_settings()  # others can make nothing there
    (home / "sources").chmod(0o1777)
    (tmp_path / ".config").symlink_to(home / "sources/absent")
    for folder in (home / "sources", home / "sources/absent", tmp_path):  # others can make settings there meanwhile
        monkeypatch.setenv("HOME", str(folder))
        with pytest.raises(BuildError, match="dask would take its settings there"):
            farm._check_settings()


@pytest.mark.parametrize("place", ["home/.local/bin", "working folder"])
def test_no_host_is_taken_from_there(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an installation; python -c has its commands in no folder. A link there says that this module is of it."""
    with open_to_others() as folder:
        monkeypatch.setitem(sysconfig.get_config_vars(), "userbase", str(folder / "home/.local"))
        packages = Path(sysconfig.get_path("purelib", "posix_user"))
        packages.parent.mkdir(parents=True)
        packages.symlink_to(host_build.__file__.removesuffix("/mipsrec/host_build.py"))
        monkeypatch.setenv("HOME", str(folder / "home"))
        (folder / place).mkdir(parents=True, exist_ok=True)
        (folder / place).chmod(0o777)
        (folder / place / "mipsrec-host").write_text("")
        monkeypatch.chdir(folder / place)
        monkeypatch.setattr(sys, "argv", ["-c"])
        monkeypatch.setattr(host_build, "runtime_folder", lambda: folder / "_runtime")
        monkeypatch.setattr(host_build, "_said_by", lambda path: f"code {host_build.source_digest()})")
        found = host_build.shipped_host()
        assert found is None or not found.is_relative_to(folder)


@pytest.fixture
def tool(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tool that logs the variables it sees."""
    script = home / "compiler"
    script.write_text(f'#!/bin/sh\necho "$HOME|$XDG_DATA_DIRS|$KEPT|$TMPDIR" >> {home}/log\n')
    script.chmod(0o755)
    monkeypatch.setenv("KEPT", "kept")
    return script


def seen_by(tool: Path) -> list[list[str]]:
    """Return the variables that the tool sees, each time that it runs as a compiler, a tool, and for samples."""
    log = tool.parent / "log"
    log.unlink(missing_ok=True)
    run_compiler([str(tool)])
    run_tool([str(tool)])
    load_samples()._run_tool([str(tool)])
    return [line.split("|") for line in log.read_text().splitlines()]


def test_no_tool_sees_it(home: Path, tool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiler, dot, git and apt-get may take settings, plugins and files from there."""
    for mode, seen in ((0o755, str(home / "sources")), (0o777, "")):
        (home / "sources").chmod(mode)
        monkeypatch.setenv("HOME", str(home / "sources"))
        monkeypatch.setenv("XDG_DATA_DIRS", f"/usr:{home}/sources")
        trusted = seen if home.stat().st_uid == os.geteuid() else ""
        folders = f"/usr:{home}/sources" if trusted else ""
        assert [words[:3] for words in seen_by(tool)] == [[trusted, folders, "kept"]] * 3


def test_no_tool_is_of_the_working_folder(tool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Profiles of shells leave empty entries in PATH; nobody typed the names of tools that a command looks for."""
    monkeypatch.chdir(tool.parent)
    for path in (f"{os.environ['PATH']}:", f":{os.environ['PATH']}", f"{os.environ['PATH']}:.", "", "."):
        monkeypatch.setenv("PATH", path)
        assert find_tool(tool.name) is None and load_samples()._find_tool(tool.name) is None
        with pytest.raises(FileNotFoundError):
            run_tool([tool.name])
    monkeypatch.setenv("PATH", str(tool.parent))
    assert find_tool(tool.name) == str(tool)


def test_a_home_is_one_absolute_path(home: Path, tool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others may have a folder with a colon in its name, and tools work in other folders than this process."""
    for name in ("/usr:/", "/usr:/usr", "usr", "", "../usr"):
        monkeypatch.chdir("/")
        monkeypatch.setenv("HOME", name)
        monkeypatch.setenv("XDG_CONFIG_HOME", name)
        monkeypatch.setenv("XDG_DATA_DIRS", "usr:/usr")
        assert [words[:3] for words in seen_by(tool)] == [["", "", "kept"]] * 3


def test_files_on_the_way_are_not_there(home: Path, tool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compilers give each other files by their names in TMPDIR."""
    monkeypatch.setenv("TMPDIR", str(home))
    places = [Path(words[3]) for words in seen_by(tool)]
    assert len({*places}) == 3 and not any(place.exists() for place in places)
    assert distrust(home) is None or not any(place.is_relative_to(home) for place in places)


def test_git_takes_no_settings_from_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git, mark = need("git"), tmp_path / "mark"
    checkout, home = tmp_path / "checkout", tmp_path / "home"
    for folder in (checkout / "runtime", home):
        folder.mkdir(parents=True)
    (tmp_path / "hook").write_text(f"#!/bin/sh\ntouch {mark}\n")
    (tmp_path / "hook").chmod(0o755)
    author = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], [*author, "commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run([git, *words], cwd=checkout, check=True)
    (home / ".gitconfig").write_text(f"[core]\nfsmonitor = {tmp_path / 'hook'}\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr(bench_markdown, "runtime_folder", lambda: checkout / "runtime")
    assert bench_markdown.version().startswith("commit ")
    assert not mark.exists()
