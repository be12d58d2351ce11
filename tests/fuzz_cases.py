"""Random cases for differential tests: one instruction or a short sequence, made from the rows of mipsrec.isa.

Enters: a random generator, Status.FR, the guest address that the case will have. Leaves: `Case`s. What makes a row's
word is in the row: its pattern, and the fields that its assembly names; whether a word is the row's own is asked of the
decoder. tests/test_isa.py holds rows and decoder against two other decoders.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

import random_words

from mipsrec.isa import ROWS, Flow, Instruction, Row, decode
from mipsrec.isa.uses import is_reserved, masks

HOMES = (1, 26, 27, 28)
"""Registers that may hold the address of the case while it runs; see guests/fuzz.S."""

WINDOW_MIDDLE = 0x80
LINKED = 0x20
"""Offset from the window's middle of the word that most ll and sc are about."""
WILD = (0x71230000, 0x91230000, 0xD1230000)
WILD_SHARE = 0.02
_V0, _RA = 2, 31
_GPR_FIELDS = {"rs": 21, "rt": 16, "rd": 11}
_FPR_FIELDS = {"fr": 21, "ft": 16, "fs": 11, "fd": 6}
_FIXED_FIELDS = {"rdhwr": (11, (1, 29)), "cfc1": (11, (25, 26, 28, 31)), "ctc1": (11, (25, 26, 28, 31))}
NO_SUCH_CALL = 0x7777
_JALX = 0x1D  # leads to MIPS16 code
_SDBBP = 0x7000003F  # ends qemu-user
_LIKELY_LINKS = ("bltzall", "bgezall")

BY_FLOW = {flow: [row for row in ROWS if row.flow is flow] for flow in Flow}
PLAIN = BY_FLOW[Flow.NEXT]
BRANCHES = BY_FLOW[Flow.BRANCH] + BY_FLOW[Flow.BRANCH_LIKELY]
ENDINGS = BY_FLOW[Flow.SYSCALL] + BY_FLOW[Flow.STOP]


def is_float(row: Row) -> bool:
    return row.value >> 26 in (0x11, 0x13)


def is_access(row: Row) -> bool:
    return row.assembly.endswith("mem")


def _touches_hilo(row: Row) -> bool:
    return row.name in (
        "mfhi",
        "mflo",
        "mthi",
        "mtlo",
        "mult",
        "multu",
        "div",
        "divu",
        "madd",
        "maddu",
        "msub",
        "msubu",
    )


GROUPS: dict[str, list[Row]] = {
    "all": PLAIN,
    "integer": [row for row in PLAIN if not is_float(row) and not is_access(row)],
    "hilo": [row for row in PLAIN if _touches_hilo(row)],
    "memory": [row for row in PLAIN if is_access(row)],
    "float": [row for row in PLAIN if is_float(row)],
    "unaligned": [row for row in PLAIN if row.name in ("lwl", "lwr", "swl", "swr")],
    "atomic": [row for row in PLAIN if row.name in ("ll", "sc", "sync")],
}


@dataclass
class Case:
    """Words at `start`, and what its states must hold: pointers (offsets from the window), code addresses, counters."""

    start: int
    home: int
    words: list[int] = field(default_factory=list)
    jumps: dict[int, int] = field(default_factory=dict)
    """Index of each j or jal to the index of its target, all inside the case."""
    certain: list[int] = field(default_factory=list)
    """Indices of the words that are executed whenever nothing before them traps."""
    pointers: dict[int, int] = field(default_factory=dict)
    indexes: dict[int, int] = field(default_factory=dict)
    wild: dict[int, int] = field(default_factory=dict)
    """Registers with addresses where nothing is."""
    labels: dict[int, int] = field(default_factory=dict)
    counters: dict[int, int] = field(default_factory=dict)

    def pc(self, index: int) -> int:
        return self.start + 4 * index


class _Maker:
    """One case under construction."""

    def __init__(self, random: Random, fr: int, start: int) -> None:
        self.random, self.fr = random, fr
        self.case = Case(start, random.choice(HOMES))
        self.pool = [random.randrange(32) for _ in range(random.choice((2, 3, 4, 6)))]
        step = 1 if fr or random.random() < 0.03 else 2
        self.float_pool = [random.randrange(0, 32, step) for _ in range(random.choice((2, 3, 4)))]
        self.float_step = step
        self.protected = {self.case.home}
        self.aligned = random.random() < 0.6
        self.written = 0  # register bits: what a pointer must not be in

    # registers

    def reserve(self) -> int:
        """Return a register that nothing else here writes."""
        taken = self.protected | {0, _V0, _RA}
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
            self.written |= written
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
        return self.word(self.random.choice(PLAIN if rows is None else rows))

    def emit(self, word: int, certain: bool = True) -> int:
        """Append a word and return its index."""
        case = self.case
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
            if self.case.words and _V0 not in self.case.counters:
                return decode_value("break")
            self.case.counters[_V0] = NO_SUCH_CALL
            self.protected.add(_V0)
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


def _branch_word(maker: _Maker, row: Row, offset: int) -> int:
    while True:
        word = maker.word(row) & ~0xFFFF | offset & 0xFFFF
        if not row.link or word >> 21 & 31 != _RA:  # unpredictable by the manual
            return word


# ---- kinds of cases; each appends to the maker's case ----


def single(maker: _Maker, row: Row) -> None:
    maker.emit(maker.ending(row) if row.flow in (Flow.SYSCALL, Flow.STOP) else maker.word(row))


def chain(maker: _Maker, row: Row) -> None:
    group = maker.random.choice([rows for rows in GROUPS.values() if row in rows] or [PLAIN])
    before = maker.random.randint(0, 3)
    maker.some(before, before, True, group)
    single(maker, row)
    maker.some(0, 3, True, group)


def constants(maker: _Maker, row: Row) -> None:
    """Operands that the lifter can see, so that constants are folded."""
    lui, ori = decode_value("lui"), decode_value("ori")
    for number in sorted(set(maker.pool) - maker.protected - {0})[:3]:
        value = random_words.integer(maker.random)
        maker.written |= 1 << number
        maker.emit(lui | number << 16 | value >> 16)
        maker.emit(ori | number << 21 | number << 16 | value & 0xFFFF)
    single(maker, row)
    maker.some(0, 2, True, GROUPS["integer"])


def branch(maker: _Maker, row: Row) -> None:
    """A branch forward over up to three instructions, or into its own slot."""
    maker.some(0, 2, True)
    skipped = maker.random.randint(0, 3)
    maker.emit(_branch_word(maker, row, maker.random.randint(0, skipped) + 1 if skipped else 1))
    if maker.random.random() < 0.05:
        maker.case.words[-1] &= ~0xFFFF  # to its slot, which then runs twice
    maker.emit(maker.slot(), row.flow is Flow.BRANCH)
    maker.some(skipped, skipped, False)
    maker.some(0, 2, True)


def loop(maker: _Maker, row: Row) -> None:
    """A loop of one to three rounds around a branch, closed by another branch."""
    counter = maker.reserve()
    maker.case.counters[counter] = 3
    top = len(maker.case.words)
    addiu = decode_value("addiu")
    maker.emit(addiu | counter << 21 | counter << 16 | 0xFFFF)
    maker.some(0, 2, True)
    skipped = maker.random.randint(0, 2)
    maker.emit(_branch_word(maker, row, skipped + 1))
    maker.emit(maker.slot(), row.flow is Flow.BRANCH)
    maker.some(skipped, skipped, False)
    closing = maker.random.choice([row for row in BRANCHES if row.name in ("bgtz", "bgtzl", "bne", "bnel")])
    back = top - len(maker.case.words) - 1
    maker.emit(closing.value | counter << 21 | back & 0xFFFF)
    maker.emit(maker.slot(), closing.flow is Flow.BRANCH)


def jump(maker: _Maker, row: Row) -> None:
    """A jump, with or without a link, over some instructions."""
    maker.some(0, 2, True)
    skipped = maker.random.randint(0, 3)
    target = len(maker.case.words) + 2 + skipped
    if row.flow is Flow.JUMP:
        maker.leave_by(maker.jump_to(row.name, target), target)
    else:
        maker.emit(_register_jump(maker, row, target))
    maker.emit(maker.slot())
    maker.some(skipped, skipped, False)
    maker.some(0, 2, True)


def _register_jump(maker: _Maker, row: Row, target: int) -> int:
    register = maker.reserve()
    maker.case.labels[register] = target
    hint = maker.random.choice((0, 0, 16)) << 6
    word = row.value | register << 21 | hint
    if row.link:
        word |= maker.random.choice([n for n in range(32) if n not in maker.protected] + [_RA, _RA]) << 11
    return word


def call(maker: _Maker, row: Row) -> None:
    """A function inside the case, called by jal, bal or jalr, that returns."""
    case, random = maker.case, maker.random
    maker.protected.add(_RA)
    body = random.randint(0, 3)
    after = random.randint(0, 2)
    here = len(case.words)
    function = here + 2 + after + 2
    end = function + body + 2
    if row.name == "jal":
        maker.leave_by(maker.jump_to("jal", function), function)
    elif row.flow is Flow.JUMP_REGISTER:
        register = maker.reserve()
        case.labels[register] = function
        maker.emit(decode_value("jalr") | register << 21 | _RA << 11)
    else:
        maker.emit(decode_value("bgezal") | function - here - 1)
    maker.emit(maker.slot())
    maker.some(after, after, True)
    maker.leave_by(maker.jump_to("j", end), end)
    maker.emit(0)
    maker.some(body, body, True)
    maker.emit(decode_value("jr") | _RA << 21)
    maker.emit(maker.slot())


def pair_of_unaligned(maker: _Maker, row: Row) -> None:
    """lwl and lwr, or swl and swr, of the same word, in either order, as compilers write them and almost so."""
    random = maker.random
    maker.aligned = False
    register, far = maker.pointer()
    offset = random.randrange(-0x70, 0x60) if random.random() < 0.7 else random.randrange(-6, 3)
    rt = maker.gpr()
    if rt in maker.protected and row.name[0] == "l":
        rt = 0
    for name in random.sample([row.name[:2] + "l", row.name[:2] + "r"], 2):
        distance = random.choice((0, 3)) if random.random() < 0.9 else random.randrange(-4, 5)
        maker.emit(decode_value(name) | register << 21 | rt << 16 | offset - far + distance & 0xFFFF)
        if random.random() < 0.1:
            maker.some(1, 1, True)
    maker.some(0, 2, True)


def linked(maker: _Maker, row: Row) -> None:
    """ll, something, sc to the same word, or to another."""
    register, far = maker.pointer()
    destination = [n for n in maker.pool if n not in maker.protected] or [0]
    maker.written |= sum(1 << number for number in set(destination))
    for name in ("ll", "sc"):
        offset = LINKED if maker.random.random() < 0.9 else LINKED + maker.random.choice((1, 4))
        number = maker.random.choice(destination)
        maker.emit(decode_value(name) | register << 21 | number << 16 | (offset - far) & 0xFFFF)
        maker.some(0, 1, True, GROUPS["integer"])


Kind = Callable[[_Maker, Row], None]


def kinds_for(row: Row) -> list[Kind]:
    """Return the kinds of cases that can have the row at their centre."""
    if row.flow in (Flow.BRANCH, Flow.BRANCH_LIKELY):
        kinds: list[Kind] = [branch, branch, loop]
        return [*kinds, call] if row.name == "bgezal" else kinds
    if row.flow is Flow.JUMP or row.flow is Flow.JUMP_REGISTER:
        return [jump] if row.name in ("j", "jr") else [jump, call]
    if row.flow is not Flow.NEXT:
        return [single, chain]
    if row.name in ("lwl", "lwr", "swl", "swr"):
        return [single, chain, pair_of_unaligned, pair_of_unaligned]
    if row.name in ("ll", "sc"):
        return [single, chain, linked, linked]
    return [single, chain, chain] if is_float(row) or is_access(row) else [single, chain, chain, constants]


def make_case(random: Random, row: Row, fr: int, start: int) -> Case:
    """Return a case at a guest address with the row at its centre."""
    maker = _Maker(random, fr, start)
    random.choice(kinds_for(row))(maker, row)
    return maker.case


def reserved_case(random: Random, fr: int, start: int) -> Case:
    """Return a case of one word that may be anything but a jump or privileged."""
    maker = _Maker(random, fr, start)
    while True:
        word = random_words.any_word(random)
        if word is None or word >> 26 == _JALX or word & 0xFC00003F == _SDBBP:
            continue
        maker.case.home = 27
        maker.case.pointers[random_words.BASE] = 0
        maker.case.indexes[random_words.INDEX] = 8
        if word >> 26 >= 0x20:
            word |= 0x20
        instruction = decode(word)
        if instruction is not None and not _allowed(instruction, maker):
            continue
        maker.case.words.append(word)
        return maker.case


def _allowed(instruction: Instruction, maker: _Maker) -> bool:
    if instruction.row.flow is not Flow.NEXT or instruction.row.name in ("rdhwr", "cfc1", "ctc1"):
        return False
    written = masks(instruction, maker.fr)[1]
    return not any(written >> number & 1 for number in (27,))
