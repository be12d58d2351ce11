"""A composed machine has each operation that rows may use, of the part that it belongs to."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from mipsrec.isa.compose import compose, operations
from mipsrec.isa.meaning import Machine

CONCERNS = [base for base in Machine.__bases__ if operations(base)]


def parts() -> list[Any]:
    """Return a part for each concern, whose operations return its name and theirs."""
    found = []
    for concern in CONCERNS:
        names = operations(concern)
        members = {name: lambda self, name=name: (type(self).__name__, name) for name in names}
        found.append(type(concern.__name__, (), members)())
    return found


def test_an_operation_is_of_one_concern() -> None:
    count = Counter(name for concern in CONCERNS for name in operations(concern))
    assert set(count.values()) == {1}


def test_an_operation_is_that_of_its_part() -> None:
    machine = compose(*parts())
    for concern in CONCERNS:
        for name in operations(concern):
            assert getattr(machine, name)() == (concern.__name__, name)


def test_a_part_that_lacks_an_operation_is_refused() -> None:
    incomplete = parts()
    del type(incomplete[0]).gpr
    with pytest.raises(AttributeError, match="gpr"):
        compose(*incomplete)
