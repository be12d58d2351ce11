"""Operations of the rows on floating-point values.

Arithmetic is written with LLVM's constrained intrinsics: the rounding mode is what the guest last wrote to FCSR, and
the flags that gather in the host's FPU are the guest's, so nothing may be folded, left out, done where the guest does
not, or moved past a look at FCSR. Comparisons raise flags for NaNs only, and with these nans.py deals.
"""

from __future__ import annotations

from ..isa.effects import changes_sign
from .constants import Constants
from .guards import Guards
from .types import SUFFIXES
from .writer import Value, Writer, text

_TYPES = {"s": "float", "d": "double", "w": "i32", "l": "i64"}
_PREDICATES = ("false", "uno", "oeq", "ueq", "olt", "ult", "ole", "ule")
STRICT = 'metadata !"fpexcept.strict"'
MODES = 'metadata !"round.dynamic", ' + STRICT
"""What constrained intrinsics take: of those that round, MODES; of others, STRICT."""
_ROUNDED = ("fadd", "fsub", "fmul", "fdiv", "sqrt", "fptrunc", "sitofp")

CONSTRAINED_DECLARATIONS = "".join(
    f"declare {type_} @llvm.experimental.constrained.{name}.{suffix}({operands}, metadata, metadata)\n"
    for type_, suffix in (("float", "f32"), ("double", "f64"))
    for name, operands in (
        *((f"f{operation}", f"{type_}, {type_}") for operation in ("add", "sub", "mul", "div")),
        ("sqrt", type_),
    )
) + "".join(
    f"declare {to} @llvm.experimental.constrained.{name}.{SUFFIXES[to]}.{SUFFIXES[source]}({source}{modes})\n"
    for name, to, source, modes in (
        ("fptrunc", "float", "double", ", metadata, metadata"),
        ("sitofp", "float", "i32", ", metadata, metadata"),
        ("sitofp", "float", "i64", ", metadata, metadata"),
        ("sitofp", "double", "i64", ", metadata, metadata"),
        ("fptosi", "i32", "float", ", metadata"),
        ("fptosi", "i32", "double", ", metadata"),
        ("fptosi", "i64", "float", ", metadata"),
        ("fptosi", "i64", "double", ", metadata"),
    )
)


class Floats:
    """Implements isa.meaning.FloatOperations. `abs2008`: a change of sign computes nothing."""

    def __init__(self, writer: Writer, guards: Guards, constants: Constants, abs2008: bool) -> None:
        self._writer = writer
        self._guards = guards
        self._constants = constants
        self._abs2008 = abs2008

    def _arithmetic(self, name: str, type_: str, *operands: Value) -> str:
        values = ", ".join(f"{type_} {operand}" for operand in operands)
        callee = f"@llvm.experimental.constrained.{name}.{SUFFIXES[type_]}"
        return self._writer.value(f"call {type_} {callee}({values}, {MODES}) #3")

    def _conversion(self, name: str, to: str, source: str, value: Value) -> str:
        modes = MODES if name in _ROUNDED else STRICT
        callee = f"@llvm.experimental.constrained.{name}.{SUFFIXES[to]}.{SUFFIXES[source]}"
        return self._writer.value(f"call {to} {callee}({source} {text(value)}, {modes}) #3")

    def float_op(self, name: str, fmt: str, *operands: Value) -> str:
        type_ = _TYPES[fmt]
        a = operands[0]
        if name in ("add", "sub", "mul", "div"):
            result = self._arithmetic("f" + name, type_, *operands)
        elif name in ("neg", "abs"):
            result = self._constants.with_sign(name, type_, a)
        elif name == "recip":
            result = self._arithmetic("fdiv", type_, "1.0", a)
        else:
            result = self._arithmetic("sqrt", type_, a)
            if name == "rsqrt":
                result = self._arithmetic("fdiv", type_, "1.0", result)
        computes = not (self._abs2008 and changes_sign(name))
        return self._guards.pend(result, type_, *((operand, type_) for operand in operands), computes=computes)

    def float_multiply_add(self, name: str, fmt: str, a: Value, b: Value, c: Value) -> str:
        type_ = _TYPES[fmt]
        product = self._arithmetic("fmul", type_, a, b)
        result = self._arithmetic("fadd" if "add" in name else "fsub", type_, product, c)
        if name[0] == "n":
            result = self._writer.value(f"fneg {type_} {result}")
        return self._guards.pend(result, type_, (a, type_), (b, type_), (c, type_))

    def float_compare(self, condition: int, fmt: str, a: Value, b: Value) -> str:
        type_ = _TYPES[fmt]
        predicate = _PREDICATES[condition & 7]
        # LLVM selects no instruction for `fcmp false` where no pass has folded it, and aborts
        flag = "false" if predicate == "false" else self._writer.value(f"fcmp {predicate} {type_} {a}, {b}")
        first, second = (b, a) if predicate in ("olt", "ole") else (a, b)  # in the order of the host
        condition_ = f"fcmp uno {type_} {first}, {second}"
        return str(self._guards.canonical(self._guards.pend(flag, "i1", (a, type_), (b, type_), condition=condition_)))

    def float_convert(self, to: str, source: str, value: Value) -> Value:
        source_type, to_type = _TYPES[source], _TYPES[to]
        if to in "wl":
            return self._guards.convert_by_host(to_type, value, source_type)
        if source in "wl":
            self._guards.note((value, source_type))
            if to == "d" and source == "w":  # exact
                return self._writer.value(f"sitofp i32 {text(value)} to double")
            return self._conversion("sitofp", to_type, source_type, value)
        if to == "d":  # exact
            result = self._writer.value(f"fpext float {value} to double")
        else:
            result = self._conversion("fptrunc", to_type, source_type, value)
        return self._guards.pend(result, to_type, (value, source_type))

    def float_round(self, to: str, source: str, mode: str, value: Value) -> Value:
        source_type, to_type = _TYPES[source], _TYPES[to]
        if mode != "trunc":
            return self._guards.convert_by_host(to_type, value, source_type)
        result = self._writer.value(f"freeze {to_type} {self._conversion('fptosi', to_type, source_type, value)}")
        lowest = -(1 << 31 if to == "w" else 1 << 63)  # what this machine gives for all that do not fit
        condition = f"icmp eq {to_type} {result}, {lowest}"
        return self._guards.canonical(self._guards.pend(result, to_type, (value, source_type), condition=condition))

    def _select(self, type_: str, flag: Value, a: Value, b: Value) -> str:
        a, b = self._guards.canonical_both(a, b)
        return self._writer.value(f"select i1 {flag}, {type_} {a}, {type_} {b}")

    def select_single(self, flag: Value, a: Value, b: Value) -> str:
        return self._select("float", flag, a, b)

    def select_double(self, flag: Value, a: Value, b: Value) -> str:
        return self._select("double", flag, a, b)
