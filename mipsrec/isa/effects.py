"""What one instruction does besides computing: one record for each row, and all that is asked of an instruction.

The record comes from running the row's meaning on a Machine that only records (Enters: rows. Leaves: `effects(row)`),
so that no rule about instructions needs a list of mnemonics. Registers are sets of bits (an int), as the table in
state.py numbers them: general-purpose registers, HI:LO and the other accumulators, DSPControl, the 32-bit words (FR=0)
or the registers (FR=1) of the floating-point file, condition codes, and the record of the last instruction that
computed with floats, on which FCSR's causes depend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar, cast

from ..state import BIT_NAMES, RA, SP, bit_of, first_bit
from .row import Instruction, Row, Use

HILO_BIT, DSP_BIT, FPR_BIT, FCC_BIT, LAST_BIT = map(first_bit, ("hilo", "dsp_control", "fpr", "fcc", "fp_word"))
ACCUMULATOR_BITS = tuple(1 << bit_of("hilo", number) for number in range(4))
ALL_BITS = sum(1 << bit for bit in BIT_NAMES if bit)

LOAD, STORE = "load", "store"

ACCESS_BYTES = {"byte": 1, "half": 2, "word": 4, "single": 4, "double": 8}
"""The types of what is accessed, in the words of MIPS, and their sizes."""

_INTEGERS = {8: "byte", 16: "half", 32: "word"}


@dataclass(frozen=True, slots=True)
class Access:
    """One access of memory that waits for nothing: `kind` is LOAD or STORE, `type` one of ACCESS_BYTES.

    `is_based`: its address is imm(rs). `part` is left or right for lwl, lwr, swl and swr, which access part of a word.
    """

    kind: str
    type: str
    is_based: bool
    part: str = ""

    @property
    def size_bytes(self) -> int:
        """Of the whole."""
        return ACCESS_BYTES[self.type]


@dataclass(frozen=True, slots=True)
class Value:
    """How a value is made: an operation of the Machine on others. A register is `gpr` of its field; a constant is
    `const` of the field that it is, of the number that it always is, or of "" where it is made of fields."""

    operation: str
    operands: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Effects:
    """What a row does."""

    reads: tuple[Use, ...]
    writes: tuple[Use, ...]
    access: Access | None
    """Of memory, if there is one; save and restore have several."""
    result: Value | None
    """What the only general-purpose register that its meaning writes gets."""
    condition: Value | None
    """What a branch depends on, or where a jump goes."""
    traps: bool
    """It may raise an exception other than by an access: such an exception shows all registers."""
    calls_host: bool
    """The host performs it, or part of it."""
    is_linked: bool
    """It is ll or sc."""
    fences: bool
    """It orders accesses of memory."""

    loads: bool
    """It reads memory."""
    stores: bool
    """It may write memory."""
    computes_float: bool
    """FCSR's causes depend on it."""
    adds_constant: bool
    """It is addiu: its result is rs and the immediate, and it does nothing else."""
    steps_sp: bool
    """It adds the immediate to sp, whatever else it does."""
    float_operands: tuple[str, ...]
    """How it reads floating-point registers, in order: as `single`, `double`, `word` or `long` (meaning.py)."""

    @property
    def leaves(self) -> bool:
        """Whether instructions of the row may leave their block, or call the host: may_leave says of one."""
        return self.traps or self.calls_host or self.is_linked

    @property
    def is_pure(self) -> bool:
        """Whether it gives a general-purpose register, always the same for the same operands, and does nothing else."""
        return self.result is not None and not (self.loads or self.stores or self.leaves)


class _Field(int):
    """A number in an instruction that knows which field it is."""

    name: str

    def __new__(cls, name: str, value: int) -> _Field:
        field = super().__new__(cls, value)
        field.name = name
        return field

    def _derived(self, _: int = 0) -> _Field:
        """Return what stands for a number that is made of the field."""
        return _Field("", self)

    __add__ = __radd__ = __sub__ = __rsub__ = __lshift__ = __rlshift__ = __and__ = __rand__ = __invert__ = _derived


class _Fields:
    """Stands for an instruction whose register fields are their own names."""

    rs, rt, rd, fr, ft, fs, fd, cc, fcc, ac = "rs", "rt", "rd", "fr", "ft", "fs", "fd", "cc", "fcc", "ac"
    sa, msb, lsb = _Field("sa", 1), _Field("msb", 2), _Field("lsb", 1)
    imm, uimm, displacement = _Field("imm", 1), _Field("uimm", 1), _Field("displacement", 1)
    amount, shift, half, reads, writes, overflow = (
        _Field(name, 1) for name in ("amount", "shift", "half", "reads", "writes", "")
    )
    index, code, word = 1, 1, 0


_BASED = Value("gpr", ("rs",))
_CALLS = frozenset(("raise_always", "read_hardware", "read_control", "write_control", "sync_code"))
_COMPUTATIONS = frozenset(("float_op", "float_multiply_add", "float_compare", "float_convert", "float_round"))
_REGISTERS = {
    "gpr": "gpr", "hilo": "hilo", "dsp_control": "dsp", "single": "single", "word": "single",
    "double": "double", "long": "double", "high": "high", "fcc": "fcc",
}  # fmt: skip
_CONDITION_CODES = tuple(Use("fcc", number) for number in range(8))


class _Recorder:
    """A Machine that records what a row asks of it; its values tell how they are made."""

    def __init__(self) -> None:
        self.reads: list[Use] = []
        self.writes: list[Use] = []
        self.accesses: list[Access] = []
        self.results: list[Value] = []
        self.called: set[str] = set()
        self.float_operands: list[str] = []

    def __getattr__(self, name: str) -> Any:
        """Return what stands for an operation without a method of its own."""
        if name in _REGISTERS:
            return lambda number=0: self._read(name, number)
        if name.startswith("set_"):
            return lambda *operands: self._write(_REGISTERS[name.removeprefix("set_")], *operands)
        return lambda *operands: self._call(name, operands)

    def _call(self, name: str, operands: tuple[Any, ...]) -> Value:
        self.called.add(name)
        if name in _COMPUTATIONS:
            self.writes.append(Use("last", 0))
        return Value(name, operands)

    def _read(self, name: str, number: str | int) -> Value:
        kind = _REGISTERS[name]
        self.reads.append(Use(kind, number))
        if kind in ("single", "double"):
            self.float_operands.append(name)
        return Value(kind, (number,))

    def _write(self, kind: str, *operands: Any) -> None:
        number, value = operands if len(operands) == 2 else (0, *operands)
        self.writes.append(Use(kind, number))
        if kind == "gpr":
            self.results.append(value)

    def const(self, value: int) -> Value:
        return Value("const", (value.name if isinstance(value, _Field) else value,))

    def _access(self, kind: str, type_: str, base: Value, displacement: int, part: str = "") -> Value:
        is_based = base == _BASED and isinstance(displacement, _Field)
        self.accesses.append(Access(kind, type_, is_based, part))
        return Value(kind)

    def load(self, base: Value, displacement: int, bits: int, signed: bool) -> Value:
        return self._access(LOAD, _INTEGERS[bits], base, displacement)

    def load_single(self, base: Value, displacement: int) -> Value:
        return self._access(LOAD, "single", base, displacement)

    def load_double(self, base: Value, displacement: int) -> Value:
        return self._access(LOAD, "double", base, displacement)

    def load_left(self, base: Value, displacement: int, old: Value) -> Value:
        return self._access(LOAD, "word", base, displacement, "left")

    def load_right(self, base: Value, displacement: int, old: Value) -> Value:
        return self._access(LOAD, "word", base, displacement, "right")

    def store(self, base: Value, displacement: int, bits: int, value: Value) -> None:
        self._access(STORE, _INTEGERS[bits], base, displacement)

    def store_single(self, base: Value, displacement: int, value: Value) -> None:
        self._access(STORE, "single", base, displacement)

    def store_double(self, base: Value, displacement: int, value: Value) -> None:
        self._access(STORE, "double", base, displacement)

    def store_left(self, base: Value, displacement: int, value: Value) -> None:
        self._access(STORE, "word", base, displacement, "left")

    def store_right(self, base: Value, displacement: int, value: Value) -> None:
        self._access(STORE, "word", base, displacement, "right")

    def read_control(self, number: int) -> Value:
        """FCSR shows the condition codes."""
        self.reads += _CONDITION_CODES
        return self._call("read_control", ())

    def write_control(self, number: int, value: Value) -> None:
        """FCSR and FCCR replace the condition codes; the other registers leave them."""
        self.reads += _CONDITION_CODES
        self.writes += [*_CONDITION_CODES, Use("last", 0)]
        self._call("write_control", ())


T = TypeVar("T")
_effects: dict[Row, Effects] = {}


def effects(row: Row) -> Effects:
    """Return what a row does, the link register included."""
    found = _effects.get(row)
    if found is None:
        found = _effects[row] = _record(row)
    return found


def _record(row: Row) -> Effects:
    recorder, fields = _Recorder(), cast(Instruction, _Fields())
    condition = None
    if row.meaning is not None:
        row.meaning(cast(Any, recorder), fields)
    if row.condition is not None:
        condition = row.condition(cast(Any, recorder), fields)
    called = recorder.called
    if row.link:
        recorder.writes.append(Use("gpr", RA if row.link == "ra" else "rd"))
    kinds = {access.kind for access in recorder.accesses}
    return Effects(
        tuple(dict.fromkeys(recorder.reads)),
        tuple(dict.fromkeys(recorder.writes)),
        _only(recorder.accesses),
        _only(recorder.results),
        condition,
        traps=not called.isdisjoint(("trap_if", "raise_always")),
        calls_host=not called.isdisjoint(_CALLS),
        is_linked=not called.isdisjoint(("load_linked", "store_conditional")),
        fences="fence" in called,
        loads=LOAD in kinds or "load_linked" in called,
        stores=STORE in kinds or "store_conditional" in called,
        computes_float=Use("last", 0) in recorder.writes,
        adds_constant=recorder.results == [_SUM] and "trap_if" not in called,
        steps_sp=_SP_STEP in recorder.results,
        float_operands=tuple(recorder.float_operands),
    )


def _only(found: list[T]) -> T | None:
    """Return what there is one of; save and restore access memory several times, and write several registers."""
    return found[0] if len(found) == 1 else None


# ---- one instruction ----


def register_bits(kind: str, number: int, fr: int) -> int:
    """Return the bits of one register; a double of FR=0 is two words."""
    if kind == "gpr":
        return 1 << number & ~1
    if kind == "hilo":
        return ACCUMULATOR_BITS[number]
    if kind == "dsp":
        return 1 << DSP_BIT
    if kind == "last":
        return 1 << LAST_BIT
    if kind == "fcc":
        return 1 << FCC_BIT + number
    if fr or kind == "single":
        return 1 << FPR_BIT + number
    return (2 if kind == "high" else 3) << FPR_BIT + (number & ~1)


def number_of(use: Use, instruction: Instruction) -> int:
    """Return which register an instruction uses."""
    return use.field if isinstance(use.field, int) else int(getattr(instruction, use.field))


def masks(instruction: Instruction, fr: int) -> tuple[int, int]:
    """Return (read bits, written bits) of an instruction under Status.FR = `fr`."""
    found = instruction.register_masks[fr]
    if found is None:
        does = effects(instruction.row)
        read = written = 0
        for use in does.reads:
            read |= register_bits(use.kind, number_of(use, instruction), fr)
        for use in does.writes:
            written |= register_bits(use.kind, number_of(use, instruction), fr)
        found = instruction.register_masks[fr] = read, written
    return found


def based_access(instruction: Instruction) -> Access | None:
    """Return the access of a whole value at imm(rs) that an instruction is."""
    access = effects(instruction.row).access
    return access if access is not None and access.is_based and not access.part else None


def added_constant(instruction: Instruction) -> int | None:
    """Return what an instruction adds to rs, to give rt, if that is all it does: addiu."""
    return instruction.imm if effects(instruction.row).adds_constant else None


_SUM = Value("add", (_BASED, Value("const", ("imm",))))
_SP_STEP = Value("add", (Value("gpr", (SP,)), Value("const", ("imm",))))


def copied_register(instruction: Instruction) -> int | None:
    """Return the register that an instruction copies: a sum or disjunction with register 0 does."""
    does = effects(instruction.row)
    if does.traps or does.result is None or does.result.operation not in ("add", "or_"):
        return None
    numbers = [getattr(instruction, value.operands[0]) for value in does.result.operands if value.operation == "gpr"]
    return next((a for a, b in (numbers, numbers[::-1]) if b == 0), None) if len(numbers) == 2 else None


_SIGN_CHANGES = ("abs", "neg")


def changes_sign(operation: str) -> bool:
    """Return whether a float_op computes, and changes FCSR's causes, without ABS2008 only (volume I-A, FCSR)."""
    return operation in _SIGN_CHANGES


def is_sign_change(row: Row) -> bool:
    """Return whether the row is abs.fmt or neg.fmt."""
    return changes_sign(row.name.partition(".")[0])


_USER_LOCAL = 29
_HARDWARE_REGISTERS = (0, 1, 2, 3, _USER_LOCAL)


def may_leave(instruction: Instruction) -> bool:
    """Return whether an instruction may leave its block, or call the host, other than by the fault of an access.

    rdhwr of UserLocal, the thread pointer, does neither: the state has it.
    """
    does = effects(instruction.row)
    return does.leaves and not (does.result == _HARDWARE and instruction.msb == _USER_LOCAL)


def is_reserved(instruction: Instruction, fr: int) -> bool:
    """Return whether the instruction is reserved: rdhwr of a register there is none of, FR=0 with an odd double."""
    does = effects(instruction.row)
    if does.result == _HARDWARE:
        return instruction.msb not in _HARDWARE_REGISTERS
    if fr:
        return False
    return any(use.kind == "double" and number_of(use, instruction) & 1 for use in (*does.reads, *does.writes))


_HARDWARE = Value("read_hardware", (_Fields.msb,))
