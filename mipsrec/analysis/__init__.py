"""Functions, blocks and indirect jumps of a whole program.

Enters: the program's image and address space. Leaves: `Program`. Linear in program size: each function is explored
once between its start and the next known start; what later turns out to be a target inside it becomes an entry of it.
Nothing here has to be complete: a pc that no function covers is interpreted at run time until it meets one that is.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection

from ..elf import Image
from ..memory import AddressSpace
from .blocks import BlockFinder, CodeReader
from .discovery import common_gp, first_starts, function_names, gap_start, gap_starts
from .jumps import CodeAddresses, JumpResolver
from .model import Block, BlockIndex, End, Function, JumpTable, Program
from .returns_twice import mark_returns_twice

__all__ = ["Block", "BlockIndex", "End", "Function", "JumpTable", "Program", "analyze"]

_INDIRECT = (End.CALL, End.INDIRECT)


class _Analysis:
    """The working state of one `analyze` call."""

    def __init__(self, image: Image, memory: AddressSpace) -> None:
        self.image = image
        self.code = CodeReader(memory, image.fr)
        self.gp = image.gp if image.gp is not None else common_gp(self.code)
        self.resolver = JumpResolver(memory, self.gp, CodeAddresses(memory, self.gp))
        self.names = function_names(image)
        self.functions: dict[int, Function] = {}
        self.finders: dict[int, BlockFinder] = {}

    def name(self, start: int) -> str:
        return self.names.get(start) or f"fn_{start:08x}"

    def explore(self, starts: list[int]) -> None:
        """Explore the functions at `starts`; each ends where the next known one begins."""
        ordered = sorted({*starts, *self.functions})
        for start, limit in zip(ordered, [*ordered[1:], 1 << 32]):  # none when the entry is undecodable
            if start not in self.functions:
                function = Function(start, limit, self.name(start))
                self.functions[start] = function
                self.finders[start] = BlockFinder(self.code, function)
                self._extend(function, [start])

    def _extend(self, function: Function, pcs: list[int]) -> None:
        """Add blocks reached from `pcs`, and from the jump tables found in them."""
        finder = self.finders[function.start]
        seen: set[int] = set()
        known: dict[int, int] | None = None
        while pcs:
            finder.explore(pcs)
            if known is None:
                known = self.resolver.prologue(function)
            pcs = []
            for block in list(function.blocks.values()):
                if block.end in _INDIRECT and block.target is None and block.terminator_pc not in seen:
                    seen.add(block.terminator_pc)
                    pcs += [pc for pc in self.resolver.resolve(function, block, known) if pc not in function.blocks]
        if known is not None:
            self.resolver.guess_by_constants(function, known)

    def add_entries(self, pcs: set[int], *, resume: bool = False) -> list[int]:
        """Make each pc an entry of the function around it; return those that no function covers."""
        order = sorted(self.functions)
        spans: dict[int, list[int]] = {}  # sorted block starts of the functions asked about
        uncovered = []
        for pc in sorted(pcs):
            if pc in self.functions or self.code.instruction(pc) is None:
                continue
            index = bisect_right(order, pc) - 1
            function = self.functions[order[index]] if index >= 0 else None
            if function is None or not ((resume and pc < function.limit) or _covers(function, pc, spans)):
                uncovered.append(pc)
                continue
            if pc not in function.blocks:
                self._extend(function, [pc])
            function.entries.add(pc)
            if resume:
                function.resume_points.add(pc)
        return uncovered

    def follow_outside(self) -> None:
        """Turn branches out of a function into entries of others or new functions, until none is left."""
        done: set[int] = set()
        while True:
            targets = {pc for function in self.functions.values() for pc in function.outside} - done
            targets -= self.functions.keys()
            if not targets:
                return
            done |= targets
            self.explore(self.add_entries(targets))

    def fill_gaps(self) -> None:
        """Take code that nothing refers to as functions: callbacks and the like in stripped programs."""
        tried: set[int] = set()
        while True:
            starts = {pc: end for pc, end in gap_starts(self.code, self._covered()).items() if pc not in tried}
            if not starts:
                return
            while starts:  # one function after another in the same gap, without a look at all the others
                tried.update(starts)
                self.explore(sorted(starts))
                self.follow_outside()
                after = {gap_start(self.code, self._end(self.functions[pc]), end): end for pc, end in starts.items()}
                starts = {pc: end for pc, end in after.items() if pc is not None and pc not in tried}

    def _end(self, function: Function) -> int:
        """Return up to where a function covers the code from its start on."""
        end = function.start
        for start in sorted(function.blocks):
            if start > end:
                break
            end = max(end, start + (4 * function.blocks[start].instruction_count() or 4))
        return end

    def _covered(self) -> list[tuple[int, int]]:
        spans = sorted(
            (block.start, block.start + (4 * block.instruction_count() or 4))
            for function in self.functions.values()
            for block in function.blocks.values()
        )
        merged: list[tuple[int, int]] = []
        for start, end in spans:
            if merged and start <= merged[-1][1]:
                if end > merged[-1][1]:
                    merged[-1] = merged[-1][0], end
            else:
                merged.append((start, end))
        return merged

    def landing_pads(self) -> None:
        pads = {pc for function in self.image.eh_functions for pc in function.landing_pads}
        self.explore(self.add_entries(pads, resume=True))

    def note_guarded(self) -> None:
        """Tell each function which parts of it landing pads guard."""
        order = sorted(self.functions)
        for start, end in (part for function in self.image.eh_functions for part in function.guarded):
            index = bisect_right(order, start) - 1
            if index >= 0:
                self.functions[order[index]].guarded.append((start, end))


def _covers(function: Function, pc: int, spans: dict[int, list[int]]) -> bool:
    """Return whether `pc` lies in a block of the function; `spans` caches block starts between calls."""
    if pc in function.blocks:
        return True
    starts = spans.get(function.start)
    if starts is None:
        starts = spans[function.start] = sorted(function.blocks)
    index = bisect_right(starts, pc) - 1
    return index >= 0 and pc < starts[index] + 4 * function.blocks[starts[index]].instruction_count()


def analyze(image: Image, memory: AddressSpace, known_starts: Collection[int] = ()) -> Program:
    """Return the functions of a program with their blocks, entries and jump tables.

    `known_starts` are of functions besides those that are found, because control was seen to come there.
    """
    analysis = _Analysis(image, memory)
    seen = {pc for pc in known_starts if pc & 3 == 0 and analysis.code.instruction(pc) is not None}
    analysis.explore(sorted(seen | first_starts(image, memory, analysis.code, analysis.gp)))
    analysis.landing_pads()
    analysis.follow_outside()
    analysis.fill_gaps()
    mark_returns_twice(analysis.functions, analysis.add_entries)
    analysis.note_guarded()
    for function in analysis.functions.values():  # what was an entry first and a function later is a function
        function.entries = {pc for pc in function.entries if pc not in analysis.functions}
        function.resume_points &= function.entries
    functions = dict(sorted(analysis.functions.items()))
    return Program(functions, {start: function.name for start, function in functions.items()}, list(image.warnings))
