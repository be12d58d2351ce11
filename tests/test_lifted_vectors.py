"""The test vectors of single instructions, run through lifted code: all memory models, optimised and not."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from cpu import STOP, Cpu
from lifted import Lifter, Runner, build_stubs
from vectors import Vector, load_all

from mipsrec.codegen import CodegenOptions

VECTORS = load_all()
CAUSES = 0x3F000  # of FCSR: lifted code knows none (runtime/fpu.c)
NAN2008 = 0xC0000

REASONS = {
    "flags": "exact floating point of lifted code: flags",
    "nan": "exact floating point of lifted code: bits of NaNs",
    "2008": "exact floating point of lifted code: conversions under NAN2008",
    "trap": "exact floating point of lifted code: enabled exceptions",
    "sequence": "exact floating point of lifted code: the order of arithmetic and FCSR accesses, and causes",
}
KNOWN: dict[str, str] = {
    "flags": (
        "abs.d abs.s add.d add.s c.eq.d c.eq.s c.f.d c.f.s c.le.d c.le.s c.lt.d c.lt.s c.nge.d c.nge.s c.ngl.d "
        "c.ngl.s c.ngle.d c.ngle.s c.ngt.d c.ngt.s c.ole.d c.ole.s c.olt.d c.olt.s c.seq.d c.seq.s c.sf.d c.sf.s "
        "c.ueq.d c.ueq.s c.ule.d c.ule.s c.ult.d c.ult.s c.un.d c.un.s ceil.l.d ceil.l.s ceil.w.d ceil.w.s cvt.d.s "
        "cvt.l.s cvt.s.d cvt.w.d div.d div.s floor.l.d floor.l.s floor.w.d floor.w.s madd.d madd.s msub.d msub.s mul.d "
        "mul.s neg.d neg.s nmadd.d nmadd.s nmsub.d nmsub.s recip.d recip.s round.l.d round.l.s round.w.d round.w.s "
        "rsqrt.d rsqrt.s sqrt.d sqrt.s sub.d sub.s trunc.l.d trunc.l.s trunc.w.d trunc.w.s"
    ),
    "nan": (
        "abs.d abs.s add.d add.s cvt.d.s cvt.s.d div.d div.s madd.d madd.s msub.d msub.s mul.d mul.s neg.d neg.s "
        "nmadd.d nmadd.s nmsub.d nmsub.s recip.d recip.s rsqrt.d rsqrt.s sqrt.d sqrt.s sub.d sub.s"
    ),
    "2008": "add.s cvt.l.d cvt.w.s div.d div.s mul.s round.w.d sqrt.d trunc.w.d",
    "trap": "add.s c.lt.d ctc1 cvt.w.d div.d div.s madd.d mul.s",
    "sequence": "...",
}
"""By reason, the mnemonics whose lifted code still differs from the vectors in float.txt. To be emptied."""

HELPED = {
    "reserved": "no row matches the word, or FR=0 makes it reserved",
    "coprocessor": "no row matches the word",
    "bltzall bgezall": "a slot inside a conditional call, and obsolete",
    "bltzal bgezal": "their targets begin no function, unless they are always taken",
    "jr jalr jr.hb jalr.hb": "jump to where no function begins",
}
"""Where the interpreter may help lifted code: exceptions and mnemonics."""


def aspect(vector: Vector, expected: Cpu, line: str) -> str:
    """Return the key of REASONS that a difference belongs to, or "" when nothing excuses it."""
    if not vector.place.startswith("float"):
        return ""
    if vector.exception == "fpe" and " | " not in vector.text:
        return "trap"
    if line.startswith(("fcc", "hilo", "data")):
        return ""
    if " | " in vector.text:
        return "sequence"
    if line.startswith("fcsr"):
        return "flags"
    if int(vector.inputs.get("fcsr", "0"), 16) & NAN2008:
        return "2008"
    return "nan" if line.startswith("fpr") and any(map(is_nan, vector.outputs.items())) else ""


def is_nan(output: tuple[str, str]) -> bool:
    """Return whether a register of that name and value holds a NaN."""
    name, text = output
    value = int(text, 16)
    if not name[1:].isdigit() or name[0] not in "fd":
        return False
    return value & 0x7FFFFFFF > 0x7F800000 if name[0] == "f" else value & (1 << 63) - 1 > 0x7FF << 52


def mnemonic(vector: Vector) -> str:
    return vector.text.split()[0] if " | " not in vector.text else "..."


@pytest.fixture(scope="session")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Runner:
    return Runner(build_stubs(tmp_path_factory.mktemp("stubs")))


@cache
def all_cases() -> list[tuple[Vector, bool, int]]:
    return [(vector, big_endian, fr) for vector in VECTORS for big_endian, fr in vector.modes]


@pytest.mark.parametrize("memory, opt", [("flat", 2), ("paged", 2), ("thunk", 2), ("flat", 0)])
def test_vectors(runner: Runner, tmp_path: Path, memory: str, opt: int) -> None:
    lifter, pieces = Lifter(tmp_path, opt), {}
    end = (0x08000000 | STOP >> 2, 0)  # j STOP
    for vector, big_endian, fr in all_cases():
        if (vector.code, big_endian, fr) not in pieces:
            pieces[vector.code, big_endian, fr] = len(pieces)
            lifter.add([*vector.code, *end], CodegenOptions(big_endian, fr, memory))
    runner.load(lifter.finish(runner.stubs), lifter.entries)
    failures, helped, found = [], Counter[str](), {reason: set[str]() for reason in REASONS}
    for vector, big_endian, fr in all_cases():
        number = pieces[vector.code, big_endian, fr]
        after, exception, help_count = runner.run_piece(number, vector.before(fr), [*vector.code, *end], big_endian)
        expected = vector.after(fr)
        after.fcsr, expected.fcsr = after.fcsr & ~CAUSES, expected.fcsr & ~CAUSES
        lines = after.differences(expected)
        if exception != vector.exception:
            lines.append(f"exception {exception!r}")
        for line in lines:
            reason = aspect(vector, expected, line)
            if reason and mnemonic(vector) in KNOWN[reason].split():
                found[reason].add(mnemonic(vector))
            else:
                failures.append(f"{vector.place} ({big_endian=}, {fr=}) {vector.text}: {reason} {line}")
        if help_count:
            helped[vector.exception or vector.text.split()[0]] += 1
    assert failures == []
    assert helped.keys() <= set(" ".join(HELPED).split()), helped
    for reason, mnemonics in found.items() if opt == 2 else ():
        assert sorted(set(KNOWN[reason].split()) - mnemonics) == [], f"no longer differ: {REASONS[reason]}"
