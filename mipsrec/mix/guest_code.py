"""Which guest instruction the code at a landmark is of.

Enters: landmarks, and the paths of files that the guest had mapped. Leaves: `Place`s in the guest's files, whose
functions are found as for recompilation. A file that is gone, or has changed since, has none.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from ..analysis import Block, BlockIndex, End, Function
from ..errors import MipsrecError
from ..guest import Guest, open_guest
from ..native.host_files import HostFile
from ..sysroot import is_mips
from ..target.running_code import Kind
from .landmarks import Landmark, Tier

_JUMPS = {
    End.BRANCH: (Kind.BRANCH,),
    End.CALL: (Kind.CALL,),
    End.RETURN: (Kind.RETURN,),
    End.INDIRECT: (Kind.JUMP, Kind.CALL),
    End.SYSCALL: (Kind.CALL,),
}
"""Which host jumps are the end of a block: each is performed as often as the guest's.

Plain jumps are of no use: LLVM makes some that come from no instruction, and the line table has the one before them.
"""


class Place(NamedTuple):
    """In a block, before the instruction of a number; behind the last one where that is as many as it has.

    `code` is of the file. `start` and `block_start` name the function and the block.
    """

    code: FileCode
    start: int
    block_start: int
    number: int

    @property
    def is_entry(self) -> bool:
        """Whether the function is just entered."""
        return self.number == 0 and self.block_start == self.start

    def target(self) -> int | None:
        """Return where the end of the block goes for certain, or probably."""
        function = self.code.functions[self.start]
        return function.likely_target(function.blocks[self.block_start])


class FileCode:
    """The functions of one of the guest's files."""

    def __init__(self, guest: Guest) -> None:
        self._segments = guest.image.segments
        self.functions = guest.program.functions
        self._index = BlockIndex(self.functions.values())
        self.returns: dict[int, list[tuple[int, int]]] = {}
        """Where calls of a function come back to, as (function, block), by the start of the function."""
        for function in self.functions.values():
            for block in function.blocks.values():
                target = function.likely_target(block)
                if block.end is End.CALL and target in self.functions and block.next_pc in function.blocks:
                    self.returns.setdefault(target, []).append((function.start, block.next_pc))

    def pc(self, offset: int) -> int | None:
        """Return the guest pc of an offset of the file."""
        for segment in self._segments:
            if 0 <= offset - segment.offset < segment.filesz:
                return segment.vaddr + offset - segment.offset
        return None

    def at(self, pc: int) -> tuple[Function, Block] | None:
        return self._index.place(pc)


class GuestCode:
    """All files that landmarks are of; each is read when one is."""

    def __init__(self, program: Path) -> None:
        self._program = str(program)
        self._libraries: dict[str, HostFile | None] = {}
        self._guests: dict[str, Guest | None] = {}
        self._codes: dict[str, FileCode] = {}
        self._places: dict[Landmark, Place | None] = {}
        self._paths: list[str] = [str(program)]

    def mapped(self, paths: Iterable[str]) -> None:
        """Learn which files the guest had mapped."""
        self._paths += sorted(set(paths).difference(self._paths))

    def _library(self, path: str) -> HostFile | None:
        if path not in self._libraries:
            try:
                library = HostFile(Path(path))
            except (OSError, ValueError):
                library = None
            self._libraries[path] = library if library is not None and library.guest_identity else None
        return self._libraries[path]

    def is_library(self, path: str) -> bool:
        """Return whether a file is a library of recompiled code."""
        return path.startswith("/") and self._library(path) is not None

    def _guest(self, path: str) -> Guest | None:
        if path not in self._guests:
            try:
                self._guests[path] = open_guest(path) if is_mips(Path(path)) else None
            except (MipsrecError, OSError, ValueError):
                self._guests[path] = None
        return self._guests[path]

    def _code(self, guest: Guest | None) -> FileCode | None:
        if guest is None:
            return None
        if guest.image.identity not in self._codes:
            self._codes[guest.image.identity] = FileCode(guest)
        return self._codes[guest.image.identity]

    def _of_library(self, landmark: Landmark) -> Place | None:
        library = self._library(landmark.path)
        address = library.address(landmark.offset) if library is not None else None
        if library is None or address is None:
            return None
        identity, pc = library.guest_identity, library.guest_pc(address)
        guests = (guest for path in self._paths if (guest := self._guest(path)) is not None)
        code = self._code(next((guest for guest in guests if guest.image.identity == identity), None))
        found = code.at(pc) if code is not None and pc is not None else None
        if code is None or found is None:
            return None
        function, block = found
        if landmark.kind is None:
            return Place(code, function.start, function.start, 0) if pc == function.start else None
        if block.terminator is None or block.terminator_pc != pc or landmark.kind not in _JUMPS.get(block.end, ()):
            return None
        return Place(code, function.start, block.start, block.instruction_count())

    def _of_guest(self, landmark: Landmark) -> Place | None:
        code = self._code(self._guest(landmark.path or self._program))
        if code is None:
            return None
        pc = code.pc(landmark.offset) if landmark.path else landmark.offset
        found = code.at(pc) if pc is not None else None
        if pc is None or found is None:
            return None
        function, block = found
        return Place(code, function.start, block.start, block.pcs().index(pc))

    def place(self, landmark: Landmark) -> Place | None:
        """Return where the guest is at a landmark; None where it does not tell."""
        if landmark not in self._places:
            find = self._of_library if landmark.tier is Tier.RECOMPILED else self._of_guest
            self._places[landmark] = find(landmark)
        return self._places[landmark]
