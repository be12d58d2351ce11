"""One random case under construction: its registers, and words made from the rows of mipsrec.isa.

Enters: a random generator, Status.FR, the guest address that the case will have. Leaves: a `Case`, word by word. What
makes a row's word is in the row: its pattern, and the fields that its assembly names; whether a word is the row's own
is asked of the decoder. tests/isa/test_rows.py holds rows and decoder against two other decoders.
"""

from __future__ import annotations

from random import Random

from mipsrec.architecture import DSP, DSP2
from mipsrec.isa import ROWS, Flow, Row, decode
from mipsrec.isa.effects import effects, is_reserved, masks
from tests.fuzz import random_words
from tests.fuzz.case import Case

HOMES = (1, 26, 27, 28)
"""Registers that may hold the address of the case while it runs; see guests/fuzz.S."""

WINDOW_MIDDLE = 0x80
LINKED = 0x20
"""Offset from the window's middle of the word that most ll and sc are about."""
WILD = (0x71230000, 0x91230000, 0xD1230000)
WILD_SHARE = 0.02
V0, RA = 2, 31
_GPR_FIELDS = {"rs": 21, "rt": 16, "rd": 11}
_FPR_FIELDS = {"fr": 21, "ft": 16, "fs": 11, "fd": 6}
_FIXED_FIELDS = {"rdhwr": (11, (1, 29)), "cfc1": (11, (25, 26, 28, 31)), "ctc1": (11, (25, 26, 28, 31))}
NO_SUCH_CALL = 0x7777
_LIKELY_LINKS = ("bltzall", "bgezall")

BY_FLOW = {flow: [row for row in ROWS if row.flow is flow] for flow in Flow}
PLAIN = BY_FLOW[Flow.NEXT]
BRANCHES = BY_FLOW[Flow.BRANCH] + BY_FLOW[Flow.BRANCH_LIKELY]
ENDINGS = BY_FLOW[Flow.SYSCALL] + BY_FLOW[Flow.STOP]


def is_float(row: Row) -> bool:
    return row.value >> 26 in (0x11, 0x13)


def is_access(row: Row) -> bool:
    return row.assembly.endswith("mem")


def is_dsp(row: Row) -> bool:
    """Return whether the row is of the DSP module."""
    return row.module in (DSP, DSP2)


def _touches_accumulators(row: Row) -> bool:
    does = effects(row)
    return any(use.kind == "hilo" for use in (*does.reads, *does.writes))


GROUPS: dict[str, list[Row]] = {
    "all": PLAIN,
    "integer": [row for row in PLAIN if not is_float(row) and not is_access(row) and not is_dsp(row)],
    "hilo": [row for row in PLAIN if _touches_accumulators(row)],
    "dsp": [row for row in PLAIN if is_dsp(row)],
    "memory": [row for row in PLAIN if is_access(row)],
    "float": [row for row in PLAIN if is_float(row)],
    "unaligned": [row for row in PLAIN if row.name in ("lwl", "lwr", "swl", "swr")],
    "atomic": [row for row in PLAIN if row.name in ("ll", "sc", "sync")],
}


class Maker:
    """One case under construction."""

    def __init__(self, random: Random, fr: int, start: int, has_dsp: bool = True) -> None:
        self.random, self.fr, self.has_dsp = random, fr, has_dsp
        self.case = Case(start, random.choice(HOMES))
        self.pool = [random.randrange(32) for _ in range(random.choice((2, 3, 4, 6)))]
        step = 1 if fr or random.random() < 0.03 else 2
        self.float_pool = [random.randrange(0, 32, step) for _ in range(random.choice((2, 3, 4)))]
        self.float_step = step
        self.protected = {self.case.home}
        self.aligned = random.random() < 0.6
        self.written = 0  # register bits: what the words of the case write, and no pointer may be in

    # registers

    def reserve(self) -> int:
        """Return a register that nothing else here writes."""
        taken = self.protected | {0, V0, RA}
        number = self.random.choice([n for n in range(32) if n not in taken and not self.written >> n & 1])
        self.protected.add(number)
        return number

    def pointer(self) -> tuple[int, int]:
        """Return a register that points into the window, or near it, and its distance from the middle."""
        pointers = self.case.pointers
        if not pointers or (len(pointers) < 3 and self.random.random() < 0.2):
            far = self.random.choice((0, 0, 0, 0x40, -0x7F80, 0x7F00, self.random.randrange(-0x7000, 0x7000)))
            pointers[self.reserve()] = far
        if self.random.random() < WILD_SHARE:
            register = self.reserve()
            self.case.wild[register] = self.random.choice(WILD)
            return register, 0
        return self.random.choice(list(pointers.items()))

    def index(self) -> int:
        indexes = self.case.indexes
        if not indexes:
            size = 8 if self.aligned else 1
            indexes[self.reserve()] = self.random.randrange(-0x40, 0x40) // size * size
        return self.random.choice(list(indexes))

    def gpr(self) -> int:
        choice = self.random.random()
        return self.random.choice(self.pool) if choice < 0.85 else 0 if choice < 0.9 else self.random.randrange(32)

    def fpr(self) -> int:
        if self.random.random() < 0.9:
            return self.random.choice(self.float_pool)
        return self.random.randrange(0, 32, self.float_step)

    # words

    def word(self, row: Row, **values: int) -> int:
        """Return a word of the row that leaves the protected registers alone."""
        for _ in range(1000):
            word = self._draw(row, values)
            instruction = decode(word)
            if instruction is None or instruction.row is not row:
                continue
            written = masks(instruction, self.fr)[1]
            if any(written >> number & 1 for number in self.protected - values.keys()):
                continue
            if is_reserved(instruction, self.fr) and self.random.random() < 0.9:
                continue
            return word
        raise AssertionError(f"no word of {row.name}")

    def _draw(self, row: Row, values: dict[str, int]) -> int:
        random = self.random
        word = row.value | random.getrandbits(32) & ~row.mask
        operands = row.assembly.replace(",", "").split()[1:]
        same = self.gpr() if random.random() < 0.12 else None
        same_float = self.fpr() if random.random() < 0.12 else None
        for operand in operands:
            if operand in values:
                word = _put(word, _GPR_FIELDS[operand], values[operand])
            elif operand in _GPR_FIELDS:
                word = _put(word, _GPR_FIELDS[operand], self.gpr() if same is None else same)
            elif operand in _FPR_FIELDS:
                word = _put(word, _FPR_FIELDS[operand], self.fpr() if same_float is None else same_float)
            elif operand == "mem":
                word = self._based(row, word)
            elif operand == "xmem":
                word = _put(_put(word, 21, self.pointer_in_reach()), 16, self.index())
        if row.name in _FIXED_FIELDS:
            low, choices = _FIXED_FIELDS[row.name]
            word = _put(word, low, random.choice(choices))
        return word

    def _based(self, row: Row, word: int) -> int:
        register, far = self.pointer()
        atomic = row.name in ("ll", "sc")
        size = random_words.ACCESS_BYTES.get(row.name, 1) if self.aligned or atomic else 1
        if atomic and self.random.random() < 0.7:
            offset = LINKED
        elif size == 1 and self.random.random() < 0.3:
            offset = self.random.randrange(-8, 4)  # across the boundary of pages
        else:
            offset = self.random.randrange(-0x78, 0x70) // size * size
        return _put(word, 21, register) & ~0xFFFF | (offset - far) & 0xFFFF

    def pointer_in_reach(self) -> int:
        near = [register for register, far in self.case.pointers.items() if far in (0, 0x40)]
        if not near:
            near = [self.reserve()]
            self.case.pointers[near[0]] = 0
        return self.random.choice(near)

    def plain(self, rows: list[Row] | None = None) -> int:
        while True:
            row = self.random.choice(PLAIN if rows is None else rows)
            if self.has_dsp or not is_dsp(row):
                return self.word(row)

    def emit(self, word: int, certain: bool = True) -> int:
        """Append a word and return its index; no register that it writes is reserved later."""
        case, instruction = self.case, decode(word)
        if instruction is not None:
            self.written |= masks(instruction, self.fr)[1]
        if certain:
            case.certain.append(len(case.words))
        case.words.append(word)
        return len(case.words) - 1

    def some(self, low: int, high: int, certain: bool, rows: list[Row] | None = None) -> None:
        for _ in range(self.random.randint(low, high)):
            self.emit(self.plain(rows), certain)

    def slot(self) -> int:
        """Return a word for a delay slot: anything but a jump."""
        choice = self.random.random()
        if choice < 0.1:
            return 0
        return self.ending(self.random.choice(ENDINGS)) if choice < 0.16 else self.plain()

    def ending(self, row: Row) -> int:
        """Return a word of syscall or break; a system call is one that does not exist."""
        if row.flow is Flow.SYSCALL:
            if self.case.words and V0 not in self.case.counters:
                return decode_value("break")
            self.case.counters[V0] = NO_SUCH_CALL
            self.protected.add(V0)
        return self.word(row)

    def jump_to(self, name: str, target: int) -> int:
        """Return j or jal to an index of this case."""
        row = next(row for row in BY_FLOW[Flow.JUMP] if row.name == name)
        return row.value | self.case.pc(target) >> 2 & 0x3FFFFFF

    def leave_by(self, word: int, target: int, certain: bool = True) -> None:
        """Append a j or jal, whose target moves with the case."""
        self.case.jumps[self.emit(word, certain)] = target


def decode_value(name: str) -> int:
    return next(row.value for row in ROWS if row.name == name)


def _put(word: int, low: int, value: int) -> int:
    return word & ~(31 << low) | value << low


def branch_word(maker: Maker, row: Row, offset: int) -> int:
    while True:
        word = maker.word(row) & ~0xFFFF | offset & 0xFFFF
        if not row.link or word >> 21 & 31 != RA:  # unpredictable by the manual
            return word
