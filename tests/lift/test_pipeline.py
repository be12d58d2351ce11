"""Passes as values: their order is checked, and those that only make code better can be left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from mipsrec.lift import passes
from mipsrec.lift.check import findings
from mipsrec.lift.pipeline import PIPELINE, order_findings
from mipsrec.options import Options
from tests.lift.plans import plans
from tests.support.paths import PREBUILT

OPTIONAL = [one.name for one in PIPELINE if not one.required]


def test_each_module_of_passes_is_one() -> None:
    folder = Path(passes.__file__).parent
    modules = {path.stem for path in folder.iterdir() if path.stem not in ("__init__", "__pycache__")}
    assert {one.name.replace("-", "_") for one in PIPELINE} == modules


def test_the_order_is_checked() -> None:
    assert order_findings(PIPELINE) == []
    by_name = {one.name: one for one in PIPELINE}
    wrong = [by_name["scalar-promotion"], by_name["vectorize"], by_name["spin-loads"]]
    assert order_findings(wrong) == [
        "scalar-promotion needs vectorized, which vectorize sets after it",
        "scalar-promotion needs changing, which spin-loads sets after it",
    ]


@pytest.mark.parametrize("name", OPTIONAL)
def test_plans_without_a_pass_keep_the_contracts(name: str) -> None:
    for guest in sorted(PREBUILT.glob("mipsel/*.elf"))[::5]:
        for symbol, plan in plans(guest, Options(without=(name,))):
            assert findings(plan) == [], symbol
