"""The interpreter against unicorn: random instructions on random states, everything compared after each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest
import random_words as words
import unicorn.mips_const
from cpu import DATA, STOP, Cpu
from interpreter import Interpreter, build
from unicorn_judge import Judge

FLUSH = 1 << 24
NAN2008 = 0xC0000  # NAN2008 and ABS2008
BASE, INDEX = words.BASE, words.INDEX


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter as a shared library."""
    return build(tmp_path_factory.mktemp("interp"))


# ---- where unicorn is wrong, or the manual leaves it open ----


@dataclass(frozen=True)
class Fault:
    """A class of cases in which unicorn is no judge; `covers` gets the word and the state before."""

    reason: str
    covers: Callable[[int, Cpu], bool]


def _field(word: int, low: int) -> int:
    return word >> low & 31


def _is_float(word: int, *functions: int) -> bool:
    return word >> 26 == 0x11 and _field(word, 21) in (16, 17) and word & 63 in functions


def _source(word: int, cpu: Cpu) -> tuple[int, int]:
    """Return operand fs without its sign, and infinity, of a float_ instruction."""
    number = _field(word, 11)
    if _field(word, 21) == 17:
        return cpu.fpr[number] & (1 << 63) - 1, 0x7FF << 52
    whole = cpu.fpr[number] if cpu.fr else cpu.fpr[number & 30] >> 32 * (number & 1)
    return whole & 0x7FFFFFFF, 0xFF << 23


def _sign_of_nan(word: int, cpu: Cpu) -> bool:
    if not _is_float(word, 0x05, 0x07) or cpu.fcsr & NAN2008:
        return False
    magnitude, infinity = _source(word, cpu)
    return magnitude > infinity


def _narrowed_nan(word: int, cpu: Cpu) -> bool:
    magnitude, infinity = _source(word, cpu)
    return _is_float(word, 0x20) and _field(word, 21) == 17 and infinity < magnitude < infinity + (1 << 29)


def _odd_double(word: int, cpu: Cpu) -> bool:
    if cpu.fr:
        return False
    if word >> 26 in (0x35, 0x3D):
        return bool(_field(word, 16) & 1)
    return _is_float(word, 0x11, 0x12, 0x13) and bool((word >> 6 | word >> 11) & 1)


def _long_format(word: int, cpu: Cpu) -> bool:
    if cpu.fr:
        return False
    if word >> 26 == 0x13:
        return word & 63 in (0x05, 0x0D)
    return _is_float(word, 0x08, 0x09, 0x0A, 0x0B, 0x25) or (word >> 26 == 0x11 and _field(word, 21) == 21)


def _flushing(word: int, cpu: Cpu) -> bool:
    return bool(cpu.fcsr & FLUSH) and word >> 26 in (0x11, 0x13)


FAULTS = (
    Fault("abs and neg of NaNs are arithmetic without ABS2008 (volume II-A); qemu only changes the sign", _sign_of_nan),
    Fault("cvt.s.d of a NaN whose payload does not fit must stay a NaN; qemu 5 makes it infinity", _narrowed_nan),
    Fault("odd registers of doubles are reserved with FR=0; qemu lets some instructions use them", _odd_double),
    Fault("format L, luxc1, suxc1 with FR=0 are open; here even registers work, qemu reserves them", _long_format),
    Fault("a flushed result is tiny and inexact, and on x86 says so; qemu raises no flags for it", _flushing),
    Fault("COP2 is an unusable coprocessor; qemu reserves it", lambda word, _: word >> 26 == 0x12),
    Fault("recip1, recip2, rsqrt1, rsqrt2 and cabs are MIPS-3D's; qemu does not look at the CPU",
          lambda word, _: _is_float(word, *range(28, 32)) or (_is_float(word, *range(48, 64)) and word & 64 != 0)),
    Fault("function 5 of SPECIAL calls a boot monitor on qemu", lambda word, _: word >> 26 == 0 and word & 63 == 5),
    Fault("reserved forms of bshfl and of mfhi and mflo do nothing on qemu when rd is 0",
          lambda word, _: (word >> 26, word & 63) in ((0x1F, 0x20), (0, 0x10), (0, 0x12)) and _field(word, 11) == 0),
    Fault("the DSP extension's instructions with rd 0 do nothing on qemu",
          lambda word, _: word >> 26 == 0x1F and word & 63 in range(0x0A, 0x3A) and _field(word, 11) == 0),
    Fault("sdbbp stops for a debugger on qemu", lambda word, _: word >> 26 == 0x1C and word & 63 == 0x3F),
    Fault("jalx leads to MIPS16 code, which is not for us", lambda word, _: word >> 26 == 0x1D),
)  # fmt: skip


# ---- cases ----


def random_cpu(random: Random, fr: int) -> Cpu:
    """Return a state with operands worth computing with, and any FCSR without causes."""
    cpu = Cpu(fr=fr, data=random.randbytes(len(Cpu.data)))
    cpu.gpr[1:] = [words.integer(random) for _ in range(31)]
    cpu.gpr[BASE], cpu.gpr[INDEX] = DATA + 0x80, random.randrange(-0x40, 0x40) & 0xFFFFFFF8
    cpu.hilo = words.integer(random) << 32 | words.integer(random)
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


def compare(
    interpreter: Interpreter, judge: Judge, cases: list[tuple[list[int], Cpu]], most_skipped: float = 0.25
) -> None:
    """Run all cases in both, and fail with the first that differs and is not covered by a fault of the judge."""
    skipped = 0
    for code, cpu in cases:
        if any(fault.covers(code[0], cpu) for fault in FAULTS):
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
    cases = [(random_code(random, rows, 1), random_cpu(random, 1)) for _ in range(count)]
    compare(Interpreter(library, big_endian), Judge(big_endian, 1), cases)


@pytest.mark.parametrize("fr", [0, 1])
def test_float(library: Path, fr: int) -> None:
    random = Random(f"float {fr}")
    rows = words.rows(words.FLOAT)
    cases = [(random_code(random, rows, fr), random_cpu(random, fr)) for _ in range(3500)]
    compare(Interpreter(library, False), Judge(False, fr), cases, 0.35)


def test_float_2008(library: Path) -> None:
    random = Random("float 2008")
    rows = words.rows(words.FLOAT)
    cases = [(random_code(random, rows, 1), random_cpu(random, 1)) for _ in range(2500)]
    for _, cpu in cases:
        cpu.fcsr |= NAN2008
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
