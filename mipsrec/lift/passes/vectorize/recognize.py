"""Recognizes the loops to vectorize: what an iteration of a loop of one block over floating-point numbers does.

Needs: a block that branches back to its start.
Sets: nothing in the plan: it returns an `Iteration`, or None if the loop is not of this kind.
Keeps: each iteration is independent of the others, but for floating-point registers and words of memory that it
changes (carried.py). General-purpose registers step by a constant in each, or are written before they are read, and a
test of them ends the loop. Accesses step by their sizes. Before its NaN guard an iteration raises no flag that MIPS
would not (MIPS32 volume I-A, FCSR): no operation takes in the bits of a possible NaN as another kind of number.
Off when: an instruction does anything else than these, or an iteration has more than _MAX_STEPS steps.

emit/vectors.py performs several iterations of such a loop at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from ....analysis import Block
from ....isa import Instruction
from ....isa.effects import changes_sign
from .carried import find_cells, find_serial
from .iteration import MOST_STRIDE_BYTES, SILENT, Access, Iteration, Step, Sum, Test

_TYPES = {"s": "single", "d": "double", "w": "word"}
_MAX_STEPS = 64
"""Of an iteration: those that are not worth much more alone would fill the registers."""


class _NotThisKind(Exception):
    """The loop is not one whose iterations may be performed together."""


_OPEN = object()
"""An integer that nothing here depends on."""


@dataclass(frozen=True)
class _Lane:
    """A value: the number of a step, whole or one word of it (0 the low one)."""

    step: int
    word: int | None = None


class _Recorder:
    """A Machine that notes what an iteration does."""

    def __init__(self, fr: int, big_endian: bool, abs2008: bool) -> None:
        self.fr = fr
        self.big_endian = big_endian
        self._abs2008 = abs2008
        self.iteration = Iteration()
        self.gprs: dict[int, Any] = {}
        self.floats: dict[int, _Lane] = {}
        self.read: set[int] = set()  # general-purpose registers whose values at the start are
        self.word_stores: dict[tuple[int, Sum], Access] = {}  # by step and the address of the double
        self.pc = 0
        self.kept: dict[tuple[str, int], int] = {}  # steps of registers
        self._doubtful: set[int] = set()  # steps whose values are not those of MIPS where the NaN guard finds a NaN

    def __getattr__(self, name: str) -> Any:
        if name in _OPEN_OPERATIONS:
            return lambda *operands: _OPEN
        raise _NotThisKind(name)

    # integers

    def gpr(self, number: int) -> Any:
        if number == 0:
            return Sum()
        if number in self.gprs:
            return self.gprs[number]
        self.read.add(number)
        return Sum(((number, 1),))

    def set_gpr(self, number: int, value: Any) -> None:
        if number:
            self.gprs[number] = value

    def const(self, value: int) -> Sum:
        return Sum((), value & 0xFFFFFFFF)

    def add(self, a: Any, b: Any) -> Any:
        return a.plus(b) if isinstance(a, Sum) and isinstance(b, Sum) else _OPEN

    def sub(self, a: Any, b: Any) -> Any:
        return a.plus(b, -1) if isinstance(a, Sum) and isinstance(b, Sum) else _OPEN

    def or_(self, a: Any, b: Any) -> Any:
        return a if b == Sum() else b if a == Sum() else _OPEN

    def shl(self, a: Any, amount: Any) -> Any:
        if isinstance(a, Sum) and isinstance(amount, Sum) and not amount.terms:
            return Sum().plus(a, 1 << (amount.constant & 31))
        return _OPEN

    def _test(self, kind: str, a: Any, b: Any) -> Any:
        if isinstance(a, Test) and b == Sum() and kind in ("eq", "ne"):
            return a if kind == "ne" else a.inverted()
        return Test(kind, a, b) if isinstance(a, Sum) and isinstance(b, Sum) else _OPEN

    def eq(self, a: Any, b: Any) -> Any:
        return self._test("eq", a, b)

    def ne(self, a: Any, b: Any) -> Any:
        return self._test("ne", a, b)

    def slt(self, a: Any, b: Any) -> Any:
        return self._test("slt", a, b)

    def ult(self, a: Any, b: Any) -> Any:
        return self._test("ult", a, b)

    def invert(self, flag: Any) -> Any:
        return flag.inverted() if isinstance(flag, Test) else _OPEN

    def zext1(self, flag: Any) -> Any:
        return flag

    # floating-point registers

    def _step(self, name: str, type_: str, *operands: int, **more: Any) -> int:
        self.iteration.steps.append(Step(name, type_, operands, **more))
        if len(self.iteration.steps) > _MAX_STEPS:
            raise _NotThisKind
        return len(self.iteration.steps) - 1

    def _type(self, step: int) -> str:
        return self.iteration.steps[step].type

    def _register(self, type_: str, number: int) -> _Lane:
        """Return what a register holds when an iteration begins."""
        key = type_, number
        if key not in self.kept:
            self.kept[key] = self._step("register", type_, number=number)
        return _Lane(self.kept[key])

    def single(self, number: int) -> _Lane:
        found = self.floats.get(number)
        if found is None:
            return self._register("single", number)
        if found.word is None and self._type(found.step) != "single":
            raise _NotThisKind
        return found

    def set_single(self, number: int, value: _Lane) -> None:
        self.floats[number] = value

    def double(self, number: int) -> _Lane:
        if self.fr:
            whole = self.floats.get(number)
            if whole is None:
                return self._register("double", number)
            if self._type(whole.step) != "double":
                raise _NotThisKind
            return whole
        low, high = self.floats.get(number & ~1), self.floats.get(number | 1)
        if low is None and high is None:
            return self._register("double", number & ~1)
        if low is None or high is None:
            raise _NotThisKind
        if (low.word, high.word) == (0, 1) and low.step == high.step:
            return _Lane(low.step)
        return self._loaded_in_words(low, high)

    def _loaded_in_words(self, low: _Lane, high: _Lane) -> _Lane:
        """Return a double whose words were loaded one by one."""
        first, second = (high, low) if self.big_endian else (low, high)
        a, b = self.iteration.steps[first.step].access, self.iteration.steps[second.step].access
        if a is None or b is None or first.word is not None or second.word is not None:
            raise _NotThisKind
        if a.type != "single" or b.type != "single" or b.address != a.address.plus(Sum((), 4)):
            raise _NotThisKind
        whole = Access(a.address, "double", a.pc, max(a.order, b.order), in_words=True)
        return _Lane(self._step("load", "double", access=whole))

    def set_double(self, number: int, value: _Lane) -> None:
        if self.fr:
            self.floats[number] = value
        else:
            self.floats[number & ~1], self.floats[number | 1] = _Lane(value.step, 0), _Lane(value.step, 1)

    def _whole(self, value: _Lane) -> int:
        if value.word is not None:
            raise _NotThisKind
        return value.step

    def word(self, number: int) -> _Lane:
        return _Lane(self._step("bits", "word", self._whole(self.single(number))))

    def set_word(self, number: int, value: Any) -> None:
        if isinstance(value, Sum):
            value = _Lane(self._step("integer", "word", sum=value))
        if not isinstance(value, _Lane):
            raise _NotThisKind
        self.set_single(number, _Lane(self._step("bits", "single", value.step)))

    # memory

    def _access(self, base: Any, displacement: int, type_: str) -> Access:
        if not isinstance(base, Sum):
            raise _NotThisKind
        address = base.plus(Sum((), displacement & 0xFFFFFFFF))
        self.iteration.accesses.append(Access(address, type_, self.pc, len(self.iteration.accesses)))
        return self.iteration.accesses[-1]

    def _load(self, base: Any, displacement: int, type_: str) -> _Lane:
        return _Lane(self._step("load", type_, access=self._access(base, displacement, type_)))

    def load(self, base: Any, displacement: int, bits: int, signed: bool) -> _Lane:
        if bits != 32:
            raise _NotThisKind
        return _Lane(self._step("bits", "word", self._load(base, displacement, "single").step))

    def load_single(self, base: Any, displacement: int) -> _Lane:
        return self._load(base, displacement, "single")

    def load_double(self, base: Any, displacement: int) -> _Lane:
        return self._load(base, displacement, "double")

    def store_single(self, base: Any, displacement: int, value: _Lane) -> None:
        access = self._access(base, displacement, "single")
        if value.word is None:
            self.iteration.stores.append((access, value.step))
            return
        before = 4 if bool(value.word) != self.big_endian else 0  # bytes of the double in front of this word
        key = value.step, access.address.plus(Sum((), -before & 0xFFFFFFFF))
        other = self.word_stores.pop(key, None)
        if other is None:
            self.word_stores[key] = access
        elif other.address == access.address:
            raise _NotThisKind
        else:
            self.iteration.stores.append((Access(key[1], "double", access.pc, other.order, in_words=True), value.step))

    def store_double(self, base: Any, displacement: int, value: _Lane) -> None:
        self.iteration.stores.append((self._access(base, displacement, "double"), self._whole(value)))

    # floating point

    def _compute(self, name: str, type_: str, operands: tuple[_Lane, ...]) -> int:
        numbers = [self._whole(operand) for operand in operands]
        roots = [self.root(number) for number in numbers]
        if not self._doubtful.isdisjoint(roots):
            raise _NotThisKind
        for number, root in zip(numbers, roots, strict=True):
            if number != root and self.iteration.steps[root].name not in SILENT:
                made_by = self.iteration.steps[root].name
                if (name, made_by) != ("from_integer", "to_integer"):  # that is exact, for any wrong number
                    raise _NotThisKind
                self._doubtful.add(len(self.iteration.steps))
            self.iteration.unchecked.pop(number, None)
        return self._step(name, type_, *numbers)

    def root(self, number: int) -> int:
        """Return the step that made the bits of a step's value."""
        while self.iteration.steps[number].name == "bits":
            number = self.iteration.steps[number].operands[0]
        return number

    def _result(self, name: str, type_: str, *operands: _Lane) -> _Lane:
        number = self._compute(name, type_, operands)
        self.iteration.unchecked[number] = None
        return _Lane(number)

    def float_op(self, name: str, fmt: str, *operands: _Lane) -> _Lane:
        if self._abs2008 and changes_sign(name):
            raise _NotThisKind
        return self._result(name, _TYPES[fmt], *operands)

    def float_multiply_add(self, name: str, fmt: str, a: _Lane, b: _Lane, c: _Lane) -> _Lane:
        type_ = _TYPES[fmt]
        result = self._result("add" if "add" in name else "sub", type_, self._result("mul", type_, a, b), c)
        return self._result("neg", type_, result) if name[0] == "n" else result

    def float_convert(self, to: str, source: str, value: _Lane) -> _Lane:
        if to not in "sd" or source not in "sdw":
            raise _NotThisKind
        if source == "w":
            return _Lane(self._compute("from_integer", _TYPES[to], (value,)))
        return self._result("extend" if to == "d" else "round", _TYPES[to], value)

    def float_round(self, to: str, source: str, mode: str, value: _Lane) -> _Lane:
        if mode != "trunc" or to != "w":
            raise _NotThisKind
        number = self._compute("to_integer", "word", (value,))
        self.iteration.limits.append(number)
        return _Lane(number)


_OPEN_OPERATIONS = frozenset(
    "mul and_ xor nor lshr ashr rotr count_leading_zeros swap_bytes sign_extend select tls".split()
)


def iteration_of(block: Block, latch: Block, fr: int, big_endian: bool, abs2008: bool) -> Iteration | None:
    """Return what an iteration of a loop does, if its iterations may be performed together.

    The loop is one block, or that and a `latch`, the slot of its branch-likely.
    """
    recorder = _Recorder(fr, big_endian, abs2008)
    try:
        return _recorded(recorder, block, latch)
    except _NotThisKind:
        return None


def _recorded(recorder: _Recorder, block: Block, latch: Block) -> Iteration:
    def perform(instruction: Instruction, what: Callable[..., Any] | None) -> Any:
        return what(cast(Any, recorder), instruction) if what is not None else None

    for recorder.pc, instruction in zip(block.pcs(), block.body):
        perform(instruction, instruction.row.meaning)
    recorder.pc = block.terminator_pc
    assert block.terminator is not None
    test = perform(block.terminator, block.terminator.row.condition)
    slot = block.delay_slot if latch is block else latch.body[0]
    assert slot is not None
    perform(slot, slot.row.meaning)
    found = recorder.iteration
    if not isinstance(test, Test) or recorder.word_stores:
        raise _NotThisKind
    for register, value in recorder.gprs.items():
        change = value.plus(Sum(((register, 1),)), -1) if isinstance(value, Sum) else None
        if change is not None and not change.terms:
            found.advances[register] = change.constant
        elif register in recorder.read:
            raise _NotThisKind
    found.test, found.latch, found.ends_before_latch = test, latch.start, latch is not block
    found.carried = _carried(recorder)
    find_cells(found)
    if not find_serial(found, recorder.root):
        raise _NotThisKind
    found.needed = _needed(found)
    changes = found.stores or found.carried
    if not changes or not (found.unchecked or found.limits) or not _steps_well(found, recorder.big_endian):
        raise _NotThisKind
    return found


def _carried(recorder: _Recorder) -> dict[int, int]:
    """Return the steps of registers that an iteration changes, with those that make what they are in the next."""
    found = {}
    for (type_, number), register in recorder.kept.items():
        parts = [None] if recorder.fr or type_ == "single" else [0, 1]
        words = [recorder.floats.get(number + index) for index in range(len(parts))]
        first = next(filter(None, words), None)
        if first is None:
            continue
        made_by = recorder.iteration.steps[first.step]
        if words != [_Lane(first.step, part) for part in parts] or made_by.type != type_:
            raise _NotThisKind
        found[register] = first.step
    return found


def _needed(found: Iteration) -> list[int]:
    """Return the steps to perform: all that compute, for the flags they raise, and those whose values these or stores
    take in."""
    needed = {number for number, step in enumerate(found.steps) if step.name not in SILENT}
    needed.update(number for _, number in found.stores)
    needed.update(found.carried.values(), found.carried)
    for number in range(len(found.steps) - 1, -1, -1):
        if number in needed:
            needed.update(found.steps[number].operands)
    return sorted(needed)


def _steps_well(found: Iteration, big_endian: bool) -> bool:
    """Return whether the accesses go on by their sizes; those whose loads are not needed by no less.

    Where nothing is stored, big-endian loads may go on by more: to turn their bytes together is worth it.
    """
    loads, places = found.loads(), {access.address for access in found.cells()}
    most = MOST_STRIDE_BYTES if big_endian and not found.writes() else 0

    def steps_well(load: Access) -> bool:
        advance = found.advance(load.address)
        return advance in (0, load.size_bytes) or load.size_bytes < advance <= most

    return (
        all(
            a.size_bytes <= found.advance(a.address) in (4, 8) or a in loads or a.address in places
            for a in found.accesses
        )
        and all(map(steps_well, loads))
        and all(found.advance(access.address) == access.size_bytes for access, _ in found.stores)
    )
