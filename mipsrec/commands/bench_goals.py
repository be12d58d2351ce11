"""Judges a run of the bench by the speed and the size of code that mipsrec aims at.

Enters: a document as `mipsrec bench --json` writes it. Leaves: lines of text. A goal that is missed is no error.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

from ..timing import geometric_mean
from .bench_report import NO_KERNELS

Document = dict[str, Any]
Values = dict[str, float]
"""A value by the name of the program, or a limit by the label of the byte order."""

ORDERS = {"mipsel": "little-endian", "mips": "big-endian"}
SETS = {"calls": "calls", "numeric": "numeric programs", "dsp": "DSP programs", "program": "whole programs"}
"""What the programs of a group are called in lines; those of the other groups are kernels."""
MEAN_LIMITS: dict[str, Values] = {
    "kernels": {"mipsel": 1.12, "mips": 1.20},
    "calls": {"mipsel": 1.40, "mips": 1.40},
    "whole programs": {"mipsel": 1.40, "mips": 1.50},
}
EACH_LIMITS: dict[str, Values] = {
    "kernels": {"mipsel": 1.60, "mips": 1.60},
    "calls": {"mipsel": 1.80, "mips": 1.80},
    "numeric programs": {"mipsel": 1.40, "mips": 1.60},
    "DSP programs": {"mipsel": 2.00, "mips": 2.00},
}
LIMITS: dict[str, Values] = {
    "png": {"mipsel": 1.10, "mips": 1.20},
    "png_rgba": {"mipsel": 1.10, "mips": 1.20},
    "lua": {"mipsel": 1.90, "mips": 1.90},
    "jq": {"mipsel": 2.00, "mips": 2.00},
    "sqlite": {"mipsel": 1.70, "mips": 1.70},
    "perl": {"mipsel": 1.80, "mips": 1.80},
    "zstd": {"mipsel": 1.80, "mips": 1.80},
    "gawk": {"mipsel": 1.90, "mips": 1.90},
    "python3": {"mipsel": 2.20, "mips": 2.20},
    "recursion": {"mipsel": 1.50, "mips": 1.50},
    "exceptions": {"mipsel": 2.60, "mips": 2.60},
    "setjmp": {"mipsel": 1.40, "mips": 1.40},
    "callbacks": {"mipsel": 1.10, "mips": 1.10},
    "virtual": {"mipsel": 1.20, "mips": 1.20},
}
"""Of single programs; `exceptions` may take more than other kernels."""
QEMU_TIMES = 4.5  # qemu's time / ours, mean of whole programs
DSP_QEMU_TIMES = 4.0  # the same of each DSP program
MIPS16_LIMITS = {"": 1.15, "baseline": 1.30}
"""Time of kernels compiled with -mips16 / without, recompiled and in the baseline tier."""
BASELINE_MEAN_TIMES = 1.65  # the baseline tier's time / that of recompiled code, mean of whole programs
BASELINE_TIMES = {"calls": 1.15, "whole programs": 1.15}
"""The same of each program; in the other sets recompiled code is to be faster at all."""
SIZE_LIMITS = {"code": ("code_bytes", 2.8), "library": ("library_bytes", 4.0)}
"""Size of a library's code and of its file / of the guest's text."""
LEAST_TEXT_BYTES = 1 << 18  # libraries of smaller guests are mostly tables

_HOLDS = {"at most": operator.le, "at least": operator.ge, "above": operator.gt}


def goals(document: Document) -> list[str]:
    """Return a line for each goal that this run can speak of: whether it holds, the limit, what was measured."""
    parts = (_of_sets, _of_baseline, _of_single_programs, _of_sizes)
    lines = [line for label in ORDERS for part in parts for line in part(document, label)]
    return lines or ["no goal is about these programs"]


def _ratios(document: Document, label: str) -> Values:
    """Return a contender's ratio by program, of those that have one."""
    ratios = {name: entry["ratio"].get(label) for name, entry in document["programs"].items()}
    return {name: ratio for name, ratio in ratios.items() if ratio is not None}


def _times_ours(document: Document, label: str, other: str) -> dict[str, Values]:
    """Return another contender's time / that of recompiled code, by set and program, of programs that both ran."""
    ours, theirs = _ratios(document, label), _ratios(document, f"{label} {other}")
    return _by_set(document, {name: theirs[name] / ratio for name, ratio in ours.items() if name in theirs})


def _by_set(document: Document, values: Values) -> dict[str, Values]:
    """Return the values by set, sets in the order in which the page has them; sets may be empty."""
    sets: dict[str, Values] = {name: {} for name in ("kernels", *SETS.values())}
    for name, value in values.items():
        group = document["programs"][name].get("group", "")
        if group in SETS or group not in NO_KERNELS:
            sets[SETS.get(group, "kernels")][name] = value
    return sets


def _of_sets(document: Document, label: str) -> Iterator[str]:
    """Yield the lines about times of kernels, calls, numeric programs and whole programs."""
    for name, ratios in _by_set(document, _ratios(document, label)).items():
        what = f"{ORDERS[label]} {name}"
        if name in MEAN_LIMITS:
            yield from _mean(ratios, MEAN_LIMITS[name][label], what)
        if name in EACH_LIMITS:
            limit = EACH_LIMITS[name][label]
            limited = {one: ratio for one, ratio in ratios.items() if LIMITS.get(one, {}).get(label, 0) <= limit}
            yield from _each(limited, limit, what)
    times, what = _times_ours(document, label, "qemu"), "qemu's time / ours"
    yield from _mean(times["whole programs"], QEMU_TIMES, f"{ORDERS[label]} whole programs, {what}", "at least")
    yield from _each(times["DSP programs"], DSP_QEMU_TIMES, f"{ORDERS[label]} DSP programs, {what}", "at least")
    yield from _of_mips16(document, label)


def _of_mips16(document: Document, label: str) -> Iterator[str]:
    """Yield the lines about kernels that were compiled with -mips16, beside the same without."""
    for way, limit in MIPS16_LIMITS.items():
        ours, other = _ratios(document, f"{label} {way}".strip()), _ratios(document, f"{label} mips16 {way}".strip())
        times = _by_set(document, {name: other[name] / ratio for name, ratio in ours.items() if name in other})
        what = f"{ORDERS[label]} kernels with -mips16{', baseline' * bool(way)}, their time / without it"
        yield from _mean(times["kernels"], limit, what)


def _of_baseline(document: Document, label: str) -> Iterator[str]:
    """Yield the lines about recompiled code beside the baseline tier, which is to be slower in each program."""
    for name, times in _times_ours(document, label, "baseline").items():
        what = f"{ORDERS[label]} {name}, the baseline tier's time / ours"
        if name == "whole programs":
            yield from _mean(times, BASELINE_MEAN_TIMES, what, "at least")
        if name in BASELINE_TIMES:
            yield from _each(times, BASELINE_TIMES[name], what, "at least")
        else:
            yield from _each(times, 1, what, "above")


def _of_single_programs(document: Document, label: str) -> Iterator[str]:
    ratios = _ratios(document, label)
    for name, limits in LIMITS.items():
        if name in ratios:
            yield _verdict(ratios[name], limits[label], f"{ORDERS[label]} {name}")


def _of_sizes(document: Document, label: str) -> Iterator[str]:
    """Yield the lines about sizes, of programs that contain a C library."""
    facts = {name: entry["translation"].get(label, {}) for name, entry in document["programs"].items()}
    facts = {name: fact for name, fact in facts.items() if fact.get("text_bytes", 0) >= LEAST_TEXT_BYTES}
    for what, (key, limit) in SIZE_LIMITS.items():
        sizes = {name: fact[key] / fact["text_bytes"] for name, fact in facts.items() if key in fact}
        yield from _each(sizes, limit, f"{ORDERS[label]} programs with a C library, {what} / text")


def _mean(values: Values, limit: float, what: str, bound: str = "at most") -> Iterator[str]:
    """Yield one line about the geometric mean; none of nothing."""
    mean = geometric_mean(list(values.values()))
    if mean is not None:
        yield _verdict(mean, limit, f"{what}, geometric mean of {len(values)}", bound=bound)


def _each(values: Values, limit: float, what: str, bound: str = "at most") -> Iterator[str]:
    """Yield one line: the value farthest out, and who is beyond the limit, or has that value; none of nothing."""
    if values:
        farthest = (max if bound == "at most" else min)(values, key=lambda name: values[name])
        beyond = [f"{name} {value:.2f}" for name, value in values.items() if not _HOLDS[bound](value, limit)]
        yield _verdict(values[farthest], limit, f"{what}, each", ", ".join(beyond) or farthest, bound)


def _verdict(value: float, limit: float, what: str, who: str = "", bound: str = "at most") -> str:
    text = f"{what}: {value:.2f}, {bound} {limit:.2f}"
    return f"{'holds' if _HOLDS[bound](value, limit) else 'FAILS'}  {text}{f' ({who})' if who else ''}"
