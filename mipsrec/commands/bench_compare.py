"""Judges a run of the bench against an earlier run.

Enters: documents as `mipsrec bench --json` writes them. Leaves: lines of text. What became slower is no error.
"""

from __future__ import annotations

import json
from typing import Any

from ..errors import BuildError
from ..files.input_file import read_input
from ..timing import geometric_mean

Document = dict[str, Any]

MARGIN = 1.02  # between the spreads of two runs, before one is called slower or faster
MARGIN_OF_ONE = 1.10  # where a run had one round only, and so no spread
TRANSLATED = ("mipsel", "mips", "recompiled")  # the labels of recompiled guests


def read(path: str) -> Document:
    """Return an earlier document; raises BuildError for a file that is none."""
    try:
        document = json.loads(read_input(path))
    except OSError as error:
        raise BuildError(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise BuildError(f"{path}: not of `mipsrec bench --json` ({error})") from error
    if not isinstance(document, dict) or not isinstance(document.get("programs"), dict):
        raise BuildError(f"{path}: not of `mipsrec bench --json`: it has no programs")
    return document


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
