"""Analysed programs, and their functions by name."""

from __future__ import annotations

from pathlib import Path

from mipsrec import pipeline
from mipsrec.analysis import Function, Program

FREESTANDING = ("-nostdlib", "-static", "-fno-asynchronous-unwind-tables", "-Wl,--build-id=none")
MODELS = {"pic": ("-fPIC", "-mabicalls"), "plain": ("-fno-pic", "-mno-abicalls", "-G0")}


def program_of(path: Path) -> Program:
    return pipeline.open_guest(path).program


def function(program: Program, name: str) -> Function:
    """Return the function of that name, or that name with a suffix of the compiler's."""
    found = [f for f in program.functions.values() if f.name == name or f.name.startswith(name + ".")]
    assert len(found) == 1, (name, [f.name for f in program.functions.values()])
    return found[0]
