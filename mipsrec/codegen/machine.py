"""The Machine that writes LLVM IR: what the rows' operations become, and the registers of one function.

Register values are cached within a guest block; changed ones go to their allocas at its end. i32 constants are Python
ints. Nothing here is undefined where the guest's result is defined: divisions and conversions are guarded.
"""

from __future__ import annotations

from ..state import OFFSETS
from .memory_models import MODELS, Value, text
from .options import CodegenOptions
from .registers import Unit, Units
from .writer import STATE_TAG, UNLIKELY, Writer

CAUSES = {"overflow": 1, "trap": 2, "break": 3, "reserved": 4, "address": 5}
"""enum mr_cause in runtime/host.h."""


class RegisterFile:
    """Units of the function being written: block-local values over allocas."""

    def __init__(self, writer: Writer, units: Units) -> None:
        self._writer = writer
        self.units = units
        self.cache: dict[Unit, Value] = {}
        self.changed: set[Unit] = set()

    def start_block(self) -> None:
        self.cache.clear()
        self.changed.clear()

    def get(self, unit: Unit) -> Value:
        value = self.cache.get(unit)
        if value is None:
            value = self.cache[unit] = self._writer.value(f"load {unit.type}, ptr %{unit.name}")
        return value

    def set(self, unit: Unit, value: Value) -> None:
        self.cache[unit] = value
        self.changed.add(unit)

    def save(self, live: int) -> None:
        """Store what this block changed and a later one needs into the allocas."""
        for unit in sorted(self.changed, key=lambda unit: unit.bits):
            if unit.bits & live:
                self._writer.void(f"store {unit.type} {_operand(self.cache[unit])}, ptr %{unit.name}")

    def flush(self, dirty: int) -> None:
        """Store dirty units into the state."""
        for unit in self.units.all:
            if unit.bits & dirty:
                value = _operand(self.get(unit))
                type_ = unit.type
                if type_ == "i1":
                    value, type_ = self._writer.value(f"zext i1 {value} to i32"), "i32"
                self._writer.void(f"store {type_} {value}, ptr %s.{unit.name}, {STATE_TAG}")

    def reload(self, wanted: int) -> None:
        """Load units from the state into their allocas."""
        for unit in self.units.all:
            if unit.bits & wanted:
                type_ = "i32" if unit.type == "i1" else unit.type
                value = self._writer.value(f"load {type_}, ptr %s.{unit.name}, {STATE_TAG}")
                if unit.type == "i1":
                    value = self._writer.value(f"icmp ne i32 {value}, 0")
                self._writer.void(f"store {unit.type} {value}, ptr %{unit.name}")


def _operand(value: Value) -> str:
    return text(value) if isinstance(value, int) else value


_FLOAT_TYPES = {"s": "float", "d": "double"}
_PREDICATES = ("false", "uno", "oeq", "ueq", "olt", "ult", "ole", "ule")


class IrMachine:
    """Implements isa.meaning.Machine for one function."""

    def __init__(self, writer: Writer, units: Units, options: CodegenOptions) -> None:
        self.writer = writer
        self.registers = RegisterFile(writer, units)
        self.memory = MODELS[options.memory](writer, options.big_endian)
        self._units = units
        self._big_endian = options.big_endian
        self.pc = 0  # of the current instruction, or of the branch whose slot it is in
        self.word_ = 0  # encoding of the current instruction
        self.dirty = 0  # bits that a flush inside the block must store
        self.monotonic = False

    def start_block(self) -> None:
        self.registers.start_block()
        self.memory.start_block()

    # registers

    def gpr(self, number: int) -> Value:
        return self.registers.get(self._units.gpr[number]) if number else 0

    def set_gpr(self, number: int, value: Value) -> None:
        if number:
            self.registers.set(self._units.gpr[number], value)

    def hilo(self) -> Value:
        return self.registers.get(self._units.hilo)

    def set_hilo(self, value: Value) -> None:
        self.registers.set(self._units.hilo, value)

    def fcc(self, number: int) -> Value:
        return self.registers.get(self._units.fcc[number])

    def set_fcc(self, number: int, value: Value) -> None:
        self.registers.set(self._units.fcc[number], value)

    def _part(self, number: int) -> int:
        """Return the bit position of a single inside its i64 unit."""
        return 32 if number & 1 and not self._units.fr else 0

    def word(self, number: int) -> Value:
        unit = self._units.fpr[number]
        value = self.registers.get(unit)
        if unit.type == "float":
            return self.writer.value(f"bitcast float {value} to i32")
        return self._half(value, self._part(number))

    def _half(self, value: Value, position: int) -> str:
        if position:
            value = self.writer.value(f"lshr i64 {value}, 32")
        return self.writer.value(f"trunc i64 {value} to i32")

    def _set_half(self, unit: Unit, position: int, value: Value) -> None:
        writer = self.writer
        kept = writer.value(f"and i64 {self.registers.get(unit)}, {0xFFFFFFFF if position else -0x100000000}")
        wide = writer.value(f"zext i32 {_operand(value)} to i64")
        if position:
            wide = writer.value(f"shl i64 {wide}, 32")
        self.registers.set(unit, writer.value(f"or i64 {kept}, {wide}"))

    def set_word(self, number: int, value: Value) -> None:
        unit = self._units.fpr[number]
        if unit.type == "float":
            self.registers.set(unit, self.writer.value(f"bitcast i32 {_operand(value)} to float"))
        else:
            self._set_half(unit, self._part(number), value)

    def single(self, number: int) -> str:
        unit = self._units.fpr[number]
        if unit.type == "float":
            return str(self.registers.get(unit))
        return self.writer.value(f"bitcast i32 {self.word(number)} to float")

    def set_single(self, number: int, value: Value) -> None:
        unit = self._units.fpr[number]
        if unit.type == "float":
            self.registers.set(unit, value)
        else:
            self.set_word(number, self.writer.value(f"bitcast float {value} to i32"))

    def long(self, number: int) -> str:
        unit = self._units.fpr[number]
        value = self.registers.get(unit)
        return self.writer.value(f"bitcast double {value} to i64") if unit.type == "double" else str(value)

    def set_long(self, number: int, value: Value) -> None:
        unit = self._units.fpr[number]
        self.registers.set(unit, self.writer.value(f"bitcast i64 {value} to double") if unit.type == "double" else value)

    def double(self, number: int) -> str:
        unit = self._units.fpr[number]
        value = self.registers.get(unit)
        return str(value) if unit.type == "double" else self.writer.value(f"bitcast i64 {value} to double")

    def set_double(self, number: int, value: Value) -> None:
        unit = self._units.fpr[number]
        self.registers.set(unit, value if unit.type == "double" else self.writer.value(f"bitcast double {value} to i64"))

    def high(self, number: int) -> str:
        return self._half(self.long(number), 32)

    def set_high(self, number: int, value: Value) -> None:
        self._set_half(self._units.fpr[number], 32, value)

    def tls(self) -> str:
        return self._state_word("tls")

    def _state_pointer(self, field: str) -> str:
        return self.writer.value(f"getelementptr i8, ptr %s, i64 {OFFSETS[field]}")

    def _state_word(self, field: str) -> str:
        return self.writer.value(f"load i32, ptr {self._state_pointer(field)}, {STATE_TAG}")

    def set_state_word(self, field: str, value: Value) -> None:
        pointer = self._state_pointer(field)
        self.writer.void(f"store i32 {_operand(value)}, ptr {pointer}, {STATE_TAG}")

    # integers

    def const(self, value: int) -> int:
        return value & 0xFFFFFFFF

    def _binary(self, operation: str, a: Value, b: Value) -> str:
        return self.writer.value(f"{operation} i32 {_operand(a)}, {_operand(b)}")

    def add(self, a: Value, b: Value) -> Value:
        if b == 0:
            return a
        if a == 0:
            return b
        if isinstance(a, int) and isinstance(b, int):
            return (a + b) & 0xFFFFFFFF
        return self._binary("add", a, b)

    def sub(self, a: Value, b: Value) -> Value:
        return a if b == 0 else self._binary("sub", a, b)

    def mul(self, a: Value, b: Value) -> Value:
        return self._binary("mul", a, b)

    def and_(self, a: Value, b: Value) -> Value:
        return self._binary("and", a, b)

    def or_(self, a: Value, b: Value) -> Value:
        if isinstance(a, int) and isinstance(b, int):
            return a | b
        return a if b == 0 else b if a == 0 else self._binary("or", a, b)

    def xor(self, a: Value, b: Value) -> Value:
        return self._binary("xor", a, b)

    def nor(self, a: Value, b: Value) -> Value:
        return self._binary("xor", self.or_(a, b), 0xFFFFFFFF)

    def _amount(self, amount: Value) -> Value:
        return amount & 31 if isinstance(amount, int) else self._binary("and", amount, 31)

    def shl(self, a: Value, amount: Value) -> Value:
        return a if amount == 0 else self._binary("shl", a, self._amount(amount))

    def lshr(self, a: Value, amount: Value) -> Value:
        return a if amount == 0 else self._binary("lshr", a, self._amount(amount))

    def ashr(self, a: Value, amount: Value) -> Value:
        return a if amount == 0 else self._binary("ashr", a, self._amount(amount))

    def rotr(self, a: Value, amount: Value) -> Value:
        value = _operand(a)
        return self.writer.value(f"call i32 @llvm.fshr.i32(i32 {value}, i32 {value}, i32 {_operand(amount)})")

    def count_leading_zeros(self, a: Value) -> Value:
        return self.writer.value(f"call i32 @llvm.ctlz.i32(i32 {_operand(a)}, i1 false)")

    def swap_bytes(self, a: Value) -> Value:
        return self.writer.value(f"call i32 @llvm.bswap.i32(i32 {_operand(a)})")

    def sign_extend(self, a: Value, bits: int) -> Value:
        narrow = self.writer.value(f"trunc i32 {_operand(a)} to i{bits}")
        return self.writer.value(f"sext i{bits} {narrow} to i32")

    def eq(self, a: Value, b: Value) -> str:
        return self._binary("icmp eq", a, b)

    def ne(self, a: Value, b: Value) -> str:
        return self._binary("icmp ne", a, b)

    def slt(self, a: Value, b: Value) -> str:
        return self._binary("icmp slt", a, b)

    def ult(self, a: Value, b: Value) -> str:
        return self._binary("icmp ult", a, b)

    def invert(self, flag: Value) -> str:
        return self.writer.value(f"xor i1 {flag}, true")

    def zext1(self, flag: Value) -> str:
        return self.writer.value(f"zext i1 {flag} to i32")

    def _select(self, type_: str, flag: Value, a: Value, b: Value) -> str:
        return self.writer.value(f"select i1 {flag}, {type_} {_operand(a)}, {type_} {_operand(b)}")

    def select(self, flag: Value, a: Value, b: Value) -> str:
        return self._select("i32", flag, a, b)

    def select_single(self, flag: Value, a: Value, b: Value) -> str:
        return self._select("float", flag, a, b)

    def select_double(self, flag: Value, a: Value, b: Value) -> str:
        return self._select("double", flag, a, b)

    def _overflows(self, operation: str, a: Value, b: Value) -> str:
        pair = self.writer.value(
            f"call {{ i32, i1 }} @llvm.{operation}.with.overflow.i32(i32 {_operand(a)}, i32 {_operand(b)})"
        )
        return self.writer.value(f"extractvalue {{ i32, i1 }} {pair}, 1")

    def add_overflows(self, a: Value, b: Value) -> str:
        return self._overflows("sadd", a, b)

    def sub_overflows(self, a: Value, b: Value) -> str:
        return self._overflows("ssub", a, b)

    def _wide(self, a: Value, signed: bool) -> str:
        return self.writer.value(f"{'sext' if signed else 'zext'} i32 {_operand(a)} to i64")

    def product(self, a: Value, b: Value, signed: bool) -> str:
        return self.writer.value(f"mul i64 {self._wide(a, signed)}, {self._wide(b, signed)}")

    def add64(self, a: Value, b: Value) -> str:
        return self.writer.value(f"add i64 {a}, {b}")

    def sub64(self, a: Value, b: Value) -> str:
        return self.writer.value(f"sub i64 {a}, {b}")

    def low(self, a64: Value) -> str:
        return self._half(a64, 0)

    def upper(self, a64: Value) -> str:
        return self._half(a64, 32)

    def pack(self, high: Value, low: Value) -> str:
        shifted = self.writer.value(f"shl i64 {self._wide(high, False)}, 32")
        return self.writer.value(f"or i64 {shifted}, {self._wide(low, False)}")

    def divide(self, a: Value, b: Value, signed: bool) -> str:
        """Divide without undefined cases: INT_MIN / -1 is INT_MIN, division by zero gives what qemu gives."""
        writer = self.writer
        zero = self.eq(b, 0)
        safe = self.select(zero, 1, b)
        if signed:
            minimum = writer.value(f"icmp eq i32 {_operand(a)}, -2147483648")
            minus_one = writer.value(f"icmp eq i32 {safe}, -1")
            overflow = writer.value(f"and i1 {minimum}, {minus_one}")
            divisor = writer.value(f"select i1 {overflow}, i32 1, i32 {safe}")
            quotient = self._binary("sdiv", a, divisor)
            remainder = self._binary("srem", a, divisor)
            negative = self.slt(a, 0)
            by_zero = self.select(negative, 1, 0xFFFFFFFF)
        else:
            quotient, remainder = self._binary("udiv", a, safe), self._binary("urem", a, safe)
            by_zero = "-1"
        return self.pack(self.select(zero, a, remainder), self.select(zero, by_zero, quotient))

    # memory

    def load(self, base: Value, displacement: int, bits: int, signed: bool) -> str:
        value = self.memory.load(base, displacement, bits, self.monotonic)
        if bits == 32:
            return value
        return self.writer.value(f"{'sext' if signed else 'zext'} i{bits} {value} to i32")

    def store(self, base: Value, displacement: int, bits: int, value: Value) -> None:
        operand = _operand(value)
        if bits < 32:
            operand = self.writer.value(f"trunc i32 {operand} to i{bits}")
        self.memory.store(base, displacement, bits, operand)

    def load_single(self, base: Value, displacement: int) -> str:
        return self.memory.load_float(base, displacement, "float", self.monotonic)

    def load_double(self, base: Value, displacement: int) -> str:
        return self.memory.load_float(base, displacement, "double", self.monotonic)

    def store_single(self, base: Value, displacement: int, value: Value) -> None:
        self.memory.store_float(base, displacement, "float", str(value))

    def store_double(self, base: Value, displacement: int, value: Value) -> None:
        self.memory.store_float(base, displacement, "double", str(value))

    def _unaligned(self, base: Value, displacement: int) -> tuple[Value, str]:
        """Return the aligned word's address, and the number of bits that lie before the byte in memory order."""
        address = self.add(base, displacement & 0xFFFFFFFF)
        byte = self._binary("and", address, 3)
        return self._binary("and", address, 0xFFFFFFFC), self._binary("shl", byte, 3)

    def _left_shift(self, before: Value) -> Value:
        """Return by how much lwl shifts its word left: the bits outside the register's upper part."""
        return before if self._big_endian else self._binary("sub", 24, before)

    def _right_shift(self, before: Value) -> Value:
        return self._binary("sub", 24, before) if self._big_endian else before

    def load_left(self, base: Value, displacement: int, old: Value) -> str:
        address, before = self._unaligned(base, displacement)
        shift = self._left_shift(before)
        loaded = self._binary("shl", self.memory.load(address, 0, 32), shift)
        kept = self._binary("and", old, self._binary("xor", self._binary("shl", 0xFFFFFFFF, shift), 0xFFFFFFFF))
        return self._binary("or", loaded, kept)

    def load_right(self, base: Value, displacement: int, old: Value) -> str:
        address, before = self._unaligned(base, displacement)
        shift = self._right_shift(before)
        loaded = self._binary("lshr", self.memory.load(address, 0, 32), shift)
        kept = self._binary("and", old, self._binary("xor", self._binary("lshr", 0xFFFFFFFF, shift), 0xFFFFFFFF))
        return self._binary("or", loaded, kept)

    def store_left(self, base: Value, displacement: int, value: Value) -> None:
        address, before = self._unaligned(base, displacement)
        shift = self._left_shift(before)
        self._store_part(address, self._binary("lshr", value, shift), self._binary("lshr", 0xFFFFFFFF, shift))

    def store_right(self, base: Value, displacement: int, value: Value) -> None:
        address, before = self._unaligned(base, displacement)
        shift = self._right_shift(before)
        self._store_part(address, self._binary("shl", value, shift), self._binary("shl", 0xFFFFFFFF, shift))

    def _store_part(self, address: Value, value: Value, mask: Value) -> None:
        """Replace the masked bits of the word at an aligned address."""
        old = self._binary("and", self.memory.load(address, 0, 32), self._binary("xor", mask, 0xFFFFFFFF))
        self.memory.store(address, 0, 32, self._binary("or", old, value))

    def load_word_unaligned(self, base: Value, displacement: int) -> str:
        """Return the word at any alignment: what lwl and lwr of the same word give together."""
        return self.memory.load(base, displacement, 32)

    def store_word_unaligned(self, base: Value, displacement: int, value: Value) -> None:
        self.memory.store(base, displacement, 32, _operand(value))

    def load_linked(self, base: Value, displacement: int) -> str:
        address = self.add(base, displacement & 0xFFFFFFFF)
        value = self.memory.load(address, 0, 32, monotonic=True)
        self.set_state_word("ll_address", address)
        self.set_state_word("ll_value", value)
        self.set_state_word("ll_valid", 1)
        return value

    def store_conditional(self, base: Value, displacement: int, value: Value) -> str:
        writer = self.writer
        address = self.add(base, displacement & 0xFFFFFFFF)
        same = self.eq(self._state_word("ll_address"), address)
        valid = self.ne(self._state_word("ll_valid"), 0)
        go = writer.value(f"and i1 {same}, {valid}")
        expected = self._state_word("ll_value")
        self.set_state_word("ll_valid", 0)
        before, attempt, done = writer.fresh_label(), writer.fresh_label(), writer.fresh_label()
        writer.void(f"br label %{before}")
        writer.label(before)
        writer.void(f"br i1 {go}, label %{attempt}, label %{done}")
        writer.label(attempt)
        stored = self.memory.compare_exchange(address, 0, expected, _operand(value))
        writer.void(f"br label %{done}")
        writer.label(done)
        return self.zext1(writer.value(f"phi i1 [ false, %{before} ], [ {stored}, %{attempt} ]"))

    def fence(self) -> None:
        self.writer.void("fence seq_cst")

    # floating point

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
            return self.writer.value(f"sitofp {'i32' if source == 'w' else 'i64'} {_operand(value)} to {_FLOAT_TYPES[to]}")
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

    # the rest

    def trap_if(self, flag: Value, cause: str) -> None:
        writer = self.writer
        trap, go_on = writer.fresh_label(), writer.fresh_label()
        writer.void(f"br i1 {flag}, label %{trap}, label %{go_on}, {UNLIKELY}")
        writer.label(trap)
        cached = dict(self.registers.cache)
        self.registers.flush(self.dirty)
        self.registers.cache = cached
        self.leave(self._exception(cause))
        writer.label(go_on)

    def _exception(self, cause: str) -> str:
        return self.writer.value(
            f"call i32 @mr_exception(ptr %s, i32 {self.pc}, i32 {CAUSES[cause]}, i32 {text(self.word_)}){self.writer.debug}"
        )

    def leave(self, pc: Value) -> None:
        """End the block: control goes on at a pc that is not known here."""
        self.writer.void(f"store i32 {_operand(pc)}, ptr %leave.pc")
        self.writer.void("br label %leave")

    def raise_always(self, cause: str) -> None:
        self.leave(self._exception(cause))

    def read_hardware(self, number: int) -> str:
        return self.writer.value(f"call i32 @mr_rdhwr(ptr %s, i32 {number}){self.writer.debug}")

    def read_control(self, number: int) -> str:
        for unit in self._units.fcc:
            flag = self.writer.value(f"zext i1 {self.registers.get(unit)} to i32")
            self.writer.void(f"store i32 {flag}, ptr %s.{unit.name}, {STATE_TAG}")
        return self.writer.value(f"call i32 @mr_cfc1(ptr %s, i32 {number}){self.writer.debug}")

    def write_control(self, number: int, value: Value) -> None:
        self.writer.void(f"call void @mr_ctc1(ptr %s, i32 {number}, i32 {_operand(value)}){self.writer.debug}")
        for unit in self._units.fcc:
            word = self.writer.value(f"load i32, ptr %s.{unit.name}, {STATE_TAG}")
            self.registers.set(unit, self.writer.value(f"icmp ne i32 {word}, 0"))

    def sync_code(self, base: Value, displacement: int) -> None:
        address = _operand(self.add(base, displacement & 0xFFFFFFFF))
        self.writer.void(f"call void @mr_synci(ptr %s, i32 {address}){self.writer.debug}")


def _power(exponent: int, negative: bool) -> str:
    """Return 2^exponent as an LLVM floating-point literal; exact in both formats."""
    return f"0x{((0xBFF if negative else 0x3FF) + exponent) << 52:016X}"
