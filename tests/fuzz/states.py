"""The states that cases start from and end with, as bytes: `struct state` of guests/fuzz.c.

Enters: cases and a random generator, or what an executor has written. Leaves: bytes for the guest, `Outcome`s.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from random import Random

from tests.fuzz import random_words
from tests.fuzz.case import Case
from tests.fuzz.maker import NO_SUCH_CALL, WINDOW_MIDDLE

WINDOW = 0x600F80
"""Guest address of the memory that cases use; see guests/fuzz.S."""

_FORMAT = "32I8I7I4x32Q256s"
STATE_BYTES = struct.calcsize(f"<{_FORMAT}")
NUMBER_AT, SIGNAL_AT, DSP_AT, FLOATS_AT, WINDOW_AT = 140, 144, 160, 192, 448
DSP_NAMES = ("hi1", "lo1", "hi2", "lo2", "hi3", "lo3", "dspctl")
_FLUSH = 1 << 24
_POOL = 400


@dataclass
class Outcome:
    """A state as numbers; `signal` is 0 when the case came to its end."""

    gpr: list[int]
    hi: int
    lo: int
    fcsr: int
    number: int
    signal: int
    code: int
    pc: int
    address: int
    dsp: list[int]
    """Registers by DSP_NAMES; 0 where the judges have none."""
    fpr: list[int]
    window: bytes

    def differences(self, other: Outcome) -> dict[str, tuple[int, int]]:
        """Return what differs by name: gpr4, hi, lo1, dspctl, fcsr, signal, code, pc, address, fpr3, window7f."""
        found = {}
        for name in ("hi", "lo", "fcsr", "number", "signal", "code", "pc", "address"):
            if getattr(self, name) != getattr(other, name):
                found[name] = (getattr(self, name), getattr(other, name))
        for name, a, b in zip(DSP_NAMES, self.dsp, other.dsp):
            if a != b:
                found[name] = (a, b)
        for name in ("gpr", "fpr", "window"):
            for number, (a, b) in enumerate(zip(getattr(self, name), getattr(other, name))):
                if a != b:
                    found[f"{name}{number}"] = (a, b)
        return found


def unpack(record: bytes, order: str) -> Outcome:
    """Return one state of `order` ("<" or ">")."""
    values = struct.unpack(order + _FORMAT, record)
    return Outcome(list(values[:32]), *values[32:40], list(values[40:47]), list(values[47:79]), values[79])


class States:
    """Draws states for cases; their parts come from pools, which are made once."""

    def __init__(self, random: Random, order: str, fr: int, has_dsp: bool) -> None:
        self._random, self._order = random, order
        self._gprs = [[random_words.integer(random) for _ in range(32)] for _ in range(_POOL)]
        self._specials = [self._special(random) for _ in range(_POOL)]
        self._floats = [
            struct.pack(f"{order}32Q", *(random_words.float_bits(random) if fr or n % 2 == 0 else 0 for n in range(32)))
            for _ in range(_POOL)
        ]
        self._dsp = [self._dsp_registers(random) if has_dsp else [0] * len(DSP_NAMES) for _ in range(_POOL)]
        self._windows = [random.randbytes(256) for _ in range(_POOL)]

    @staticmethod
    def _dsp_registers(random: Random) -> list[int]:
        halves = [half for _ in range(3) for half in random_words.accumulator(random)]
        return [*halves, random_words.dsp_control(random)]

    @staticmethod
    def _special(random: Random) -> tuple[int, int, int]:
        """Return HI, LO and FCSR without causes."""
        fcsr = random.getrandbits(7)  # rounding mode, flags
        fcsr |= (random.getrandbits(1) << 23) | (random.getrandbits(7) << 25 if random.random() < 0.8 else 0)
        if random.random() < 0.2:
            fcsr |= random.getrandbits(5) << 7  # enables
        if random.random() < 0.1:
            fcsr |= _FLUSH
        return *random_words.accumulator(random), fcsr

    def draw(self, case: Case, number: int) -> bytes:
        """Return a state for a case, which has a number in the guest."""
        random = self._random
        gpr = random.choice(self._gprs)[:]
        for register, far in case.pointers.items():
            gpr[register] = WINDOW + WINDOW_MIDDLE + far & 0xFFFFFFFF
        for register, value in case.wild.items():
            gpr[register] = value
        for register, value in case.indexes.items():
            gpr[register] = value & 0xFFFFFFFF
        for register, index in case.labels.items():
            gpr[register] = case.pc(index)
        for register, most in case.counters.items():
            gpr[register] = most if most == NO_SUCH_CALL else random.randint(1, most)
        gpr[case.home] = case.pc(0)
        gpr[0] = 0
        head = struct.pack(f"{self._order}40I", *gpr, *random.choice(self._specials), number, 0, 0, 0, 0)
        dsp = struct.pack(f"{self._order}7I4x", *random.choice(self._dsp))
        return b"".join((head, dsp, random.choice(self._floats), random.choice(self._windows)))
