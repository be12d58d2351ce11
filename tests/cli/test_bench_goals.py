"""`mipsrec bench --goals`: which limits hold, and who is above them."""

from __future__ import annotations

from typing import Any

from mipsrec.commands import bench_goals


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
    found = document(control=kernels, program={"png": {"mipsel": 1.5, "mipsel qemu": 7.5}})
    sizes = {"text_bytes": 1 << 20, "code_bytes": 3 << 20, "library_bytes": 4 << 20}
    found["programs"]["png"]["translation"] = {"mipsel": sizes}
    assert bench_goals.goals(found) == [
        "FAILS  little-endian kernels, geometric mean of 2: 1.73, at most 1.08",
        "holds  little-endian kernels, each: 1.20, at most 1.60 (recursion)",  # exceptions have a limit of their own
        "holds  little-endian whole programs, geometric mean of 1: 1.50, at most 2.00",
        "holds  little-endian whole programs, qemu's time / ours, geometric mean of 1: 5.00, at least 4.50",
        "FAILS  little-endian png: 1.50, at most 1.10",
        "holds  little-endian recursion: 1.20, at most 1.60",
        "holds  little-endian exceptions: 2.50, at most 2.60",
        "FAILS  little-endian programs with a C library, code / text, each: 3.00, at most 2.80 (png 3.00)",
        "holds  little-endian programs with a C library, library / text, each: 4.00, at most 4.00 (png)",
    ]
    assert bench_goals.goals(document(integer={"a": {"recompiled": 1.0}})) == ["no goal is about these programs"]


def test_those_above_are_named() -> None:
    line = "FAILS  big-endian numeric programs, each: 1.80, at most 1.60 (lu 1.70, fft 1.80)"
    found = document(numeric={"lu": {"mips": 1.7}, "biquad": {"mips": 1.5}, "fft": {"mips": 1.8}})
    assert bench_goals.goals(found) == [line]
