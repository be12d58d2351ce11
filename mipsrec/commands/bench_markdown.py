"""The results of `mipsrec bench` as a section of a Markdown page, which docs/performance.md can carry as it is.

Enters: the results, and the command line that they came of. Leaves: text, with the commit that was timed. Tables have
what the printed ones have, and what translating took.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence

from .. import __version__
from ..errors import one_line
from ..host_build import runtime_folder
from ..native.compiler import run_tool
from .bench_report import Results, heading, ratio_text

_PLAIN_GIT = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_OPTIONAL_LOCKS": "0"}
"""Git starts what a user's settings name (core.fsmonitor); `sudo` may leave those of another user."""
TITLE = "## Recompiled programs beside native builds"


def version() -> str:
    """Return the commit of a checkout, as `git describe` names it; of an installed package its version."""
    runtime = runtime_folder()
    if (runtime.parent / ".git").exists():
        words = ["git", "-C", str(runtime.parent), "describe", "--always", "--dirty"]
        try:
            said = run_tool(words, _PLAIN_GIT, capture_output=True, text=True, check=True)
            return f"commit {said.stdout.strip()}"
        except (OSError, subprocess.CalledProcessError):
            pass  # no git here, or a checkout of another user
    return f"mipsrec {__version__}"


def origin(results: Results, command_line: str) -> str:
    """Return where the figures come from: commit, day, command."""
    return f"{results.commit or version()}, {time.strftime('%Y-%m-%d')}: `{command_line}`"


def section(results: Results, command_line: str) -> str:
    circumstances = (origin(results, command_line), *heading(results))
    lines = [TITLE, "", *(f"- {line}" for line in circumstances), "", *_ratios(results)]
    translations = list(_translations(results))
    if translations:
        lines += ["", "Translating, and how large the library is beside the guest's code:", "", *translations]
    lines += ["", *_left_out(results)] if results.absent or results.skipped or results.failed else []
    return "\n".join(lines) + "\n"


def row(cells: Iterable[str]) -> str:
    """Return a row of a table; a name in it makes no row or column of its own."""
    return f"| {' | '.join(one_line(cell).replace('|', chr(92) + '|') for cell in cells)} |"


def head(cells: Sequence[str]) -> Iterator[str]:
    """Yield what a table begins with: the names of its columns, all but the first of figures."""
    yield row(cells)
    yield "|---|" + "---:|" * (len(cells) - 1)


def _ratios(results: Results) -> Iterator[str]:
    """Yield the table of ratios with its means."""
    yield from head(["program", "native s", *results.labels])
    for comparison in results.comparisons:
        seconds = min(comparison.seconds[comparison.reference])
        yield row([comparison.name, f"{seconds:.3f}", *(ratio_text(comparison, label) for label in results.labels)])
    for title, means in results.means():
        yield row([f"**{title}**", "", *("-" if mean is None else f"**{mean:.2f}**" for mean in means)])


def _translations(results: Results) -> Iterator[str]:
    """Yield the table of what translating took; nothing where nothing was translated."""
    labels = list(dict.fromkeys(label for facts in results.translations.values() for label in facts))
    if not labels:
        return
    yield from head(["program", *(f"{label}: {what}" for label in labels for what in ("s", "library / code"))])
    for name, translated in results.translations.items():
        cells = [name]
        for label in labels:
            facts = translated.get(label)
            size = facts["library_bytes"] / max(1, facts["text_bytes"]) if facts else 0
            cells += [f"{facts['seconds']:.1f}", f"{size:.2f}"] if facts else ["-", "-"]
        yield row(cells)


def _left_out(results: Results) -> Iterator[str]:
    for name, reason in (results.absent | results.skipped).items():
        yield f"- without {name}: {reason}"
    for name, reasons in results.failed.items():
        yield f"- {name} failed: {'; '.join(reasons)}"
