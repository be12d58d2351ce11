"""Operations on the numbers of several iterations at once, or on those of one: as floats.py writes them.

Enters: a step of an iteration (lift/passes/vectorize) and its operands. Leaves: the name of its result. Guards are not
written here.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..lift.passes.vectorize.iteration import SIZES, VECTOR_BYTES, Step
from .floats import MODES, STRICT
from .types import SUFFIXES, TYPES
from .writer import Writer

_CONVERSIONS = {"extend": "fpext", "round": "fptrunc", "from_integer": "sitofp", "to_integer": "fptosi"}
_CONSTRAINED = "@llvm.experimental.constrained"


@dataclass(frozen=True)
class Lanes:
    """How many numbers an operation computes; one is no vector."""

    count: int

    def type(self, type_: str) -> str:
        return type_ if self.count == 1 else f"<{self.count} x {type_}>"

    def suffix(self, *types: str) -> str:
        return ".".join(("" if self.count == 1 else f"v{self.count}") + SUFFIXES[type_] for type_ in types)

    def constant(self, type_: str, value: str) -> str:
        return value if self.count == 1 else "<" + ", ".join([f"{type_} {value}"] * self.count) + ">"


def computed(writer: Writer, lanes: Lanes, step: Step, source: str, operands: list[str]) -> str:
    """Return the result of an operation on operands of the type `source`."""
    type_, name = TYPES[step.type], _CONVERSIONS.get(step.name, step.name)
    vector = lanes.type(type_)
    a = f"{lanes.type(source)} {operands[0]}"
    if name in ("add", "sub", "mul", "div"):
        return _constrained(writer, lanes, "f" + name, type_, *operands)
    if name == "neg":
        return writer.value(f"fneg {a}")
    if name == "abs":
        return writer.value(f"call {vector} @llvm.fabs.{lanes.suffix(type_)}({a})")
    if name in ("recip", "sqrt", "rsqrt"):
        root = operands[0] if name == "recip" else _constrained(writer, lanes, "sqrt", type_, operands[0])
        one = lanes.constant(type_, "1.0")
        return root if name == "sqrt" else _constrained(writer, lanes, "fdiv", type_, one, root)
    if name == "fpext" or (name == "sitofp" and type_ == "double"):  # exact
        return writer.value(f"{name} {a} to {vector}")
    if name == "bits":
        return operands[0] if source == type_ else writer.value(f"bitcast {a} to {vector}")
    modes = STRICT if name == "fptosi" else MODES
    result = writer.value(f"call {vector} {_CONSTRAINED}.{name}.{lanes.suffix(type_, source)}({a}, {modes}) #3")
    return writer.value(f"freeze {vector} {result}") if name == "fptosi" else result


def _constrained(writer: Writer, lanes: Lanes, name: str, type_: str, *operands: str) -> str:
    vector = lanes.type(type_)
    values = ", ".join(f"{vector} {operand}" for operand in operands)
    return writer.value(f"call {vector} {_CONSTRAINED}.{name}.{lanes.suffix(type_)}({values}, {MODES}) #3")


def _declarations(lanes: Lanes) -> str:
    vector, suffix = lanes.type, lanes.suffix
    lines = []
    for type_, word in (("float", "i32"), ("double", "i64")):
        for name in ("fadd", "fsub", "fmul", "fdiv"):
            operands = f"{vector(type_)}, {vector(type_)}, metadata, metadata"
            lines.append(f"{vector(type_)} {_CONSTRAINED}.{name}.{suffix(type_)}({operands})")
        lines.append(f"{vector(type_)} {_CONSTRAINED}.sqrt.{suffix(type_)}({vector(type_)}, metadata, metadata)")
        lines.append(f"{vector('i32')} {_CONSTRAINED}.fptosi.{suffix('i32', type_)}({vector(type_)}, metadata)")
        lines.append(f"{vector(type_)} @llvm.fabs.{suffix(type_)}({vector(type_)})")
        lines.append(f"{vector(word)} @llvm.bswap.{suffix(word)}({vector(word)})")
    for name, to, source in (("fptrunc", "float", "double"), ("sitofp", "float", "i32")):
        operands = f"{vector(source)}, metadata, metadata"
        lines.append(f"{vector(to)} {_CONSTRAINED}.{name}.{suffix(to, source)}({operands})")
    return "".join(f"declare {line}\n" for line in lines)


VECTOR_DECLARATIONS = "".join(
    _declarations(Lanes(count))
    for count in sorted({VECTOR_BYTES // size // part for size in SIZES.values() for part in (1, 2)})
) + "declare i32 @llvm.umin.i32(i32, i32)\n"
