"""The test vectors of single instructions, run through lifted code: all memory models, optimised and not.

And shifts of 64 bits, that are written as such where they are certain to be such. By default each model is run at one
level, and has a third of the code that leaves memory alone, and each byte order has one value of Status.FR where both
are right; with MIPSREC_TIERS=all each model has all of it, at each level.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from mipsrec.emit.wide_shifts import WideShifts
from mipsrec.lift.options import LiftOptions
from tests.emit.lifted import Lifter, Runner, build_stubs
from tests.emit.wide_shifts import AMOUNTS, BY, variants
from tests.support.guest_cpu import STOP, Cpu
from tests.support.sampling import ALL
from tests.support.vectors import Vector, load_all

VECTORS = load_all()
HELPED = {
    "reserved": "no row matches the word, or FR=0 makes it reserved",
    "coprocessor": "no row matches the word",
    "bltzall bgezall": "a slot inside a conditional call, and obsolete",
    "bltzal bgezal": "their targets begin no function, unless they are always taken",
    "jr jalr jr.hb jalr.hb": "jump to where no function begins",
    "fpe enabled": "with an exception of the FPU enabled everything is interpreted",
}
"""Where the interpreter may help lifted code: exceptions and mnemonics."""


ENABLES = 0xF80
WAYS: list[tuple[str, int | str]] = [("flat", 2), ("paged", 0), ("thunk", "light")]
"""Each memory model, and each kind of code: optimised, not, and with registers in the state."""
ALL_WAYS = list(product(("flat", "paged", "thunk"), (2, 0, "light")))


def may_trap(vector: Vector) -> bool:
    """Return whether exceptions of the FPU are enabled before or after."""
    values = (vector.inputs.get("fcsr", "0"), vector.outputs.get("fcsr", "0"))
    return any(int(value, 16) & ENABLES for value in values)


@pytest.fixture(scope="session")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Runner:
    return Runner(build_stubs(tmp_path_factory.mktemp("stubs")))


def cases_of(way: int) -> Iterator[tuple[Vector, bool, int]]:
    """Yield the vectors of one of the ways, in byte orders and with values of Status.FR."""
    codes: dict[tuple[int, ...], int] = {}
    pieces: dict[tuple[tuple[int, ...], bool, int], int] = {}
    for vector in VECTORS:
        code = codes.setdefault(vector.code, len(codes))
        in_memory = vector.place.startswith("memory.")
        for big_endian, fr in vector.modes:
            if not ALL and vector.fr is None and fr != (code + big_endian + (way if in_memory else 0)) % 2:
                continue
            number = pieces.setdefault((vector.code, big_endian, fr), len(pieces))
            if ALL or in_memory or number % len(WAYS) == way:
                yield vector, big_endian, fr


def test_each_vector_has_a_way() -> None:
    """In each byte order and with each value of Status.FR that it names."""
    cases = [(vector, big_endian, fr) for way in range(len(WAYS)) for vector, big_endian, fr in cases_of(way)]
    orders = {(vector.place, big_endian) for vector in VECTORS for big_endian, _ in vector.modes}
    assert {(vector.place, big_endian) for vector, big_endian, _ in cases} == orders
    for kind in ("integer.", "float.", "memory.", "control.", "dsp."):
        assert {fr for vector, _, fr in cases if vector.place.startswith(kind)} == {0, 1}
    assert all((big_endian, fr) in vector.modes for vector, big_endian, fr in cases)


@pytest.mark.parametrize("memory, opt", ALL_WAYS if ALL else WAYS)
def test_vectors(runner: Runner, tmp_path: Path, memory: str, opt: int | str) -> None:
    lifter, pieces = Lifter(tmp_path, opt), {}
    end = (0x08000000 | STOP >> 2, 0)  # j STOP
    cases = list(cases_of(0 if ALL else WAYS.index((memory, opt))))
    for vector, big_endian, fr in cases:
        if (vector.code, big_endian, fr) not in pieces:
            pieces[vector.code, big_endian, fr] = len(pieces)
            lifter.add([*vector.code, *end], LiftOptions(big_endian, fr, memory))
    runner.load(lifter.finish(runner.stubs), lifter.entries)
    failures, helped = [], Counter[str]()
    for vector, big_endian, fr in cases:
        number = pieces[vector.code, big_endian, fr]
        after, exception, help_count = runner.run_piece(number, vector.before(fr), [*vector.code, *end], big_endian)
        lines = after.differences(vector.after(fr))
        if exception != vector.exception:
            lines.append(f"exception {exception!r}")
        failures += [f"{vector.place} ({big_endian=}, {fr=}) {vector.text}: {line}" for line in lines]
        if help_count:
            helped["enabled" if may_trap(vector) else vector.exception or vector.text.split()[0]] += 1
    assert failures == []
    assert helped.keys() <= set(" ".join(HELPED).split()), helped


def test_shifts_of_pairs(runner: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lifter, end = Lifter(tmp_path, 1), [0x08000000 | STOP >> 2, 0]  # j STOP
    sequences, found = list(variants(1)), set[int]()
    shift = WideShifts._shift
    monkeypatch.setattr(WideShifts, "_shift", lambda *operands: found.add(len(lifter.entries)) or shift(*operands))
    for sequence in sequences:
        lifter.add([*(operation.word() for operation in sequence), *end], LiftOptions(False, 0, "flat"))
    assert len(found) > 6
    runner.load(lifter.finish(runner.stubs), lifter.entries)
    for index, sequence in enumerate(sequences):
        words = [*(operation.word() for operation in sequence), *end]
        for amount in AMOUNTS:
            before = Cpu()
            before.gpr[2:12] = [0x89ABCDEF * (number * number + 1) & 0xFFFFFFFF for number in range(2, 12)]
            before.gpr[BY] = amount
            after, _, _ = runner.run_piece(index, before.copy(), words, False)
            for operation in sequence:
                operation.run(before.gpr)
            assert after.gpr == before.gpr, (sequence, amount)
