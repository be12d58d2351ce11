"""What a profile says of a program: its functions by samples, and the instructions of the hottest, block by block.

Enters: a `Profile`, the analysed program, and the libraries where the profile says they are, or in a sysroot. Leaves:
`Report`, and it as text or as data for JSON. A sample is of the guest instruction that a host instruction came from; of
those that came from none, or from several at once, one nearby. A library that is gone or has changed since has no
functions here, only its name.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .analysis import Block, BlockIndex, Function
from .errors import ProfileError, one_line
from .guest import Guest, guest_in
from .isa.disassembly import encoding_text
from .profiles import ENGINES, FileSamples, Profile
from .sysroot import Sysroot

NOWHERE = "(the host)"
UNKNOWN = "(no function)"
_ANNOTATED = 3
_ANNOTATED_SHARE = 0.05
"""Functions whose blocks are shown unless some are asked for: at most so many, each with this part of all samples."""
_BLOCK_SHARE = 0.01
"""Blocks with less of their function's samples are not shown."""
_NAMES = {"lifted": "recompiled", "baseline": "baseline", "interp": "interpreted", "host": "in the host"}


@dataclass
class FunctionSamples:
    """Samples of one function, by engine and by guest pc; `function` is None for what belongs to none.

    `file` is the path of the library whose function it is; None for the program itself.
    """

    name: str
    function: Function | None
    guest: Guest | None = None
    file: str | None = None
    engines: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys(ENGINES, 0)))
    counts: Counter[int] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        return sum(self.engines.values())

    @property
    def full_name(self) -> str:
        """The name with that of the library before it."""
        return self.name if self.file is None else f"{os.path.basename(self.file)}:{self.name}"


@dataclass(frozen=True)
class Report:
    """Functions with samples, those with most first; `rate` is how many samples a second has, if that is known."""

    guest: Guest
    functions: list[FunctionSamples]
    total: int
    engines: dict[str, int]
    rate: int | None
    gone: tuple[str, ...] = ()
    """Libraries with samples that are not there any more, or are others now."""

    def share(self, count: int) -> float:
        """Return how many per cent of all samples that are."""
        return 100 * count / max(1, self.total)


def _opened(file: FileSamples, program: Guest, sysroot: Sysroot) -> Guest | None:
    """Return the file that samples are of, if it is there as it was."""
    if file.identity == program.image.identity:
        return program
    if file.identity is None:
        return None
    paths = (Path(file.path), sysroot.host_path(file.path))
    return next((guest for path in paths if path is not None and (guest := guest_in(path, file.identity))), None)


def _functions_of(file: FileSamples, guest: Guest | None, is_program: bool) -> Iterator[FunctionSamples]:
    """Yield the functions of one file that have samples."""
    there = guest.program.functions.values() if guest is not None and any(file.samples.values()) else ()
    index = BlockIndex(reversed(there))  # of a block that several functions have, the last one's
    path = None if is_program or file.identity is None else file.path
    found: dict[str | int, FunctionSamples] = {}
    for engine, counts in file.samples.items():
        for pc, count in counts.items():
            place = index.place(pc)
            function = place[0] if place is not None else None
            name = NOWHERE if pc == 0 else UNKNOWN if function is None else function.name
            key = name if function is None else function.start
            samples = found.setdefault(key, FunctionSamples(name, function, guest, path if pc else None))
            samples.engines[engine] += count
            samples.counts[pc] += count
    yield from found.values()


def make_report(guest: Guest, profile: Profile, sysroot: Sysroot | None = None) -> Report:
    """Return what a profile says; raises ProfileError when it is of another program."""
    profile.check_program(guest.image.identity, guest.image.path)
    found: list[FunctionSamples] = []
    gone = []
    for file in profile.files:
        own = _opened(file, guest, sysroot or Sysroot()) if any(file.samples.values()) else None
        if own is None and file.identity is not None and any(file.samples.values()):
            gone.append(file.path)
        found += _functions_of(file, own, file.identity == guest.image.identity)
    functions = sorted(_joined(found), key=lambda samples: (-samples.total, samples.full_name))
    engines = {engine: sum(samples.engines[engine] for samples in functions) for engine in ENGINES}
    return Report(guest, functions, profile.total, engines, profile.rate, tuple(gone))


def _joined(found: list[FunctionSamples]) -> Iterator[FunctionSamples]:
    """Yield all, with what belongs to no function of no library as one."""
    rest: dict[str, FunctionSamples] = {}
    for samples in found:
        if samples.function is not None or samples.file is not None:
            yield samples
            continue
        whole = rest.setdefault(samples.name, FunctionSamples(samples.name, None))
        whole.engines.update(samples.engines)
        whole.counts.update(samples.counts)
    yield from rest.values()


def chosen_functions(report: Report, names: list[str]) -> list[FunctionSamples]:
    """Return the functions whose blocks are to be shown: those of the names, or else the hottest.

    A name, address or pattern is of the program's functions; FILE:FUNCTION is of a library that has samples.
    """
    if not names:
        hottest = [samples for samples in report.functions if samples.function is not None][:_ANNOTATED]
        return [samples for samples in hottest if samples.total >= _ANNOTATED_SHARE * report.total]
    return [samples for name in names for samples in _chosen(report, name)]


def _chosen(report: Report, name: str) -> list[FunctionSamples]:
    file, _, function_name = name.rpartition(":")
    guest, path = report.guest, None
    if file:
        fit = [s for s in report.functions if s.file is not None and file in (s.file, os.path.basename(s.file))]
        if not fit or fit[0].guest is None:
            raise ProfileError(f"{name}: no library {file} has samples")
        guest, path = fit[0].guest, fit[0].file
    functions = {function.start: function for function in guest.functions_named([function_name])}
    found = {
        samples.function.start: samples for samples in report.functions
        if samples.function is not None and samples.file == path and samples.function.start in functions
    }  # fmt: skip
    if len(functions) > 1 and found:
        return list(found.values())  # of a pattern, those with samples
    return [found.get(start) or FunctionSamples(one.name, one, guest, path) for start, one in functions.items()]


# ---- as text ----


def _where(samples: FunctionSamples) -> str:
    """Return which engines executed a function, with their parts where there are several."""
    used = sorted(((count, engine) for engine, count in samples.engines.items() if count), reverse=True)
    if len(used) == 1:
        return used[0][1]
    return ", ".join(f"{engine} {100 * count / samples.total:.0f} %" for count, engine in used)


def _summary(report: Report) -> str:
    seconds = f" in {report.total / report.rate:.2f} s of processor time" if report.rate else ""
    parts = [f"{report.share(report.engines[engine]):.1f} % {name}" for engine, name in _NAMES.items()]
    return f"{report.guest.image.path}: {report.total:,} samples{seconds}; {', '.join(parts)}"


def _block_count(samples: FunctionSamples, block: Block) -> int:
    return sum(samples.counts[pc] for pc in block.pcs())


def _function_text(report: Report, samples: FunctionSamples) -> Iterator[str]:
    function, guest = samples.function, samples.guest
    assert function is not None and guest is not None
    yield ""
    yield f"{function.start:08x} <{samples.full_name}>: {report.share(samples.total):.2f} %"
    hidden = 0
    for _, block in sorted(function.blocks.items()):
        count = _block_count(samples, block)
        if count == 0 or count < _BLOCK_SHARE * samples.total:
            hidden += 1
            continue
        yield f"  block {block.start:08x}: {report.share(count):.2f} %"
        for pc, instruction, text in guest.block_lines(function, block):
            at = samples.counts[pc]
            yield f"    {f'{report.share(at):6.2f} %' if at else '':8}  {pc:08x}: {encoding_text(instruction)}  {text}"
    if hidden:
        yield f"  ({hidden} block{'s' if hidden > 1 else ''} with next to no samples)"


def report_text(report: Report, chosen: list[FunctionSamples], top: int) -> str:
    """Return the table of the first `top` functions, and the blocks of the chosen ones."""
    lines = [_summary(report)]
    lines += [f"{path}: is gone or has changed since, so its functions are not told apart" for path in report.gone]
    lines += ["", f"{'self %':>7} {'samples':>9}  {'function':32}  where"]
    for samples in report.functions[:top]:
        lines.append(f"{report.share(samples.total):7.2f} {samples.total:9}  {samples.full_name:32}  {_where(samples)}")
    rest = report.functions[top:]
    if rest:
        count = sum(samples.total for samples in rest)
        lines.append(f"{report.share(count):7.2f} {count:9}  ({len(rest)} more)")
    for samples in chosen:
        lines += _function_text(report, samples)
    return "\n".join(map(one_line, lines))


# ---- as data ----


def _function_data(report: Report, samples: FunctionSamples, with_blocks: bool) -> dict[str, Any]:
    function = samples.function
    data: dict[str, Any] = {
        "name": samples.name,
        "file": samples.file,
        "start": None if function is None else function.start,
        "samples": samples.total,
        "self_percent": round(report.share(samples.total), 3),
        "engines": samples.engines,
    }
    if with_blocks and function is not None:
        data["blocks"] = [
            {
                "start": block.start,
                "samples": _block_count(samples, block),
                "instructions": [
                    {"pc": pc, "word": instruction.encoding, "text": text, "samples": samples.counts[pc]}
                    for pc, instruction, text in (samples.guest or report.guest).block_lines(function, block)
                ],
            }
            for _, block in sorted(function.blocks.items())
            if _block_count(samples, block)
        ]
    return data


def report_data(report: Report, chosen: list[FunctionSamples], top: int) -> dict[str, Any]:
    """Return the same for JSON; functions that are chosen come with their blocks, the others up to `top` without."""
    listed = report.functions[:top] + [samples for samples in chosen if samples not in report.functions[:top]]
    return {
        "program": str(report.guest.image.path),
        "identity": report.guest.image.identity,
        "rate": report.rate,
        "samples": report.total,
        "engines": report.engines,
        "functions": [_function_data(report, samples, samples in chosen) for samples in listed],
    }
