"""What `mipsrec bench` says: the table with its heading, means, and the JSON document.

Enters: comparisons as they are ready, what else the run knows. Leaves: text, and plain data that `--json` writes and
`--compare`, `--goals` and `--chart` read.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from .. import __version__
from ..options import Options
from ..target.cpu import chosen_cpu
from ..timing import Comparison, mean_ratio

BAR_WIDTH = 24
BAR_RATIO = 2.0  # what a whole bar stands for

NO_KERNELS = ("", "program", "numeric", "calls", "dsp")
"""Groups whose programs are no kernels and have goals of their own: `numeric` is never tuned for."""


OF_PAIR = "recompiled"
"""The label of the guest of the user's own pair."""


@dataclass
class Results:
    """A run of the bench: its circumstances, and what came of each program so far.

    `labels`: contenders besides the reference. `groups`: program -> the group it is timed in, "" without any.
    `translations`: program -> label -> seconds, sizes, shards reused. `skipped` and `failed`: program -> reason.
    `commit`: what was timed, found before anything is written; "" where nobody has looked.
    """

    options: Options
    rounds: int
    machine: dict[str, object]
    labels: list[str]
    comparisons: list[Comparison] = field(default_factory=list)
    groups: dict[str, str] = field(default_factory=dict)
    translations: dict[str, dict[str, dict[str, float]]] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    failed: dict[str, list[str]] = field(default_factory=dict)
    commit: str = ""

    def mean(self, label: str, group: str | None = None) -> float | None:
        """Return the geometric mean of a label's ratios, over all programs or those of a group."""
        return mean_ratio((c for c in self.comparisons if group is None or self.groups.get(c.name) == group), label)

    def means(self) -> list[tuple[str, list[float | None]]]:
        """Return (title, means by label): of each group when there are several, and of all."""
        groups = self.group_names()
        rows = [(f"mean, {group}", group) for group in groups] if len(groups) > 1 else []
        chosen: list[tuple[str, str | None]] = [*rows, ("geometric mean", None)]
        return [(title, [self.mean(label, group) for label in self.labels]) for title, group in chosen]

    def group_names(self) -> list[str]:
        """Return the groups in the order of their first program; none when programs have none."""
        return [name for name in dict.fromkeys(self.groups[c.name] for c in self.comparisons) if name]


def options_text(options: Options) -> str:
    """Return the options that recompiled code depends on, as they are given to `mipsrec build`, and the processor."""
    fields = {name: value for name, value in dataclasses.asdict(options).items() if name not in ("jobs", "reuse")}
    text = " ".join(f"--{name} {value}" for name, value in fields.items() if value is not None)
    return f"{text} ({chosen_cpu(options.cpu).name})"


def heading(results: Results) -> list[str]:
    """Return the lines above the table: what is compared, how, and on what machine."""
    machine = results.machine
    tools = machine["tools"]
    assert isinstance(tools, dict)
    versions = [f"{name} {_version(said)}" for name, said in tools.items()]
    rounds = f"{results.rounds} paired round{'s' * (results.rounds != 1)}"
    lines = [
        f"mipsrec {__version__} {options_text(results.options)}",
        f"{machine['processor']}, {machine['processors']} processors, load {machine['load']}; {', '.join(versions)}",
        f"processor time relative to native gcc -O2: the median of {rounds} (least-greatest)",
    ]
    if any(label.endswith("qemu") for label in results.labels):
        of_pair = f"{OF_PAIR} qemu" in results.labels
        lines.append("qemu: one run" if of_pair else "qemu: one run, of a tenth of the work")
    return lines


def _version(said: str) -> str:
    """Return the version in what a tool says of itself: the last word that begins with a digit, without brackets."""
    words = [word for word in said.replace("(", " ").replace(")", " ").split() if word[0].isdigit()]
    plain = [word for word in words if all(character in "0123456789." for character in word)]
    return (plain or words or [said])[-1]


def table_head(labels: list[str]) -> str:
    return f"{'program':14} {'native s':>8}" + "".join(f" {label:>17}" for label in labels)


def table_row(comparison: Comparison, labels: list[str], translated: list[str]) -> str:
    """Return a program's row; a bar at its end stands for the first recompiled contender, `|` for the native time."""
    seconds = min(comparison.seconds[comparison.reference])
    row = f"{comparison.name:14} {seconds:8.3f}" + "".join(f" {ratio_text(comparison, label):>17}" for label in labels)
    ratio = comparison.ratio(translated[0]) if translated else None
    return row if ratio is None else f"{row}  {bar(ratio)}"


def ratio_text(comparison: Comparison, label: str) -> str:
    """Return a contender's ratio with its spread; the ratio alone where it ran once."""
    ratio, spread = comparison.ratio(label), comparison.spread(label)
    if label in comparison.wrong:
        return "WRONG"
    if ratio is None or spread is None:
        return "-"
    return f"{ratio:.2f}" if label in comparison.references else f"{ratio:.2f} ({spread[0]:.2f}-{spread[1]:.2f})"


def bar(ratio: float) -> str:
    """Return a ratio as a bar of text, as long as it is great, cut at its end."""
    mark = round(BAR_WIDTH / BAR_RATIO)
    length = min(round(ratio / BAR_RATIO * BAR_WIDTH), BAR_WIDTH)
    drawn = ("#" * length).ljust(mark)
    cut = ">" if ratio > BAR_RATIO else ""
    return f"{drawn[:mark]}|{drawn[mark:]}{cut}"


def mean_rows(results: Results) -> list[str]:
    """Return the rows of geometric means."""
    return [
        f"{title:23}" + "".join(f" {'-' if mean is None else f'{mean:.2f}':>17}" for mean in means)
        for title, means in results.means()
    ]


def document(results: Results) -> dict[str, Any]:
    return {
        "mipsrec": __version__,
        "options": options_text(results.options),
        "reference": "native gcc -O2",
        "rounds": results.rounds,
        "machine": results.machine,
        "programs": {c.name: _program(results, c) for c in results.comparisons},
        "geometric_mean": {label: results.mean(label) for label in results.labels},
        "group_mean": {
            group: {label: results.mean(label, group) for label in results.labels} for group in results.group_names()
        },
        "absent": results.absent,
        "skipped": results.skipped,
        "failed": results.failed,
    }


def _program(results: Results, comparison: Comparison) -> dict[str, Any]:
    return {
        "group": results.groups[comparison.name],
        "seconds": comparison.seconds,
        "reference_seconds": comparison.references,
        "ratio": {label: comparison.ratio(label) for label in results.labels},
        "spread": {label: comparison.spread(label) for label in results.labels},
        "wrong": sorted(comparison.wrong),
        "translation": results.translations.get(comparison.name, {}),
    }
