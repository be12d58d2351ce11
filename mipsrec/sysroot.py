"""Files of a guest: what its paths lead to, and which files below a folder are MIPS ELF files.

Enters: the folder that stands for / (or none: then this machine's own), paths as the guest has them. Leaves: paths on
this machine. dynamic_linker.py finds the libraries of programs.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from .files.folder_walk import files_below
from .files.input_file import MOST_ELF_BYTES, open_input

_MOST_LINKS = 40
_PATH_MAX = 4096
"""Bytes of the longest path that the kernel takes, and one: what is longer names no file (path_resolution(7))."""
_EF_MIPS_ABI2 = 0x20


@dataclass(frozen=True)
class Sysroot:
    """The folder that stands for / of the guest; `root` is "/" where there is none."""

    root: Path = Path("/")

    def host_path(self, guest_path: str) -> Path | None:
        """Return the file that a guest's absolute path leads to, links inside followed inside; None without."""
        if len(guest_path.encode(errors="replace")) >= _PATH_MAX:
            return None
        parts = [part for part in guest_path.split("/") if part not in ("", ".")]
        done: list[str] = []
        links = 0
        while parts:
            part = parts.pop(0)
            if part == "..":
                done = done[:-1]
                continue
            try:
                target = os.readlink("/".join([str(self.root), *done, part]))
            except (OSError, ValueError):
                done.append(part)
                continue
            links += 1
            if links > _MOST_LINKS:
                return None
            if target.startswith("/"):
                done = []
            parts = [piece for piece in target.split("/") if piece not in ("", ".")] + parts
        found = self.root.joinpath(*done)
        try:
            found.stat()
        except (OSError, ValueError):  # a name may be too long, or nobody's
            return None
        return found

    def name_below(self, path: str) -> str | None:
        """Return what the guest calls the file that a path of this machine names below the root; None for others.

        Of the path, the folders down to the root may be links of this machine; what is below is left to `host_path`.
        """
        root, parts = os.path.realpath(self.root), path.split("/")
        for count in range(1 if path.startswith("/") else 0, len(parts)):
            folder, rest = os.path.realpath("/".join(parts[:count]) + "/" if count else "."), parts[count:]
            if os.path.commonpath([root, folder]) == root and ".." not in rest:
                return "/" + os.path.relpath("/".join([folder, *rest]), root)
        return None

    def guest_path(self, path: Path) -> str:
        """Return how the guest names a file: its path below the root, or the path itself."""
        absolute = Path(os.path.abspath(path))
        try:
            return "/" + str(absolute.relative_to(Path(os.path.abspath(self.root))))
        except ValueError:
            return str(absolute)


def kind_of(path: Path) -> tuple[str, bool] | None:
    """Return a MIPS file's byte order, and whether its ABI is n32 (64-bit registers); None of another kind of file."""
    try:
        with open_input(path, MOST_ELF_BYTES) as stream:
            header = stream.read(52)
    except (OSError, ValueError):
        return None
    if len(header) < 52 or header[:5] != b"\x7fELF\x01" or header[5] not in (1, 2):
        return None
    order: Literal["little", "big"] = "little" if header[5] == 1 else "big"
    kind, machine = int.from_bytes(header[16:18], order), int.from_bytes(header[18:20], order)
    is_n32 = int.from_bytes(header[36:40], order) & _EF_MIPS_ABI2 != 0
    return (order, is_n32) if machine == 8 and kind in (2, 3) else None


def is_mips(path: Path) -> bool:
    """Return whether a file is a 32-bit MIPS program or library, by its header alone."""
    return kind_of(path) is not None


def mips_files(folder: Path) -> Iterator[Path]:
    """Yield the MIPS programs and libraries below a folder, each once; links and other devices are left out."""
    seen: set[tuple[int, int]] = set()
    try:
        device = os.stat(folder).st_dev
    except OSError:
        return
    for path, status in files_below(folder, device):
        key = status.st_dev, status.st_ino
        if stat.S_ISREG(status.st_mode) and key not in seen and is_mips(path):
            seen.add(key)
            yield path
