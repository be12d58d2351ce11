"""Files of a guest: where its dynamic linker finds libraries, and which files below a folder are MIPS ELF files.

Enters: a program, and the folder that stands for / (or none: then this machine's own). Leaves: paths on this machine.
The rules are those of ld.so(8) for what can be known without running the program: DT_RUNPATH or DT_RPATH with $ORIGIN
and $LIB, then the folders of /etc/ld.so.conf, then the default ones, Debian's multiarch folders among them. What a
program opens later (dlopen) is not known here.
"""

from __future__ import annotations

import fnmatch
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeVar

from .elf import Image, load_elf
from .errors import ElfError
from .files.folder_walk import files_below
from .files.input_file import MOST_ELF_BYTES, open_input, read_text

_MOST_LINKS = 40
_PATH_MAX = 4096
"""Bytes of the longest path that the kernel takes, and one: what is longer names no file (path_resolution(7))."""
_MOST_CONFIGURATIONS = 200
"""Files, patterns and folders that ld.so.conf names, of each: it may be anybody's."""
_LONGEST_NAME = 255
_EF_MIPS_ABI2 = 0x20
_MULTIARCH = {"little": ("mipsel-linux-gnu",), "big": ("mips-linux-gnu",)}
_DEFAULTS = ("/lib", "/usr/lib", "/usr/local/lib")


_Named = TypeVar("_Named")


@dataclass(frozen=True)
class _Configured:
    """What ld.so.conf names, in order; values are of no use."""

    files: dict[Path, None] = field(default_factory=dict)
    patterns: dict[str, None] = field(default_factory=dict)
    folders: dict[str, None] = field(default_factory=dict)


def _added(name: _Named, known: dict[_Named, None]) -> bool:
    """Add a name to those known, unless they are too many; return whether it is there now, and was not."""
    if name in known or len(known) >= _MOST_CONFIGURATIONS:
        return False
    known[name] = None
    return True


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

    def guest_path(self, path: Path) -> str:
        """Return how the guest names a file: its path below the root, or the path itself."""
        absolute = Path(os.path.abspath(path))
        try:
            return "/" + str(absolute.relative_to(Path(os.path.abspath(self.root))))
        except ValueError:
            return str(absolute)

    def library_folders(self, byte_order: str) -> list[str]:
        """Return the folders that the dynamic linker searches without being told, as the guest names them."""
        configured = _Configured()
        self._configure("/etc/ld.so.conf", configured)
        found = list(configured.folders)
        for folder in _DEFAULTS:
            found += [f"{folder}/{name}" for name in _MULTIARCH[byte_order]] + [folder]
        return list(dict.fromkeys(found))

    def _configure(self, guest_path: str, found: _Configured) -> None:
        """Add the folders that a file like /etc/ld.so.conf names, those of the files it includes in their place."""
        path = self.host_path(guest_path)
        if path is None or not _added(path, found.files):
            return
        try:
            lines = read_text(path, "replace").splitlines()
        except OSError:
            return
        for line in lines:
            words = line.split("#", 1)[0].split()
            if len(words) > 1 and words[0] == "include":
                pattern = os.path.join(os.path.dirname(guest_path), words[1])
                if _added(pattern, found.patterns):
                    for included in self._included(pattern):
                        self._configure(included, found)
            elif words and words[0].startswith("/"):
                _added(words[0], found.folders)

    def _included(self, pattern: str) -> list[str]:
        """Return the files that a pattern of ld.so.conf names. Only its last part may have wildcards, as everywhere."""
        above, _, last = pattern.rpartition("/")
        if len(last) > _LONGEST_NAME:
            return []
        folder = self.host_path(above or "/")
        try:
            names = sorted(os.listdir(folder)) if folder is not None else []
        except OSError:
            return []
        return [f"{above}/{name}" for name in fnmatch.filter(names, last) if name[0] != "." or last[0] == "."]


@dataclass
class Closure:
    """A program, its interpreter and the libraries that it needs, in the order they were found, and what is missing."""

    images: dict[Path, Image] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    """Names of libraries that were not found, and why files that were found cannot be used."""

    def has(self, name: str) -> bool:
        """Return whether a library of that name is there: the dynamic linker then looks for no other."""
        return any(name == image.soname or name == path.name for path, image in self.images.items())


def closure_of(programs: Sequence[Path], sysroot: Sysroot) -> Closure:
    """Return the programs with all that they load at the start; raises ElfError where a program itself is unfit."""
    closure = Closure()
    waiting: list[tuple[Path, Image]] = []
    folders = {order: sysroot.library_folders(order) for order in _MULTIARCH}
    for program in programs:
        image = load_elf(program)
        if program not in closure.images:
            closure.images[program] = image
            waiting.append((program, image))
    while waiting:
        path, image = waiting.pop(0)
        for name, found in _wanted(path, image, sysroot, folders[image.byte_order]):
            if found is None:
                if not closure.has(name):
                    closure.missing.append(f"{name}: not found (wanted by {path})")
                continue
            if found in closure.images:
                continue
            try:
                closure.images[found] = load_elf(found)
            except ElfError as error:
                closure.missing.append(str(error))
                continue
            waiting.append((found, closure.images[found]))
    return closure


def _wanted(path: Path, image: Image, sysroot: Sysroot, untold: list[str]) -> Iterator[tuple[str, Path | None]]:
    """Yield each file that an image names, and where it is; `untold` are the folders that it need not name."""
    if image.interpreter is not None:
        yield image.interpreter, sysroot.host_path(image.interpreter)
    folders = [_expanded(folder, path, image, sysroot) for folder in image.run_paths] + untold
    for name in image.needed:
        if "/" in name:
            yield name, sysroot.host_path(name)
            continue
        yield name, next((found for folder in folders if (found := _fit(sysroot, folder, name, image))), None)


def _expanded(folder: str, path: Path, image: Image, sysroot: Sysroot) -> str:
    """Return a folder of DT_RUNPATH with what $ORIGIN and $LIB stand for."""
    origin = os.path.dirname(sysroot.guest_path(path))
    for name, value in (("ORIGIN", origin), ("LIB", f"lib/{_MULTIARCH[image.byte_order][0]}")):
        folder = folder.replace(f"${{{name}}}", value).replace(f"${name}", value)
    return folder


def _fit(sysroot: Sysroot, folder: str, name: str, image: Image) -> Path | None:
    """Return the library of that name in a folder if it is for the same machine: ld.so passes over others."""
    found = sysroot.host_path(f"{folder}/{name}")
    return found if found is not None and _kind_of(found) == (image.byte_order, False) else None


def _kind_of(path: Path) -> tuple[str, bool] | None:
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
    return _kind_of(path) is not None


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
