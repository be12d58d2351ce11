"""What a program loads at its start: the libraries that its dynamic linker finds, by the rules of that linker.

Enters: programs, and the sysroot that they are in. Leaves: a `Closure` of paths on this machine. The interpreter's
name tells the linker: glibc's (ld.so(8)), uClibc's and uClibc-ng's (ldso/ldso/dl-elf.c), musl's (ldso/dynlink.c). What
can be known without running the program counts: DT_RUNPATH or DT_RPATH, the folders that are configured, the default
ones. What a program opens later (dlopen) is not known here.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from .elf import Image, load_elf
from .errors import ElfError
from .files.input_file import read_text
from .sysroot import Sysroot, kind_of

_MOST_CONFIGURATIONS = 200
"""Files, patterns and folders that a linker's files name, of each: they may be anybody's."""
_LONGEST_NAME = 255
_MULTIARCH = {"little": "mipsel-linux-gnu", "big": "mips-linux-gnu"}
_Folders = tuple[str, ...]


class DynamicLinker:
    """glibc's ld.so; for programs that name none that is known, too."""

    def __init__(self, interpreter: str | None, byte_order: str, sysroot: Sysroot) -> None:
        self.interpreter, self.byte_order, self.sysroot = interpreter, byte_order, sysroot
        self.folders = self._folders()
        """Those that it searches without being told, as the guest names them."""

    def _folders(self) -> list[str]:
        found = configured_folders(self.sysroot)
        for folder in ("/lib", "/usr/lib", "/usr/local/lib"):
            found += [f"{folder}/{_MULTIARCH[self.byte_order]}", folder]
        return list(dict.fromkeys(found))

    def run_paths(self, image: Image, own: _Folders, inherited: _Folders) -> _Folders:
        """Return the folders for what a file needs: its own, and those of the files that it was loaded for."""
        return own if own and not image.run_paths.are_inherited else (*own, *inherited)

    def handed_down(self, image: Image, own: _Folders, inherited: _Folders) -> _Folders:
        """Return the folders that the files which a file needs inherit."""
        return (*own, *inherited) if image.run_paths.are_inherited else inherited

    def means_itself(self, name: str) -> bool:
        """Return whether a library's name stands for the linker, which is the C library as well."""
        return False


class UClibc(DynamicLinker):
    """It searches the folder that it is in, and inherits the run path of the program alone."""

    def _folders(self) -> list[str]:
        own = os.path.dirname(self.interpreter or "/lib/")
        return list(dict.fromkeys([*configured_folders(self.sysroot), own, "/lib", "/usr/lib"]))

    def run_paths(self, image: Image, own: _Folders, inherited: _Folders) -> _Folders:
        return (*own, *inherited)

    def handed_down(self, image: Image, own: _Folders, inherited: _Folders) -> _Folders:
        return inherited or own


class Musl(DynamicLinker):
    """It has a file of its own that names folders, and is the C library as well. DT_RUNPATH is inherited, too."""

    def _folders(self) -> list[str]:
        interpreter = self.interpreter or ""
        above = os.path.dirname(os.path.dirname(interpreter)).rstrip("/")
        architecture = os.path.basename(interpreter).removeprefix("ld-musl-").split(".so", 1)[0]
        path = self.sysroot.host_path(f"{above}/etc/ld-musl-{architecture}.path")
        if path is not None:
            try:
                words = re.split(r"[:\n]+", read_text(path, "replace"))
                return list(dict.fromkeys(word for word in words if word.startswith("/")))[:_MOST_CONFIGURATIONS]
            except OSError:
                return []
        return ["/lib", "/usr/local/lib", "/usr/lib"]

    def run_paths(self, image: Image, own: _Folders, inherited: _Folders) -> _Folders:
        return (*own, *inherited)

    def handed_down(self, image: Image, own: _Folders, inherited: _Folders) -> _Folders:
        return (*own, *inherited)

    def means_itself(self, name: str) -> bool:
        return re.match(r"lib(c|pthread|rt|m|dl|util|xnet)\.", name) is not None


def linker_of(image: Image, sysroot: Sysroot) -> DynamicLinker:
    """Return the dynamic linker of a program, by the name of its interpreter."""
    name = os.path.basename(image.interpreter or "")
    kind = Musl if name.startswith("ld-musl-") else UClibc if name.startswith("ld-uClibc") else DynamicLinker
    return kind(image.interpreter, image.byte_order, sysroot)


# ---- /etc/ld.so.conf ----

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


def configured_folders(sysroot: Sysroot) -> list[str]:
    """Return the folders that /etc/ld.so.conf names (ldconfig(8)), as the guest names them."""
    configured = _Configured()
    _configure(sysroot, "/etc/ld.so.conf", configured)
    return list(configured.folders)


def _configure(sysroot: Sysroot, guest_path: str, found: _Configured) -> None:
    """Add the folders that a file like /etc/ld.so.conf names, those of the files it includes in their place."""
    path = sysroot.host_path(guest_path)
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
                for included in _included(sysroot, pattern):
                    _configure(sysroot, included, found)
        elif words and words[0].startswith("/"):
            _added(words[0], found.folders)


def _included(sysroot: Sysroot, pattern: str) -> list[str]:
    """Return the files that a pattern of ld.so.conf names. Only its last part may have wildcards, as everywhere."""
    above, _, last = pattern.rpartition("/")
    if len(last) > _LONGEST_NAME:
        return []
    folder = sysroot.host_path(above or "/")
    try:
        names = sorted(os.listdir(folder)) if folder is not None else []
    except OSError:
        return []
    return [f"{above}/{name}" for name in fnmatch.filter(names, last) if name[0] != "." or last[0] == "."]


# ---- all that a program loads ----


@dataclass
class Closure:
    """A program, its interpreter and the libraries that it needs, in the order they were found, and what is missing."""

    images: dict[Path, Image] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    """Names of libraries that were not found, and why files that were found cannot be used."""

    def has(self, name: str) -> bool:
        """Return whether a library of that name is there: the dynamic linker then looks for no other."""
        return any(name == image.soname or name == path.name for path, image in self.images.items())


@dataclass(frozen=True)
class _Waiting:
    """A file that was found, the linker that loads it, and the run paths that it inherits."""

    path: Path
    image: Image
    linker: DynamicLinker
    inherited: _Folders = ()


def closure_of(programs: Sequence[Path], sysroot: Sysroot) -> Closure:
    """Return the programs with all that they load at the start; raises ElfError where a program itself is unfit."""
    closure = Closure()
    waiting: list[_Waiting] = []
    for program in programs:
        image = load_elf(program)
        if program not in closure.images:
            closure.images[program] = image
            waiting.append(_Waiting(program, image, linker_of(image, sysroot)))
    while waiting:
        one = waiting.pop(0)
        own = tuple(_expanded(folder, one.path, one.linker) for folder in one.image.run_paths.folders)
        handed_down = one.linker.handed_down(one.image, own, one.inherited)
        for name, found in _wanted(one, own):
            if found is None:
                if not closure.has(name):
                    closure.missing.append(f"{name}: not found (wanted by {one.path})")
                continue
            if found in closure.images:
                continue
            try:
                closure.images[found] = load_elf(found)
            except ElfError as error:
                closure.missing.append(str(error))
                continue
            waiting.append(_Waiting(found, closure.images[found], one.linker, handed_down))
    return closure


def _wanted(one: _Waiting, own: _Folders) -> Iterator[tuple[str, Path | None]]:
    """Yield each file that another one names, and where it is."""
    image, linker, sysroot = one.image, one.linker, one.linker.sysroot
    if image.interpreter is not None:
        yield image.interpreter, sysroot.host_path(image.interpreter)
    folders = [*linker.run_paths(image, own, one.inherited), *linker.folders]
    for name in image.needed:
        if "/" in name:
            yield name, sysroot.host_path(name)
        elif not linker.means_itself(name):
            yield name, next((found for folder in folders if (found := _fit(sysroot, folder, name, image))), None)


def _expanded(folder: str, path: Path, linker: DynamicLinker) -> str:
    """Return a folder of DT_RUNPATH with what $ORIGIN and $LIB stand for."""
    origin = os.path.dirname(linker.sysroot.guest_path(path))
    for name, value in (("ORIGIN", origin), ("LIB", f"lib/{_MULTIARCH[linker.byte_order]}")):
        folder = folder.replace(f"${{{name}}}", value).replace(f"${name}", value)
    return folder


def _fit(sysroot: Sysroot, folder: str, name: str, image: Image) -> Path | None:
    """Return the library of that name in a folder if it is for the same machine: ld.so passes over others."""
    found = sysroot.host_path(f"{folder}/{name}")
    return found if found is not None and kind_of(found) == (image.byte_order, False) else None
