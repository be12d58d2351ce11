"""What is being written: the guest instruction, and what is decided about it."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..lift.ir import PLAIN, Op


@dataclass(slots=True)
class Current:
    """The current instruction. Who writes blocks sets it; the parts of the machine read it."""

    pc: int = 0
    """Its own, or that of the branch whose slot it is in."""
    in_slot: bool = False
    word: int = 0
    """Its encoding."""
    op: Op = field(default_factory=lambda: PLAIN)
    """What is decided about it."""
