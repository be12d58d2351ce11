"""drcov files, which say what basic blocks ran: version 2 of the format, with a module table of version 2.

Enters: the files that ran (marks.py), or a drcov file. Leaves: a drcov file, or its modules. Ghidra (Lightkeeper), IDA
and Binary Ninja (Lighthouse) read it. It is text up to the line of the basic blocks:

    DRCOV VERSION: 2
    DRCOV FLAVOR: drcov
    Module Table: version 2, count 2
    Columns: id, base, end, entry, path
    0, 0x00400000, 0x004113b0, 0x00400660, /srv/mips/bin/prog
    1, 0x77dc0000, 0x77f7e000, 0x77dd7450, /srv/mips/lib/libc.so.6
    BB Table: 312 bbs

Behind it are 8 bytes for each block, little-endian: where it starts, from the module's base; its size in bytes; and the
module's id. DynamoRIO's drcov made the format; its readers state it (drcov.py of Lighthouse, DynamoRioFile of
Lightkeeper).
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import CoverageError, one_line
from ..files.input_file import read_input
from .marks import ExecutedFile

_BLOCK = struct.Struct("<IHH")
_MOST_BLOCK_BYTES = 0xFFFC
_MOST_MODULES = 1 << 16
_HEAD = re.compile(
    rb"DRCOV VERSION: (?P<version>\d{1,9})\r?\nDRCOV FLAVOR:[^\n]*\n"
    rb"Module Table: version (?P<table>\d{1,9}), count (?P<count>\d{1,9})\r?\nColumns: (?P<columns>[^\n]*)\n"
)
_COLUMNS = {"id, base, end, entry, path": 4, "id, base, end, entry, checksum, timestamp, path": 6}
"""What stands before the path."""
_BLOCKS = re.compile(rb"BB Table: (\d{1,9}) bbs\r?\n")


@dataclass(frozen=True)
class Module:
    """A file of the guest; `blocks` are (start, size in bytes), from the module's base on."""

    path: str
    base: int
    end: int
    blocks: tuple[tuple[int, int], ...]


# ---- writing ----


def written(files: Iterable[ExecutedFile]) -> bytes:
    """Return the drcov file of files that ran."""
    files = list(files)[:_MOST_MODULES]
    lines = [
        "DRCOV VERSION: 2", "DRCOV FLAVOR: drcov", f"Module Table: version 2, count {len(files)}",
        f"Columns: {next(iter(_COLUMNS))}",
    ]  # fmt: skip
    blocks = []
    for number, file in enumerate(files):
        places = (_biased(file, file.low), _biased(file, file.low) + file.high - file.low, _biased(file, file.entry))
        lines.append(", ".join([str(number), *(f"0x{place:08x}" for place in places), one_line(file.path)]))
        for address, size_bytes in file.blocks():
            blocks += [_BLOCK.pack(*block, number) for block in _cut(address - file.low, size_bytes)]
    lines.append(f"BB Table: {len(blocks)} bbs\n")
    return "\n".join(lines).encode(errors="replace") + b"".join(blocks)


def _biased(file: ExecutedFile, address: int) -> int:
    return (address + file.bias) & 0xFFFFFFFF


def _cut(start: int, size_bytes: int) -> Iterator[tuple[int, int]]:
    """Yield pieces of a block that a record can have."""
    while size_bytes > _MOST_BLOCK_BYTES:
        yield start & 0xFFFFFFFF, _MOST_BLOCK_BYTES
        start, size_bytes = start + _MOST_BLOCK_BYTES, size_bytes - _MOST_BLOCK_BYTES
    yield start & 0xFFFFFFFF, size_bytes


# ---- reading ----


def read(path: str | os.PathLike[str]) -> list[Module]:
    """Return the modules of a drcov file; raises CoverageError where it cannot be read, or is none."""
    path = Path(path)
    try:
        content = read_input(path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise CoverageError(f"{path}: cannot be read ({reason})") from error
    head = _HEAD.match(content)
    if head is None:
        raise CoverageError(f"{path}: is no drcov file; `mipsrec run --coverage FILE` writes one")
    columns = head["columns"].decode(errors="replace").strip()
    if head["version"] != b"2" or head["table"] != b"2" or columns not in _COLUMNS:
        raise CoverageError(
            f"{path}: is of drcov version {int(head['version'])} with a module table of version {int(head['table'])}; "
            "version 2 of both is read, as `mipsrec run --coverage FILE` writes it"
        )
    at, rows = head.end(), []
    for _ in range(int(head["count"])):
        end = content.find(b"\n", at)
        if end < 0:
            raise _cut_off(path)
        rows.append(_row(path, content[at:end], _COLUMNS[columns]))
        at = end + 1
    table = _BLOCKS.match(content, at)
    if table is None or len(content) - table.end() != _BLOCK.size * int(table[1]):
        raise _cut_off(path)
    blocks: list[list[tuple[int, int]]] = [[] for _ in rows]
    for start, size_bytes, number in _BLOCK.iter_unpack(content[table.end() :]):
        if number >= len(rows):
            raise CoverageError(f"{path}: has a block of module {number}, which its table has not; take it again")
        blocks[number].append((start, size_bytes))
    return [Module(name, base, end, tuple(found)) for (name, base, end), found in zip(rows, blocks)]


def _cut_off(path: Path) -> CoverageError:
    return CoverageError(f"{path}: is a drcov file that is cut off or broken; take it again")


def _row(path: Path, line: bytes, before_path: int) -> tuple[str, int, int]:
    """Return the path, base and end of a line of the module table."""
    fields = line.decode(errors="surrogateescape").rstrip("\r").split(", ", before_path)
    try:
        return fields[before_path], int(fields[1], 16), int(fields[2], 16)
    except (IndexError, ValueError):
        raise _cut_off(path) from None


def modules_of(modules: list[Module], path: str | os.PathLike[str], size_bytes: int) -> list[Module]:
    """Return the modules that are of a file: by path, else by name. `size_bytes`: that it has in memory.

    Raises ValueError, with the reason, where there is none.
    """
    wanted = os.path.realpath(path)
    found = [module for module in modules if os.path.realpath(module.path) == wanted]
    found = found or [module for module in modules if os.path.basename(module.path) == os.path.basename(wanted)]
    if not found:
        names = sorted({os.path.basename(module.path) for module in modules})
        raise ValueError(f"has {', '.join(names[:5]) or 'nothing'}, and not {path}")
    fitting = [module for module in found if module.end - module.base == size_bytes]
    if not fitting:
        raise ValueError(f"is of another build of {path}")
    return fitting
