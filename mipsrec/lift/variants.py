"""The variants of a function: the LLVM functions that are written for one guest function.

A function with entries besides its start gets a second LLVM function of the blocks that these reach. So the usual way
in stays free of edges that only exceptions and longjmp take. A cold function has one of all its entries, and an entry
thunk, which goes to its start there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..analysis import Function
from .build import decide, undecided_plan
from .convention import Callee, entries_of, symbol_of
from .ir import FunctionPlan
from .options import LiftOptions
from .pipeline import passes_up_to, passes_without


@dataclass(frozen=True)
class Variant:
    """One LLVM function; `entries` are the guest pcs that it begins with. `is_thunk`: it only leads to another one."""

    symbol: str
    entries: tuple[int, ...]
    is_thunk: bool = False


def variants(function: Function, callee: Callee | None, options: LiftOptions) -> list[Variant]:
    """Return what is written for a function, of which `callee` says what its callers know."""
    symbol, start = symbol_of(function, callee), (function.start,)
    others = tuple(sorted(function.entries))
    if not others:
        return [Variant(symbol, start)]
    if callee is not None and callee.cold and options.calls != "instrumented":
        return [Variant(entries_of(symbol), (*start, *others)), Variant(symbol, start, is_thunk=True)]
    return [Variant(symbol, start), Variant(entries_of(symbol), others)]


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
    return decide(undecided_plan(function, entries, options, callees.get, memory_resident), passes)
