"""What one iteration of a vectorized loop does, as data, and which iterations may be performed together.

Needs: the steps and accesses of an iteration (recognize.py).
Sets: nothing in the plan: the functions here answer questions about an `Iteration`.
Keeps: iterations are performed together only if their number is known before (`countable`), and if none stores what a
later one loads, or stores before it (`conflicts`, `always_overlaps`). Accesses with other steps must be a page apart
(`near`). emit/vectors.py writes these tests where the answer depends on registers.
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
    """What makes one value: `name` is load (of `access`), register (`number`), integer (`sum`), or an operation."""

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
    annulled: bool = False  # whether the last iteration leaves out its delay slot

    def loads(self) -> list[Access]:
        """Return the accesses that load what is needed."""
        return [access for number in self.needed if (access := self.steps[number].access) is not None]

    def advance(self, value: Sum) -> int:
        """Return by how much a sum goes on in each iteration."""
        total = sum(count * self.advances.get(register, 0) for register, count in value.terms) & 0xFFFFFFFF
        return total - (1 << 32) if total >> 31 else total


def lanes_of(done: Iteration) -> int:
    """Return how many iterations are performed at once."""
    return VECTOR_BYTES // max(SIZES[done.steps[number].type] for number in done.needed)


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
    return found


def near(done: Iteration) -> list[tuple[Sum, int, int]]:
    """Return such differences for accesses that go on by different steps; they hold for a page."""
    found = []
    loads = done.loads()
    for index, (store, _) in enumerate(done.stores):
        for other in (*loads, *(other for other, _ in done.stores[:index])):
            if done.advance(other.address) != done.advance(store.address):
                found.append((store.address.plus(other.address, -1), 1 - PAGE_BYTES, PAGE_BYTES - 1))
    return found


def always_overlaps(done: Iteration) -> bool:
    for difference, first, last in conflicts(done, lanes_of(done)):
        if not difference.terms and (difference.constant - first) & 0xFFFFFFFF <= last - first:
            return True
    return False
