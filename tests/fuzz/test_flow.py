"""Random functions, loops and calls, a fixed sample; and that what differs is told, and made small."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.flow import WAYS, End, Judge, Trial, try_seed
from tests.fuzz.flow_maker import RUNS, STATE_WORDS, place_of

SEEDS = (1, 2, 3, 2015)
"""Of 1, f2 calls itself by a pointer, and a register set before was lost; 2015 jumps to an odd address."""


@pytest.mark.parametrize("seed", SEEDS)
def test_sample(host: Path, tmp_path: Path, seed: int) -> None:
    ways = [WAYS[(2 * seed + more) % len(WAYS)] for more in range(2)]
    assert try_seed(f"flow {seed}", ways, tmp_path, host) == (True, [])


def test_differences() -> None:
    output = bytes(4 * STATE_WORDS * RUNS + 4096)
    assert End(0, output).difference(End(0, output)) == ""
    assert End(-11, b"").difference(End(0, output)) == f"ends with -11, 0 bytes, not 0, {len(output)} bytes"
    assert End(0, b"\1" + output[1:]).difference(End(0, output)).startswith("$0 after run 0: 01000000, not 00000000")
    assert [place_of(4 * STATE_WORDS + 4 * word) for word in (31, 32, 34, 38)] == [
        f"{name} after run 1" for name in ("$31", "lo", "fcsr", "f1")
    ]
    assert place_of(4 * STATE_WORDS * RUNS + 8) == "arena + 0x8"


def test_made_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left is what the difference needs."""

    def difference(trial: Trial, way: Judge) -> str:
        return "differs" if "jalr $24, $25" in trial.program.assembly() else ""

    trial = Trial("flow 1", tmp_path, tmp_path)
    seeds = (f"flow {number}" for number in range(1, 100))
    while not difference(trial, None):
        trial = Trial(next(seeds), tmp_path, tmp_path)
    before = len(trial.program.assembly())
    monkeypatch.setattr(Trial, "difference", difference)
    assert trial.made_small(None) == "differs"
    functions = [line for function in trial.program.functions for line in function.lines()]
    assert len(trial.program.assembly()) < before
    assert sum(line.startswith("jal") for line in functions) == 1
