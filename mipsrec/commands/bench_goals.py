"""Judges a run of the bench by the speed and the size of code that mipsrec aims at.

Enters: a document as `mipsrec bench --json` writes it. Leaves: lines of text. A goal that is missed is no error.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..timing import geometric_mean
from .bench_report import NO_KERNELS

Document = dict[str, Any]

ORDERS = {"mipsel": "little-endian", "mips": "big-endian"}
KERNEL_MEAN_LIMITS = {"mipsel": 1.08, "mips": 1.18}
KERNEL_LIMIT = 1.60
NUMERIC_LIMITS = {"mipsel": 1.40, "mips": 1.60}
PROGRAM_MEAN_LIMIT = 2.00
QEMU_TIMES = 4.5  # qemu's time / ours, mean of whole programs
LIMITS: dict[str, dict[str, float]] = {
    "png": {"mipsel": 1.10, "mips": 1.20},
    "png_rgba": {"mipsel": 1.10, "mips": 1.20},
    "lua": {"mipsel": 2.10, "mips": 2.10},
    "sqlite": {"mipsel": 1.90, "mips": 1.90},
    "recursion": {"mipsel": 1.60, "mips": 1.60},
    "exceptions": {"mipsel": 2.60, "mips": 2.60},
    "callbacks": {"mipsel": 1.20, "mips": 1.20},
    "virtual": {"mipsel": 1.20, "mips": 1.20},
}
"""Of single programs; `exceptions` may take more than other kernels."""
SIZE_LIMITS = {"code": ("code_bytes", 2.8), "library": ("library_bytes", 4.0)}
"""Size of a library's code and of its file / of the guest's text."""
LEAST_TEXT_BYTES = 1 << 18  # libraries of smaller guests are mostly tables


def goals(document: Document) -> list[str]:
    """Return a line for each goal that this run can speak of: whether it holds, the limit, what was measured."""
    lines = [line for label in ORDERS for line in (*_of_groups(document, label), *_of_sizes(document, label))]
    return lines or ["no goal is about these programs"]


def _ratios(document: Document, label: str) -> dict[str, float]:
    """Return a contender's ratio by program, of those that have one."""
    ratios = {name: entry["ratio"].get(label) for name, entry in document["programs"].items()}
    return {name: ratio for name, ratio in ratios.items() if ratio is not None}


def _of_groups(document: Document, label: str) -> Iterator[str]:
    """Yield the lines about times: of kernels, of numeric programs, of whole programs, of single ones."""
    order, ratios = ORDERS[label], _ratios(document, label)
    groups = {name: document["programs"][name].get("group") for name in ratios}
    kernels = {name: ratio for name, ratio in ratios.items() if groups[name] not in NO_KERNELS}
    numeric = {name: ratio for name, ratio in ratios.items() if groups[name] == "numeric"}
    whole = {name: ratio for name, ratio in ratios.items() if groups[name] == "program"}
    if kernels:
        yield _mean(kernels, KERNEL_MEAN_LIMITS[label], f"{order} kernels")
        limited = {name: ratio for name, ratio in kernels.items() if LIMITS.get(name, {}).get(label, 0) <= KERNEL_LIMIT}
        yield from _each(limited, KERNEL_LIMIT, f"{order} kernels")
    yield from _each(numeric, NUMERIC_LIMITS[label], f"{order} numeric programs")
    if whole:
        yield _mean(whole, PROGRAM_MEAN_LIMIT, f"{order} whole programs")
    slow = _ratios(document, f"{label} qemu")
    faster = {name: slow[name] / ratio for name, ratio in whole.items() if name in slow}
    if faster:
        yield _mean(faster, QEMU_TIMES, f"{order} whole programs, qemu's time / ours", at="least")
    for name, limits in LIMITS.items():
        if name in ratios:
            yield _verdict(ratios[name], limits[label], f"{order} {name}")


def _of_sizes(document: Document, label: str) -> Iterator[str]:
    """Yield the lines about sizes, of programs that contain a C library."""
    facts = {name: entry["translation"].get(label, {}) for name, entry in document["programs"].items()}
    facts = {name: fact for name, fact in facts.items() if fact.get("text_bytes", 0) >= LEAST_TEXT_BYTES}
    for what, (key, limit) in SIZE_LIMITS.items():
        sizes = {name: fact[key] / fact["text_bytes"] for name, fact in facts.items() if key in fact}
        yield from _each(sizes, limit, f"{ORDERS[label]} programs with a C library, {what} / text")


def _mean(values: dict[str, float], limit: float, what: str, at: str = "most") -> str:
    mean = geometric_mean(list(values.values()))
    assert mean is not None
    return _verdict(mean, limit, f"{what}, geometric mean of {len(values)}", at=at)


def _each(values: dict[str, float], limit: float, what: str) -> Iterator[str]:
    """Yield one line: the greatest value, and who is above the limit, or has the greatest; none of nothing."""
    if values:
        greatest = max(values, key=lambda name: values[name])
        above = [f"{name} {value:.2f}" for name, value in values.items() if value > limit]
        yield _verdict(values[greatest], limit, f"{what}, each", ", ".join(above) or greatest)


def _verdict(value: float, limit: float, what: str, who: str = "", at: str = "most") -> str:
    holds = value <= limit if at == "most" else value >= limit
    text = f"{what}: {value:.2f}, at {at} {limit:.2f}"
    return f"{'holds' if holds else 'FAILS'}  {text}{f' ({who})' if who else ''}"
