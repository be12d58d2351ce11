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
class Edge:
    """From the block at `source` to guest pc `target`. `dirty` are the register bits that are dirty on it, `stores`
    those of them that it stores into the state, `loads` what it loads from there. At a safepoint, `polls` are stored
    besides where a signal waits.

    `leaves`: the target is in another function, or in none, and is handed what it `passes`. `copy`: the target is a
    return block, which is written once more in place of the edge.
    """

    source: int
    target: int
    dirty: int
    stores: int
    loads: int = 0
    has_safepoint: bool = False
    polls: int = 0
    leaves: bool = False
    passes: int = 0
    copy: BlockPlan | None = field(default=None, compare=False)

    @property
    def is_plain(self) -> bool:
        """Whether nothing happens on the way."""
        return not (self.stores or self.loads or self.has_safepoint or self.leaves)


@dataclass(frozen=True)
class Goto:
    """Control goes on at one place in any case."""

    edge: Edge
    saves: int


@dataclass(frozen=True)
class Branch:
    """Control goes one of two ways."""

    taken: Edge
    other: Edge
    saves: int


@dataclass(frozen=True)
class Jump:
    """A jump by a register: by the edges of a table, by target, or those of a `hub` that jumps share; or elsewhere.

    That way needs the `stores`, and is handed what it `passes`. `guess` is where it is likely to lead to.
    """

    edges: Mapping[int, Edge]
    hub: Hub | None
    saves: int
    stores: int
    passes: int
    guess: int | None


@dataclass(frozen=True)
class Return:
    """`stores`: where the state is complete afterwards. `to_caller`: where a body returns as its callers expect."""

    stores: int
    to_caller: int | None


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
class BodyCall:
    """A call of a body: what bypasses the state is not among the `stores`.

    `elsewhere` is the way on where the callee did not return as bodies do, and has left a complete state.
    """

    callee: Callee
    stores: int
    loads_elsewhere: int
    elsewhere: Edge
    loads: int
    after: Edge


@dataclass(frozen=True)
class Call:
    """A call with a complete state; of a `body` instead, or what is `inlined` of it, where that is what is called.

    `conditional`: it is made where the branch is taken. `guess` is what a register is likely to lead to.

    First `exposes` is stored for a landing pad, and `stores_ra` for a handler of faults in a callee that LLVM copies.
    """

    conditional: bool
    guess: int | None
    passes: int
    exposes: int
    stores_ra: int
    stores: int
    keeps_sp: bool
    loads: int
    after: Edge
    body: BodyCall | None = None
    inlined: Goto | None = None


Node = Goto | Branch | Jump | Return | Syscall | Stop | Interpret | Call


@dataclass
class Hub:
    """What the jumps by one table share: its cases, the blocks that they end, what is dirty there, the edges by target,
    and what is stored for the way elsewhere."""

    cases: tuple[tuple[int, int], ...]
    sources: list[int] = field(default_factory=list)
    dirty: int = 0
    stores: int = 0
    passes: int = 0
    edges: dict[int, Edge] = field(default_factory=dict)

    @property
    def targets(self) -> list[int]:
        return list(dict.fromkeys(target for _, target in self.cases))
