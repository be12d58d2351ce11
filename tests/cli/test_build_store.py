"""`mipsrec build` into the store: a program with all that it loads, and a whole sysroot.

The files are tiny and are not run here (tests/runtime/test_store.py does). A cache is a folder of each test.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from mipsrec.cache.folders import source_digest
from mipsrec.cache.store import stored_path
from mipsrec.elf import load_elf
from mipsrec.fill_store import store_all
from mipsrec.options import Options
from tests.cli.farm import wait_until
from tests.cli.storing import LEVEL, Build, libraries, make_root, other_version, stored, unfinished
from tests.support.commandline import assert_one_line, command, environment, heed_interrupts, mipsrec
from tests.support.compiled import ORDERS
from tests.support.dynamic import library, program
from tests.support.mounts import in_namespace, read_only, small

# ---- what is built, and what is left out ----


@pytest.mark.parametrize("order", ORDERS)
def test_closure_of_a_program(tmp_path: Path, cache: Path, build: Build, order: str) -> None:
    root = tmp_path / "root"
    library(root / "lib/ld.so.1", order, source="int two(void) { return 2; }")
    b = library(root / "lib/libb.so", order, source="int three(void) { return 3; }")
    plugin = library(root / "plugin.so", order, source="int four(void) { return 4; }")
    main = program(root / "bin/main", order, b)
    result = build("--sysroot", root, main)
    assert (result.returncode, result.stderr) == (0, ""), result
    assert result.stdout == "3 files recompiled, 0 were there, 0 left out\n"
    assert build("-L", root, main).stdout == "0 files recompiled, 3 were there, 0 left out\n"
    assert build(main, "--with", plugin, MIPSREC_SYSROOT=str(root)).stdout.startswith("1 files recompiled, 3 were")
    assert len(stored(cache)) == 4 and unfinished(cache) == []


@pytest.mark.parametrize("order", ORDERS)
def test_what_is_left_out_is_named_with_the_reason(tmp_path: Path, build: Build, order: str) -> None:
    root = tmp_path / "root"
    a, b = make_root(root, order, 2)
    main = program(root / "bin/main", order, a, b)
    a.unlink()
    b.write_bytes(b.read_bytes()[:60])
    result = build("--sysroot", root, main)
    assert (result.returncode, result.stdout) == (0, "1 files recompiled, 0 were there, 3 left out\n"), result
    lines = result.stderr.splitlines()
    assert f"mipsrec: /lib/ld.so.1: not found (wanted by {main}): the slower tiers will run it" in lines
    assert f"mipsrec: lib0.so: not found (wanted by {main}): the slower tiers will run it" in lines
    assert any(str(b) in line for line in lines) and len(lines) == 3


@pytest.mark.parametrize("order", ORDERS)
def test_whole_sysroot(tmp_path: Path, cache: Path, build: Build, order: str) -> None:
    root = tmp_path / "root"
    files = make_root(root, order)
    shutil.copy(files[0], root / "same.so")
    library(root / "data.so", order, source="const int data[] = {1, 2};")
    (root / "broken.so").write_bytes(files[0].read_bytes()[:80])
    (root / "text").write_text("hello")
    result = build("--sysroot", root)
    assert (result.returncode, result.stdout) == (0, "3 files recompiled, 0 were there, 2 left out\n"), result
    assert f"mipsrec: left out: {root}/data.so: has no code\n" in result.stderr
    assert f"mipsrec: left out: {root}/broken.so: " in result.stderr
    assert len(stored(cache)) == 3 and unfinished(cache) == []


def test_program_of_a_sysroot(tmp_path: Path, build: Build) -> None:
    """An absolute name means the file that `run` would take: the one below the sysroot, if there is one."""
    root = tmp_path / "root"
    library(root / "lib/ld.so.1", "little", source="int two(void) { return 2; }")
    (b,) = make_root(root, "little", 1)
    program(root / "bin/env", "little", b)
    plugin = library(root / "plugin.so", "little", source="int four(void) { return 4; }")
    result = build("--sysroot", root, "/bin/env", "--with", "/plugin.so")
    assert (result.returncode, result.stderr) == (0, ""), result
    assert result.stdout == "4 files recompiled, 0 were there, 0 left out\n"
    assert build("-L", root, root / "bin/env", "--with", plugin).stdout.startswith("0 files recompiled, 4 were there")


def test_file_replaced_while_it_waits(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is made is kept under the name of what it was made of."""
    monkeypatch.setenv("MIPSREC_CACHE", str(cache))
    path, other = make_root(tmp_path / "root", "big", 2)
    before, options = load_elf(path), Options(opt="0", jobs=1)
    path.write_bytes(other.read_bytes())
    report = store_all([(path, before)], options)
    assert report.built == [path]
    assert stored(cache) == {load_elf(other).identity} and stored_path(load_elf(other).identity, options) is not None


def test_no_folder(tmp_path: Path, build: Build) -> None:
    assert_one_line(build("--sysroot", tmp_path / "none"), "none: is no folder")
    assert_one_line(build(), "--sysroot", status=2)


# ---- damage, interruption, several at once ----


@pytest.mark.parametrize("how", ["flipped", "cut", "empty", "other"])
def test_damaged_library_is_made_again(tmp_path: Path, cache: Path, build: Build, how: str) -> None:
    make_root(tmp_path / "root", "big", 2)
    build("--sysroot", tmp_path / "root")
    one, two = libraries(cache)
    good = content = one.read_bytes()
    half = len(content) // 2
    one.write_bytes({
        "flipped": content[:half] + bytes([content[half] ^ 8]) + content[half + 1 :],
        "cut": content[:half], "empty": b"", "other": two.read_bytes(),
    }[how])  # fmt: skip
    result = build("--sysroot", tmp_path / "root")
    assert result.stdout == "1 files recompiled, 1 were there, 0 left out\n"
    assert one.read_bytes() == good


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_resumes_after_interruption(tmp_path: Path, cache: Path, build: Build, number: signal.Signals) -> None:
    """What was finished stays; what was not is made by the next build."""
    count = 12
    make_root(tmp_path / "root", "little", count, functions=20)
    process = subprocess.Popen(
        command("build", *LEVEL, "--sysroot", tmp_path / "root"), env=environment(MIPSREC_CACHE=str(cache)),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heed_interrupts,
    )  # fmt: skip
    wait_until(lambda: bool(stored(cache)), "a first library")
    process.send_signal(number)
    output, errors = process.communicate(timeout=600)
    status = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -9}[number]
    said = "mipsrec: interrupted\n" if number == signal.SIGINT else ""
    assert (output, errors, process.returncode) == ("", said, status)
    finished = stored(cache)
    assert 0 < len(finished) < count
    if number != signal.SIGKILL:
        assert unfinished(cache) == []
    times = {path: path.stat().st_mtime for path in libraries(cache)}
    there = len(finished)
    result = build("--sysroot", tmp_path / "root")
    assert result.stdout == f"{count - there} files recompiled, {there} were there, 0 left out\n"
    assert all(path.stat().st_mtime == was for path, was in times.items()) and len(stored(cache)) == count


def test_two_at_once(tmp_path: Path, cache: Path) -> None:
    """Each file is built by one of them; both end well."""
    make_root(tmp_path / "root", "big", 6, functions=20)
    words = command("build", *LEVEL, "--sysroot", tmp_path / "root")
    running = [
        subprocess.Popen(words, env=environment(MIPSREC_CACHE=str(cache)), stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    outputs = [process.communicate(timeout=600)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0], outputs
    assert len(stored(cache)) == 6 and unfinished(cache) == []
    assert mipsrec("cache", "verify", MIPSREC_CACHE=str(cache)).stdout == "6 libraries checked, 0 damaged\n"


def test_two_versions_share_a_cache(tmp_path: Path, cache: Path, build: Build) -> None:
    make_root(tmp_path / "root", "little", 2)
    other = other_version(tmp_path / "other")
    assert build("--sysroot", tmp_path / "root").returncode == 0
    mine = {path: path.read_bytes() for path in libraries(cache)}
    words, variables = ("build", *LEVEL, "--sysroot", tmp_path / "root"), {"MIPSREC_CACHE": str(cache)}
    result = mipsrec(*words, cwd=Path(other), **variables, PYTHONPATH=other)
    assert result.stdout.startswith("2 files recompiled, 0 were"), result
    versions = {path.name for path in (cache / "code").iterdir()}
    assert len(versions) == 2 and source_digest() in versions
    assert {path: path.read_bytes() for path in mine} == mine
    assert build("--sysroot", tmp_path / "root").stdout.startswith("0 files recompiled, 2 were")


# ---- a cache that cannot be written ----


def test_read_only_cache(tmp_path: Path, cache: Path, build: Build) -> None:
    make_root(tmp_path / "root", "big", 2)
    assert build("--sysroot", tmp_path / "root").returncode == 0
    words = command("build", *LEVEL, "--sysroot", tmp_path / "root")
    variables = environment(MIPSREC_CACHE=str(cache))
    assert in_namespace(read_only(cache), words, variables).stdout.startswith("0 files recompiled, 2 were")
    library(tmp_path / "root/lib/more.so", "big", source="int more(void) { return 5; }")
    assert_one_line(in_namespace(read_only(cache), words, variables), "MIPSREC_CACHE", "Read-only")


@pytest.mark.parametrize("room", [0, 4096, 20000, 60000])
def test_full_cache(tmp_path: Path, cache: Path, room: int) -> None:
    """One line, whether the folders, the objects, the linker's output or the footer find no room; nothing is left."""
    make_root(tmp_path / "root", "big", 4, functions=300)
    cache.mkdir()
    size = 1 << 18
    mounts = [*small(cache, size), f"head -c {size - room} /dev/zero > {cache}/filler"]
    words = " ".join(command("build", *LEVEL, "--sysroot", tmp_path / "root"))
    kept = " ".join(f"-not -path '*/{folder}/*'" for folder in ("objects", "records"))
    left = f"find {cache} -type f -not -name '*.so' -not -name filler {kept} -not -name '*.json' >&3"
    script = ["sh", "-c", f"exec 3>{tmp_path}/left; {words}; status=$?; {left}; exit $status"]
    result = in_namespace(mounts, script, environment(MIPSREC_CACHE=str(cache)))
    assert_one_line(result)
    assert (tmp_path / "left").read_text() == ""


def test_limit_is_kept(tmp_path: Path, cache: Path, build: Build) -> None:
    """What others made goes first, what was used longest ago before the rest; a build does not remove its own."""
    make_root(tmp_path / "old", "big", 4, functions=3)
    assert build("--sysroot", tmp_path / "old").returncode == 0
    old = libraries(cache)
    for age, path in enumerate(old):
        os.utime(path, (time.time() - 1000 * (age + 1),) * 2)
    total = sum(path.stat().st_size for path in old)
    library(tmp_path / "new/new.so", "big", source="int more(void) { return 5; }")
    result = build("--sysroot", tmp_path / "new", MIPSREC_CACHE_LIMIT=str(total + 1000))
    assert result.stdout.startswith("1 files recompiled"), result
    assert [path.exists() for path in old] == [True, True, True, False] or not old[2].exists()
    assert old[0].exists() and len(stored(cache)) >= 3
    make_root(tmp_path / "many", "big", 3, functions=4)
    result = build("--sysroot", tmp_path / "many", MIPSREC_CACHE_LIMIT="20K")
    assert (
        "left out: " in result.stderr and "fills the cache (20.0 KiB); set MIPSREC_CACHE_LIMIT higher" in result.stderr
    )
    assert 1 <= len(stored(cache)) <= 2
    refused = build("--sysroot", tmp_path / "many", MIPSREC_CACHE_LIMIT="much")
    assert_one_line(refused, "MIPSREC_CACHE_LIMIT", "'much'", status=2)
