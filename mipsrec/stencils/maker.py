"""Makes the stencils: compiles their functions, and finds in the code what depends on the instruction.

Enters: nothing. Leaves: `Stencils`. A stencil with constants of an instruction is compiled for two sample instructions.
Where the two differ there is a *hole*, and the expression that gives both values is what the translator puts there.
"""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from elftools.elf.elffile import ELFFile

from ..emit.floats import CONSTRAINED_DECLARATIONS
from ..emit.module import ATTRIBUTES, DECLARATIONS, TRIPLE_LINE
from ..emit.writer import MODULE_METADATA
from ..native.codegen import choose_options_of_texts, emit_text
from ..native.workers import results
from ..target import this_target
from ..target.cpu import least_cpu
from ..target.machine_code import Unfit
from .assembly import Assembled, assemble, loses_pins
from .catalogue import SPILLED, Entry, entries
from .convention import SIGNATURE, TYPE
from .exits import Unsupported
from .expressions import Expression, explain
from .functions import EXITS, glue, stencil_function
from .samples import SAMPLES

_FUNCTIONS_PER_MODULE = 1000
_FUNCTIONS_OF_A_PART = 2000
_SYMBOL = struct.Struct("<IBBHQQ")
"""Of an object of 64 bits: name, kind and binding, visibility, section, value, size."""
_RELOCATION = struct.Struct("<QQq")
_STT_FUNC = 2


@dataclass(frozen=True)
class Hole:
    """`size_bytes` bytes at an offset that get the value of a C expression, or of an exit's displacement."""

    offset: int
    size_bytes: int
    value: str


@dataclass(frozen=True)
class Stencil:
    """Machine code and its holes; empty code may be a stencil, too."""

    code: bytes
    holes: tuple[Hole, ...]


@dataclass(frozen=True)
class Group:
    """The stencils of an entry, in the order of its combinations; None where the interpreter is needed.

    With `accesses` there are four such orders, one after another: for little- and big-endian guests with the window at
    0, and the same with it elsewhere.
    """

    entry: Entry
    stencils: tuple[Stencil | None, ...]


@dataclass(frozen=True)
class Stencils:
    """All groups, and the code of `enter` and `leave_all`."""

    groups: list[Group]
    enter: bytes
    leave_all: bytes


@dataclass(frozen=True)
class _Wanted:
    """A stencil to be made: the names of its functions, one for each sample, and their expressions."""

    names: tuple[str, ...]
    expressions: list[list[Expression]]
    faults: bool


def variants(entry: Entry) -> list[tuple[bool, bool]]:
    """Return (big-endian, window elsewhere) of each set of an entry's stencils."""
    return [(big, window) for window in (False, True) for big in (False, True)] if entry.accesses else [(False, False)]


def make_stencils(advance: Callable[[float], None]) -> Stencils:
    """Return all stencils, and tell of each share of the work when it is done; takes a minute of processor time."""
    everything, workers = list(entries()), len(os.sched_getaffinity(0))
    parts = sorted(_parts(everything), key=lambda part: -part.functions)
    total = sum(part.functions for part in parts)
    found: dict[int, list[tuple[Stencil | None, ...]]] = {}
    for part, made in results(lambda part: _made(everything[part.start : part.stop]), parts, workers):
        found[part.start] = made
        advance(part.functions / total)
    ((_, code),) = results(lambda text: _compiled([text]), [glue()], 1)
    in_order = [stencils for start in sorted(found) for stencils in found[start]]
    groups = [Group(entry, stencils) for entry, stencils in zip(everything, in_order, strict=True)]
    missing = [group.entry.name for group in groups if group.entry.row is None and None in group.stencils]
    assert not missing, f"the translator needs all stencils of its own operations: {missing}"
    return Stencils(groups, code["enter"][0], code["leave_all"][0])


@dataclass(frozen=True)
class _Part:
    """The entries from `start` up to `stop`, which one process works on; they have about so many functions."""

    start: int
    stop: int
    functions: int


def _parts(everything: list[Entry]) -> Iterator[_Part]:
    """Yield the entries in parts with enough functions to be worth a process."""
    start = count = 0
    for stop, entry in enumerate(everything, start=1):
        count += len(variants(entry)) * sum(1 for _ in entry.combinations()) * len(SAMPLES)
        if count >= _FUNCTIONS_OF_A_PART or stop == len(everything):
            yield _Part(start, stop, count)
            start, count = stop, 0


def _made(part: list[Entry]) -> list[tuple[Stencil | None, ...]]:
    """Return the stencils of each entry, as a Group has them."""
    names: dict[str, str] = {}
    wanted: list[tuple[Entry, list[_Wanted | None]]] = []
    for entry in part:
        ways = ((*way, classes) for way in variants(entry) for classes in entry.combinations())
        wanted.append((entry, [_write(entry, classes, big, window, names) for big, window, classes in ways]))
    choose_options_of_texts()
    texts = [f"define {TYPE} @{name}{body}" for body, name in names.items()]
    code: dict[str, tuple[bytes, dict[int, str]]] = {}
    for start in range(0, len(texts), _FUNCTIONS_PER_MODULE):
        code |= _compiled(texts[start : start + _FUNCTIONS_PER_MODULE])
    return [tuple(_stencil(item, code) for item in found) for _, found in wanted]


def _write(
    entry: Entry, classes: tuple[int, ...], big_endian: bool, window: bool, names: dict[str, str]
) -> _Wanted | None:
    """Return a stencil, and give names to the bodies of its functions; None where it is not supported.

    A body has one name however many stencils it is part of, and is compiled once: an access to a byte, say, is the same
    in both byte orders.
    """
    used, expressions = [], []
    for sample in SAMPLES:
        try:
            function = stencil_function(entry, classes, big_endian, window, sample, entry.is_opaque)
        except Unsupported:
            return None
        used.append(names.setdefault(function.body, f"f{len(names)}"))
        expressions.append(function.expressions)
        if not function.expressions:
            break
    return _Wanted(tuple(used), expressions, entry.accesses and entry.name not in SPILLED)


def _compiled(texts: list[str]) -> dict[str, tuple[bytes, dict[int, str]]]:
    """Return the code of functions, and the symbols that it mentions by offset, all by the functions' names."""
    declarations = "".join(f"declare {TYPE} @{name}{SIGNATURE} #0\n" for name in EXITS)
    head = f'{TRIPLE_LINE}"{this_target().triple}"\n{DECLARATIONS}{CONSTRAINED_DECLARATIONS}{ATTRIBUTES}'
    head += MODULE_METADATA + declarations
    return dict(_functions(emit_text(head + "".join(texts), least_cpu())))


def _functions(binary: bytes) -> Iterator[tuple[str, tuple[bytes, dict[int, str]]]]:
    """Yield what `_compiled` returns. Thousands of symbols are read here: pyelftools takes 16 times as long."""
    elf = ELFFile(io.BytesIO(binary))
    text: Any = elf.get_section_by_name(".text")
    table: Any = elf.get_section_by_name(".symtab")
    relocations: Any = elf.get_section_by_name(".rela.text")
    data, strings = text.data(), elf.get_section(table["sh_link"]).data()
    symbols = list(_SYMBOL.iter_unpack(table.data()))

    def name(symbol: tuple[int, ...]) -> str:
        return str(strings[symbol[0] : strings.index(b"\0", symbol[0])], "ascii")

    places = sorted(
        (offset, name(symbols[info >> 32]))
        for offset, info, _ in (_RELOCATION.iter_unpack(relocations.data()) if relocations is not None else ())
    )
    index = 0
    defined = [symbol for symbol in symbols if symbol[1] & 15 == _STT_FUNC and symbol[5]]
    for symbol in sorted(defined, key=lambda symbol: symbol[4]):
        start, end = symbol[4], symbol[4] + symbol[5]
        inside = {}
        while index < len(places) and places[index][0] < end:
            inside[places[index][0] - start] = places[index][1]
            index += 1
        yield name(symbol), (data[start:end], inside)


def _stencil(wanted: _Wanted | None, code: dict[str, tuple[bytes, dict[int, str]]]) -> Stencil | None:
    if wanted is None:
        return None
    try:
        assembled = [assemble(*code[name]) for name in wanted.names]
        if wanted.faults and loses_pins(assembled[0].code):
            raise Unfit("a pinned register is lost where it may fault")
        return Stencil(assembled[0].code, tuple(_holes(assembled, wanted.expressions)))
    except Unfit:
        return None


def _holes(samples: list[Assembled], expressions: list[list[Expression]]) -> Iterator[Hole]:
    """Yield the holes of a stencil; raises Unfit where the samples differ in another way."""
    first = samples[0]
    for other in samples[1:]:
        if (len(other.code), other.plain, other.exits) != (len(first.code), first.plain, first.exits):
            raise Unfit("the samples have different code")
    for offset, name in first.exits:
        yield Hole(offset, 4, name)
    for start, end in first.plain:
        at = start
        while at < end:
            if len({sample.code[at] for sample in samples}) == 1:
                at += 1
                continue
            hole = _hole_at(samples, expressions, at, start, end)
            yield hole
            at = hole.offset + hole.size_bytes


def _hole_at(samples: list[Assembled], expressions: list[list[Expression]], at: int, start: int, end: int) -> Hole:
    """Return the hole that has a byte in which the samples differ."""
    for size_bytes, first in ((4, at - 3), (4, at - 2), (4, at - 1), (4, at), (1, at)):
        if first < start or first + size_bytes > end:
            continue
        found = [int.from_bytes(sample.code[first : first + size_bytes], "little") for sample in samples]
        value = explain(found, expressions, (1 << 8 * size_bytes) - 1)
        if value is not None:
            return Hole(first, size_bytes, value)
    raise Unfit("no expression explains how the samples differ")
