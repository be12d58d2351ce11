"""The interpreter against unicorn: random instructions on random states, everything compared after each.

By default half of the cases; all in `make conformance ARGS=tiers`.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from random import Random

import pytest
import unicorn.mips_const

from mipsrec.isa import ROWS, Row
from tests.fuzz import random_words as words
from tests.fuzz.judge_faults import FAULTS, FLUSH, NAN2008
from tests.fuzz.maker import BRANCHES, is_dsp
from tests.fuzz.unicorn_judge import Judge
from tests.support.guest_cpu import DATA, STOP, Cpu
from tests.support.interpreter import Interpreter, build
from tests.support.sampling import ALL

pytestmark = pytest.mark.sampled

BASE, INDEX = words.BASE, words.INDEX
DSP_ROWS = [row for row in ROWS if is_dsp(row)]
SHARE = 1 if ALL else 2


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter as a shared library."""
    return build(tmp_path_factory.mktemp("interp"))


# ---- cases ----


def random_cpu(random: Random, fr: int) -> Cpu:
    """Return a state with operands worth computing with, and any FCSR without causes."""
    cpu = Cpu(fr=fr, data=random.randbytes(len(Cpu.data)))
    cpu.gpr[1:] = [words.integer(random) for _ in range(31)]
    cpu.gpr[BASE], cpu.gpr[INDEX] = DATA + 0x80, random.randrange(-0x40, 0x40) & 0xFFFFFFF8
    cpu.hilo, *cpu.accumulators = (high << 32 | low for high, low in (words.accumulator(random) for _ in range(4)))
    cpu.dsp_control = words.dsp_control(random)
    cpu.fpr = [words.float_bits(random) if fr or number % 2 == 0 else 0 for number in range(32)]
    cpu.fcc = [random.getrandbits(1) for _ in range(8)]
    cpu.fcsr = random.getrandbits(2) | random.getrandbits(5) << 2  # rounding mode, flags
    if random.random() < 0.2:
        cpu.fcsr |= random.getrandbits(5) << 7  # enables
    if random.random() < 0.1:
        cpu.fcsr |= FLUSH
    return cpu


def random_code(random: Random, rows: dict[str, list[str]], fr: int) -> list[int]:
    """Return a case: one instruction, or a branch over a marker with an integer instruction in the slot."""
    name, pattern = random.choice(list(rows.items()))
    fields = {"base": BASE, "index": INDEX}
    if "off" in pattern:
        size_bytes = words.ACCESS_BYTES.get(name, 1)
        fields["off"] = random.randrange(-0x40, 0x40) // size_bytes * size_bytes
    if not fr and random.random() < 0.8:
        fields |= {key: random.getrandbits(5) & 30 for key in ("fs", "ft", "fd", "fr")}
    if "target" not in pattern:
        return [words.encode(random, pattern, **fields)]
    slot = words.encode(random, random.choice(list(words.rows(words.INTEGER).values())))
    return [words.encode(random, pattern, target=3), slot, 0x279C0001, 0, 0x279C0002]  # addiu $gp, $gp, 1 and 2


def dsp_code(random: Random, row: Row) -> list[int]:
    """Return a case of a row of the DSP module; loads have an address, and a branch is as in random_code."""
    word = row.value | random.getrandbits(32) & ~row.mask
    if row in BRANCHES:
        slot = words.encode(random, random.choice(list(words.rows(words.INTEGER).values())))
        return [word & ~0xFFFF | 3, slot, 0x279C0001, 0, 0x279C0002]
    return [word & ~(0x3FF << 16) | BASE << 21 | INDEX << 16 if row.assembly.endswith("mem") else word]


def compare(
    interpreter: Interpreter, judge: Judge, cases: list[tuple[list[int], Cpu]], most_skipped: float = 0.25
) -> None:
    """Run all cases in both, and fail with the first that differs and is not covered by a fault of the judge."""
    skipped = 0
    for code, cpu in cases:
        if any(fault.applies(code[0], cpu) for fault in FAULTS):
            skipped += 1
            continue
        after, exception = interpreter.run(cpu, [*code, 0x08000000 | STOP >> 2, 0])
        judged, judged_exception = judge.run(cpu, code)
        differences = after.differences(judged)
        assert (exception, differences) == (judged_exception, []), f"{code[0]:08x} in {cpu}"
    assert skipped <= most_skipped * len(cases)


# ---- tests ----


@pytest.mark.parametrize("big_endian", [True, False])
@pytest.mark.parametrize("group, count", [("INTEGER", 1500), ("TRAPS", 400), ("MEMORY", 1200), ("BRANCHES", 1000)])
def test_integer(library: Path, group: str, count: int, big_endian: bool) -> None:
    random, rows = Random(f"{group} {big_endian}"), words.rows(getattr(words, group))
    cases = [(random_code(random, rows, 1), random_cpu(random, 1)) for _ in range(count // SHARE)]
    compare(Interpreter(library, big_endian), Judge(big_endian, 1), cases)


@pytest.mark.parametrize("big_endian", [True, False])
def test_dsp(library: Path, big_endian: bool) -> None:
    random = Random(f"dsp {big_endian}")
    codes = [dsp_code(random, row) for row in DSP_ROWS for _ in range(16 // SHARE)]
    compare(Interpreter(library, big_endian), Judge(big_endian, 1), [(code, random_cpu(random, 1)) for code in codes])


@pytest.mark.parametrize("fr", [0, 1])
def test_float(library: Path, fr: int) -> None:
    random = Random(f"float {fr}")
    rows = words.rows(words.FLOAT)
    cases = [(random_code(random, rows, fr), random_cpu(random, fr)) for _ in range(3500 // SHARE)]
    compare(Interpreter(library, False), Judge(False, fr), cases, 0.35)


def test_float_2008(library: Path) -> None:
    random = Random("float 2008")
    rows = words.rows(words.FLOAT)
    cases = [(random_code(random, rows, 1), random_cpu(random, 1)) for _ in range(2500 // SHARE)]
    for _, cpu in cases:
        cpu.fcsr |= NAN2008
        cpu.accumulators, cpu.dsp_control = [0] * 3, 0  # which that CPU lacks
    compare(Interpreter(library, True), Judge(True, 1, unicorn.mips_const.UC_CPU_MIPS32_P5600), cases)


def test_float_memory_fr0(library: Path) -> None:
    random = Random("memory fr0")
    rows = {name: row for name, row in words.rows(words.MEMORY).items() if "c1" in name}
    cases = [(random_code(random, rows, 0), random_cpu(random, 0)) for _ in range(600)]
    compare(Interpreter(library, True), Judge(True, 0), cases, 0.35)


def test_reserved_words(library: Path) -> None:
    random = Random("any")
    drawn = ((words.any_word(random), random_cpu(random, 1)) for _ in range(5000))
    compare(Interpreter(library, True), Judge(True, 1), [([word], cpu) for word, cpu in drawn if word is not None])


def _word_of(rows: dict[str, list[str]], fr: int, random: Random) -> int:
    return random_code(random, rows, fr)[0]


def _dsp_word(random: Random) -> int | None:
    row = random.choice(DSP_ROWS)
    return None if row in BRANCHES else dsp_code(random, row)[0]


def test_faults_of_the_judge(library: Path) -> None:
    """Each of them still is one: some case that it alone covers differs."""
    random, rows = Random("faults"), words.rows(words.FLOAT) | words.rows(words.MEMORY)
    interpreter, judges = Interpreter(library, True), [Judge(True, 0), Judge(True, 1)]
    missing = {fault for fault in FAULTS}
    for number in range(80000):
        fr = number & 1
        draws = (words.any_word, partial(_word_of, rows, fr), _dsp_word)
        word = draws[number % 3](random)
        cpu = random_cpu(random, fr)
        covering = [] if word is None else [fault for fault in FAULTS if fault.applies(word, cpu)]
        if len(covering) != 1 or covering[0] not in missing:
            continue
        assert word is not None
        after, exception = interpreter.run(cpu, [word, 0x08000000 | STOP >> 2, 0])
        judged, judged_exception = judges[fr].run(cpu, [word])
        if exception != judged_exception or after.differences(judged):
            missing.remove(covering[0])
        if not missing:
            break
    assert [fault.reason for fault in missing] == []
