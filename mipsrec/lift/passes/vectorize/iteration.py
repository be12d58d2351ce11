"""What one iteration of a vectorized loop does, as data, and which iterations may be performed together.

Needs: the steps and accesses of an iteration (recognize.py).
Sets: nothing in the plan: the functions here answer questions about an `Iteration`.
Keeps: iterations are performed together only if their number is known before (`countable`), and if none stores what a
later one loads, or stores before it (`conflicts`, `always_overlaps`). Accesses with other steps must be a page apart
(`near`). emit/vectors.py writes these tests where the answer depends on registers. What depends on the iteration before
(`serial`) is performed in order, where that costs less than what is performed together saves (`worthwhile`).
Off when: see the pass, __init__.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ....abi import PAGE_BYTES

SIZES = {"single": 4, "word": 4, "double": 8}
VECTOR_BYTES = 32
"""Of the largest number in a loop. 64 were slower: iterations of vectors are then too few, and those left over many.
Half of it for what is left was 0.98 (LE) and 0.95 (BE) of the time of matmul_double without.
"""

SILENT = ("load", "register", "cell", "bits", "integer")
"""Steps that raise no flags."""

MOST_STRIDE_BYTES = 2048
"""Of loads that go on by more than their sizes: an iteration of vectors then stays near what the loop accesses."""


@dataclass(frozen=True)
class Sum:
    """Registers as they are at the start of an iteration, each with a factor, and a constant; modulo 2^32."""

    terms: tuple[tuple[int, int], ...] = ()
    constant: int = 0

    def plus(self, other: Sum, factor: int = 1) -> Sum:
        terms = dict(self.terms)
        for register, count in other.terms:
            terms[register] = (terms.get(register, 0) + factor * count) & 0xFFFFFFFF
        constant = (self.constant + factor * other.constant) & 0xFFFFFFFF
        return Sum(tuple(sorted((register, count) for register, count in terms.items() if count)), constant)


@dataclass(frozen=True)
class Test:
    """`kind` is eq, ne, slt, sge, ult or uge."""

    kind: str
    a: Sum
    b: Sum

    def inverted(self) -> Test:
        opposite = {"eq": "ne", "ne": "eq", "slt": "sge", "sge": "slt", "ult": "uge", "uge": "ult"}
        return Test(opposite[self.kind], self.a, self.b)


@dataclass(frozen=True)
class Access:
    """One at `address` in the first of the iterations; `type` is single or double; `order` is its place in the block.

    One `in_words` is a double that two instructions access, a word each: `order` is that of the later load or the
    earlier store.
    """

    address: Sum
    type: str
    pc: int
    order: int
    in_words: bool = False

    @property
    def size_bytes(self) -> int:
        return SIZES[self.type]


@dataclass(frozen=True)
class Step:
    """What makes one value: `name` is load (of `access`), register (`number`), integer (`sum`), or an operation.

    A cell (of `access`) is a word of memory that each iteration changes; its value is what the iteration finds there.
    """

    name: str
    type: str
    operands: tuple[int, ...] = ()
    access: Access | None = None
    number: int = 0
    sum: Sum = Sum()


@dataclass
class Iteration:
    """What one iteration does; all but the last are followed by another."""

    steps: list[Step] = field(default_factory=list)
    accesses: list[Access] = field(default_factory=list)
    stores: list[tuple[Access, int]] = field(default_factory=list)  # with the number of the step that is stored
    unchecked: dict[int, None] = field(default_factory=dict)  # results of these that may be NaNs, and none takes in
    limits: list[int] = field(default_factory=list)  # integers that show numbers out of range
    advances: dict[int, int] = field(default_factory=dict)  # what each register goes on by
    test: Test = Test("ne", Sum(), Sum())  # whether another iteration follows
    needed: list[int] = field(default_factory=list)  # the steps to perform
    latch: int = 0  # the block that goes back
    ends_before_latch: bool = False  # whether the last iteration leaves out the latch, the slot of a branch-likely
    carried: dict[int, int] = field(default_factory=dict)  # registers and cells, with what the next iteration has there
    serial: set[int] = field(default_factory=set)  # steps that depend on these

    def loads(self) -> list[Access]:
        """Return the accesses that load what is needed."""
        steps = (self.steps[number] for number in self.needed)
        return [step.access for step in steps if step.access is not None and step.name != "cell"]

    def cells(self) -> list[Access]:
        """Return the words of memory that each iteration changes."""
        steps = (self.steps[number] for number in self.carried)
        return [step.access for step in steps if step.access is not None]

    def writes(self) -> list[Access]:
        """Return what is stored, cells last."""
        return [*(access for access, _ in self.stores), *self.cells()]

    def taken_in(self) -> set[int]:
        """Return what the next iteration computes with: where that is a NaN, so is a result there."""
        used = {operand for number in self.serial for operand in self.steps[number].operands}
        return {value for register, value in self.carried.items() if register in used}

    def advance(self, value: Sum) -> int:
        """Return by how much a sum goes on in each iteration."""
        total = sum(count * self.advances.get(register, 0) for register, count in value.terms) & 0xFFFFFFFF
        return total - (1 << 32) if total >> 31 else total


def lanes_of(done: Iteration) -> int:
    """Return how many iterations are performed at once."""
    return VECTOR_BYTES // max(SIZES[done.steps[number].type] for number in done.needed)


# what depends on the iteration before


def worthwhile(done: Iteration, big_endian: bool) -> bool:
    """Return whether vectors save more than it costs to take numbers out of them for serial steps.

    A load is half an instruction, since it may be part of an operation; where bytes are turned it is two. Numbers that
    lie apart are loaded one by one, and singles put together for as much as their bytes are turned.
    """
    if not done.serial:
        return True
    saved = 0.0
    for number in done.needed:
        step = done.steps[number]
        if number in done.serial or step.name in ("register", "integer", "bits"):
            continue
        if step.access is None:
            saved += 1
        elif done.advance(step.access.address) in (0, step.access.size_bytes):
            saved += 2 if big_endian else 0.5
        else:
            saved += 0.5 if step.type == "double" else 0
    operands = {operand for number in done.serial for operand in done.steps[number].operands}
    taken = [number for number in operands - done.serial if done.steps[number].name != "register"]
    stored = {number for _, number in done.stores} & done.serial
    return saved > len(taken) + len(stored)


# when iterations end


def countable(done: Iteration) -> bool:
    test = done.test
    a, b = done.advance(test.a), done.advance(test.b)
    if test.kind == "ne":
        return a != b
    if test.kind in ("slt", "ult"):
        return a >= 0 >= b and 0 in (a, b) and a != b
    return test.kind in ("sge", "uge") and b >= 0 >= a and 0 in (a, b) and a != b


# what may overlap


def conflicts(done: Iteration, lanes: int) -> list[tuple[Sum, int, int]]:
    """Return differences of addresses, each with the first and last value that keeps iterations from going together.

    They hold for all iterations.
    """
    found = []
    loads = done.loads()
    for index, (store, _) in enumerate(done.stores):
        others = [(load, load.order > store.order) for load in loads]
        others += [(other, store.in_words or other.in_words) for other, _ in done.stores[:index]]
        for other, whole in others:
            if done.advance(other.address) == done.advance(store.address):
                first = 1 - store.size_bytes if whole else 1
                found.append((store.address.plus(other.address, -1), first, lanes * store.size_bytes - 1))
    for index, cell in enumerate(done.cells()):
        for other in (*loads, *done.cells()[:index]):
            if done.advance(other.address) == 0:
                found.append((cell.address.plus(other.address, -1), 1 - cell.size_bytes, other.size_bytes - 1))
    return found


def near(done: Iteration) -> list[tuple[Sum, int, int]]:
    """Return such differences for accesses that go on by different steps; they hold for a page."""
    found = []
    loads, writes = done.loads(), done.writes()
    for index, store in enumerate(writes):
        for other in (*loads, *writes[:index]):
            if done.advance(other.address) != done.advance(store.address):
                found.append((store.address.plus(other.address, -1), 1 - PAGE_BYTES, PAGE_BYTES - 1))
    return found


def always_overlaps(done: Iteration) -> bool:
    for difference, first, last in conflicts(done, lanes_of(done)):
        if not difference.terms and (difference.constant - first) & 0xFFFFFFFF <= last - first:
            return True
    return False
