"""Where functions start: symbols, entry, call targets, GOT entries, unwind tables, gp prologues, gaps.

One sweep over the executable words finds direct call targets and gp prologues whether the code around them is
reachable or not; a wrong start only splits a function, which costs speed and never meaning.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator

from ..architecture import HALF_BYTES, INSTRUCTION_BYTES, MIPS16, is_mips16, may_be_code
from ..elf import Image
from ..isa import Flow
from ..isa.mips16_jump import JALX, exchanging_jump
from ..memory import AddressSpace
from .blocks import CodeReader, makes_frame16

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
    starts.update(function.start | any(map(is_mips16, function.landing_pads)) for function in image.eh_functions)
    starts |= _got_targets(image, memory)
    starts |= _sweep(code, gp)
    if uses_mips16(image):
        starts -= {pc - 1 for pc in starts if is_mips16(pc)} | set(_labels16(image))  # what unwind tables say is even
        starts |= _exchanged(code)
    else:
        starts = {pc for pc in starts if not is_mips16(pc)}
    return {pc for pc in starts if may_be_code(pc) and code.instruction(pc) is not None}


def uses_mips16(image: Image) -> bool:
    """Return whether a program has MIPS16e code, by what it is marked as or its symbols."""
    odd = any(is_mips16(symbol.address) for symbol in image.symbols if symbol.type == "FUNC")
    return MIPS16.name in image.modules or odd or is_mips16(image.entry)


def _labels16(image: Image) -> Iterator[int]:
    """Yield symbols without a size inside functions of MIPS16e code: GCC has them at jump tables."""
    end = 0
    for symbol in image.symbols:
        if symbol.type == "FUNC" and is_mips16(symbol.address):
            if not symbol.size and symbol.address < end:
                yield symbol.address
            end = max(end, symbol.address + symbol.size)


def _exchanged(code: CodeReader) -> set[int]:
    """Return the targets of jalx in MIPS32 code."""
    found = set()
    for start, _, words in code.runs:
        for index, word in enumerate(words):
            jump = exchanging_jump(word)
            if jump is not None:
                found.add(jump.jump_target(start + INSTRUCTION_BYTES * index))
    return found


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
    return pc if reads_as_code(code, pc, limit) else None


def gap_start16(code: CodeReader, position: int, limit: int) -> int | None:
    """Return the first instruction behind MIPS16e code, below `limit`, that makes a stack frame.

    Between functions stand the numbers that the one before loads, which read as code just as well.
    """
    for address in range(position, limit, HALF_BYTES):
        instruction = code.instruction(address + 1)
        if instruction is None and code.half(address) is None:
            return None
        if instruction is not None and makes_frame16(instruction):
            return address + 1
    return None


def reads_as_code(code: CodeReader, pc: int, limit: int) -> bool:
    """Return whether what is at a pc decodes up to its first jump or branch, below `limit`."""
    while pc < limit:
        instruction = code.instruction(pc)
        if instruction is None or instruction.row is JALX:  # which is hardly ever the first jump, but text may be
            return False
        if instruction.row.flow is not Flow.NEXT:
            return True
        pc = instruction.next_pc(pc)
    return False
