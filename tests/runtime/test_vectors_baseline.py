"""The test vectors in the host: the baseline tier does with each what the interpreter does.

They run in the guest of `make fuzz` (guests/fuzz.c), whose memory is linked to where vectors have theirs. What each
vector leaves is compared with what it says, too, unless a signal ends it: test_vectors_interpreted.py does that.
"""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from mipsrec.state import GPR_NAMES
from tests.fuzz.case import Case
from tests.fuzz.guest import CASES, MODES, Mode, link, run_tier
from tests.fuzz.maker import HOMES
from tests.fuzz.states import STATE_BYTES, Outcome, unpack
from tests.support.guest_cpu import CODE, DATA, Cpu
from tests.support.tiers import BASELINE, INTERPRETED
from tests.support.vectors import Vector, load_all

_JUMPS = (2, 3)  # opcodes of j and jal
_CODE_SPAN = 0x100
_ENABLED_CAUSES = 5  # bits from a cause in FCSR down to its enable
_ENABLES = 0xF80

Key = tuple[tuple[int, ...], int]
"""What vectors of one case share: words, and the register that is its home."""


def _home(vector: Vector) -> int:
    """Return a register that the vector does not use."""
    named = {*vector.inputs, *vector.outputs}
    used = {word >> shift & 31 for word in vector.code for shift in (21, 16, 11)}
    return next(home for home in HOMES if GPR_NAMES[home] not in named and home not in used)


def _can_run(vector: Vector) -> bool:
    """Return whether the guest can bring about the state: no exception is pending, and no call is made."""
    fcsr = int(vector.inputs.get("fcsr", "0"), 16)
    return vector.exception != "syscall" and not fcsr >> _ENABLED_CAUSES & fcsr & _ENABLES


def _moved(word: int, start: int) -> int:
    """Return a word at `start` that was made for CODE: jumps have absolute targets."""
    if word >> 26 not in _JUMPS:
        return word
    target = ((word & 0x3FFFFFF) << 2) - CODE + start
    return word & 0xFC000000 | target >> 2


def _address(value: int, start: int) -> int:
    return value - CODE + start if CODE <= value < CODE + _CODE_SPAN else value


def _state(vector: Vector, case: Case, number: int, mode: Mode) -> bytes:
    cpu = vector.before(mode.fr)
    gpr = [_address(value, case.start) for value in cpu.gpr]
    gpr[case.home] = case.start
    fcsr = cpu.fcsr | sum(code << (23 if n == 0 else 24 + n) for n, code in enumerate(cpu.fcc))
    head = struct.pack(f"{mode.order}40I", *gpr, cpu.hilo >> 32, cpu.hilo & 0xFFFFFFFF, fcsr, number, 0, 0, 0, 0)
    return head + struct.pack(f"{mode.order}7I4x32Q", *_dsp(cpu), *cpu.fpr) + cpu.data


def _dsp(cpu: Cpu) -> list[int]:
    """Return the registers that states.py has by DSP_NAMES."""
    halves = [half for value in cpu.accumulators for half in (value >> 32, value & 0xFFFFFFFF)]
    return [*halves, cpu.dsp_control]


def _wrong(vector: Vector, case: Case, after: Outcome, mode: Mode) -> list[str]:
    """Return what is not as the vector says."""
    if after.signal or vector.exception:
        return [] if after.signal and vector.exception else [f"signal {after.signal}"]
    cpu = vector.after(mode.fr)
    gpr = [_address(value, case.start) for value in cpu.gpr]
    gpr[case.home] = 0
    pairs = {"gpr": (gpr, after.gpr), "hilo": (cpu.hilo, after.hi << 32 | after.lo), "data": (cpu.data, after.window)}
    pairs["dsp"] = (_dsp(cpu), after.dsp)
    return [f"{name}: {a}, not {b}" for name, (b, a) in pairs.items() if a != b]


@pytest.mark.parametrize("writable", [False, True])
@pytest.mark.parametrize("mode", [mode for mode in MODES if not mode.nan2008], ids=str)
def test_vectors(host: Path, tmp_path: Path, mode: Mode, writable: bool) -> None:
    wanted = mode.byte_order == "big", mode.fr
    vectors = [vector for vector in load_all() if wanted in vector.modes and _can_run(vector)]
    cases: dict[Key, Case] = {}
    for vector in vectors:
        start = CASES + 4 * sum(len(case.words) + 2 for case in cases.values())
        words = [_moved(word, start) for word in vector.code]
        cases.setdefault((vector.code, _home(vector)), Case(start, _home(vector), words=words))
    numbers = {key: number for number, key in enumerate(cases)}
    keys = [(vector.code, _home(vector)) for vector in vectors]
    states = b"".join(_state(vector, cases[key], numbers[key], mode) for vector, key in zip(vectors, keys))
    guest = link(tmp_path, mode, list(cases.values()), DATA, writable)
    expected = run_tier(host, guest, INTERPRETED, states)
    failures = []
    for name, tier in BASELINE.items():
        found = run_tier(host, guest, tier, states)
        for index, (vector, key) in enumerate(zip(vectors, keys)):
            at = slice(index * STATE_BYTES, (index + 1) * STATE_BYTES)
            after = unpack(found[at], mode.order)
            wrong = list(unpack(expected[at], mode.order).differences(after)) + _wrong(vector, cases[key], after, mode)
            failures += [f"{name}: {vector.place} {vector.text}: {wrong}"] if wrong else []
    assert failures == []
    assert len(vectors) > 600
