"""`mipsrec build --timings`: where the time of a build went, on standard error, and only if asked for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mipsrec.commands.build_report import timing_lines
from mipsrec.native.build_times import IN_WORKERS, BuildTimes, PartTime, Phase, Spent
from tests.cli.storing import LEVEL, make_root
from tests.support.commandline import assert_one_line, mipsrec
from tests.support.paths import PREBUILT

SAMPLE = PREBUILT / "mipsel" / "crc32.elf"


def rows(said: str) -> dict[str, tuple[float, float]]:
    """Return the rows of a report: wall clock and processor seconds by name."""
    found = re.findall(r"^mipsrec: ( *\S.*?) +(\d+\.\d\d) +(\d+\.\d\d)$", said, re.MULTILINE)
    return {name.strip(): (float(wall), float(processor)) for name, wall, processor in found}


def test_a_build_and_an_unchanged_one(tmp_path: Path) -> None:
    words = ("build", SAMPLE, "-o", tmp_path / "lib.so", *LEVEL)
    first = mipsrec(*words, "--timings", MIPSREC_CACHE=str(tmp_path / "cache"))
    assert first.returncode == 0, first.stderr
    found = rows(first.stderr)
    whole = found.pop("all")
    rest = found.pop("start of Python, and the rest")
    assert list(found) == [phase.value for phase in Phase if phase not in IN_WORKERS][:5] + [
        *(phase.value for phase in IN_WORKERS), "table of entries", "linking"
    ]  # fmt: skip
    own = [found[phase.value] for phase in Phase if phase not in IN_WORKERS]
    for column in (0, 1):
        assert sum(one[column] for one in own) + rest[column] == pytest.approx(whole[column], abs=0.06)
    assert "mipsrec: 1 parts, 0 of them kept from earlier builds" in first.stderr
    assert re.search(r"s, level 0, \d+ instructions: ", first.stderr)
    again = mipsrec(*words, "--timings", MIPSREC_CACHE=str(tmp_path / "cache"))
    found = rows(again.stderr)
    assert found["analysis"] == found["worker processes"] == (0, 0) and "lifting to IR text" not in found
    assert "mipsrec: 1 parts, 1 of them kept from earlier builds" in again.stderr
    assert mipsrec(*words, MIPSREC_CACHE=str(tmp_path / "cache")).stderr == ""


def test_a_build_of_several_files(tmp_path: Path) -> None:
    make_root(tmp_path / "root", "little", 2)
    words = ("build", *LEVEL, "--sysroot", tmp_path / "root", "--timings")
    result = mipsrec(*words, MIPSREC_CACHE=str(tmp_path / "cache"))
    assert result.returncode == 0 and "mipsrec: 2 parts, 0 of them kept" in result.stderr
    result = mipsrec(*words, MIPSREC_CACHE=str(tmp_path / "cache"))
    assert result.returncode == 0 and "mipsrec: 0 parts, 0 of them kept" in result.stderr


def test_it_does_not_go_with_a_farm() -> None:
    result = mipsrec("build", SAMPLE, "--dask", "tcp://localhost:1", "--timings")
    assert_one_line(result, "--timings", "--dask", status=2)


def test_the_slowest_parts_come_first() -> None:
    times = BuildTimes({Phase.WORKERS: Spent(3, 5), Phase.PASSES: Spent(4, 4)})
    names = tuple(f"f{number}" for number in range(7))
    times.parts = [PartTime(names[: number + 1], "2", 100 * number, number / 2) for number in range(7)]
    lines = list(timing_lines(times, Spent(3.5, 5.5), 9, 2))
    assert [re.sub(" +", " ", line) for line in lines[-9:]] == [
        "linking 0.00 0.00",
        "start of Python, and the rest 0.50 0.50",
        "all 3.50 5.50",
        "9 parts, 2 of them kept from earlier builds",
        " 3.00 s, level 2, 600 instructions: f0, f1, f2 and 4 more",
        " 2.50 s, level 2, 500 instructions: f0, f1, f2 and 3 more",
        " 2.00 s, level 2, 400 instructions: f0, f1, f2 and 2 more",
        " 1.50 s, level 2, 300 instructions: f0, f1, f2 and 1 more",
        " 1.00 s, level 2, 200 instructions: f0, f1, f2",
    ]
    assert any(re.fullmatch(r"  LLVM: passes +4\.00 +4\.00", line) for line in lines)
