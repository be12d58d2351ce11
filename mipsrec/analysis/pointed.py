"""Functions behind calls that do not return, by the addresses of code that data or other code has.

Nothing tells that a call or a system call (of exit, say) does not return. So what stands behind it is taken for more of
the same function, even if a callback begins there that no symbol names. Two things together tell that one does: its
address is known somewhere, and what is before it and what is from there on share nothing but that they adjoin.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from ..architecture import HALF_BYTES, INSTRUCTION_BYTES, is_mips16
from ..elf import Image
from ..isa import Flow
from ..isa.effects import masks
from ..memory import AddressSpace
from ..state import GP, V0
from .blocks import CodeReader
from .model import Block, End, Function

_LUI, _ADDIU, _LW = 0x0F, 0x09, 0x23
_NOP16 = 0x6500
_NEAR = 64
"""So many instructions behind the upper half of an address its lower one is looked for."""


def made_addresses(code: CodeReader, memory: AddressSpace, gp: int | None) -> set[int]:
    """Return what the code computes as `lui; addiu`, or as the word of a page in the GOT and `addiu`.

    Registers that something else writes meanwhile are not followed, so some of it is no address at all.
    """
    found = set()
    for _, _, words in code.runs:
        highs: list[tuple[int, int] | None] = [None] * 32
        for index, word in enumerate(words):
            kind, rs, rt = word >> 26, word >> 21 & 31, word >> 16 & 31
            if kind == _ADDIU:
                high = highs[rs]
                if high is not None and index - high[1] < _NEAR:
                    found.add(high[0] + (word & 0x7FFF) - (word & 0x8000) & 0xFFFFFFFF)
            elif kind == _LUI:
                highs[rt] = (word & 0xFFFF) << 16, index
            elif kind == _LW:
                page = None
                if rs == GP and gp is not None:
                    page = memory.relocated_word(gp + (word & 0x7FFF) - (word & 0x8000) & 0xFFFFFFFF)
                highs[rt] = (page, index) if page and not page & 0xFFFF else None
    return found


class NamedCode:
    """The code that symbols with a size, or unwind tables, say is of one function."""

    def __init__(self, image: Image) -> None:
        ranges = {(s.address & ~1, (s.address & ~1) + s.size) for s in image.symbols if s.type == "FUNC" and s.size}
        ranges.update((function.start & ~1, function.end) for function in image.eh_functions)
        self._ranges = sorted(ranges)

    def goes_on(self, pc: int) -> bool:
        """Return whether a pc is in the function of the instruction before it."""
        address = pc & ~1
        index = bisect_left(self._ranges, (address, 0)) - 1
        return index >= 0 and self._ranges[index][0] < address < self._ranges[index][1]


class Borders:
    """The places inside a function that control passes only behind a call or system call."""

    def __init__(self, code: CodeReader, function: Function) -> None:
        self._code = code
        self._behind_calls: set[int] = set()
        lows, highs = [], []
        for block in function.blocks.values():
            if block.end in (End.CALL, End.SYSCALL):
                self._behind_calls.add(block.next_pc)
                continue
            for low, high in _spans(function, block):
                lows.append(low)
                highs.append(high)
        self._lows, self._highs = sorted(lows), sorted(highs)

    def begins_function(self, pc: int) -> bool:
        """Return whether only padding is between a call and the pc, and no edge leads over the border."""
        while pc not in self._behind_calls:
            pc = self._before_padding(pc)
            if not pc:
                return False
        return bisect_left(self._lows, pc) == bisect_left(self._highs, pc)

    def _before_padding(self, pc: int) -> int:
        """Return the pc of the nop before another, 0 where there is none."""
        if is_mips16(pc):
            return pc - HALF_BYTES if self._code.half(pc - 1 - HALF_BYTES) == _NOP16 else 0
        return pc - INSTRUCTION_BYTES if self._code.word(pc - INSTRUCTION_BYTES) == 0 else 0


def _spans(function: Function, block: Block) -> Iterator[tuple[int, int]]:
    """Yield the lower and the higher end of each edge that leaves a block."""
    for successor in function.successors(block):
        yield min(block.start, successor), max(block.start, successor)


def _wants_results(code: CodeReader, pc: int) -> bool:
    """Return whether the code at a pc reads v0 or v1 first: then what stands before it has called, and goes on."""
    results = 1 << V0 | 1 << V0 + 1
    while (instruction := code.instruction(pc)) is not None:
        read, written = masks(instruction, code.fr)
        if read & results:
            return True
        results &= ~written
        if instruction.row.flow is not Flow.NEXT or not results:
            return False
        pc = instruction.next_pc(pc)
    return False


def cuts(code: CodeReader, named: NamedCode, function: Function, addresses: list[int]) -> list[int]:
    """Return which of the addresses, sorted, begin functions that were taken for more of this one."""
    first = bisect_right(addresses, function.start)
    last, is_odd = bisect_left(addresses, function.limit, first), is_mips16(function.start)
    inside = [pc for pc in addresses[first:last] if is_mips16(pc) == is_odd and not named.goes_on(pc)]
    borders = Borders(code, function) if inside else None
    found = [pc for pc in inside if borders is not None and borders.begins_function(pc)]
    return [pc for pc in found if not _wants_results(code, pc)]
