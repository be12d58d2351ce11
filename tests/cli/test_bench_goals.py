"""`mipsrec bench --goals`: which limits hold, and who is above them."""

from __future__ import annotations

from typing import Any

from mipsrec.commands import bench, bench_goals
from mipsrec.commands.bench_report import NO_KERNELS


def document(**groups: dict[str, dict[str, float]]) -> dict[str, Any]:
    """A document of these ratios: group -> program -> label -> ratio."""
    programs = {
        name: {"group": group, "ratio": ratio, "translation": {}}
        for group, entries in groups.items()
        for name, ratio in entries.items()
    }
    return {"programs": programs}


def test_goals_say_what_holds() -> None:
    kernels = {"recursion": {"mipsel": 1.2}, "exceptions": {"mipsel": 2.5}}
    calls = {"handlers": {"mipsel": 1.0}, "bytecode": {"mipsel": 2.25}}
    found = document(control=kernels, calls=calls, program={"png": {"mipsel": 1.5, "mipsel qemu": 7.5}})
    sizes = {"text_bytes": 1 << 20, "code_bytes": 3 << 20, "library_bytes": 4 << 20}
    found["programs"]["png"]["translation"] = {"mipsel": sizes}
    assert bench_goals.goals(found) == [
        "FAILS  little-endian kernels, geometric mean of 2: 1.73, at most 1.12",
        "holds  little-endian kernels, each: 1.20, at most 1.60 (recursion)",  # exceptions have a limit of their own
        "FAILS  little-endian calls, geometric mean of 2: 1.50, at most 1.40",
        "FAILS  little-endian calls, each: 2.25, at most 1.80 (bytecode 2.25)",
        "FAILS  little-endian whole programs, geometric mean of 1: 1.50, at most 1.40",
        "holds  little-endian whole programs, qemu's time / ours, geometric mean of 1: 5.00, at least 4.50",
        "FAILS  little-endian png: 1.50, at most 1.10",
        "holds  little-endian recursion: 1.20, at most 1.50",
        "holds  little-endian exceptions: 2.50, at most 2.60",
        "FAILS  little-endian programs with a C library, code / text, each: 3.00, at most 2.80 (png 3.00)",
        "holds  little-endian programs with a C library, library / text, each: 4.00, at most 4.00 (png)",
    ]
    assert bench_goals.goals(document(integer={"a": {"recompiled": 1.0}})) == ["no goal is about these programs"]


def test_recompiled_code_is_compared_with_the_baseline_tier() -> None:
    def times(ours: float, first: float) -> dict[str, float]:
        return {"mips": ours, "mips baseline": first}

    found = document(
        integer={"crunch": times(1.0, 1.5), "crc32": times(1.0, 1.0), "division": {"mips": 1.0}},
        calls={"bytecode": times(1.0, 1.25)},
        numeric={"fft": times(1.0, 2.0)},
        program={"coremix": times(1.0, 1.1), "xz": times(1.0, 4.0)},
    )
    what = "the baseline tier's time / ours"
    assert [line for line in bench_goals.goals(found) if what in line] == [
        f"FAILS  big-endian kernels, {what}, each: 1.00, above 1.00 (crc32 1.00)",
        f"holds  big-endian calls, {what}, each: 1.25, at least 1.15 (bytecode)",
        f"holds  big-endian numeric programs, {what}, each: 2.00, above 1.00 (fft)",
        f"holds  big-endian whole programs, {what}, geometric mean of 2: 2.10, at least 1.65",
        f"FAILS  big-endian whole programs, {what}, each: 1.10, at least 1.15 (coremix 1.10)",
    ]


def test_code_of_other_kinds() -> None:
    """The DSP module beside native code and qemu, MIPS16 code beside MIPS32 code."""
    found = document(
        dsp={"fir_q15": {"mips": 2.5, "mips qemu": 9.0}, "mixer_q15": {"mips": 1.0, "mips qemu": 5.0}},
        integer={"crc32": {"mips": 1.0, "mips mips16": 1.1, "mips baseline": 2.0, "mips mips16 baseline": 3.0}},
    )
    lines = bench_goals.goals(found)
    assert "FAILS  big-endian DSP programs, each: 2.50, at most 2.00 (fir_q15 2.50)" in lines
    assert "FAILS  big-endian DSP programs, qemu's time / ours, each: 3.60, at least 4.00 (fir_q15 3.60)" in lines
    what = "big-endian kernels with -mips16"
    assert f"holds  {what}, their time / without it, geometric mean of 1: 1.10, at most 1.15" in lines
    assert f"FAILS  {what}, baseline, their time / without it, geometric mean of 1: 1.50, at most 1.30" in lines


def test_goals_of_single_programs_are_of_programs_there_are() -> None:
    """And each group but those of kernels has a set that goals speak of."""
    every = bench.load_samples_module().load_samples()
    assert bench_goals.LIMITS.keys() <= every.keys()
    assert {*bench_goals.SETS, ""} == {*NO_KERNELS} and {*bench_goals.SETS} < {one.group for one in every.values()}


def test_those_above_are_named() -> None:
    line = "FAILS  big-endian numeric programs, each: 1.80, at most 1.60 (lu 1.70, fft 1.80)"
    found = document(numeric={"lu": {"mips": 1.7}, "biquad": {"mips": 1.5}, "fft": {"mips": 1.8}})
    assert bench_goals.goals(found) == [line]
