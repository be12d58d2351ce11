"""LLVM's names of types: those of units (lift/units.py) and accesses (isa/effects.py), and in names of intrinsics."""

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
