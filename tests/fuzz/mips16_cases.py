"""Random cases of MIPS16e code for differential tests: instructions, branches, loops, calls (manual, volume IV-a).

Enters: a random generator, the guest address that the case will have. Leaves: `Case16`s. Halves are drawn, and
mipsrec's decoder says what they are; tests/isa/test_mips16.py holds it against two other decoders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from random import Random

from mipsrec.architecture import HALF_BYTES, INSTRUCTION_BYTES
from mipsrec.isa import Flow, Instruction, decode16, is_long
from mipsrec.isa.disassembly import disassemble
from mipsrec.isa.effects import effects, masks
from mipsrec.state import RA, SP
from tests.fuzz.case import Case
from tests.fuzz.maker import WILD, WILD_SHARE

HOMES16 = (7, 17)
"""As HOMES of maker.py: the case leaves by a jump to such a register."""
SMALL = (16, 17, 2, 3, 4, 5, 6, 7)
"""Registers by the three bits that name them."""
T8 = 24
NOP16 = 0x6500  # move $0, $16
_EXTEND = 0x1E << 11
_JUMPS = 0x1D << 11
_JR, _JR_RA, _JALR, _JRC, _JRC_RA, _JALRC = (_JUMPS | way << 5 for way in (0, 1, 2, 4, 5, 6))
_BREAK = 0x05
_LOWEST, _HIGHEST = -0x70, 0x60
"""Where around the window's middle accesses are."""
_FRAME_REACH = 48
"""Bytes that save and restore may access below the top of a frame."""
_PC_LOAD = "lwpc"


@dataclass
class Case16(Case):
    """MIPS16e code; `words` are those of MIPS32 instructions that do the same, where there are some."""

    found: list[Instruction] = field(default_factory=list)

    def pc(self, index: int) -> int:
        return self.start + sum(one.size_bytes for one in self.found[:index]) | 1

    @property
    def _end(self) -> int:
        return self.pc(len(self.found)) - 1

    @property
    def _pool(self) -> int:
        """The address of the word that has the address to go back to; before it are two instructions of a half."""
        return self._end + 2 * HALF_BYTES + self._end % INSTRUCTION_BYTES

    @property
    def size_bytes(self) -> int:
        return self._pool + INSTRUCTION_BYTES - self.start

    def instructions(self) -> list[Instruction | None]:
        return [*self.found]

    def index_at(self, pc: int) -> int | None:
        pcs = [self.pc(index) for index in range(len(self.found))]
        return pcs.index(pc) if pc in pcs else None

    def names(self) -> Iterable[tuple[int, str]]:
        for index, instruction in enumerate(self.found):
            yield index, name_of(instruction)

    def listing(self) -> str:
        return " | ".join(disassemble(one, self.pc(index)) for index, one in enumerate(self.found))

    def assembly(self, name: str) -> list[str]:
        small, base = SMALL.index(self.home), self._end - self._end % INSTRUCTION_BYTES
        load = 0x16 << 11 | small << 8 | (self._pool - base) // INSTRUCTION_BYTES
        halves = [half for one in self.found for half in _halves(one)] + [load, _JRC | small << 8]
        lines = ["    .set mips16", f"    .type {name}, @function", f"{name}:", "    .insn"]
        lines += [f"    .half {half:#x}" for half in halves]
        lines += [f"    .size {name}, . - {name}", "    .set nomips16", "    .balign 4"]
        return [*lines, f"    .word leave_{self.home}"]


def _halves(instruction: Instruction) -> list[int]:
    encoding = instruction.encoding
    return [encoding] if instruction.size_bytes == HALF_BYTES else [encoding >> 16, encoding & 0xFFFF]


def name_of(instruction: Instruction) -> str:
    """Return a name of an instruction and its form."""
    halves = _halves(instruction)
    form = "extended " if halves[0] >> 11 == 0x1E else ""
    return f"{form}{instruction.row.name} {halves[-1] >> 11:02x}" if halves[0] >> 11 != 0x03 else "jal"


def _extension(value: int) -> int:
    """Return the first half of an extended instruction with an immediate of 16 bits; its low five are in the other."""
    return _EXTEND | (value >> 5 & 0x3F) << 5 | value >> 11 & 0x1F


def _extended(half: int, value: int) -> Instruction | None:
    return decode16(_extension(value), half & ~0x1F | value & 0x1F)


@cache
def _forms() -> dict[str, list[int]]:
    """Return halves by the name of the instruction and form that they are, or are the second half of."""
    random, found = Random("forms"), dict[str, list[int]]()
    for opcode in range(32):
        halves = [opcode << 11 | random.getrandbits(11) for _ in range(3000)]
        for half in (half for half in halves if not is_long(half)):
            for instruction in (decode16(half), decode16(_EXTEND | random.getrandbits(11), half)):
                if instruction is not None:
                    found.setdefault(name_of(instruction), []).append(half)
    return found


def all_names() -> set[str]:
    """Return the names of what cases have, but jal."""
    return {*_forms()}


class Maker16:
    """One case under construction."""

    def __init__(self, random: Random, start: int) -> None:
        self.random = random
        self.case = Case16(start, random.choice(HOMES16))
        self.pool = random.sample(range(8), random.choice((2, 3, 4, 6)))
        self.protected = {self.case.home}
        self.aligned = random.random() < 0.85
        self.written = 0  # register bits, as in maker.py
        self.frame_moved = False

    # registers

    def reserve(self) -> int:
        """Return a register that a jump can name and nothing else here writes."""
        free = [number for number in SMALL if number not in self.protected and not self.written >> number & 1]
        number = self.random.choice(free)
        self.protected.add(number)
        return number

    def _points(self, register: int, offset: int, size: int) -> bool:
        """Make a register one that points into the window, an offset before what is accessed, if it can be one."""
        case, random = self.case, self.random
        if register in case.wild:
            return True
        if register in case.pointers:
            place = case.pointers[register] + offset
            return _LOWEST <= place < _HIGHEST and (not self.aligned or place % size == 0)
        if register in self.protected or register == 0 or self.written >> register & 1 or len(case.pointers) > 2:
            return False
        self.protected.add(register)
        if random.random() < WILD_SHARE:
            case.wild[register] = random.choice(WILD)
        else:
            step = size if self.aligned else 1
            case.pointers[register] = random.randrange(_LOWEST, _HIGHEST) // step * step - offset
        return True

    # instructions

    def plain(self, in_slot: bool = False) -> Instruction:
        """Return an instruction that is no jump; in slots it must not be extended."""
        while True:
            name = self.random.choice(list(_forms()))
            if in_slot and name.startswith("extended"):
                continue
            found = self._drawn(self.random.choice(_forms()[name]), name.startswith("extended"))
            if found is not None:
                self.written |= masks(found, 0)[1]
                return found

    def _drawn(self, half: int, extended: bool) -> Instruction | None:
        random = self.random
        if random.random() < 0.7:  # registers that others use as well
            half = half & ~0x7E0 | random.choice(self.pool) << 8 | random.choice(self.pool) << 5
        found = decode16(_EXTEND | random.getrandbits(11), half) if extended else decode16(half)
        if found is None or found.row.flow is not Flow.NEXT:
            return None
        does = effects(found.row)
        if found.row.name in ("save", "restore"):
            if not self._has_frame(found):
                return None
        elif found.row.name == _PC_LOAD:
            if extended and random.random() < 0.9:
                found = _extended(half, random.randrange(0, 64, INSTRUCTION_BYTES if self.aligned else 1))
        elif does.loads or does.stores:
            found = self._access(found, half)
        if found is None or masks(found, 0)[1] & self._held(found):
            return None
        return found

    def _held(self, instruction: Instruction) -> int:
        """Return the register bits that an instruction must not write."""
        moves_frame = instruction.row.name in ("save", "restore")
        return sum(1 << number for number in self.protected if not (moves_frame and number == SP))

    def _has_frame(self, instruction: Instruction) -> bool:
        """Return whether save or restore can be here; afterwards nobody knows sp."""
        top = instruction.imm if instruction.row.name == "restore" else 0
        case = self.case
        if self.frame_moved or (SP in self.protected and SP not in case.pointers) or self.written >> SP & 1:
            return False
        if SP not in case.pointers:
            self.protected.add(SP)
            case.pointers[SP] = self.random.randrange(-0x20, 0x40, 4) - top
        place = case.pointers[SP] + top
        if place % INSTRUCTION_BYTES or not _LOWEST + _FRAME_REACH <= place < _HIGHEST:
            return False
        self.frame_moved = True
        return True

    def _access(self, found: Instruction, half: int) -> Instruction | None:
        access = effects(found.row).access
        assert access is not None
        register, size = found.rs, access.size_bytes
        if register == SP and self.frame_moved:
            return None
        if found.size_bytes > HALF_BYTES:
            far = self.case.pointers.get(register)
            if far is None:
                return found if self._points(register, found.imm, size) else None
            step = size if self.aligned else 1
            return _extended(half, (self.random.randrange(_LOWEST, _HIGHEST) // step * step - far) & 0xFFFF)
        return found if self._points(register, found.imm, size) else None

    # the case

    @property
    def here(self) -> int:
        return self.case.pc(len(self.case.found))

    def emit(self, instruction: Instruction | None, certain: bool = True) -> None:
        """Append an instruction."""
        assert instruction is not None
        case = self.case
        if certain:
            case.certain.append(len(case.found))
        case.found.append(instruction)
        case.words.append(instruction.word)

    def some(self, low: int, high: int, certain: bool = True) -> None:
        for _ in range(self.random.randint(low, high)):
            self.emit(self.plain(), certain)

    def skipped(self, most: int) -> list[Instruction]:
        return [self.plain() for _ in range(self.random.randint(0, most))]


def _branch(random: Random, register: int | None, distance: int) -> Instruction | None:
    """Return a branch over some bytes: b, or beqz, bnez, bteqz or btnez; short or extended."""
    halves = distance // HALF_BYTES
    if register is None:
        half, bits = 0x02 << 11, 11
    elif register == T8:
        half, bits = 0x0C << 11 | random.randrange(2) << 8, 8
    else:
        half, bits = random.choice((0x04, 0x05)) << 11 | SMALL.index(register) << 8, 8
    if random.random() < 0.5 or not -(1 << bits - 1) <= halves < 1 << bits - 1:
        return _extended(half, halves & 0xFFFF)
    return decode16(half | halves & (1 << bits) - 1)


def _bytes(instructions: list[Instruction]) -> int:
    return sum(one.size_bytes for one in instructions)


def jal(target: int) -> Instruction | None:
    """Return a jal to an address that four divides."""
    index = target >> 2 & 0x3FFFFFF
    return decode16(0x03 << 11 | (index >> 16 & 31) << 5 | index >> 21, index & 0xFFFF)


# ---- kinds of cases; each appends to the maker's case ----


def straight(maker: Maker16) -> None:
    maker.some(1, 6)
    if maker.random.random() < 0.05:
        maker.emit(decode16(_JUMPS | maker.random.getrandbits(6) << 5 | _BREAK))


def branch(maker: Maker16) -> None:
    """A branch forward over up to three instructions."""
    maker.some(0, 2)
    skipped = maker.skipped(3)
    register = maker.random.choice((None, T8, T8, T8, *maker.random.sample(SMALL, 3)))
    maker.emit(_branch(maker.random, register, _bytes(skipped)))
    for instruction in skipped:
        maker.emit(instruction, False)
    maker.some(0, 2)


def loop(maker: Maker16) -> None:
    """A loop of one to three rounds."""
    counter = maker.reserve()
    maker.case.counters[counter] = 3
    top = maker.here
    maker.emit(decode16(0x09 << 11 | SMALL.index(counter) << 8 | 0xFF))  # addiu counter, -1
    maker.some(0, 3)
    bnez = 0x05 << 11 | SMALL.index(counter) << 8
    maker.emit(decode16(bnez | (top - (maker.here + HALF_BYTES)) // HALF_BYTES & 0xFF))
    maker.some(0, 2)


def jump(maker: Maker16) -> None:
    """jr, jalr, jrc or jalrc over some instructions."""
    maker.some(0, 2)
    register = maker.reserve()
    way = maker.random.choice((_JR, _JALR, _JRC, _JALRC))
    if way in (_JALR, _JALRC) and RA in maker.protected:
        way = _JR
    maker.emit(decode16(way | SMALL.index(register) << 8))
    if way in (_JR, _JALR):
        maker.emit(maker.plain(True))
    for instruction in maker.skipped(3):
        maker.emit(instruction, False)
    maker.case.labels[register] = len(maker.case.found)
    maker.some(0, 2)


def call(maker: Maker16) -> None:
    """A function inside the case, called by jal or jalr, that returns by jr or jrc."""
    random, case = maker.random, maker.case
    maker.some(0, 2)
    maker.protected.add(RA)
    register = maker.reserve() if random.random() < 0.5 else None
    slot, after, body = maker.plain(True), maker.skipped(2), maker.skipped(3)
    ends_compact = random.random() < 0.5
    last = [] if ends_compact else [maker.plain(True)]
    inside = [*body, decode16(_JRC_RA if ends_compact else _JR_RA), *last]
    size = _bytes([one for one in inside if one is not None])
    way_bytes = HALF_BYTES if register is not None else 2 * HALF_BYTES
    leaving = HALF_BYTES  # a short branch
    function = maker.here - 1 + way_bytes + HALF_BYTES + _bytes(after) + leaving
    filling = function % INSTRUCTION_BYTES
    if register is None:
        maker.emit(jal(function + filling))
    else:
        maker.emit(decode16(_JALR | SMALL.index(register) << 8))
    maker.emit(slot)
    for instruction in after:
        maker.emit(instruction)
    maker.emit(decode16(0x02 << 11 | (filling + size) // HALF_BYTES))
    if filling:
        maker.emit(decode16(NOP16), False)
    if register is not None:
        case.labels[register] = len(case.found)
    for one in inside:
        maker.emit(one)


_KINDS: tuple[Callable[[Maker16], None], ...] = (straight, straight, straight, branch, loop, jump, call)


def make_case16(random: Random, start: int) -> Case16:
    """Return a case at a guest address that four divides."""
    maker = Maker16(random, start)
    random.choice(_KINDS)(maker)
    return maker.case
