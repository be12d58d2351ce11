"""Runs test vectors in the interpreter, and says which fail."""

from __future__ import annotations

from pathlib import Path

from tests.support.guest_cpu import STOP
from tests.support.interpreter import Interpreter
from tests.support.vectors import Vector, load_all

VECTORS = load_all()


def run_all(library: Path, vectors: list[Vector]) -> list[str]:
    """Run vectors in the interpreter, each in all its byte orders and Status.FRs; return a line for each that fails."""
    failures = []
    for big_endian in (True, False):
        interpreter = Interpreter(library, big_endian)
        for vector in vectors:
            for order, fr in vector.modes:
                if order == big_endian:
                    words = [*vector.code, 0x08000000 | STOP >> 2, 0]
                    after, exception = interpreter.run(vector.before(fr), words)
                    wrong = after.differences(vector.after(fr))
                    if wrong or exception != vector.exception:
                        failures.append(f"{vector.place} ({order=}, {fr=}) {vector.text}: {exception} {wrong}")
    return failures
