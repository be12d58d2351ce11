"""A bar chart of a run of the bench, as SVG text.

Enters: a document as `mipsrec bench --json` writes it. Leaves: SVG 1.1: for each program a bar for each contender but
qemu, which would need another scale; lines for the spread; a rule at 1, the native time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from xml.sax.saxutils import escape

from ..errors import one_line

COLOURS = ("#2b6cb0", "#dd6b20", "#718096", "#b7a57a", "#805ad5", "#38a169")
ROW = 11  # height of a bar and the space to the next, in pixels
GAP = 9  # between programs
LEFT, PLOT, RIGHT = 118, 520, 60
TOP = 78
GREATEST = 4.0  # longer bars are cut and say so


def chart(document: dict[str, Any]) -> str:
    programs = document["programs"]
    labels = [name for name in document["geometric_mean"] if not name.endswith("qemu")]
    shown = [(name, entry["ratio"], entry.get("spread", {})) for name, entry in programs.items()]
    shown.append(("geometric mean", document["geometric_mean"], {}))
    ratios = [ratio for _, row, _ in shown for label, ratio in row.items() if label in labels and ratio is not None]
    scale = PLOT / min(max([*ratios, 1.2]) * 1.02, GREATEST)
    height = TOP + len(shown) * (len(labels) * ROW + GAP) + 10
    width = LEFT + PLOT + RIGHT
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="11" fill="#1a202c">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        _text(LEFT, 18, f"Time relative to {document['reference']}; shorter is faster", size=13),
        _text(LEFT, 34, f"mipsrec {document['mipsrec']} {document['options']}; {document['machine']['processor']}"),
    ]
    lines += _legend(labels)
    lines += _rules(scale, height)
    top = TOP
    for name, row, spreads in shown:
        middle = top + len(labels) * ROW / 2 + 4
        lines.append(_text(LEFT - 6, middle, name, anchor="end"))
        for number, label in enumerate(labels):
            lines += _bar(top + number * ROW, COLOURS[number % len(COLOURS)], row.get(label), spreads.get(label), scale)
        top += len(labels) * ROW + GAP
    return "\n".join([*lines, "</svg>", ""])


def _text(x: float, y: float, text: str, anchor: str = "start", size: int = 11) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{escape(one_line(text))}</text>'


def _legend(labels: list[str]) -> Iterator[str]:
    x = float(LEFT)
    for number, label in enumerate(labels):
        yield f'<rect x="{x:.1f}" y="44" width="10" height="10" fill="{COLOURS[number % len(COLOURS)]}"/>'
        yield _text(x + 14, 53, label)
        x += 14 + 7 * len(label) + 16


def _rules(scale: float, height: int) -> Iterator[str]:
    """Vertical lines at every half, with their numbers; the one at 1 stands out."""
    for half in range(int(PLOT / scale * 2) + 1):
        x = LEFT + half / 2 * scale
        colour = "#1a202c" if half == 2 else "#e2e8f0"
        yield f'<line x1="{x:.1f}" y1="{TOP - 6}" x2="{x:.1f}" y2="{height - 8}" stroke="{colour}"/>'
        yield _text(x, TOP - 10, f"{half / 2:g}", anchor="middle")


def _bar(top: float, colour: str, ratio: float | None, spread: list[float] | None, scale: float) -> Iterator[str]:
    if ratio is None:
        yield _text(LEFT + 3, top + 9, "-")
        return
    length = min(ratio * scale, PLOT)
    yield f'<rect x="{LEFT}" y="{top}" width="{length:.1f}" height="{ROW - 2}" fill="{colour}"/>'
    end = length
    if spread and spread[1] * scale <= PLOT:
        low, end = spread[0] * scale, max(spread[1] * scale, length)
        y = top + (ROW - 2) / 2
        yield f'<line x1="{LEFT + low:.1f}" y1="{y}" x2="{LEFT + end:.1f}" y2="{y}" stroke="#1a202c"/>'
    cut = " (cut)" if ratio * scale > PLOT else ""
    yield _text(LEFT + end + 3, top + 8.5, f"{ratio:.2f}{cut}", size=9)
