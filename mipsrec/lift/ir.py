"""What passes decide, as data: the plan of a function."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from ..analysis import Block, Function
from ..isa import NOP, Instruction
from ..isa.effects import ACCESS_BYTES, LAST_BIT

if TYPE_CHECKING:
    from ..flow.graph import Graph
    from .convention import Convention
    from .facts.context import StateContext
    from .facts.safepoints import Safepoints
    from .nodes import Entry, Hub, Node
    from .options import LiftOptions
    from .passes.vectorize.iteration import Iteration
    from .units import Units


@dataclass(frozen=True)
class MergedLoad:
    """Consecutive words from that of the instruction at the first of `indices` on."""

    indices: tuple[int, ...]


@dataclass(frozen=True)
class MergedStore:
    """Stores of consecutive words by `count` instructions: of what a merged load has loaded, or of one register."""

    count: int
    loaded: MergedLoad | None


@dataclass(frozen=True)
class MergedAccesses:
    """By the index of their first instruction in a block's body and delay slot."""

    loads: dict[int, MergedLoad]
    stores: dict[int, MergedStore]

    def groups(self) -> Iterator[tuple[str, list[int]]]:
        """Yield what each merged access is, "load" or "store", and the indices of its instructions."""
        yield from (("load", list(load.indices)) for load in self.loads.values())
        yield from (("store", list(range(at, at + store.count))) for at, store in self.stores.items())


NOT_MERGED = MergedAccesses({}, {})


@dataclass(frozen=True)
class Run:
    """Loads, or stores, of consecutive words by the instructions at `indices`, in order of address: of registers of
    their own, which are in vector registers of the host. All are performed where the first of them is (save_merge)."""

    indices: tuple[int, ...]

    @property
    def first(self) -> int:
        """The index of its first instruction."""
        return min(self.indices)


@dataclass(frozen=True)
class UnalignedWord:
    """The index of the second half, in body and delay slot, and the word's displacement."""

    second: int
    displacement: int


@dataclass(frozen=True)
class Variable:
    """What is at displacement(base), always accessed as one `type` of ACCESS_BYTES: a variable of the loop around holds
    it. `name` is unique in the function."""

    base: int
    displacement: int
    type: str
    name: str = ""

    @property
    def size_bytes(self) -> int:
        return ACCESS_BYTES[self.type]

    def overlaps(self, other: Variable) -> bool:
        """Return whether one by the same register touches this."""
        return -other.size_bytes < other.displacement - self.displacement < self.size_bytes

    def covers(self, other: Variable) -> bool:
        """Return whether all of one is part of this."""
        return (
            self.base == other.base
            and 0 <= other.displacement - self.displacement <= self.size_bytes - other.size_bytes
        )


@dataclass
class PromotedLoop:
    """A loop and its variables; `pc` is where one of them is loaded."""

    head: int
    body: frozenset[int]
    pc: int
    variables: list[Variable] = field(default_factory=list)


@dataclass
class Forms:
    """Bits of the registers that have another form than usual on the ways into a block, and out of it."""

    into: dict[int, int] = field(default_factory=dict)
    out: dict[int, int] = field(default_factory=dict)

    @classmethod
    def usual(cls, order: Iterable[int]) -> Forms:
        """Return the forms where all blocks have the usual ones."""
        return cls(dict.fromkeys(order, 0), dict.fromkeys(order, 0))


@dataclass(slots=True)
class Op:
    """One guest instruction of a block, at `pc`, with what passes have decided about it."""

    pc: int
    instruction: Instruction
    volatile: bool = False
    """It is an access that must not vanish, though nothing needs what it gives (trapping_loads, silent_stores)."""
    exposed: bool = False
    """It is an access whose fault may come back to a landing pad of the function (guarded_accesses)."""
    no_wrap: bool = False
    """It is an addition that does not wrap (no_wrap)."""
    scalar_lanes: bool = False
    """It computes with several numbers of a register as scalars, not as a vector (scalar_lanes)."""
    spin: bool = False
    """It is a load that may wait for what another thread writes (spin_loads)."""
    promoted: Variable | None = None
    """The variable of its loop that it accesses (scalar_promotion)."""
    on_exit: int = 0
    """The bits of the registers that the state lacks when it is performed (facts/dirty.py): they are stored if it
    leaves the function. `stores` is what is stored before, for handlers of its fault, and `stores_after` what is stored
    right after it."""
    stores: int = 0
    stores_after: int = 0

    @property
    def on_view(self) -> int:
        """What is stored if it shows FCSR: the record of the last instruction that computed."""
        return self.on_exit & 1 << LAST_BIT


PLAIN = Op(0, NOP)
"""An instruction about which nothing is decided."""


@dataclass(slots=True)
class BlockPlan:
    """A block, its instructions in the order in which they are performed, and those that are performed together.

    Indices are those of the body; the slot has the index after the last.
    """

    block: Block
    body: list[Op]
    slot: Op | None
    merged: MergedAccesses = NOT_MERGED
    unaligned: dict[int, UnalignedWord] = field(default_factory=dict)
    runs: dict[int, Run] = field(default_factory=dict)
    """By the index of their first instruction."""
    case_weights: list[int] = field(default_factory=list)
    shares_switch: bool = False
    """All jumps by its table go through one switch (switches)."""
    link: int = 0
    """The register that gets the return address, before the slot may read it; or 0."""
    written: int = 0
    """The bits of the registers that its instructions write, and those that the state lacks after the last one
    (facts/dirty.py)."""
    dirty_out: int = 0
    end: Node | None = None
    """How control goes on (terminators.py)."""

    @classmethod
    def of(cls, block: Block) -> BlockPlan:
        """Return the plan of a block about which nothing is decided."""
        body = [Op(pc, instruction) for pc, instruction in zip(block.pcs(), block.body)]
        slot = None
        if block.delay_slot is not None and block.terminator is not None:  # else the interpreter performs both
            slot = Op(block.slot_pc, block.delay_slot)
        return cls(block, body, slot)

    @property
    def ops(self) -> list[Op]:
        """The body and the slot."""
        return [*self.body, self.slot] if self.slot is not None else self.body


@dataclass(slots=True)
class CallSite:
    """How control leaves a function at the end of a block, by a call or else.

    `passed` are the bits of registers that leaving reads, `not_in_state` those that the state does not have after the
    call.
    """

    passed: int
    not_in_state: int
    unwinds: bool
    """It may leave the caller's frame as well, as longjmp does: code then compares sp with its own."""
    exposed: bool = False
    """An exception may come back from it to a landing pad of the function (guarded_accesses)."""


@dataclass
class FunctionPlan:
    """What is decided about the blocks of a function that some entries reach."""

    graph: Graph
    options: LiftOptions
    units: Units
    convention: Convention
    memory_resident: int
    """The bits of the registers that are in the state between blocks."""
    blocks: dict[int, BlockPlan]
    sites: dict[int, CallSite]
    context: StateContext
    safepoints: Safepoints
    pair_forms: Forms
    """The pairs that are two floats."""
    word_forms: Forms
    """Of the registers that calls pass in vector registers, those that are words."""
    changing: dict[int, int] = field(default_factory=dict)
    """For each block in a loop without calls, the bits of the registers that its iterations change."""
    vectorized: dict[int, Iteration] = field(default_factory=dict)
    """Loops of one block of which several iterations are performed at once."""
    promoted: dict[int, PromotedLoop] = field(default_factory=dict)
    """By head."""
    hubs: dict[tuple[tuple[int, int], ...], Hub] = field(default_factory=dict)
    """What the jumps by a table share, by its cases."""
    entry: Entry | None = None
    """How it begins (terminators.py)."""
    stack_depths: dict[int, int] = field(default_factory=dict)
    """How many bytes below its entry the function has sp before each instruction, if that is known of all and sp is in
    SSA (facts/stack_depths.py)."""

    @property
    def function(self) -> Function:
        return self.graph.function

    @property
    def loops_apart(self) -> set[int]:
        """The blocks of the loops about which a pass has decided as a whole: promoted and vectorized ones."""
        return {pc for loop in self.promoted.values() for pc in loop.body}.union(self.vectorized)

    def forms_into(self, pc: int) -> int:
        """Return the bits of the registers that have another form than usual on the ways into a block."""
        return self.pair_forms.into[pc] | self.word_forms.into[pc]

    def forms_out(self, pc: int) -> int:
        """Return the bits of those that have one on the ways out of it."""
        return self.pair_forms.out[pc] | self.word_forms.out[pc]

    @property
    def words(self) -> int:
        """The bits of the registers that are words on some way, though calls pass them in vector registers."""
        return reduce(or_, (*self.word_forms.into.values(), *self.word_forms.out.values()), 0)

    @property
    def in_ssa(self) -> int:
        """The bits of the registers that are in SSA between blocks."""
        return self.units.bits & ~self.memory_resident
