"""The folder that `mipsrec dump-llvm` writes and `mipsrec build` reads: one .ll file per function, and index.json.

The files may be edited in between; the index may not. It says which guest the IR is of, how it was generated, and
which LLVM functions serve which guest pcs.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from . import __version__
from .analysis import Function
from .elf import Image
from .emit.function import LiftedFunction
from .errors import BuildError, LiftError
from .files.input_file import open_input, read_input
from .files.temporary_folder import move_in, opened_output, temporary_folder
from .files.trust import PARTIAL, Distrusted, distrust, is_trusted, resolve
from .interrupts import held
from .lift.policy import level_of, nearest
from .native.linking import GuestFile
from .options import AUTO, CALL_MODELS, MEMORY_MODELS
from .profiles import Profile

INDEX = "index.json"
FORMAT = 4
_NAME = re.compile(r"[0-9a-f]{8}_[A-Za-z0-9._-]*\.ll")
"""What `_file_name` returns."""


@dataclass(frozen=True)
class DumpedFunction:
    """One file: the guest pc, guest instructions, and whether `--opt auto` spends effort on it."""

    path: Path
    start: int
    size: int
    hot: bool


@dataclass(frozen=True)
class Dump:
    """What an index says; `entries` as (guest pc, symbol)."""

    guest: GuestFile
    memory: str
    calls: str
    files: list[DumpedFunction]
    entries: list[tuple[int, str]]

    def with_levels(self, level: str, profile: Profile | None) -> list[tuple[Path, int, str]]:
        """Return each file, its instructions, and the level that it gets where `--opt` says `level`."""
        if profile is not None:
            hot = nearest((file.start for file in self.files), profile)
        else:
            hot = {file.start for file in self.files if file.hot or level != AUTO}
        return [(file.path, file.size, level_of(file.start in hot, file.size, level)) for file in self.files]


def _file_name(function: Function) -> str:
    """Return a portable file name: the address, then as much of the name as is plain."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "_" for c in function.name)[:80]
    return f"{function.start:08x}_{plain}.ll"


def write_dump(
    folder: Path,
    image: Image,
    memory: str,
    calls: str,
    modules: Iterable[tuple[Function, str, list[LiftedFunction]]],
    hot: Collection[int],
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Write modules and their index, all or nothing; what the index of an earlier dump names goes."""
    records: list[dict[str, Any]] = []
    try:
        with (
            opened_output(folder) as place,
            temporary_folder(PARTIAL, os.readlink(f"/proc/self/fd/{place}")) as new,
        ):
            for function, text, lifted in modules:
                records.append(_record(function, lifted, function.start in hot))
                (new / records[-1]["file"]).write_bytes(text.encode())
                if progress is not None:
                    progress(1, records[-1]["instructions"])
            index = {
                "format": FORMAT,
                "mipsrec": __version__,
                "path": str(image.path),
                "guest": asdict(GuestFile.of(image)),
                "memory": memory,
                "calls": calls,
                "functions": records,
            }
            (new / INDEX).write_bytes(json.dumps(index, indent=1).encode())
            _replace_dump(place, new, [record["file"] for record in records])
    except OSError as error:
        raise LiftError(f"{folder}: cannot be written ({error.strerror or error})") from error
    return len(records)


def _replace_dump(place: int, new: Path, names: list[str]) -> None:
    """Move the files of a dump to their place. Without an index no folder is one, so it goes first and comes last."""
    with held():
        stale, moved = _files_of_dump(place).difference(names), []
        _remove(place, (INDEX, *stale))
        try:
            for name in (*names, INDEX):
                move_in(place, new / name, name)
                moved.append(name)
        except OSError:  # the new folder may be on another file system, and the disk full
            _remove(place, moved)
            raise


def _remove(place: int, names: Iterable[str]) -> None:
    for name in names:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=place)


def _is_chosen_by_user(place: int) -> bool:
    """Return whether the index of an opened folder, and the folder, are trusted by the way to them."""
    path = os.readlink(f"/proc/self/fd/{place}")
    try:
        is_there = os.path.samestat(os.stat(path), os.fstat(place))
    except OSError:
        return False
    return is_there and distrust(f"{path}/{INDEX}") is None


def _files_of_dump(place: int) -> set[str]:
    """Return what the index of an opened folder names, if it is one; of whatever version.

    Where others can choose which folder has its name, or what is in it or in its index, they may have put that there.
    """
    if not _is_chosen_by_user(place):
        return set()
    try:
        with open_input(INDEX, folder=place) as stream:
            if not is_trusted(os.fstat(stream.fileno()).st_uid):
                return set()
            names = [record["file"] for record in json.load(stream)["functions"]]
        return {name for name in names if _NAME.fullmatch(name)}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return set()


def _record(function: Function, lifted: list[LiftedFunction], hot: bool) -> dict[str, Any]:
    """Return what the index says of a file."""
    return {
        "file": _file_name(function),
        "name": function.name,
        "start": function.start,
        "hot": hot,
        "instructions": sum(part.instruction_count for part in lifted),
        "entries": [[pc, part.symbol] for part in lifted for pc in part.entries],
    }


def _guest_file(said: dict[str, Any]) -> GuestFile:
    """Return what an index says of the guest's file; raises KeyError, TypeError or ValueError where it is damaged."""
    segments = tuple((int(guest), int(offset), int(size)) for guest, offset, size in said["segments"])
    flags = bool(said["nan2008"]), bool(said["relocatable"])
    name, identity = str(said["name"]), str(said["identity"])
    return GuestFile(name, identity, int(said["bias"]), int(said["fr"]), *flags, segments)


def _check_trust(path: Path) -> None:
    """Raise BuildError where others could write IR, which becomes code that runs as this user; OSError without it."""
    try:
        resolve(path)
    except Distrusted as reason:
        raise BuildError(f"{path}: {reason}, so no code is made of it; copy it to a folder of your own") from reason


def _own_file(folder: Path, name: str) -> Path:
    if Path(name).name != name:
        raise ValueError(f"{name!r} is no name of a file in it")
    try:
        _check_trust(folder / name)
    except FileNotFoundError:
        raise BuildError(f"{folder / name}: is missing; dump the program again") from None
    return _no_link(folder / name)


def _no_link(path: Path) -> Path:
    """Return the path of a file in a dump; raises BuildError where what it names lies elsewhere."""
    if path.is_symlink():
        raise BuildError(f"{path}: is a link; put the file itself there")
    return path


def read_dump(folder: Path) -> Dump:
    """Read an index; raises BuildError when the folder is not a whole dump of this version, or others can write it."""
    try:
        _check_trust(folder)
        _check_trust(folder / INDEX)
        index = json.loads(read_input(_no_link(folder / INDEX)))
    except OSError as error:
        reason = f"not a folder made by `mipsrec dump-llvm -o` ({INDEX}: {error.strerror})"
        raise BuildError(f"{folder}: {reason}") from error
    except (ValueError, RecursionError) as error:
        raise BuildError(f"{folder / INDEX}: damaged ({error}); dump the program again") from error
    try:
        if index["format"] != FORMAT or index["mipsrec"] != __version__:
            origin = f"made by mipsrec {index['mipsrec']}, this is {__version__}"
            raise BuildError(f"{folder}: {origin}; dump the program again")
        guest = _guest_file(index["guest"])
        files = [
            DumpedFunction(
                path=_own_file(folder, record["file"]),
                start=int(record["start"]),
                size=int(record["instructions"]),
                hot=bool(record["hot"]),
            )
            for record in index["functions"]
        ]
        entries = [(int(pc), str(symbol)) for record in index["functions"] for pc, symbol in record["entries"]]
        memory, calls = index["memory"], index["calls"]
        if len(bytes.fromhex(guest.identity)) != 32 or memory not in MEMORY_MODELS or calls not in CALL_MODELS:
            raise ValueError("not an identity, a memory model and a way of calls")
        dump = Dump(guest, memory, calls, files, entries)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise BuildError(f"{folder / INDEX}: damaged ({error!r}); dump the program again") from error
    if not files:
        raise BuildError(f"{folder}: holds no functions; dump a whole program")
    return dump
