"""Random programs that change their own code, a fixed sample; and that they do change."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.fuzz.flow import Trial, try_seed
from tests.fuzz.selfmod import make_selfmod
from tests.fuzz.selfmod_maker import AREA_BYTES
from tests.support.compiled import ORDERS
from tests.support.tiers import INTERPRETED

SEEDS = range(1, 13)


@pytest.mark.parametrize("seed", SEEDS)
def test_sample(host: Path, tmp_path: Path, seed: int) -> None:
    assert try_seed(f"selfmod {seed}", [], tmp_path, host, make_selfmod) == (True, [])


def test_code_changes(host: Path, tmp_path: Path) -> None:
    """The sample is of both kinds and byte orders, and code at the end is other code than in the beginning."""
    orders, in_qemu = set(), set()
    for seed in SEEDS:
        trial = Trial(f"selfmod {seed}", tmp_path, host, make_selfmod)
        program = trial.assemble()
        output = subprocess.run([host, *INTERPRETED, program], capture_output=True, timeout=600, check=True).stdout
        assert output[-AREA_BYTES:] not in program.read_bytes()
        orders.add(trial.order)
        in_qemu.add(trial.program.in_qemu)
    assert orders == set(ORDERS) and in_qemu == {True, False}
