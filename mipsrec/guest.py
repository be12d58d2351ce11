"""A program to translate: its file, its memory at the start, and what analysis finds in it.

Enters: a path. Leaves: a `Guest`. Analysis runs once, when it is first needed. All functions raise `MipsrecError`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path

from .analysis import Block, Function, Program, Ranges, analyze
from .analysis.garbage import without_collections
from .checked_arguments import PATH, Kind, checked
from .counters import seed_of
from .elf import Image, load_elf
from .errors import LiftError, MipsrecError
from .isa import Instruction
from .isa.disassembly import disassemble
from .lift.convention import Callee
from .lift.options import LiftOptions
from .lift.pipeline import passes_without
from .lift.policy import lifted_starts
from .long_work import long_wait
from .memory import AddressSpace
from .native.build_times import BuildTimes, Phase
from .options import Options

_NAME = Kind((str,), "a name, or a hexadecimal address as text")
_NAMES = Kind((str,), "a list of names, addresses and patterns", each=True)

_LONG_TO_ANALYZE = 1 << 20
"""So many bytes of code take two seconds and more, at about 9 microseconds an instruction."""


class Guest:
    """A program to translate; analysis runs once, when it is first needed. It believes in the starts that are known.

    Nothing outside `ranges` is looked at, if they are given.
    """

    def __init__(
        self, image: Image, known_starts: frozenset[int] = frozenset(), ranges: Ranges | None = None
    ) -> None:
        self.image = image
        self.known_starts = known_starts
        self.ranges = ranges
        self.times = BuildTimes()
        """What was spent on it so far, and is in no report of a build yet."""

    @property
    def beliefs(self) -> tuple[object, ...]:
        """All that analysis depends on besides the contents of the file."""
        return sorted(self.known_starts), self.ranges

    @cached_property
    def memory(self) -> AddressSpace:
        """Its address space as at program start."""
        return AddressSpace(self.image)

    @cached_property
    def program(self) -> Program:
        with without_collections(), self._said_if_long(), self.times.phase(Phase.ANALYSIS):
            return analyze(self.image, self.memory, self.known_starts, self.ranges)

    def _said_if_long(self) -> AbstractContextManager[None]:
        code_bytes = sum(end - start for start, end in self.image.executable_ranges)
        where = f"{self.image.path}: finding the functions in {code_bytes >> 20} MiB of code"
        return long_wait(where) if code_bytes >= _LONG_TO_ANALYZE else nullcontext()

    @cached_property
    def starts(self) -> Mapping[int, Callee]:
        """Starts of the functions that get lifted."""
        program = self.program
        with without_collections(), self.times.phase(Phase.FACTS):
            return lifted_starts(program, self.image.fr)

    def lift_options(self, options: Options, comments: bool = False) -> LiftOptions:
        """Return what a guest's code is generated for; raises UsageError for passes that cannot be left out."""
        passes_without(options.without)
        return LiftOptions(
            self.image.byte_order == "big", self.image.fr, options.memory, options.calls, comments,
            self.image.e_flags.nan2008, self.image.is_relocatable,
            self.image.path.name if self.image.is_relocatable else "",
            seed_of(self.image.content, self.image.byte_order) if options.cover else None, options.without,
        )  # fmt: skip

    @checked(name=_NAME)
    def function(self, name: str) -> Function:
        """Return the function of a name or a hexadecimal address; raises LiftError when there is none."""
        for function in self.program.functions.values():
            if function.name == name:
                return function
        try:
            address = int(name, 16)
        except ValueError:
            address = next((s.address for s in self.image.symbols if s.name == name and s.type == "FUNC"), -1)
        if address in self.program.functions:
            return self.program.functions[address]
        raise self._no_function(name)

    @checked(patterns=_NAMES)
    def functions_named(self, patterns: list[str]) -> list[Function]:
        """Return the functions of names, addresses or shell patterns; raises LiftError for one without any."""
        found: dict[int, Function] = {}
        for pattern in patterns:
            if set(pattern).isdisjoint("*?["):
                named = [self.function(pattern)]
            else:
                named = [f for f in self.program.functions.values() if fnmatchcase(f.name, pattern)]
            if not named:
                raise self._no_function(pattern)
            found |= {function.start: function for function in named}
        return list(found.values())

    def functions_like(self, patterns: list[str]) -> list[Function]:
        """Return those of them that get lifted."""
        return [function for function in self.functions_named(patterns) if function.start in self.starts]

    def block_lines(self, function: Function, block: Block) -> Iterator[tuple[int, Instruction, str]]:
        """Yield (pc, instruction, assembly) of a block, calls and jumps with the names of their targets."""
        for pc, instruction in zip(block.pcs(), block.instructions()):
            text = disassemble(instruction, pc)
            if instruction is block.terminator:
                target = function.likely_target(block)
                name = self.program.names.get(target) if target is not None else None
                text += f"  # {name}" if name else ""
            yield pc, instruction, text

    def _no_function(self, name: str) -> LiftError:
        return LiftError(f"{self.image.path}: no function {name}; `mipsrec disasm {self.image.path}` lists them")


@checked(path=PATH)
def open_guest(path: str | os.PathLike[str]) -> Guest:
    """Read a program; raises ElfError when it cannot be translated."""
    times = BuildTimes()
    with times.phase(Phase.READING):
        guest = Guest(load_elf(Path(path)))
    guest.times.add(times)
    return guest


def guest_in(path: str | os.PathLike[str], identity: str) -> Guest | None:
    """Read the program or library of an identity; None where it is gone, or the file is another one now."""
    try:
        guest = open_guest(path)
    except (MipsrecError, OSError, ValueError):  # the path may be none: it stands in a file
        return None
    return guest if guest.image.identity == identity else None


GUEST = Kind((Guest,), "a guest, which open_guest(path) returns")
OPTIONS = Kind((Options,), "Options(...)")
FUNCTIONS = Kind((Function,), "a list of functions, as guest.functions_named([name]) returns", each=True)
"""What the functions of `import mipsrec` check their arguments for."""
