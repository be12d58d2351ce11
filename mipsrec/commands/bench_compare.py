"""Judges a run of the bench: against an earlier run, and against the speed that mipsrec aims at.

Enters: documents as `mipsrec bench --json` writes them. Leaves: lines of text. Neither judgement is an error.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import BuildError
from ..timing import geometric_mean
from .bench_report import NO_KERNELS

Document = dict[str, Any]

MARGIN = 1.02  # between the spreads of two runs, before one is called slower or faster
MARGIN_OF_ONE = 1.10  # where a run had one round only, and so no spread
TRANSLATED = ("mipsel", "mips", "recompiled")  # the labels of recompiled guests


def read(path: str) -> Document:
    """Return an earlier document; raises BuildError for a file that is none."""
    try:
        document = json.loads(Path(path).read_text())
    except OSError as error:
        raise BuildError(f"{path}: cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise BuildError(f"{path}: not of `mipsrec bench --json` ({error})") from error
    if not isinstance(document, dict) or not isinstance(document.get("programs"), dict):
        raise BuildError(f"{path}: not of `mipsrec bench --json`: it has no programs")
    return document


# ---- against an earlier run ----


def _ratios(document: Document, program: str, label: str) -> list[float]:
    """Return a program's ratios round by round."""
    entry = document["programs"].get(program, {})
    seconds = entry.get("seconds", {})
    beside = entry.get("reference_seconds", {}).get(label) or seconds.get("native", [])
    return [a / b for a, b in zip(seconds.get(label, []), beside)]


def _middle(document: Document, program: str, label: str) -> float:
    return float(document["programs"][program]["ratio"][label])


def against(old: Document, new: Document) -> list[str]:
    """Return what became slower or faster beyond the spread of both runs, the greatest change first, and the means."""
    changes: list[tuple[float, str]] = []
    compared = 0
    means: dict[str, list[float]] = {}
    for program in new["programs"]:
        for label in TRANSLATED:
            before, after = _ratios(old, program, label), _ratios(new, program, label)
            if not before or not after:
                continue
            compared += 1
            was, now = _middle(old, program, label), _middle(new, program, label)
            means.setdefault(label, []).append(now / was)
            margin = MARGIN if min(len(before), len(after)) > 1 else MARGIN_OF_ONE
            slower = min(after) > max(before) * margin
            if slower or max(after) * margin < min(before):
                word = "SLOWER" if slower else "faster"
                changes.append((now / was, f"{word} {program} {label}: {was:.2f} -> {now:.2f} (x{now / was:.2f})"))
    lines = [line for _, line in sorted(changes, reverse=True)]
    if old.get("options", new["options"]) != new["options"]:
        lines.append(f"options was: {old['options']}; is: {new['options']}")
    was_on, is_on = old.get("machine", {}).get("processor"), new["machine"]["processor"]
    if was_on and was_on != is_on:
        lines.append(f"the earlier run was on another machine: {was_on}")
    lines += [
        f"{label}: {geometric_mean(quotients):.3f} times the earlier ratio (geometric mean of {len(quotients)})"
        for label, quotients in means.items()
    ]
    unchanged = compared - len(changes)
    return [*lines, f"{unchanged} of {compared} ratios are within the spread"] if compared else ["nothing in common"]


# ---- against what is aimed at ----

ORDERS = {"mipsel": "little-endian", "mips": "big-endian"}
MEAN_LIMITS = {"mipsel": 1.00, "mips": 1.12}
EACH_LIMITS = {"mipsel": 1.35, "mips": 1.80}
PROGRAM_LIMITS: dict[str, dict[str, float]] = {
    "png": {"mipsel": 1.12, "mips": 1.20},
    "coremix": {"mipsel": 1.10, "mips": 1.10},
    "recursion": {"mipsel": 1.30, "mips": 1.30},
    "callbacks": {"mipsel": 1.20, "mips": 1.20},
    "virtual": {"mipsel": 1.30, "mips": 1.30},
}
QEMU_TIMES = 5.0
LIBRARY_TIMES = 3.0  # size of the library / of the guest's text


def goals(document: Document) -> list[str]:
    """Return a line for each goal that this run can speak of: whether it holds, the limit, what was measured."""
    lines = [line for label in ORDERS for line in _goals_of(document, label)]
    return lines or ["no goal is about these programs"]


def _goals_of(document: Document, label: str) -> Iterator[str]:
    order, programs = ORDERS[label], document["programs"]
    ratios = {name: entry["ratio"].get(label) for name, entry in programs.items()}
    ratios = {name: ratio for name, ratio in ratios.items() if ratio is not None}
    kernels = {name: ratio for name, ratio in ratios.items() if programs[name].get("group") not in NO_KERNELS}
    if kernels:
        mean = geometric_mean(list(kernels.values()))
        yield _verdict(mean, MEAN_LIMITS[label], f"{order} kernels, geometric mean of {len(kernels)}")
        over = [f"{name} {kernels[name]:.2f}" for name in kernels if kernels[name] > EACH_LIMITS[label]]
        name = max(kernels, key=lambda kernel: kernels[kernel])
        yield _verdict(kernels[name], EACH_LIMITS[label], f"{order} kernels, each", ", ".join(over) or name)
    for name, limits in PROGRAM_LIMITS.items():
        if name in ratios:
            yield _verdict(ratios[name], limits[label], f"{order} {name}")
    times = {n: programs[n]["ratio"].get(f"{label} qemu") for n in kernels}
    faster = {name: ratio / kernels[name] for name, ratio in times.items() if ratio is not None}
    if faster:
        mean = geometric_mean(list(faster.values()))
        yield _verdict(mean, QEMU_TIMES, f"{order} kernels, qemu's time / ours", at="least")
        name = min(faster, key=lambda kernel: faster[kernel])
        yield _verdict(faster[name], 1.0, f"{order} kernels, each, qemu's time / ours", name, at="least")
    sizes = {
        name: entry["translation"][label]["library_bytes"] / entry["translation"][label]["text_bytes"]
        for name, entry in programs.items()
        if entry["translation"].get(label, {}).get("text_bytes", 0) >= 1 << 18  # small ones are mostly tables
    }
    if sizes:
        name = max(sizes, key=lambda program: sizes[program])
        yield _verdict(sizes[name], LIBRARY_TIMES, f"{order} programs with a C library, library / text", name)


def _verdict(value: float | None, limit: float, what: str, who: str = "", at: str = "most") -> str:
    assert value is not None
    holds = value <= limit if at == "most" else value >= limit
    text = f"{what}: {value:.2f}, at {at} {limit:.2f}"
    return f"{'holds' if holds else 'FAILS'}  {text}{f' ({who})' if who else ''}"
