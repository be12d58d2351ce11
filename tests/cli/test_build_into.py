"""Layers on the command line: `build --into`, and what `cache` shows of them and leaves alone."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from mipsrec.cache.folders import source_digest
from tests.cli.storing import OTHER, libraries
from tests.support.commandline import assert_one_line, command, environment, mipsrec
from tests.support.dynamic import library
from tests.support.hosts import cache_with_host
from tests.support.mounts import in_namespace
from tests.support.paths import PREBUILT
from tests.support.powers import need_to


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a sysroot of three libraries, and a layer with their code."""
    folder = tmp_path_factory.mktemp("prepared")
    for number, order in enumerate(("big", "little", "little")):
        library(folder / f"root/lib{number}.so", order, source=f"int f(int x) {{ return x * {number + 3}; }}")
    result = build(folder, folder / "layer", MIPSREC_CACHE=str(folder / "unused"))
    assert result.stdout == "3 files recompiled, 0 were there, 0 left out\n", result
    assert not (folder / "unused/code").exists()
    return folder


def build(folder: Path, layer: Path, **changes: str | None) -> subprocess.CompletedProcess[str]:
    return mipsrec("build", "--opt", "0", "--jobs", "1", "--sysroot", folder / "root", "--into", layer, **changes)


@pytest.fixture
def layer(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of that layer, which MIPSREC_CACHE_PATH names; the cache is empty."""
    shutil.copytree(prepared / "layer", tmp_path / "layer")
    monkeypatch.setenv("MIPSREC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("MIPSREC_CACHE_PATH", f"/absent:{tmp_path}/layer")
    return tmp_path / "layer"


def listed() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(mipsrec("cache", "list", "--json").stdout)["layers"]
    return found


# ---- build --into ----


def test_into_goes_on_where_it_was(prepared: Path, layer: Path) -> None:
    gone = libraries(layer)[1]
    gone.unlink()
    assert build(prepared, layer).stdout == "1 files recompiled, 2 were there, 0 left out\n"
    assert gone.exists() and build(prepared, layer).stdout.startswith("0 files recompiled, 3 were there")
    gone.write_bytes(b"nonsense")
    assert build(prepared, layer).stdout.startswith("1 files recompiled")


def test_into_after_an_interrupt(prepared: Path, tmp_path: Path) -> None:
    """What is there is whole, whenever the build is stopped."""
    words = command("build", "--opt", "0", "--jobs", "1", "--no-reuse", "--sysroot", prepared / "root", "--into",
                    tmp_path / "layer")  # fmt: skip
    for _ in range(3):
        building = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment())
        before = len(libraries(tmp_path / "layer"))
        deadline = time.monotonic() + 600
        while building.poll() is None and len(libraries(tmp_path / "layer")) == before and time.monotonic() < deadline:
            time.sleep(0.005)
        building.send_signal(signal.SIGKILL)
        building.wait()
    assert libraries(tmp_path / "layer")
    verified = mipsrec("cache", "verify", MIPSREC_CACHE_PATH=str(tmp_path / "layer"), MIPSREC_CACHE=str(tmp_path / "c"))
    assert ", 0 damaged" in verified.stdout
    assert build(prepared, tmp_path / "layer").stdout.endswith("0 left out\n")
    assert len(libraries(tmp_path / "layer")) == 3


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o077])
def test_all_may_read_and_none_may_write_it(prepared: Path, tmp_path: Path, umask: int) -> None:
    result = mipsrec("build", "--opt", "0", "--sysroot", prepared / "root", "--into", tmp_path / "layer",
                     before=lambda: os.umask(umask) and None)  # fmt: skip
    assert result.returncode == 0
    for path in (tmp_path / "layer", *(tmp_path / "layer").rglob("*")):
        mode = path.stat().st_mode
        assert mode & 0o022 == 0 and mode & 0o044 == 0o044, path


def test_one_static_program(tmp_path: Path) -> None:
    hello = PREBUILT / "mips/hello.elf"
    result = mipsrec("build", "--opt", "0", "--into", tmp_path / "layer", hello)
    assert result.stdout.startswith("1 files recompiled") and len(libraries(tmp_path / "layer")) == 1


def test_a_layer_that_nobody_would_trust_is_not_filled(prepared: Path, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    folder = Path("/tmp") / f"mipsrec-open-{os.getpid()}"
    folder.mkdir()
    try:
        folder.chmod(0o777)
        assert_one_line(build(prepared, folder), str(folder), "others can write it", "make it anew")
        assert list(folder.iterdir()) == []
    finally:
        shutil.rmtree(folder)
    (tmp_path / "file").touch()
    assert_one_line(build(prepared, tmp_path / "file"), "file", "cannot be made")


def test_what_does_not_go_with_into(prepared: Path, tmp_path: Path) -> None:
    file = prepared / "root/lib0.so"
    assert_one_line(mipsrec("build", file, "--into", tmp_path / "x", "-o", "y.so"), "--into", "-o", status=2)
    result = mipsrec("build", file, "--into", tmp_path / "x", "--function", "f")
    assert_one_line(result, "--into", "--function", status=2)
    assert_one_line(mipsrec("build", tmp_path, "--into", tmp_path / "x"), "--into", "dump", status=2)
    assert_one_line(mipsrec("build", "--into", tmp_path / "x"), "--sysroot", status=2)


# ---- what others built is used ----


def test_a_build_takes_what_layers_have(prepared: Path, layer: Path) -> None:
    libraries(layer)[0].unlink()
    result = mipsrec("build", "--opt", "0", "--jobs", "1", "--sysroot", prepared / "root")
    assert result.stdout == "1 files recompiled, 2 were there, 0 left out\n"
    layer.parent.chmod(0o755)


def test_a_run_takes_what_layers_have(tmp_path: Path) -> None:
    """A static program is not built again: the cache gets no code."""
    hello = PREBUILT / "mipsel/hello.elf"
    assert mipsrec("build", "--cpu", "generic", "--into", tmp_path / "layer", hello).returncode == 0
    for path in (None, str(tmp_path / "layer")):
        result = mipsrec("run", "--stats", hello, MIPSREC_CACHE=str(cache_with_host(tmp_path / f"cache{path is None}")),
                         MIPSREC_CACHE_PATH=path)  # fmt: skip
        assert result.stdout == "Hello from MIPS.\n" and "recompiled" in result.stderr
    assert (tmp_path / "cacheTrue/code").exists() and not (tmp_path / "cacheFalse/code").exists()


# ---- the cache command ----


def test_list_names_layers(prepared: Path, layer: Path) -> None:
    shutil.copytree(layer / "code" / source_digest(), layer / "code" / OTHER)
    output = mipsrec("cache", "list").stdout
    assert "Layers, which are only read:" in output and "/absent" not in output
    assert f"  {layer}: 3 libraries of this mipsrec, 3 of other versions, " in output
    assert "no code is taken" not in output
    (facts,) = listed()
    assert (facts["folder"], facts["trusted"], facts["current"], facts["reason"]) == (str(layer), True, 3, "")
    assert facts["bytes"] == sum(path.stat().st_size for path in libraries(layer))
    assert {Path(one["source"]).name for one in facts["libraries"]} == {"lib0.so", "lib1.so", "lib2.so"}


def test_list_without_layers(tmp_path: Path) -> None:
    result = mipsrec("cache", "list", MIPSREC_CACHE=str(tmp_path / "cache"), MIPSREC_CACHE_PATH="/absent")
    assert "Layers" not in result.stdout or "/var/cache/mipsrec" in result.stdout


def test_a_layer_is_the_cache_only_once(layer: Path) -> None:
    result = mipsrec("cache", "list", "--json", MIPSREC_CACHE=str(layer))
    assert json.loads(result.stdout)["layers"] == []


def test_list_says_which_layer_is_not_trusted(layer: Path) -> None:
    need_to("give files away")
    os.chown(layer, 65534, 65534)
    reason = "it, or a folder above it, belongs to another user"
    assert f"  {layer}: no code is taken from it: {reason}\n" in mipsrec("cache", "list").stdout
    assert [(one["trusted"], one["libraries"]) for one in listed()] == [(False, [])]
    assert mipsrec("cache", "verify").stdout == "0 libraries checked, 0 damaged\n"


def test_system_layers_are_listed(layer: Path) -> None:
    mounts = ["mount -t tmpfs tmpfs /var/cache", f"cp -r {layer} /var/cache/mipsrec"]
    output = in_namespace(mounts, command("cache", "list"), environment()).stdout
    assert output.index(f"  {layer}: 3") < output.index("  /var/cache/mipsrec: 3")


def test_verify_checks_layers_and_removes_nothing_there(layer: Path) -> None:
    path = libraries(layer)[1]
    path.write_bytes(path.read_bytes()[:-1])
    for words in (("verify",), ("verify", "--remove")):
        result = mipsrec("cache", *words)
        assert result.returncode == 1 and result.stdout.startswith("3 libraries checked, 1 damaged")
        assert result.stderr.startswith(f"mipsrec: {path} (of ") and path.exists()


def test_prune_leaves_layers_alone(layer: Path) -> None:
    shutil.copytree(layer / "code" / source_digest(), layer / "code" / OTHER)
    (libraries(layer)[0].parent / "ff.lock").touch()
    before = sorted(layer.rglob("*"))
    for words in (("--max-size", "0"), ("--other-versions",), ("--older-than", "0s")):
        assert mipsrec("cache", "prune", *words).returncode == 0
    assert sorted(layer.rglob("*")) == before
