"""Where functions start: symbols, entry, call targets, GOT entries, unwind tables, gp prologues, gaps.

One sweep over the executable words finds direct call targets and gp prologues whether the code around them is
reachable or not; a wrong start only splits a function, which costs speed and never meaning.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import Counter

from ..architecture import INSTRUCTION_BYTES, is_aligned
from ..elf import Image
from ..isa import Flow, decode
from ..memory import AddressSpace
from .blocks import CodeReader

_JAL = 0x0C000000
_BAL = 0x04110000
_LUI_GP = 0x3C1C
_ADDIU_GP = 0x279C
_ADDU_GP_T9 = 0x0399E021


def common_gp(code: CodeReader) -> int | None:
    """Return the gp that most prologues of the code set up (`lui gp; addiu gp; addu gp, gp, t9`), None without any."""
    found: Counter[int] = Counter()
    for start, _, words in code.runs:
        for index in range(len(words) - 2):
            if words[index + 2] == _ADDU_GP_T9 and (words[index] >> 16, words[index + 1] >> 16) == (_LUI_GP, _ADDIU_GP):
                found[_prologue_gp(words, index, start)] += 1
    return max(found, key=lambda gp: found[gp], default=None)


def _prologue_gp(words: array[int], index: int, start: int) -> int:
    """Return what the `lui gp; addiu gp` at `index` and a t9 that holds its address add up to."""
    low = words[index + 1]
    return (words[index] << 16) + (low & 0x7FFF) - (low & 0x8000) + start + INSTRUCTION_BYTES * index & 0xFFFFFFFF


def _sweep(code: CodeReader, gp: int | None) -> set[int]:
    """Return the targets of jal and bal, and the starts of gp prologues (`lui gp; addiu gp; addu gp, gp, t9`)."""
    found = set()
    for start, _, words in code.runs:
        pc = start
        for index, word in enumerate(words):
            top, next_pc = word & 0xFC000000, pc + INSTRUCTION_BYTES
            if top == _JAL:
                target = next_pc & 0xF0000000 | (word & 0x3FFFFFF) * INSTRUCTION_BYTES
                if target != next_pc + INSTRUCTION_BYTES:  # which only reads the pc
                    found.add(target)
            elif word & 0xFFFF0000 == _BAL and word & 0xFFFF != 1:
                offset = (word & 0x7FFF) - (word & 0x8000)
                found.add(next_pc + INSTRUCTION_BYTES * offset)
            elif word >> 16 == _LUI_GP and gp is not None and index + 2 < len(words):
                prologue = words[index + 1] >> 16 == _ADDIU_GP and words[index + 2] == _ADDU_GP_T9
                if prologue and _prologue_gp(words, index, start) == gp:
                    found.add(pc)
            pc = next_pc
    return found


def _got_targets(image: Image, memory: AddressSpace) -> set[int]:
    start, end = image.got or (0, 0)
    words = (memory.relocated_word(address) for address in range(start & ~3, end, 4))
    return {word for word in words if word is not None and word & 0xFFFF}  # round ones are pages, not functions


def function_names(image: Image) -> dict[int, str]:
    """Return the preferred symbol of each function address: global before weak before local, then the shortest."""
    rank = {"GLOBAL": 0, "WEAK": 1, "LOCAL": 2}
    best: dict[int, tuple[int, int, str]] = {}
    for symbol in image.symbols:
        if symbol.type == "FUNC" and symbol.name:
            key = (rank.get(symbol.binding, 3), len(symbol.name), symbol.name)
            best[symbol.address] = min(key, best.get(symbol.address, key))
    return {address: name for address, (_, _, name) in best.items()}


def first_starts(image: Image, memory: AddressSpace, code: CodeReader, gp: int | None) -> set[int]:
    """Return the starts known before any function has been explored, all of them decodable."""
    starts = {image.entry} - {0}
    starts.update(symbol.address for symbol in image.symbols if symbol.type == "FUNC")
    starts.update(function.start for function in image.eh_functions)
    starts |= _got_targets(image, memory)
    starts |= _sweep(code, gp)
    return {pc for pc in starts if is_aligned(pc) and code.instruction(pc) is not None}


def gap_start(code: CodeReader, position: int, limit: int) -> int | None:
    """Return the first instruction after padding, below `limit`.

    None when there is none, or when what is there does not read as code: decodable up to its first jump or branch.
    """
    index = bisect_right(code.starts, position) - 1
    if index < 0:
        return None
    start, end, words = code.runs[index]
    pc, limit = position, min(limit, end)
    while pc < limit and words[(pc - start) // INSTRUCTION_BYTES] == 0:
        pc += INSTRUCTION_BYTES
    index, last = (pc - start) // INSTRUCTION_BYTES, (limit - start) // INSTRUCTION_BYTES
    return pc if pc < limit and _reads_as_code(words, index, last) else None


def _reads_as_code(words: array[int], index: int, end: int) -> bool:
    for at in range(index, end):
        instruction = decode(words[at])
        if instruction is None:
            return False
        if instruction.row.flow is not Flow.NEXT:
            return True
    return False
