"""The passes as values: which there are, in which order they run, and which may be left out.

Enters: names of passes to leave out. Leaves: the passes to run. A fact is something that passes set in a plan, by the
name of what has it (ir.py). A pass that needs a fact runs after all others that set it; where these are left out, the
fact is as the plan has it at first: nothing is decided.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from ..errors import UsageError
from .ir import FunctionPlan
from .passes import (
    access_merge,
    fp_pair_forms,
    guarded_accesses,
    no_wrap,
    polled_loads,
    save_merge,
    scalar_lanes,
    scalar_promotion,
    silent_stores,
    spin_loads,
    switches,
    trapping_loads,
    unaligned,
    vectorize,
    word_forms,
)


@dataclass(frozen=True)
class Pass:
    """A pass, with the facts that it needs and sets. Programs mean something else without one that is `required`."""

    name: str
    run: Callable[[FunctionPlan], None]
    needs: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()
    required: bool = False


_MARKS = ("exposed", "volatile", "spin")

PIPELINE = (
    Pass("guarded-accesses", guarded_accesses.run, sets=("exposed", "volatile"), required=True),
    Pass("fp-pair-forms", fp_pair_forms.run, sets=("pair_forms",)),
    Pass("word-forms", word_forms.run, sets=("word_forms",)),
    Pass("trapping-loads", trapping_loads.run, sets=("volatile",), required=True),
    Pass("silent-stores", silent_stores.run, sets=("volatile",), required=True),
    Pass("no-wrap", no_wrap.run, sets=("no_wrap",)),
    Pass("scalar-lanes", scalar_lanes.run, sets=("scalar_lanes",)),
    Pass("spin-loads", spin_loads.run, sets=("spin", "changing"), required=True),
    Pass("polled-loads", polled_loads.run, needs=("spin",), sets=("spin",)),
    Pass("vectorize", vectorize.run, needs=("exposed",), sets=("vectorized",)),
    Pass("scalar-promotion", scalar_promotion.run, ("exposed", "changing", "vectorized"), ("promoted",)),
    Pass("access-merge", access_merge.run, (*_MARKS, "promoted", "vectorized"), ("merged",)),
    Pass("unaligned", unaligned.run, ("volatile",), ("unaligned",)),
    Pass("save-merge", save_merge.run, (*_MARKS, "promoted", "vectorized", "merged"), ("runs",)),
    Pass("switches", switches.run, sets=("case_weights", "shares_switch")),
)
"""The passes, in the order in which they run. What each keeps stands in the head of its module."""


def order_findings(passes: Sequence[Pass]) -> list[str]:
    """Return which passes need a fact that a later one sets."""
    return [
        f"{one.name} needs {fact}, which {later.name} sets after it"
        for at, one in enumerate(passes)
        for later in passes[at + 1 :]
        for fact in one.needs
        if fact in later.sets
    ]


@cache
def passes_without(names: tuple[str, ...]) -> tuple[Pass, ...]:
    """Return the passes but those of some names; raises UsageError for one that is required, or that there is not."""
    known = {one.name: one for one in PIPELINE}
    for name in names:
        if name not in known:
            raise UsageError(f"there is no pass {name}; there are {', '.join(known)}")
        if known[name].required:
            may_go = ", ".join(one.name for one in PIPELINE if not one.required)
            raise UsageError(f"the pass {name} keeps what programs mean, and cannot be left out; these can: {may_go}")
    return tuple(one for one in PIPELINE if one.name not in names)


def passes_up_to(name: str, passes: Sequence[Pass] = PIPELINE) -> tuple[Pass, ...]:
    """Return the passes up to one, and that; none for "build". Raises UsageError where there is none of that name."""
    names = ["build", *(one.name for one in passes)]
    if name not in names:
        raise UsageError(f"there is no pass {name} that runs; there are {', '.join(names)}")
    return tuple(passes[: names.index(name)])
