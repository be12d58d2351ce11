"""Nodes: how a block ends, with what happens to registers on every way from there.

Enters: what terminators.py decides; it says what the masks are. Leaves: data that emit/ writes, text.py shows and
check_state.py checks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .convention import Callee
    from .ir import BlockPlan


@dataclass(frozen=True)
class Destination:
    """Where a call, or a jump out of the function, leads: to guest `pc`, or where a register says.

    `callee` is called directly: it is at `pc`, or at the pc that the register is likely to have, `guess`. Without one
    the dispatch table knows. It is handed `arguments`, numbers of registers. `is_copied`: LLVM puts it in the place of
    the call.
    """

    pc: int | None
    arguments: tuple[int, ...]
    callee: Callee | None = field(default=None, compare=False)
    guess: int | None = None
    is_copied: bool = False


@dataclass(frozen=True)
class Entry:
    """How a function begins. Registers are taken from parameters: `takes` for later blocks, `gives` for the first one
    alone. It `stores` parameters into the state, and `loads` what is only there.
    """

    takes: int
    gives: int
    stores: int
    loads: int


@dataclass(frozen=True)
class Edge:
    """From the block at `source` to guest pc `target`. `dirty` are the register bits that are dirty on it, `stores`
    those of them that it stores into the state, `loads` what it loads from there. At a safepoint, `polls` are stored
    besides where a signal waits. Where nothing happens on the way, it `is_plain`.

    `leaves`: the target is in another function, or in none. `copy`: the target is a return block, which is written once
    more in place of the edge.
    """

    source: int
    target: int
    dirty: int
    stores: int
    loads: int = 0
    has_safepoint: bool = False
    polls: int = 0
    leaves: Destination | None = None
    copy: BlockPlan | None = field(default=None, compare=False)
    is_plain: bool = field(init=False)

    def __post_init__(self) -> None:
        is_plain = not (self.stores or self.loads or self.has_safepoint or self.leaves)
        object.__setattr__(self, "is_plain", is_plain)


@dataclass(frozen=True)
class Goto:
    """Control goes on at one place in any case."""

    edge: Edge
    saves: int


@dataclass(frozen=True)
class Branch:
    """Control goes one of two ways. `repeats`: it goes back to the block itself, which may be written several times."""

    taken: Edge
    other: Edge
    saves: int
    repeats: bool = False


@dataclass(frozen=True)
class Jump:
    """A jump by a register: by the edges of a table, by target, or those of a `hub` that jumps share; or elsewhere.

    That way needs the `stores`. `unwinds`: it leaves the caller's frame as well where sp is above it, and then has
    the `results`, numbers of registers, in SSA.
    """

    edges: Mapping[int, Edge]
    hub: Hub | None
    saves: int
    stores: int
    elsewhere: Destination
    unwinds: bool
    results: tuple[int, ...]


@dataclass(frozen=True)
class Return:
    """Of the registers that are returned, SSA has the `results`, by number, the state the others."""

    stores: int
    results: tuple[int, ...]


@dataclass(frozen=True)
class Syscall:
    """A system call, with a complete state; `loads` are what the function reads after it."""

    stores: int
    loads: int
    after: Edge


@dataclass(frozen=True)
class Stop:
    """An exception for certain."""

    stores: int


@dataclass(frozen=True)
class Interpret:
    """The interpreter goes on."""

    stores: int


@dataclass(frozen=True)
class Call:
    """A call.

    `conditional`: it is made where the branch is taken. Of what the callee returns, SSA has the `returned`, the state
    the others.

    Where the callee is guessed, `missed` is stored besides if the guess is wrong.

    Where a landing pad guards it, `exposes` is first stored for that, and LLVM may not put the callee in its place: a
    fault in there would find registers of both.
    """

    conditional: bool
    to: Destination
    exposes: int | None
    stores: int
    missed: int
    returned: int
    loads: int
    after: Edge

    @property
    def all_stores(self) -> int:
        """All that is stored before the callee begins."""
        return (self.exposes or 0) | self.stores


Node = Goto | Branch | Jump | Return | Syscall | Stop | Interpret | Call


@dataclass
class Hub:
    """What the jumps by one table share: its cases, where else they lead, the blocks that they end, what is dirty
    there, what is stored for the way elsewhere, and the edges by target."""

    cases: tuple[tuple[int, int], ...]
    elsewhere: Destination
    sources: list[int] = field(default_factory=list)
    dirty: int = 0
    stores: int = 0
    edges: dict[int, Edge] = field(default_factory=dict)

    @property
    def targets(self) -> list[int]:
        return list(dict.fromkeys(target for _, target in self.cases))
