"""Which of many cases `make test` runs. `make conformance ARGS='tiers'` sets MIPSREC_TIERS=all, and runs them all."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import TypeVar
from zlib import crc32

import pytest

ALL = os.environ.get("MIPSREC_TIERS") == "all"

thorough = pytest.mark.skipif(not ALL, reason="long: make conformance ARGS=tiers runs it")

_SHARE = 4
"""`make test` takes one of so many cases of a test."""

_Case = TypeVar("_Case")


def sampled(cases: Sequence[_Case]) -> list[_Case]:
    """Return every second case, or all."""
    return list(cases) if ALL else list(cases)[::2]


def shared_by_orders(cases: Sequence[_Case], order: str) -> list[_Case]:
    """Return the half of many cases that guests of one byte order have, or all; together the orders have each case."""
    return list(cases) if ALL else list(cases)[order != "big" :: 2]


def cases_left_out(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Return the cases of tests that `make test` leaves out, of those tests that are given; none where it runs all.

    A test keeps a quarter of its cases. Where several of its parameters change, such as the byte order and the tier, it
    keeps each value of each of them. Which cases these are differs from test to test: of two byte orders, half of the
    tests keep the one, half the other.
    """
    tests: dict[tuple[object, ...], list[pytest.Item]] = defaultdict(list)
    for item in items:
        if getattr(item, "callspec", None) is not None and not ALL:
            tests[item.path, item.parent, getattr(item, "originalname", "")].append(item)
    found: list[pytest.Item] = []
    for cases in tests.values():
        kept = _kept([_values(case) for case in cases], cases[0].nodeid.split("[")[0])
        found += [case for number, case in enumerate(cases) if number not in kept]
    return found


def _values(case: pytest.Item) -> set[tuple[str, str]]:
    """Return the parameters of a case with their values; those of one `parametrize` count as one."""
    parameters = dict(case.callspec.params)  # type: ignore[attr-defined]
    found = set()
    for mark in case.iter_markers("parametrize"):
        names = mark.args[0] if isinstance(mark.args[0], str) else ",".join(mark.args[0])
        found.add((names, repr([parameters.pop(name.strip(), None) for name in names.split(",")])))
    return found | {(name, repr(value)) for name, value in parameters.items()}


def _kept(cases: list[set[tuple[str, str]]], name: str) -> set[int]:
    """Return the numbers of the cases that a test of this name keeps: those with rare values first."""
    sizes = Counter(name for name, _ in set().union(*cases))
    several = [size for size in sizes.values() if size > 1]
    wanted = max(-(-len(cases) // _SHARE), max(several) if len(several) > 1 else 1)
    first = crc32(name.encode()) % len(cases)
    left = [(first + number) % len(cases) for number in range(len(cases))]
    used: Counter[tuple[str, str]] = Counter()
    kept: set[int] = set()
    while len(kept) < wanted:
        number = min(left, key=lambda one: sum(used[value] for value in cases[one]))
        left.remove(number)
        kept.add(number)
        used.update(cases[number])
    return kept
