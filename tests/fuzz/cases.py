"""Random cases for differential tests: one instruction or a short sequence with a given row at its centre.

Enters: a random generator, a row, Status.FR, the guest address that the case will have. Leaves: `Case`s.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from mipsrec.isa import Flow, Instruction, Row, decode
from mipsrec.isa.effects import masks
from tests.fuzz import random_words
from tests.fuzz.case import Case
from tests.fuzz.maker import (
    BRANCHES,
    GROUPS,
    LINKED,
    PLAIN,
    RA,
    Maker,
    branch_word,
    decode_value,
    is_access,
    is_float,
)

_JALX = 0x1D  # leads to MIPS16 code
_SDBBP = 0x7000003F  # ends qemu-user

# ---- kinds of cases; each appends to the maker's case ----


def single(maker: Maker, row: Row) -> None:
    maker.emit(maker.ending(row) if row.flow in (Flow.SYSCALL, Flow.STOP) else maker.word(row))


def chain(maker: Maker, row: Row) -> None:
    group = maker.random.choice([rows for rows in GROUPS.values() if row in rows] or [PLAIN])
    before = maker.random.randint(0, 3)
    maker.some(before, before, True, group)
    single(maker, row)
    maker.some(0, 3, True, group)


def constants(maker: Maker, row: Row) -> None:
    """Operands that the lifter can see, so that constants are folded."""
    lui, ori = decode_value("lui"), decode_value("ori")
    for number in sorted(set(maker.pool) - maker.protected - {0})[:3]:
        value = random_words.integer(maker.random)
        maker.emit(lui | number << 16 | value >> 16)
        maker.emit(ori | number << 21 | number << 16 | value & 0xFFFF)
    single(maker, row)
    maker.some(0, 2, True, GROUPS["integer"])


def branch(maker: Maker, row: Row) -> None:
    """A branch forward over up to three instructions, or into its own slot."""
    maker.some(0, 2, True)
    skipped = maker.random.randint(0, 3)
    maker.emit(branch_word(maker, row, maker.random.randint(0, skipped) + 1 if skipped else 1))
    if maker.random.random() < 0.05:
        maker.case.words[-1] &= ~0xFFFF  # to its slot, which then runs twice
    maker.emit(maker.slot(), row.flow is Flow.BRANCH)
    maker.some(skipped, skipped, False)
    maker.some(0, 2, True)


def loop(maker: Maker, row: Row) -> None:
    """A loop of one to three rounds around a branch, closed by another branch."""
    counter = maker.reserve()
    maker.case.counters[counter] = 3
    top = len(maker.case.words)
    addiu = decode_value("addiu")
    maker.emit(addiu | counter << 21 | counter << 16 | 0xFFFF)
    maker.some(0, 2, True)
    skipped = maker.random.randint(0, 2)
    maker.emit(branch_word(maker, row, skipped + 1))
    maker.emit(maker.slot(), row.flow is Flow.BRANCH)
    maker.some(skipped, skipped, False)
    closing = maker.random.choice([row for row in BRANCHES if row.name in ("bgtz", "bgtzl", "bne", "bnel")])
    back = top - len(maker.case.words) - 1
    maker.emit(closing.value | counter << 21 | back & 0xFFFF)
    maker.emit(maker.slot(), closing.flow is Flow.BRANCH)


def jump(maker: Maker, row: Row) -> None:
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


def _register_jump(maker: Maker, row: Row, target: int) -> int:
    register = maker.reserve()
    maker.case.labels[register] = target
    hint = maker.random.choice((0, 0, 16)) << 6
    word = row.value | register << 21 | hint
    if row.link:
        word |= maker.random.choice([n for n in range(32) if n not in maker.protected] + [RA, RA]) << 11
    return word


def call(maker: Maker, row: Row) -> None:
    """A function inside the case, called by jal, bal or jalr, that returns."""
    case, random = maker.case, maker.random
    maker.protected.add(RA)
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
        maker.emit(decode_value("jalr") | register << 21 | RA << 11)
    else:
        maker.emit(decode_value("bgezal") | function - here - 1)
    maker.emit(maker.slot())
    maker.some(after, after, True)
    maker.leave_by(maker.jump_to("j", end), end)
    maker.emit(0)
    maker.some(body, body, True)
    maker.emit(decode_value("jr") | RA << 21)
    maker.emit(maker.slot())


def pair_of_unaligned(maker: Maker, row: Row) -> None:
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


def linked(maker: Maker, row: Row) -> None:
    """ll, something, sc to the same word, or to another."""
    register, far = maker.pointer()
    destination = [n for n in maker.pool if n not in maker.protected] or [0]
    maker.written |= sum(1 << number for number in set(destination))
    for name in ("ll", "sc"):
        offset = LINKED if maker.random.random() < 0.9 else LINKED + maker.random.choice((1, 4))
        number = maker.random.choice(destination)
        maker.emit(decode_value(name) | register << 21 | number << 16 | (offset - far) & 0xFFFF)
        maker.some(0, 1, True, GROUPS["integer"])


Kind = Callable[[Maker, Row], None]


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


def make_case(random: Random, row: Row, fr: int, start: int, has_dsp: bool = True) -> Case:
    """Return a case at a guest address with the row at its centre; `has_dsp`: others may be of the DSP module."""
    maker = Maker(random, fr, start, has_dsp)
    random.choice(kinds_for(row))(maker, row)
    return maker.case


def reserved_case(random: Random, fr: int, start: int) -> Case:
    """Return a case of one word that may be anything but a jump or privileged."""
    maker = Maker(random, fr, start)
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


def _allowed(instruction: Instruction, maker: Maker) -> bool:
    if instruction.row.flow is not Flow.NEXT or instruction.row.name in ("rdhwr", "cfc1", "ctc1"):
        return False
    written = masks(instruction, maker.fr)[1]
    return not any(written >> number & 1 for number in (27,))
