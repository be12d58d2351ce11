"""LLVM's names of types: those of units (lift/units.py) and accesses (isa/effects.py), and in names of intrinsics."""

from __future__ import annotations

from ..lift.convention import ARGUMENTS, CARRIED_FLOATS, RESULTS

TYPES = {
    "flag": "i1",
    "byte": "i8",
    "half": "i16",
    "word": "i32",
    "long": "i64",
    "single": "float",
    "double": "double",
    "pair": "<2 x float>",
}

SUFFIXES = {"float": "f32", "double": "f64", "i32": "i32", "i64": "i64"}
"""What names of intrinsics have for a type."""

PASSED = {number: "float" if number in CARRIED_FLOATS else "i32" for number in (*ARGUMENTS, *RESULTS)}
"""The types in which calls pass general-purpose registers, by number: parameters and results (calls.py)."""
