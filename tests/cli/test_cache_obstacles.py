"""A pipe, a device, a folder, a link, an endless or nonsensical file in any place of the cache costs at most speed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mipsrec import host_build
from mipsrec.cache import folders, objects
from mipsrec.cache.folders import HOSTS, source_digest
from mipsrec.commands import warm
from mipsrec.files import trust
from mipsrec.files.checksum import identity_of
from mipsrec.options import Options
from mipsrec.server import growth, protocol
from tests.cli.storing import libraries, make_root, stored
from tests.support.commandline import environment
from tests.support.obstacles import OBSTACLES, put
from tests.support.paths import PREBUILT

pytestmark = pytest.mark.sampled

HELLO = PREBUILT / "mips/hello.elf"
SCRIPT = """
import sys
from mipsrec.cli import main
for words in {commands}:
    status = main(words)
    assert status in (0, 1), (words, status)
"""


def commands(folder: Path, *lines: list[object], **changes: str) -> subprocess.CompletedProcess[str]:
    """Run several commands in one process, which must end soon, and without a traceback."""
    script = SCRIPT.format(commands=[list(map(str, line)) for line in lines])
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=600,
        env=environment(MIPSREC_CACHE=str(folder), **changes),
    )  # fmt: skip
    assert "Traceback" not in result.stderr and result.returncode == 0, result
    return result


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a sysroot and a cache in which all places are taken: files of any use, and locks."""
    folder = tmp_path_factory.mktemp("filled")
    make_root(folder / "root", "big", 1)
    commands(folder / "cache", build_words(folder / "root"))
    (library,) = libraries(folder / "cache")
    (folder / "cache/identities").mkdir()
    (folder / "cache/libraries").mkdir()
    (folder / "cache/server").mkdir(mode=0o700)
    for path in (
        folder / "cache/identities/1-2",
        library.with_suffix(".lock"),
        library.with_name(f"{library.stem}-hot.json"),
        library.with_name(f"{library.stem}-hot.so"),
        folder / f"cache/libraries/{'a' * 32}.so",
        folder / f"cache/libraries/{'a' * 32}.json",
        folder / f"cache/libraries/{'a' * 32}.lock",
        folder / "cache/host/0123/version",
        folder / "cache/host/0123/mipsrec-host",
        folder / "cache/host/stencils-1.h",
        *(folder / f"cache/server/{source_digest()[:16]}.{end}" for end in ("lock", "log", "sock", "sock.start")),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return folder / "root", folder / "cache"


def build_words(root: Path) -> list[object]:
    return ["build", "--opt", "0", "--jobs", "1", "--sysroot", root]


LOOK = (["cache", "list"], ["cache", "list", "--json"], ["cache", "verify"])


@pytest.mark.parametrize("kind", OBSTACLES)
def test_in_place_of_all_files(kind: str, filled: tuple[Path, Path], tmp_path: Path) -> None:
    root, full = filled
    folder = tmp_path / "cache"
    shutil.copytree(full, folder)
    for path in [path for path in folder.rglob("*") if path.is_file()]:
        put(kind, path)
    commands(folder, *LOOK, build_words(root), *LOOK, ["cache", "prune", "--other-versions"])
    assert stored(folder) >= stored(full) - {path.stem for path in libraries(full) if path.name.endswith("-hot.so")}
    result = commands(folder, build_words(root), ["cache", "verify", "--remove"], ["cache", "verify"])
    assert "0 files recompiled, 1 were there, 0 left out\n" in result.stdout
    assert result.stdout.endswith(", 0 damaged\n")


@pytest.mark.parametrize("kind", [kind for kind in OBSTACLES if kind != "folder"])
def test_in_place_of_all_folders(kind: str, filled: tuple[Path, Path], tmp_path: Path) -> None:
    root, full = filled
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    for path in full.iterdir():
        put(kind, folder / path.name)
    commands(folder, *LOOK, build_words(root), ["cache", "prune"])
    assert len(libraries(folder)) == 1 and any(path.is_file() for path in (folder / "objects").rglob("*"))


@pytest.mark.parametrize("kind", OBSTACLES)
def test_in_place_of_the_host(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host is built anew where there is none, and so are stencils."""
    monkeypatch.setenv("MIPSREC_CACHE", str(tmp_path))
    built: list[Path] = []

    def build(compiler: str, output: Path, *rest: object) -> None:
        built.append(output)
        output.write_text("#!/bin/sh\n")
        output.chmod(0o755)

    monkeypatch.setattr(host_build, "build_host", build)
    path = host_build.host_executable()
    assert path == host_build.host_executable() and len(built) == 1
    put(kind, path)
    assert host_build.host_executable() == path and len(built) == 2
    shutil.rmtree(tmp_path / HOSTS)
    put(kind, tmp_path / HOSTS if kind != "folder" else tmp_path / HOSTS / path.parent.name)
    assert host_build.host_executable() == path and len(built) == 3


@pytest.mark.parametrize("kind", OBSTACLES)
def test_in_place_of_the_server_s_files(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server begins, or says in one line why not; who asks it gets no answer at once."""
    monkeypatch.setenv("MIPSREC_CACHE", str(tmp_path))
    path = protocol.socket_path()
    for place in (path, path.with_suffix(".lock"), path.with_suffix(".log")):
        put(kind, place)
    path.parent.chmod(0o700)
    assert protocol.ask(protocol.STATUS, 5) is None
    commands(tmp_path, ["compile-server", "--idle", "0"])
    assert not path.exists() and path.with_suffix(".log").is_file()


HUGE = '{"seconds": 1%s, "path": "", "groups": []}' % ("0" * 400)
INFINITE = '{"groups": [{"number": 1, "functions": [[1e999, []]], "parts": []}]}'


@pytest.mark.parametrize("facts", [HUGE, INFINITE])
def test_nonsense_in_descriptions(facts: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIPSREC_CACHE", str(tmp_path))
    folder = folders.variant_folder("variant") / "ab"
    folder.mkdir(parents=True)
    (folder / "ab00-hot.json").write_text(facts)
    assert growth.grown("variant") == {}


def test_a_description_without_a_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`cache warm` says nothing of it, and ends as the program did."""
    monkeypatch.setenv("MIPSREC_CACHE", str(tmp_path))
    folder = folders.variant_folder(folders.variant_of(Options())) / "ab"
    folder.mkdir(parents=True)
    group = {"number": 1, "functions": [[4096, []]], "parts": []}
    facts = {"path": "/x", "groups": [group], "seconds": 1.0}
    (folder / "ab00-hot.json").write_text(json.dumps(facts))
    warm._print_grown({}, Options())
    assert capsys.readouterr().out.startswith("the compile server took 1.0 s")


@pytest.mark.parametrize("kind", OBSTACLES)
def test_in_place_of_an_object(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIPSREC_CACHE", str(tmp_path))
    key = "ab" + "0" * 38
    for path in (objects.path_of(key), objects.path_of(key).parent, objects.objects_folder()):
        shutil.rmtree(path, ignore_errors=True)
        if kind != "folder" or path == objects.path_of(key):
            put(kind, path)
        assert objects.find(key) is None
        objects.trim(0)
        objects.keep(key, b"data")
        assert objects.find(key) == b"data"


@pytest.mark.parametrize("kind", OBSTACLES)
def test_the_host_runs_on(kind: str, host: Path, tmp_path: Path) -> None:
    """Code, notes and the server's files of a program; the second run makes its notes."""
    status, folder = HELLO.stat(), tmp_path / "cache"
    variant, identity = "flat-direct-auto-x86-64", identity_of(HELLO.read_bytes())
    code = folder / "code" / source_digest() / variant / identity[:2]
    for path in (
        code / f"{identity}.so",
        code / f"{identity}-hot.so",
        folder / f"identities/{status.st_dev:x}-{status.st_ino:x}",
        *(folder / f"server/{source_digest()[:16]}.{end}" for end in ("sock", "sock.start")),
    ):
        put(kind, path)
    (folder / "server").chmod(0o700)
    words = ["--stats", "--cache", folder, "--variant", variant, "--compile-server", "/bin/false", HELLO]
    for _ in range(2):
        result = subprocess.run([host, *words], capture_output=True, text=True, timeout=600)
        assert (result.returncode, result.stdout) == (0, "Hello from MIPS.\n"), result
    shutil.rmtree(folder)
    folder.mkdir()
    for name in ("code", "identities", "server"):
        put(kind, folder / name)
    result = subprocess.run([host, *words], capture_output=True, text=True, timeout=600)
    assert (result.returncode, result.stdout) == (0, "Hello from MIPS.\n"), result


@pytest.mark.parametrize("kind", [kind for kind in OBSTACLES if kind not in ("nonsense", "nested")])
def test_in_place_of_a_named_library(kind: str, host: Path, tmp_path: Path) -> None:
    put(kind, tmp_path / "lib.so")
    words = [host, "--library", tmp_path / "lib.so", HELLO]
    result = subprocess.run(words, capture_output=True, text=True, timeout=600)
    assert result.returncode == 1 and result.stderr.count("\n") == 1 and "lib.so" in result.stderr, result
    words = [host, "--trust-library", "--library", tmp_path / "lib.so", HELLO]
    assert subprocess.run(words, capture_output=True, text=True, timeout=600).returncode == 1


def test_a_deep_folder_is_removed_or_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No traceback, whatever a program has put there."""
    monkeypatch.setenv("MIPSREC_CACHE", str(tmp_path))
    inner = folders.cache_folder() / "objects"
    handle = os.open(tmp_path, os.O_RDONLY)
    for name in ["objects", *["x"] * 2000]:
        os.mkdir(name, dir_fd=handle)
        inner_handle = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=handle)
        os.close(handle)
        handle = inner_handle
    os.close(handle)
    with pytest.raises(OSError):
        trust.remove(inner, tmp_path)
    subprocess.run(["rm", "-rf", inner], check=True)
