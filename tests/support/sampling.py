"""Which of many cases `make test` runs. `make conformance ARGS='tiers'` sets MIPSREC_TIERS=all, and runs them all."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TypeVar

import pytest

ALL = os.environ.get("MIPSREC_TIERS") == "all"

_Case = TypeVar("_Case")


def sampled(cases: Sequence[_Case]) -> list[_Case]:
    """Return every second case, or all."""
    return list(cases) if ALL else list(cases)[::2]


def shared_by_orders(cases: Sequence[_Case], order: str) -> list[_Case]:
    """Return the half of many cases that guests of one byte order have, or all; together the orders have each case."""
    return list(cases) if ALL else list(cases)[order != "big" :: 2]


def pairs_left_out(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Return the tests marked `crossed`, as by their modules, that a run leaves out: none where it runs all.

    Where two parameters of a test change, such as the byte order and the tier, every second pair is run. Each byte
    order and each tier still has its tests; a function of which that is not so keeps them all.
    """
    functions: dict[tuple[object, ...], list[tuple[pytest.Item, set[tuple[str, int]]]]] = defaultdict(list)
    numbers: dict[tuple[object, ...], dict[str, int]] = defaultdict(dict)
    for item in items:
        call = getattr(item, "callspec", None)
        if call is not None and not ALL:
            function = item.path, item.parent, getattr(item, "originalname", "")
            values = set()
            for name, value in call.params.items():
                known = numbers[function + (name,)]
                values.add((name, known.setdefault(repr(value), len(known))))
            functions[function].append((item, values))
    found = []
    for cases in functions.values():
        odd = [item for item, values in cases if sum(number for _, number in values) % 2]
        every = set().union(*(values for _, values in cases))
        if every == set().union(*(values for item, values in cases if item not in odd)):
            found += odd
    return found
