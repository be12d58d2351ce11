"""Save merging: saves done as vectors, and loads of them, leave what they leave word by word."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from mipsrec import pipeline
from tests.support.compiled import BARE, QEMU, compile_guest
from tests.support.paths import GUESTS
from tests.support.tools import need

OPTIONS = {"save_merging": (*BARE, "-mips32r2", f"-I{GUESTS}"), "save_faults": ("-static", "-O2")}
MERGED = {
    "in_order": 2, "down": 2, "changed_after": 1, "changed_before": 1, "byte_over": 1, "byte_beside": 1,
    "over_again": 2, "loads_between": 0, "stores_elsewhere": 0, "base_steps": 1, "same": 1, "loads": 2,
    "loads_others": 1, "loads_again": 2, "save": 3,
}  # fmt: skip
"""How many runs a function has, but for those of its own saves in the first guest."""
OWN = 4
LEVELS = ("0", "light", "2")


@pytest.mark.parametrize("name", OPTIONS)
def test_runs(host: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is as MIPS leaves it at any alignment, which qemu-user refuses, and after a fault that has been mended."""
    monkeypatch.setenv("MIPSREC_CHECK", "1")
    program = compile_guest(tmp_path, "big", (GUESTS / f"{name}.c").read_text(), *OPTIONS[name])
    guest = pipeline.open_guest(program)
    names = [function.name for function in guest.program.functions.values()]
    chosen = [one for one in names if one.removeprefix("w_") in MERGED]
    for symbol, plan in pipeline.plans(guest, pipeline.Options(), guest.functions_named(chosen)):
        function = symbol.partition(".")[0]
        own = OWN if function.startswith("w_") else 0
        found = sum(len(block.runs) for block in plan.blocks.values()) - own
        assert found == MERGED[function.removeprefix("w_")], function
    said = output_of(host, "--engine", "interp", program)
    if name == "save_faults":
        assert output_of(need(QEMU["big"], "qemu-user"), program) == said
    for level in LEVELS:
        library = tmp_path / f"{level}.so"
        pipeline.build(guest, library, pipeline.Options(opt=level), functions=guest.functions_named(chosen))
        assert output_of(host, "--library", library, program) == said


def output_of(*command: str | Path) -> bytes:
    return subprocess.run(command, capture_output=True, timeout=600, check=True).stdout
