"""Looks at registers of random programs, a fixed sample; and that a wrong register is told."""

from __future__ import annotations

from array import array
from collections import Counter
from pathlib import Path

import pytest

from tests.fuzz.flow import Way
from tests.fuzz.looks import Looks, Subject, seed_range, summary, try_seed
from tests.fuzz.looks_handlers import DRIVER, FAULTS, RUN_ENDS, SEGV, TRAP
from tests.fuzz.looks_judge import Judge
from tests.fuzz.looks_maker import Note
from tests.fuzz.looks_trace import STEP_WORDS, Place, Trace, Tracer

SAMPLE = {5: Way("2"), 8: Way("0"), 11: Way("2", memory="paged")}
"""Seeds of both byte orders, of which 8 is also verified and debugged. Of 5, LLVM restores sp before accesses that come
first in the guest. Functions of 8 write registers before they read them, which had variables without a value at level
0."""
LEAST_TRUE = 0.99


@pytest.fixture(scope="module")
def tracer(tmp_path_factory: pytest.TempPathFactory) -> Tracer:
    return Tracer(tmp_path_factory.mktemp("tracer"))


@pytest.mark.every_case
@pytest.mark.parametrize("seed", SAMPLE)
def test_sample(host: Path, tmp_path: Path, tracer: Tracer, seed: int) -> None:
    looks = try_seed(seed, [SAMPLE[seed]], tracer, tmp_path, host, more=seed == 8)
    assert looks is not None and looks.differences == []
    assert looks.seen["fault"] > 100 and looks.seen["system call"] + looks.seen["trap"] > 100
    carried = looks.registers
    assert carried["true"] >= LEAST_TRUE * carried.total()


def test_sp_that_llvm_has_nowhere(host: Path, tmp_path: Path, tracer: Tracer) -> None:
    """At accesses at the end of functions of this seed. It makes many looks, so only faults of recompiled code are."""
    subject, way = Subject("looks 19", tmp_path, host), Way("2", calls="instrumented")
    assert subject.prepare(tracer)
    assert subject.compare(str(way), [host, "--library", subject.library(way)], FAULTS, way) == []
    assert subject.looks.seen["fault"] > 1000


class _Steps(Trace):
    """A trace of three steps: two of a function, and the one where it has come back."""

    def __init__(self) -> None:
        self.words = array("I")
        for pc, value in ((0x400000, 1), (0x400004, 2), (DRIVER, 2)):
            self.words += array("I", [pc, 0, *[value] * (STEP_WORDS - 2)])
        self.pcs = self.words[::STEP_WORDS]
        self.places = {pc: Place(0, 0, 0, False, True, False, 0) for pc in self.pcs}


def note(kind: int, pc: int, value: int, **others: int) -> Note:
    registers = [0, *[value] * 33]
    for name, other in others.items():
        registers[int(name[1:])] = other
    return Note(kind, pc, 0, tuple(registers))


def differences(one: Note, is_recompiled: bool) -> list[str]:
    return Judge(_Steps(), {}).judge([one, note(RUN_ENDS, 0, 0)], 1000, is_recompiled).differences


def test_wrong_registers_are_told() -> None:
    assert differences(note(TRAP, 0x400004, 2), True) == []
    assert differences(note(TRAP, 0x400004, 2, r8=1), True) == ["trap at 0x400004 in run 0: t0 0x1, not 0x2 (step 1)"]
    assert "never there" in differences(note(TRAP, 0x400008, 2), False)[0]


def test_at_a_fault_a_register_may_be_old_and_not_false() -> None:
    assert differences(note(SEGV, 0x400004, 2, r16=1, r8=77), True) == []  # t0 is not carried
    assert differences(note(SEGV, 0x400004, 2, r16=1), False) != []
    false = differences(note(SEGV, 0x400004, 2, r16=77), True)
    assert false == ["fault at 0x400004 in run 0: s0 0x4d, not 0x2 (step 1)"]


def test_summary() -> None:
    total = Looks(Counter(fault=3, trap=2), Counter(true=99, old=1), [], 1)
    assert summary(total).startswith("5 looks at 1 programs (3 fault, 2 trap); 0 differ\nat faults")
    assert "1.00 % of 100" in summary(total)
    assert seed_range("3-5") == range(3, 6) and seed_range("7") == range(7, 8)
