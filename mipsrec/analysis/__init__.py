"""Functions, blocks and indirect jumps of a whole program.

Enters: the program's image and address space. Leaves: `Program`. Linear in program size: each function is explored
once between its start and the next known start; what later turns out to be a target inside it becomes an entry of it.
Nothing here has to be complete: a pc that no function covers is interpreted at run time until it meets one that is.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Collection

from ..architecture import HALF_BYTES, INSTRUCTION_BYTES, is_mips16, may_be_code
from ..elf import Image
from ..memory import AddressSpace
from .blocks import BlockFinder, CodeReader, Ranges
from .code_addresses import CodeAddresses
from .discovery import common_gp, first_starts, function_names, gap_start, gap_start16, reads_as_code, uses_mips16
from .jumps import JumpResolver
from .model import Block, BlockIndex, End, Function, JumpTable, Program
from .pointed import NamedCode, cuts, made_addresses
from .returns_twice import mark_returns_twice
from .spans import Spans

__all__ = ["Block", "BlockIndex", "End", "Function", "JumpTable", "Program", "Ranges", "analyze"]

_INDIRECT = (End.CALL, End.INDIRECT)
_OF_OTHER_KIND = 4
"""So many functions of one kind of code may begin inside one of the other: what is no code reads so."""
_ROUNDS = 4
"""What an address tells of may hold further such places; so often the whole program is looked at again."""


class _Analysis:
    """The working state of one `analyze` call."""

    def __init__(self, image: Image, memory: AddressSpace, ranges: Ranges | None) -> None:
        self.image = image
        self.memory = memory
        self.code = CodeReader(memory, image.fr, ranges)
        self.gp = image.gp if image.gp is not None else common_gp(self.code)
        self.addresses = CodeAddresses(memory, self.gp)
        self.resolver = JumpResolver(memory, self.gp, self.addresses)
        self.names = function_names(image)
        self.functions: dict[int, Function] = {}
        self.order: list[int] = []
        """The starts of the functions, sorted."""
        self.grown: dict[int, Function] = {}
        """The functions that have got blocks since `follow_outside` last looked."""
        self.finders: dict[int, BlockFinder] = {}
        self.covered = Spans()
        """The addresses in blocks of functions, up to the last `fill_gaps`."""
        self.tried: set[int] = set()
        """What was once found in a gap, and so is not looked at again."""

    def name(self, start: int) -> str:
        return self.names.get(start) or f"fn_{start:08x}"

    def explore(self, starts: list[int]) -> None:
        """Explore the functions at `starts`; each ends where the next known one begins."""
        new = sorted({start for start in starts if start not in self.functions})
        for start in new:
            insort(self.order, start)
        for start in new:
            following = bisect_right(self.order, start)
            limit = self.order[following] if following < len(self.order) else 1 << 32
            function = Function(start, limit, self.name(start))
            self.functions[start] = function
            self.finders[start] = BlockFinder(self.code, function)
            self._extend(function, [start])

    def _extend(self, function: Function, pcs: list[int]) -> None:
        """Add blocks reached from `pcs`, and from the jump tables found in them."""
        finder = self.finders[function.start]
        self.grown[function.start] = function
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
        spans: dict[int, list[int]] = {}  # sorted block starts of the functions asked about
        uncovered = []
        for pc in sorted(pcs):
            if pc in self.functions or self.code.instruction(pc) is None:
                continue
            function = self._around(pc)
            if function is None or not ((resume and pc < function.limit) or _covers(function, pc, spans)):
                uncovered.append(pc)
                continue
            if pc not in function.blocks:
                self._extend(function, [pc])
            function.entries.add(pc)
            if resume:
                function.resume_points.add(pc)
        return uncovered

    def _around(self, pc: int) -> Function | None:
        """Return the function of the same kind of code that begins before a pc, if one is near."""
        index = bisect_right(self.order, pc) - 1
        for start in reversed(self.order[max(index - _OF_OTHER_KIND, 0) : index + 1]):
            if is_mips16(start) == is_mips16(pc):
                return self.functions[start]
        return None

    def follow_outside(self) -> list[Function]:
        """Turn branches out of functions into entries of others or new functions; return what got blocks meanwhile.

        Only what has grown since the last time has branches that were not looked at.
        """
        looked_at: dict[int, Function] = {}
        done: set[int] = set()
        while self.grown:
            grown, self.grown = self.grown, {}
            looked_at |= grown
            targets = {pc for function in grown.values() for pc in function.outside} - done
            done |= targets
            self.explore(self.add_entries(targets))
        return list(looked_at.values())

    def pointed_addresses(self) -> list[int]:
        """Return the addresses of instructions that data has or code computes, sorted."""
        found = made_addresses(self.code, self.memory, self.gp) | set(self.addresses.absolute)
        if uses_mips16(self.image):
            found.update(self.addresses.mips16)
        else:
            found = {pc for pc in found if not is_mips16(pc)}
        return sorted(pc for pc in found if _may_begin_function(pc) and self.code.instruction(pc) is not None)

    def cut(self, addresses: list[int], named: NamedCode) -> bool:
        """Explore anew the functions that others were taken for the end of; return whether there was one."""
        found = {start: cuts(self.code, named, function, addresses) for start, function in self.functions.items()}
        cut = {start: pcs for start, pcs in found.items() if pcs}
        entries, resume_points = set[int](), set[int]()
        for start in cut:
            function = self.functions.pop(start)
            del self.order[bisect_left(self.order, start)]
            entries |= function.entries
            resume_points |= function.resume_points
        self.explore([pc for start, pcs in cut.items() for pc in (start, *pcs)])
        self.add_entries(entries - resume_points)
        self.add_entries(resume_points, resume=True)
        return bool(cut)

    def take_uncovered(self, addresses: list[int]) -> bool:
        """Take what no function covers, and reads as code, for functions; return whether there was one."""
        alone = (pc for pc in addresses if pc & ~1 not in self.covered)
        starts = [pc for pc in alone if reads_as_code(self.code, pc, self.covered.next_start(pc))]
        self.explore(starts)
        return bool(starts)

    def follow_addresses(self) -> None:
        """Find the functions that only addresses in data and code tell of, and what follows from them."""
        addresses, named = self.pointed_addresses(), NamedCode(self.image)
        for _ in range(_ROUNDS):
            is_cut = self.cut(addresses, named)
            if not self.take_uncovered(addresses) and not is_cut:
                break
            self.fill_gaps(self.follow_outside())

    def fill_gaps(self, grown: list[Function]) -> None:
        """Take code that nothing refers to as functions: callbacks and the like in stripped programs.

        Behind each stretch of covered code a gap may begin. What is found in one is followed at once, so that the gaps
        behind it are found without another look at all the rest. `grown` has the functions whose blocks are new.
        """
        ends, ends16 = [start for start, _, _ in self.code.runs], list[int]()
        covered = self.covered
        while True:
            for function in grown:
                for block in function.blocks.values():
                    end = covered.add(*_span(block))
                    (ends16 if is_mips16(block.start) else ends).append(end)
            gaps, gaps16 = ({position for position in one if position not in covered} for one in (ends, ends16))
            found = {gap_start(self.code, position, covered.next_start(position)) for position in gaps - gaps16}
            found |= {gap_start16(self.code, position, covered.next_start(position)) for position in gaps16}
            starts = {pc for pc in found if pc is not None} - self.tried
            if not starts:
                return
            self.tried |= starts
            self.explore(sorted(starts))
            ends, ends16, grown = [], [], self.follow_outside()

    def landing_pads(self) -> None:
        pads = {pc for function in self.image.eh_functions for pc in function.landing_pads}
        self.explore(self.add_entries(pads, resume=True))

    def note_guarded(self) -> None:
        """Tell each function which parts of it landing pads guard."""
        for start, end in (part for function in self.image.eh_functions for part in function.guarded):
            index = bisect_right(self.order, start + 1) - 1  # of MIPS16e code, too, whose pcs are odd
            if index >= 0:
                self.functions[self.order[index]].guarded.append((start, end))


def _may_begin_function(pc: int) -> bool:
    """Return whether an address may be one of a function: round ones are pages, which other addresses are made of."""
    return may_be_code(pc) and pc & 0xFFFF != 0


def _span(block: Block) -> tuple[int, int]:
    """Return the addresses [start, end) of a block; one that hands over at once to the interpreter covers that."""
    first = block.first_pc
    if is_mips16(first):
        return first - 1, max(block.end_pc, first + HALF_BYTES) - 1
    return first, first + (INSTRUCTION_BYTES * block.instruction_count() or INSTRUCTION_BYTES)


def _covers(function: Function, pc: int, spans: dict[int, list[int]]) -> bool:
    """Return whether `pc` lies in a block of the function; `spans` caches block starts between calls."""
    if pc in function.blocks:
        return True
    starts = spans.get(function.start)
    if starts is None:
        starts = spans[function.start] = sorted(function.blocks)
    above = 0 if is_mips16(pc) else INSTRUCTION_BYTES // 2  # the slot of a branch-likely has such a start
    index = bisect_right(starts, pc + above) - 1
    return index >= 0 and pc < _span(function.blocks[starts[index]])[1]


def analyze(
    image: Image, memory: AddressSpace, known_starts: Collection[int] = (), ranges: Ranges | None = None
) -> Program:
    """Return the functions of a program, or of those ranges of it, with their blocks, entries and jump tables.

    `known_starts` are of functions besides those that are found, because control was seen to come there.
    """
    analysis = _Analysis(image, memory, ranges)
    seen = {pc for pc in known_starts if may_be_code(pc) and analysis.code.instruction(pc) is not None}
    analysis.explore(sorted(seen | first_starts(image, memory, analysis.code, analysis.gp)))
    analysis.landing_pads()
    analysis.follow_outside()
    analysis.fill_gaps(list(analysis.functions.values()))
    analysis.follow_addresses()
    mark_returns_twice(analysis.functions, analysis.add_entries)
    analysis.note_guarded()
    for function in analysis.functions.values():  # what was an entry first and a function later is a function
        function.entries = {pc for pc in function.entries if pc not in analysis.functions}
        function.resume_points &= function.entries
    functions = dict(sorted(analysis.functions.items()))
    return Program(functions, {start: function.name for start, function in functions.items()}, list(image.warnings))
