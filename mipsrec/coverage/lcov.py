"""lcov's trace files, from which genhtml makes pages: which source lines and functions ran (geninfo(1), "Files").

Enters: the files that ran (marks.py). Leaves: the text. Which line an instruction is of says the DWARF line information
of the guest's files. A line counts 1 where one of its instructions ran, and 0 where none did: how often is not known. A
function ran where its first instruction did.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..elf.lines import SourceLines, read_lines
from ..elf.tables import Malformed
from ..errors import one_line
from ..files.input_file import MOST_ELF_BYTES, open_input
from .marks import ExecutedFile, Stamp


class Trace(NamedTuple):
    """A trace file; `line_count` lines are in it. `left_out` are (path, why) of files that it does not tell of."""

    text: str
    line_count: int
    left_out: list[tuple[str, str]]


@dataclass
class _Source:
    """Of one source file: whether each line ran, and of each function its line and whether it ran."""

    lines: dict[int, bool] = field(default_factory=dict)
    functions: dict[str, tuple[int, bool]] = field(default_factory=dict)


def trace(files: Iterable[ExecutedFile]) -> Trace:
    """Return the trace file of files that ran; one file that cannot be read does not spoil the others."""
    sources: dict[str, _Source] = {}
    left_out = []
    for file in files:
        try:
            add_lines(sources, read_lines(_content(file)), file.addresses)
        except (OSError, ValueError, Malformed) as error:
            left_out.append((file.path, str((isinstance(error, OSError) and error.strerror) or error)))
    text = "".join(_record(path, sources[path]) for path in sorted(sources))
    return Trace("TN:\n" + text, sum(len(source.lines) for source in sources.values()), left_out)


def _content(file: ExecutedFile) -> bytes:
    """Return the bytes of a file; raises ValueError where it is another one by now."""
    with open_input(file.path, MOST_ELF_BYTES) as stream:
        if Stamp.of(os.fstat(stream.fileno())) != file.stamp:
            raise ValueError("it has been changed since")
        return stream.read()


def add_lines(sources: dict[str, _Source], lines: SourceLines, ran: Sequence[int]) -> None:
    """Add the lines and functions of a file to those of its sources. `ran`: addresses in the file, sorted."""

    def is_in(low: int, high: int) -> bool:
        at = bisect_left(ran, low)
        return at < len(ran) and ran[at] < high

    for low, high, path, line in lines.ranges:
        known = sources.setdefault(path, _Source()).lines
        known[line] = known.get(line, False) or is_in(low, high)
    for name, address, path, line in lines.functions:
        source = sources.get(path)
        if source is not None:
            before = source.functions.get(name, (line, False))
            source.functions[name] = (before[0], before[1] or is_in(address, address + 1))


def _record(path: str, source: _Source) -> str:
    functions = sorted(source.functions.items(), key=lambda item: (item[1][0], item[0]))
    rows = [f"SF:{one_line(path)}"]
    rows += [f"FN:{line},{name}" for name, (line, _) in functions]
    rows += [f"FNDA:{int(ran)},{name}" for name, (_, ran) in functions]
    rows += [f"FNF:{len(functions)}", f"FNH:{sum(ran for _, (_, ran) in functions)}"]
    rows += [f"DA:{line},{int(source.lines[line])}" for line in sorted(source.lines)]
    rows += [f"LF:{len(source.lines)}", f"LH:{sum(source.lines.values())}", "end_of_record"]
    return "\n".join(rows) + "\n"
