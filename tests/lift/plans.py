"""The plans of whole programs, for tests that look at what was decided."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from mipsrec import pipeline
from mipsrec.lift.ir import FunctionPlan
from mipsrec.lift.policy import cold_functions, large_interpreters, levels_of_program, with_cold
from mipsrec.lift.variants import plan_variant, variants
from mipsrec.options import Options


@cache
def open_guest(path: Path) -> pipeline.Guest:
    """Return a program, which is analysed once."""
    return pipeline.open_guest(path)


def plans(path: Path, options: Options | None = None) -> Iterator[tuple[str, FunctionPlan]]:
    """Yield the plans of all variants of a program's functions that are no thunks, with their symbols."""
    options = options or Options()
    guest = open_guest(path)
    program, lift = guest.program, guest.lift_options(options)
    levels = levels_of_program(program, guest.starts, str(options.opt))
    cold, large = cold_functions(program, levels, str(options.opt)), large_interpreters(program, guest.starts)
    callees = with_cold(program, guest.starts, cold, large)
    for start in sorted(guest.starts):
        function = program.functions[start]
        for variant in variants(function, callees.get(start), lift):
            if not variant.is_thunk:
                yield variant.symbol, plan_variant(function, variant, callees, lift)
