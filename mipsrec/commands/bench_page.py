"""Puts the tables of `mipsrec bench` into a page between its marks, and leaves the rest of the page alone.

Enters: a page that people wrote, which has marks; results. Leaves: the page with new text in the regions that this run
can speak of. A region is all between `<!-- bench NAME -->` and the next `<!-- end -->`, each on a line of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..errors import BuildError
from ..files.input_file import read_text
from ..timing import mean_ratio
from . import bench_goals, bench_markdown
from .bench_report import NO_KERNELS, Results, document, heading

REGIONS = ("kernels", "calls", "numeric", "dsp", "programs", "goals")
_REGION = re.compile(r"^(<!-- bench (\S+) -->\n)(.*?)^(<!-- end -->)$", re.MULTILINE | re.DOTALL)
_PROGRAM = re.compile(r"^\| (?!program )(\w+) \|", re.MULTILINE)
"""The first cell of a table's row, where it is a program's name."""
_NAMED = 4
_COLUMNS = {"mipsel": "LE", "mips": "BE"}


def read(path: str) -> str:
    """Return a page; raises BuildError for one that has no marks, or marks of a region that is not known."""
    try:
        page = read_text(path)
    except OSError as error:
        raise BuildError(f"{path}: cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise BuildError(f"{path}: not a page in UTF-8 ({error})") from error
    names = [match[2] for match in _REGION.finditer(page)]
    unknown = [name for name in names if name not in REGIONS]
    if not names or unknown:
        what = f"unknown region {unknown[0]}" if unknown else "no marks"
        raise BuildError(f"{path}: {what}; a table goes between <!-- bench {'|'.join(REGIONS)} --> and <!-- end -->")
    return page


def updated(page: str, results: Results, command_line: str) -> str:
    """Return the page with the tables of this run, but for the regions that stay."""
    origin = f"{bench_markdown.origin(results, command_line)}.\n{heading(results)[1]}."
    kept = stays(page, results)

    def region(match: re.Match[str]) -> str:
        if match[2] in kept:
            return match[0]
        lines = _goals(results) if match[2] == "goals" else _table(results, match[2])
        return f"{match[1]}{origin}\n\n{chr(10).join(lines)}\n{match[4]}"

    return _REGION.sub(region, page)


def stays(page: str, results: Results) -> dict[str, list[str]]:
    """Return the regions that this run cannot speak of, with the programs that it lacks.

    It lacks some that the region has, or has none of the region. The goals are of all programs of a page.
    """
    kept: dict[str, list[str]] = {}
    for match in _REGION.finditer(page):
        if match[2] == "goals":
            continue
        ran = {c.name for c in results.comparisons if _region_of(results.groups[c.name]) == match[2]}
        lacking = [name for name in _PROGRAM.findall(match[3]) if name not in ran]
        if lacking or not ran:
            kept[match[2]] = lacking
    if kept and "goals" in (match[2] for match in _REGION.finditer(page)):
        kept["goals"] = [name for names in kept.values() for name in names]
    return kept


def complaints(page: str, results: Results) -> list[str]:
    """Return a line for each region that stays."""
    found = []
    for region, lacking in stays(page, results).items():
        more = f" and {len(lacking) - _NAMED} more" * (len(lacking) > _NAMED)
        why = f"lacks {', '.join(lacking[:_NAMED])}{more}" if lacking else "has no program of it"
        found.append(f"the region {region} stays: this run {why}")
    return found


def _region_of(group: str) -> str:
    """Return the region that a group's programs are in."""
    return {"program": "programs"}.get(group, "kernels" if group not in NO_KERNELS else group)


def _column(label: str) -> str:
    """Return the head of a contender's column: `mipsel baseline` is the first run, with nothing recompiled yet."""
    order, _, way = label.partition(" ")
    if order not in _COLUMNS:
        return label
    return f"{'first' if way == 'baseline' else way} {_COLUMNS[order]}".strip()


def _table(results: Results, region: str) -> Iterator[str]:
    """Yield the table of a region's programs with its means; nothing without programs."""
    chosen = [c for c in results.comparisons if _region_of(results.groups[c.name]) == region]
    if not chosen:
        return
    yield from bench_markdown.head(["program", "native s", *map(_column, results.labels)])
    for comparison in chosen:
        seconds = min(comparison.seconds[comparison.reference])
        cells = (_cell(comparison.ratio(label)) for label in results.labels)
        yield bench_markdown.row([comparison.name, f"{seconds:.2f}", *cells])
    means = (_cell(mean_ratio(chosen, label)) for label in results.labels)
    yield bench_markdown.row([f"geometric mean of {len(chosen)}", "", *means])


def _cell(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}"


def _goals(results: Results) -> Iterator[str]:
    """Yield the goals that this run can speak of, as a list."""
    for line in bench_goals.goals(document(results)):
        yield f"- {' '.join(line.split())}"
