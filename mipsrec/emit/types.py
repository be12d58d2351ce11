"""LLVM's names of the types that the plan names: those of units (lift/units.py) and accesses (isa/effects.py)."""

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
