"""`mipsrec build --dask`: a farm makes the same libraries, and a lost worker is made up for or named."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mipsrec.cache.folders import source_digest
from tests.cli.farm import Farm, wait_until
from tests.cli.storing import Build, make_root, other_version, unfinished
from tests.support.commandline import assert_one_line, command, environment, heed_interrupts
from tests.support.dynamic import cross_libraries, program
from tests.support.paths import ROOT
from tests.support.sampling import thorough


@pytest.fixture
def farm(tmp_path: Path) -> Iterator[Farm]:
    pytest.importorskip("distributed", reason="NOT TESTED: pip install distributed")
    (tmp_path / "farm").mkdir()
    result = Farm(tmp_path / "farm")
    yield result
    result.close()


def start_build(cache: Path, root: Path, farm: Farm) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command("build", "--opt", "0", "--dask", farm.address, "--sysroot", root),
        env=environment(MIPSREC_CACHE=str(cache)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=heed_interrupts,
    )  # fmt: skip


def long_root(tmp_path: Path) -> Path:
    """Return a sysroot that takes some seconds to build, in several parts."""
    (tmp_path / "root").mkdir()
    shutil.copy(cross_libraries("little") / "libnsl.so.1", tmp_path / "root")
    return tmp_path / "root"


def test_farm_makes_the_same_libraries(tmp_path: Path, cache: Path, build: Build, farm: Farm) -> None:
    """By a worker that dask starts as a daemon, whose threads are two, and one that is a plain process."""
    farm.add_worker("--nthreads", "2")
    farm.add_worker("--no-nanny")
    files = make_root(tmp_path / "root", "little", 3, functions=40)
    main = program(tmp_path / "root/main", "little", *files, "-Wl,-rpath,/lib")
    (tmp_path / "root/broken.so").write_bytes(files[0].read_bytes()[:80])
    (tmp_path / "local").mkdir()
    assert build("--sysroot", tmp_path / "root", MIPSREC_CACHE=str(tmp_path / "local")).returncode == 0
    result = build("--sysroot", tmp_path / "root", "--dask", farm.address)
    assert result.stdout == "4 files recompiled, 0 were there, 1 left out\n", result
    assert result.stderr.startswith(f"mipsrec: left out: {tmp_path}/root/broken.so") and result.stderr.count("\n") == 1
    assert unfinished(cache) == []
    for path in (tmp_path / "local").glob("code/*/*/*/*.so"):
        assert (cache / path.relative_to(tmp_path / "local")).read_bytes() == path.read_bytes()
    result = build("--sysroot", tmp_path / "root", main, "--dask", "tcp://127.0.0.1:1")  # nothing to do: not asked
    assert result.stdout == "0 files recompiled, 4 were there, 1 left out\n"
    _assert_closure(tmp_path, build, farm)


def _assert_closure(tmp_path: Path, build: Build, farm: Farm) -> None:
    """The same farm builds a program, and what it loads."""
    files = make_root(tmp_path / "other", "big", 2)
    main = program(tmp_path / "other/main", "big", *files)
    result = build(main, "--sysroot", tmp_path / "other", "--dask", farm.address)
    assert result.stdout == "3 files recompiled, 0 were there, 1 left out\n", result


def test_lost_worker_is_made_up_for(tmp_path: Path, cache: Path, farm: Farm) -> None:
    first = farm.add_worker("--no-nanny")
    process = start_build(cache, long_root(tmp_path), farm)
    wait_until(lambda: farm.parts_done() > 0, "a first part")
    farm.add_worker("--no-nanny")
    first.kill()
    output, errors = process.communicate(timeout=600)
    assert (output, errors) == ("1 files recompiled, 0 were there, 0 left out\n", "")


@thorough
def test_lost_scheduler_is_one_line(tmp_path: Path, cache: Path, farm: Farm) -> None:
    farm.add_worker("--no-nanny")
    process = start_build(cache, long_root(tmp_path), farm)
    wait_until(lambda: farm.parts_done() > 0, "a first part")
    farm.scheduler.kill()
    output, errors = process.communicate(timeout=600)
    assert (process.returncode, output) == (1, "") and unfinished(cache) == []
    assert errors == f"mipsrec: {farm.address}: the dask scheduler is gone; what is finished stays; start again\n"


@thorough
def test_interrupted_farm_build(tmp_path: Path, cache: Path, farm: Farm) -> None:
    farm.add_worker("--no-nanny")
    process = start_build(cache, long_root(tmp_path), farm)
    wait_until(lambda: farm.parts_done() > 0, "a first part")
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=600)
    assert (process.returncode, output, errors) == (130, "", "mipsrec: interrupted\n")
    assert unfinished(cache) == []


def test_workers_that_differ_are_refused(tmp_path: Path, build: Build, farm: Farm) -> None:
    """One of another version; then, when it is gone, one without mipsrec."""
    make_root(tmp_path / "root", "big", 1)
    other = farm.add_worker("--no-nanny", PYTHONPATH=other_version(tmp_path / "other"))
    result = build("--sysroot", tmp_path / "root", "--dask", farm.address)
    assert_one_line(result, "install the same mipsrec", source_digest()[:12])
    other.terminate()
    other.wait()
    (tmp_path / "none/mipsrec").mkdir(parents=True)
    (tmp_path / "none/mipsrec/__init__.py").write_text("")
    farm.add_worker("--no-nanny", PYTHONPATH=str(tmp_path / "none"))
    result = build("--sysroot", tmp_path / "root", "--dask", farm.address)
    assert_one_line(result, "cannot run this mipsrec", "install it there")


IMPATIENT = """
import sys
from mipsrec import farm
from mipsrec.cli import main
farm.CONNECT_SECONDS = farm.WORKER_SECONDS = 1
sys.exit(main(sys.argv[1:]))
"""


def test_no_scheduler_and_no_workers(tmp_path: Path, farm: Farm) -> None:
    def build_on(address: str) -> subprocess.CompletedProcess[str]:
        words = ["build", "--sysroot", str(tmp_path / "root"), "--dask", address]
        changes = environment(MIPSREC_CACHE=str(tmp_path / "cache"))
        command = [sys.executable, "-c", IMPATIENT, *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=600, env=changes)

    make_root(tmp_path / "root", "big", 1)
    assert_one_line(build_on("tcp://127.0.0.1:1"), "no dask scheduler answers")
    assert_one_line(build_on("what://ever"), "what://ever")
    assert_one_line(build_on(farm.address), "has no workers", "dask worker")


def test_missing_package_is_named(tmp_path: Path, build: Build) -> None:
    make_root(tmp_path / "root", "big", 1)
    (tmp_path / "stub/distributed").mkdir(parents=True)
    (tmp_path / "stub/distributed/__init__.py").write_text("raise ImportError('not here')\n")
    result = build("--sysroot", tmp_path / "root", "--dask", "tcp://x:1", PYTHONPATH=f"{tmp_path}/stub:{ROOT}")
    assert_one_line(result, "pip install mipsrec[farm]")


def test_options_that_do_not_go_with_dask(tmp_path: Path, build: Build) -> None:
    (file,) = make_root(tmp_path / "root", "big", 1)
    assert_one_line(build(file, "--dask", "tcp://x:1", "-o", "x.so"), "--dask", "-o", status=2)
    assert_one_line(build(file, "--dask", "tcp://x:1", "--use-profile", "x"), "--dask", "--use-profile", status=2)
