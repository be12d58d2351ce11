"""The variants of a function: the LLVM functions that are written for one guest function.

A function with entries besides its start gets a second LLVM function of the blocks that these reach. So the usual way
in stays free of edges that only exceptions and longjmp take. A function whose callers save registers for it
(passes/saved_registers.py) has a body, and a way into it for callers that have a complete state.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from ..analysis import Function
from .build import decide, undecided_plan
from .convention import Callee, body_of, entries_of, symbol_of
from .ir import Frame, FunctionPlan
from .options import LiftOptions
from .pipeline import passes_up_to, passes_without


class Kind(enum.Enum):
    """What an LLVM function is of a guest function."""

    WHOLE = "whole"  # from the start, for callers that have a complete state
    BODY = "body"  # from the start, for callers that have saved registers for it
    ENTRIES = "entries"  # from the entries besides the start; a cold function has its start among them
    INTO_BODY = "into-body"  # an entry thunk: saves what the callers of the body save, and calls it
    INTO_ENTRIES = "into-entries"  # an entry thunk: goes to the start in the variant of the entries


@dataclass(frozen=True)
class Variant:
    """One LLVM function; `entries` are the guest pcs that it begins with."""

    kind: Kind
    symbol: str
    entries: tuple[int, ...]
    frame: Frame | None = None

    @property
    def is_thunk(self) -> bool:
        """Whether it only leads to another variant."""
        return self.kind in (Kind.INTO_BODY, Kind.INTO_ENTRIES)


def variants(function: Function, callee: Callee | None, options: LiftOptions) -> list[Variant]:
    """Return what is written for a function, of which `callee` says what its callers know."""
    symbol, start = symbol_of(function, callee), (function.start,)
    others = tuple(sorted(function.entries))
    entries = Variant(Kind.ENTRIES, entries_of(symbol), others)
    if callee is not None and callee.cold and not callee.frame and others and options.calls != "instrumented":
        cold = Variant(Kind.ENTRIES, entries_of(symbol), (*start, *others))
        return [cold, Variant(Kind.INTO_ENTRIES, symbol, start)]
    frame = callee.frame if callee is not None and options.has_frames else None
    if frame is None:
        found = [Variant(Kind.WHOLE, symbol, start)]
    else:
        found = [Variant(Kind.INTO_BODY, symbol, start, frame), Variant(Kind.BODY, body_of(symbol), start, frame)]
    return [*found, entries] if others else found


def plan_variant(
    function: Function, variant: Variant, callees: Mapping[int, Callee], options: LiftOptions
) -> FunctionPlan:
    """Return the plan of a variant that is no thunk."""
    callee = callees.get(function.start)
    memory_resident = callee.memory_resident if callee is not None else 0
    entries = list(variant.entries)
    passes = passes_without(options.without)
    if options.last_pass is not None:
        passes = passes_up_to(options.last_pass, passes)
    return decide(undecided_plan(function, entries, options, callees.get, variant.frame, memory_resident), passes)
