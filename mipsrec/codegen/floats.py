"""Operations of the rows on floating-point values."""

from __future__ import annotations

from .memory_models import Value, text
from .register_file import RegisterOperations

_FLOAT_TYPES = {"s": "float", "d": "double"}
_PREDICATES = ("false", "uno", "oeq", "ueq", "olt", "ult", "ole", "ule")


class FloatOperations(RegisterOperations):
    """Arithmetic, comparisons and conversions; conversions out of range are guarded."""

    def float_op(self, name: str, fmt: str, *operands: Value) -> str:
        type_ = _FLOAT_TYPES[fmt]
        suffix = "f32" if fmt == "s" else "f64"
        a = operands[0]
        if name in ("add", "sub", "mul", "div"):
            return self.writer.value(f"f{name} {type_} {a}, {operands[1]}")
        if name == "neg":
            return self.writer.value(f"fneg {type_} {a}")
        if name == "recip":
            return self.writer.value(f"fdiv {type_} 1.0, {a}")
        intrinsic = "fabs" if name == "abs" else "sqrt"
        value = self.writer.value(f"call {type_} @llvm.{intrinsic}.{suffix}({type_} {a})")
        return self.writer.value(f"fdiv {type_} 1.0, {value}") if name == "rsqrt" else value

    def float_compare(self, condition: int, fmt: str, a: Value, b: Value) -> str:
        return self.writer.value(f"fcmp {_PREDICATES[condition & 7]} {_FLOAT_TYPES[fmt]} {a}, {b}")

    def float_convert(self, to: str, source: str, value: Value) -> str:
        if to in "wl":
            return self._to_integer(to, source, "rint", value)
        if source in "wl":
            return self.writer.value(f"sitofp {'i32' if source == 'w' else 'i64'} {text(value)} to {_FLOAT_TYPES[to]}")
        operation = "fpext" if to == "d" else "fptrunc"
        return self.writer.value(f"{operation} {_FLOAT_TYPES[source]} {value} to {_FLOAT_TYPES[to]}")

    def float_round(self, to: str, source: str, mode: str, value: Value) -> str:
        return self._to_integer(to, source, {"round": "roundeven"}.get(mode, mode), value)

    def _to_integer(self, to: str, source: str, mode: str, value: Value) -> str:
        """Convert with the given rounding; out of range and NaN give the largest integer (manual, legacy NaN rules)."""
        writer = self.writer
        type_, suffix = _FLOAT_TYPES[source], "f32" if source == "s" else "f64"
        integer, bits = ("i32", 31) if to == "w" else ("i64", 63)
        rounded = writer.value(f"call {type_} @llvm.{mode}.{suffix}({type_} {value})")
        low, high = _power(bits, True), _power(bits, False)
        above = writer.value(f"fcmp oge {type_} {rounded}, {low}")
        below = writer.value(f"fcmp olt {type_} {rounded}, {high}")
        fits = writer.value(f"and i1 {above}, {below}")
        converted = writer.value(f"fptosi {type_} {rounded} to {integer}")
        frozen = writer.value(f"freeze {integer} {converted}")
        return writer.value(f"select i1 {fits}, {integer} {frozen}, {integer} {(1 << bits) - 1}")


def _power(exponent: int, negative: bool) -> str:
    """Return 2^exponent as an LLVM floating-point literal; exact in both formats."""
    return f"0x{((0xBFF if negative else 0x3FF) + exponent) << 52:016X}"
