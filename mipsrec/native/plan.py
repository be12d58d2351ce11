"""What is compiled, with how much effort, in which shards: one choice for builds, the farm and the compile server.

Enters: an analysed program, those of its functions that are wanted, `--opt`, perhaps a profile. Leaves: a `Plan`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

from ..analysis import Program
from ..lift.convention import Callee
from ..lift.options import LiftOptions
from ..lift.policy import cold_functions, large_interpreters, levels_of_program, with_cold
from ..profiles import Profile
from .shards import Shard, shards_of_program


@dataclass(frozen=True)
class Plan:
    """What the shards of a program are made from: it, its functions as callees, and levels of those to compile."""

    program: Program
    callees: Mapping[int, Callee]
    levels: Mapping[int, str]
    options: LiftOptions

    def shards(self) -> list[Shard]:
        return shards_of_program(self.program, self.levels)

    @cached_property
    def tiny(self) -> Mapping[str, int]:
        """The starts of functions that all callers copy, by symbol."""
        return {callee.symbol: start for start, callee in self.callees.items() if callee.tiny}



def choose(
    program: Program,
    callees: Mapping[int, Callee],
    options: LiftOptions,
    opt: str,
    profile: Profile | None = None,
    hot: Collection[int] | None = None,
) -> Plan:
    """Return the plan of the functions at the starts of `callees`, compiled as `--opt` says.

    Hot functions are those that `hot` names, or that a profile has samples of, or that look so (policy.py). Functions
    that are to be small are made cold.
    """
    levels = levels_of_program(program, callees, opt, profile, hot)
    cold, large = cold_functions(program, levels, opt), large_interpreters(program, callees)
    return Plan(program, with_cold(program, callees, cold, large), levels, options)
