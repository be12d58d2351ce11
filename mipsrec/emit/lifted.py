"""The LLVM functions that are written for a guest function."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..analysis import Function
from ..lift.convention import Callee
from ..lift.options import LiftOptions
from ..lift.variants import plan_variant, variants
from .entry_thunks import write_start_thunk
from .function import LiftedFunction, write_function
from .module import subprogram_number


def lift_function(
    function: Function, callees: Mapping[int, Callee], options: LiftOptions, index: int = 0
) -> list[LiftedFunction]:
    """Return the LLVM functions for a guest function, written as number `index` and next of their module."""
    found: list[LiftedFunction] = []
    callee = callees.get(function.start)
    for variant in variants(function, callee, options):
        scope = subprogram_number(index + len(found))
        if variant.is_thunk:
            assert callee is not None
            found.append(write_start_thunk(function, callee, found[0], options, scope))
            found[0] = replace(found[0], entries=found[0].entries[1:])
        else:
            plan = plan_variant(function, variant, callees, options)
            found.append(write_function(plan, variant.symbol, scope))
    return found
