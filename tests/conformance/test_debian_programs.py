"""Debian's own packages: a few small ones of the rows that `make conformance ARGS=debian` runs all of.

Packages are downloaded once, without their recommendations, some 10 MB (tests/support/debian.py).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from mipsrec.cache.folders import cache_folder, variant_of
from mipsrec.dynamic_linker import closure_of
from mipsrec.fill_store import store_all
from mipsrec.options import Options
from mipsrec.sysroot import Sysroot
from tests.conformance.debian_inputs import put_inputs
from tests.conformance.debian_rows import Judge, Row, Way, in_chroot, in_tier, interpreted, load_rows, recompiled
from tests.support.debian import sample
from tests.support.tiers import BASELINE

LIMIT = 60.0
ROWS = {row.name: row for row in load_rows()}
INTERPRETED = ("busybox-echo", "busybox-sha256", "busybox-gzip", "busybox-sh", "busybox-bc", "dash", "patch",
               "coreutils-printf", "coreutils-ls", "coreutils-split", "coreutils-timeout", "sed")  # fmt: skip
CHROOT = ("busybox-sh", "dash", "patch", "coreutils-split", "coreutils-stat")


@pytest.fixture(scope="module")
def sysroot() -> Path:
    root = sample()
    put_inputs(root, large=False)
    return root


def assert_right(way: Way, row: Row) -> int | None:
    """The row does what it must; return how many instructions were interpreted."""
    end = way.run(row, LIMIT)
    assert Judge(way.root).wrong(row, end) == ""
    return end.interpreted


@pytest.mark.parametrize("name", INTERPRETED)
def test_interpreted(host: Path, sysroot: Path, name: str) -> None:
    assert assert_right(interpreted(sysroot, host), ROWS[name])


@pytest.mark.parametrize("tier", BASELINE)
@pytest.mark.parametrize("name", CHROOT)
def test_baseline(host: Path, sysroot: Path, name: str, tier: str) -> None:
    """Where tiers change at random, they do so in every process that a shell starts."""
    assert_right(in_tier(sysroot, host, tier), ROWS[name])


@pytest.mark.parametrize("name", CHROOT)
def test_chroot(host: Path, sysroot: Path, name: str) -> None:
    assert_right(in_chroot(sysroot, host), ROWS[name])


def test_recompiled(host: Path, sysroot: Path) -> None:
    """The program alone: its libraries are interpreted, and what the program does is native, also after a fork."""
    options, program = Options(opt="0", jobs=1), sysroot / "usr/bin/dash"
    images = [item for item in closure_of([program], Sysroot(sysroot)).images.items() if item[0].name == program.name]
    report = store_all(images, options)
    assert report.skipped == [] and report.built + report.present == [program]
    whole = assert_right(interpreted(sysroot, host), ROWS["dash"])
    rest = assert_right(recompiled(sysroot, host, cache_folder(), variant_of(options)), ROWS["dash"])
    assert whole is not None and rest is not None and 0 < rest < 0.75 * whole
