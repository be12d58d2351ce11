"""AFL++ of the distribution fuzzes MIPS programs, each byte order in a short campaign."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from mipsrec import pipeline
from tests.support.compiled import ORDERS, OUT, compile_guest
from tests.support.paths import GUESTS
from tests.support.tools import need

SETTINGS = {
    "AFL_NO_UI": "1", "AFL_NO_AFFINITY": "1", "AFL_SKIP_CPUFREQ": "1", "AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES": "1",
    "AFL_BENCH_UNTIL_CRASH": "1",
}  # fmt: skip
"""No terminal, and nothing that the machine's administrator would have to set; it ends at the first crash."""


@pytest.fixture(params=ORDERS)
def target(request: pytest.FixtureRequest, tmp_path: Path, host: Path) -> Path:
    """A program, beside a folder `afl` that has afl-qemu-trace."""
    (tmp_path / "afl").mkdir()
    (tmp_path / "afl/afl-qemu-trace").symlink_to(host)
    return compile_guest(tmp_path, request.param, (GUESTS / "magic.c").read_text(), *OUT)


def environment(target: Path, **more: str) -> dict[str, str]:
    return os.environ | SETTINGS | {"AFL_PATH": str(target.parent / "afl")} | more


def crashes_of(target: Path, seed: str, *options: str) -> list[bytes]:
    """Return the inputs for which the fuzzer has seen a target crash, the first that it found among them."""
    folder = target.parent
    (folder / "seeds").mkdir()
    (folder / "seeds/one").write_text(seed)
    words = [need("afl-fuzz", "afl++"), "-Q", *options, "-t", "5000", "-i", folder / "seeds", "-o", folder / "findings"]
    ended = subprocess.run([*words, "--", target], capture_output=True, text=True, timeout=550, env=environment(target))
    found = [path.read_bytes() for path in (folder / "findings/default/crashes").glob("id*")]
    assert found, ended.stdout[-2000:] + ended.stderr[-500:]
    return found


def test_campaign(target: Path) -> None:
    """The fuzzer finds the crash behind two letters, by the way through the first; afl-showmap sees each decision."""
    show, crashes = need("afl-showmap", "afl++"), crashes_of(target, "AAAAAAAA", "-V", "300")
    assert all(crash.startswith(b"MR") for crash in crashes)
    maps = []
    for text in (b"AAAA", b"MAAA", crashes[0]):
        result = target.parent / "shown"
        words = [show, "-q", "-Q", "-o", result, "--", target]
        subprocess.run(words, input=text, capture_output=True, timeout=60, env=environment(target))
        maps.append(set(result.read_text().split()))
    assert len(maps[1] - maps[0]) == 2 and len(maps[2] - maps[1]) == 1  # taken or not: the letters' branches


@pytest.mark.parametrize("kind", [(), ("-DSHORT_CODE",), ("-DSUM",)], ids=("mips32", "mips16", "sum"))
def test_comparisons(kind: tuple[str, ...], target: Path) -> None:
    """CMPLOG finds a word that no chance would: what the program compares with goes into the input."""
    order = pipeline.open_guest(target).image.byte_order
    guest = compile_guest(target.parent, order, (GUESTS / "magic.c").read_text(), *OUT, *kind, "-DWORD")
    wanted = (0x8BADF00D).to_bytes(4, "little" if order == "little" else "big")
    assert any(crash.startswith(wanted) for crash in crashes_of(guest, "0123456789AB", "-c", "0", "-V", "240"))


def test_recompiled_map(target: Path) -> None:
    """Recompiled code is found in the cache by contents, and the map is the same without it."""
    show = need("afl-showmap", "afl++")
    cache, result = target.parent / "cache", target.parent / "shown"
    maps = []
    for build in (False, True):
        if build:
            cache.mkdir(mode=0o700)
            os.environ["MIPSREC_CACHE"], before = str(cache), os.environ["MIPSREC_CACHE"]
            try:
                pipeline.cached_library(pipeline.open_guest(target), pipeline.Options(jobs=1, cover=True))
            finally:
                os.environ["MIPSREC_CACHE"] = before
        words = [show, "-q", "-Q", "-o", result, "--", target]
        subprocess.run(words, input=b"MAAA", capture_output=True, timeout=60,
                       env=environment(target, MIPSREC_CACHE=str(cache)))  # fmt: skip
        maps.append(result.read_text())
    assert maps[0] == maps[1] and maps[0].count("\n") > 2
