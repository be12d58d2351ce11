"""Random instructions and sequences, a fixed sample: recompiled, interpreted, under qemu-user and on unicorn."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from mipsrec.isa import ROWS, decode, decode16
from mipsrec.isa.effects import masks
from tests.fuzz.batch import OPTS, Tally, make_cases, run_cases
from tests.fuzz.case import Case
from tests.fuzz.cases import chain, constants, kinds_for, make_case, single
from tests.fuzz.guest import CASES as GUEST_CASES
from tests.fuzz.guest import MIPS16_MODES, MODES
from tests.fuzz.mips16_cases import NOP16, Maker16, all_names, jal
from tests.fuzz.reasons import REASONS
from tests.fuzz.states import States
from tests.support.sampling import ALL

CASES, STATES = 100, 40
RARE = {
    "function 5": [0x00000005],
    "mfhi": [0x00020010],
    "bshfl": [0x7C0200E0],
    "recip2": [0x4600001C],
    "odd": [0xD5010000],  # ldc1 $f1, 0($t0)
    "DSP": [0x7C210010],  # addu.qb $zero, $at, $at
    "balign": [0x7C451431],  # balign $a1, $v0, 2
    "insv": [0x7C45000C],  # insv $a1, $v0
    "DSP fields": [0x7C2240F0],  # dpau.h.qbl, bits 15 to 13 are 2
    "sc": [0xE1090001],  # sc $t1, 1($t0)
    "linked": [0xC1090020, 0xE1090020, 0xE10A0020],  # ll $t1, 32($t0) | sc $t1, 32($t0) | sc $t2, 32($t0)
    "trap code": [0x000001F4],  # teq $zero, $zero, 7
    "break code": [0x0007000D],  # break 7
    "kernel bug": [0x000C000D],  # break 12
    "gap": [0x3C090050, 0x8D297000],  # lui $t1, 0x50 | lw $t1, 0x7000($t1): between segments
    "MDMX": [0x7BAC07C8],
    "multu": [0x00E70719],  # rd is 0, sa is 28
    "mflo": [0x00001052],  # rd is 2, sa is 1
    "frame": [0x3C1D7123, 0x8FA90000, 0x24090001],  # lui $sp, 0x7123 | lw $t1, 0($sp) | addiu $t1, $zero, 1
    # sw $t1, 0($t0) | lui $t2, 0x7123 | sw $t3, 0($t2) | sw $t4, 0($t0)
    "covered": [0xAD090000, 0x3C0A7123, 0xAD4B0000, 0xAD0C0000],
    "ctc1": [0x44C5C800],  # ctc1 $a1, $25
    "break": [0x0000000D],
    "slot": [0x10000001, 0x0000000D],  # b .+8 | break
    "dropped": [0x14000001, 0x0000000D],  # bne $zero, $zero, .+8 | break
    "aligned": [0x8D090001],  # lw $t1, 1($t0)
    "byte": [0x88090003],  # lwl $t1, 3($zero)
    "pair": [0xB8090004, 0xA8090001],  # swr $t1, 4($zero) | swl $t1, 1($zero)
    "goes on": [0xA8090003, 0x24090777],  # swl $t1, 3($zero) | addiu $t1, $zero, 0x777
    "kernel": [0x8C098000],  # lw $t1, -0x8000($zero)
    "local": [0x7C09E83B],  # rdhwr $t1, $29
}
"""Words that a small sample may lack, by what they show."""
RARE_2008 = {"causes": [0x4602103F, 0x46202105]}  # c.ngt.s $f2, $f2 | abs.d $f4, $f4


@pytest.fixture(scope="module")
def tally(host: Path, tmp_path_factory: pytest.TempPathFactory) -> Tally:
    """One batch of each mode, recompiled at one level; each level has both byte orders."""
    tally, first_row = Tally(), {True: 0, False: 0}
    for mode, opt in zip(MODES, (*OPTS, *OPTS[1:], OPTS[0])):
        random = Random(f"sample {mode}")
        cases = make_cases(random, mode, CASES, first_row[mode.has_dsp])
        first_row[mode.has_dsp] += CASES
        run_cases(tmp_path_factory.mktemp("fuzz"), host, mode, cases, random, STATES, tally, (opt,))
    for mode, opt in zip(MODES[:3], OPTS):
        start, cases = GUEST_CASES, []
        for words in (RARE_2008 if mode.nan2008 else RARE).values():
            cases.append(Case(start, 27, words=words, certain=[0], pointers={8: 0}))
            start += cases[-1].size_bytes
        run_cases(tmp_path_factory.mktemp("fuzz"), host, mode, cases, Random("rare"), STATES, tally, (opt,))
    return tally


@pytest.fixture(scope="module")
def tally16(host: Path, tmp_path_factory: pytest.TempPathFactory) -> Tally:
    """One batch of MIPS16e code in each byte order, and a load that is relative to the pc in the slot of a jal."""
    tally = Tally()
    for mode, opt in zip(MIPS16_MODES, ("light", 3)):
        random = Random(f"sample {mode}")
        slot = Maker16(random, GUEST_CASES)
        for one in (decode16(NOP16), jal(GUEST_CASES + 8), decode16(0xB201), decode16(NOP16)):  # lw $2, 4(pc)
            slot.emit(one)
        cases = [slot.case, *make_cases(random, mode, 2 * CASES, 0, GUEST_CASES + slot.case.size_bytes)]
        run_cases(tmp_path_factory.mktemp("mips16"), host, mode, cases, random, STATES // 4, tally, (opt,))
    return tally


def test_sample(tally: Tally) -> None:
    """What differs has a reason."""
    found = [f"{f.mode} {f.executor} {f.case}: {f.differences}" for f in tally.failures]
    assert found == []
    assert tally.judged > 0.8 * sum(number for name, number in tally.executions.items() if name.endswith("qemu"))


def test_reasons(tally: Tally, tally16: Tally) -> None:
    """Every reason still is one: it explains some difference of each executor it names."""
    expected = {f"{executor}: {reason.text}" for reason in REASONS for executor in reason.executors}
    assert not (missing := sorted(expected - tally.reasons - tally16.reasons)), "\n".join(missing)


def test_every_row(tally: Tally) -> None:
    assert [row.name for row in ROWS if not tally.rows[row.name]] == []


def test_mips16(tally16: Tally) -> None:
    """What differs has a reason; the cases have all instructions."""
    assert [f"{f.mode} {f.executor} {f.case.listing()}: {f.differences}" for f in tally16.failures] == []
    assert all_names() - {*tally16.rows} == set()
    assert tally16.judged > 0.8 * tally16.equal["baseline"]


def test_addresses_stay() -> None:
    """No word writes a register that holds an address: stores reach the window alone, never the code of a case."""
    random = Random("addresses")
    rows = [row for row in ROWS if not {single, chain, constants} >= set(kinds_for(row))]
    for row in rows * (1000 if ALL else 250):
        case = make_case(random, row, 0, GUEST_CASES)
        held = {case.home, *case.pointers, *case.indexes, *case.wild, *case.labels}
        for word in case.words:
            instruction = decode(word)
            assert instruction is not None
            written = masks(instruction, 0)[1]
            assert not [number for number in held if written >> number & 1], case.listing()


def test_cases_repeat() -> None:
    """A seed makes the same cases and states."""
    drawn = []
    for _ in range(2):
        random = Random("again")
        cases = make_cases(random, MODES[0], 50, 0)
        states = States(random, MODES[0].order, 0, MODES[0].has_dsp)
        drawn.append((cases, [states.draw(case, 0) for case in cases]))
    assert drawn[0] == drawn[1]
