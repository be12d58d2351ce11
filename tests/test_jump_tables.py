"""Jump tables where the guess of where they lie, or of how they are read, is wrong now and then."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest
from compiled import ORDERS, compile_guest
from tools import need

from mipsrec import pipeline
from mipsrec.codegen.switches import case_weights

SOURCE = Path(__file__).parent / "guests" / "tables.c"
OPTIONS = ("-nostdlib", "-static", "-ffreestanding", "-mno-abicalls", "-fno-pic", "-G0")
QEMU = {"big": "qemu-mips", "little": "qemu-mipsel"}


def ends(host: Path, guest: pipeline.Guest, folder: Path) -> list[int]:
    """Return how the guest ends, interpreted and recompiled in two ways."""
    ways: list[list[str | Path]] = [["--engine", "interp"]]
    for opt in (0, 3):
        ways.append(["--library", folder / f"{opt}.so"])
        pipeline.build(guest, folder / f"{opt}.so", pipeline.Options(opt=opt, jobs=1))
    return [subprocess.run([host, *way, guest.image.path], timeout=60, check=False).returncode for way in ways]


@pytest.mark.parametrize("order", ORDERS)
def test_wrong_guesses(host: Path, tmp_path: Path, order: str) -> None:
    program = compile_guest(tmp_path, order, SOURCE.read_text(), *OPTIONS)
    guest = pipeline.open_guest(program)
    (choose,) = (f for f in guest.program.functions.values() if f.name == "choose")
    (table,) = choose.jump_tables.values()
    assert table.index == (4, 0) and len(table.cases) == 4
    for function in guest.program.functions.values():
        if function.name == "choose_once":  # what the jump's block adds to the table's address is not known there
            assert all(table.index is None for table in function.jump_tables.values())
    assert subprocess.run([need(QEMU[order], "qemu-user"), program], timeout=60, check=False).returncode == 0
    assert ends(host, guest, tmp_path) == [0, 0, 0]


@pytest.mark.parametrize("order", ORDERS)
def test_between_entries(host: Path, tmp_path: Path, order: str) -> None:
    guest = pipeline.open_guest(compile_guest(tmp_path, order, SOURCE.read_text(), *OPTIONS, "-DBETWEEN"))
    assert ends(host, guest, tmp_path) == [-signal.SIGSEGV] * 3


IDLE = """
int walk(const unsigned char *kinds, int *values, int count)
{
    int sum = 0;
    for (int i = 0; i < count; i++) {
        switch (kinds[i]) {
        case 0: break;
        case 1: sum += values[i]; values[i] = sum; break;
        case 2: sum ^= values[i] * 3; values[i] += 9; break;
        case 3: values[i] = sum * sum; break;
        case 4: values[sum & 7] = values[i]; break;
        case 5: sum -= values[i]; values[i + 1] = sum; break;
        case 6: values[i] *= values[i]; break;
        }
    }
    return sum;
}
int once(int kind, int *values)
{
    switch (kind) {
    case 1: *values += 7; break;
    case 2: *values ^= *values * 3; break;
    case 3: *values *= *values; break;
    case 4: values[3] = *values; break;
    case 5: values[1] = values[4]; break;
    case 6: *values /= values[1]; break;
    }
    return *values;
}
void __start(void) { int values[9]; walk((const unsigned char *)values, values, 7); once(values[0], values); }
"""


@pytest.mark.parametrize("order", ORDERS)
def test_weights(tmp_path: Path, order: str) -> None:
    """Of a switch in a loop, cases that do nothing are taken for usual; of others none is."""
    guest = pipeline.open_guest(compile_guest(tmp_path, order, IDLE, *OPTIONS, "-fno-inline", "-fno-ipa-cp"))
    weights = {}
    for function in guest.program.functions.values():
        for block in function.blocks.values():
            if table := function.jump_tables.get(block.terminator_pc):
                weights[function.name] = case_weights(function, block, [pc for _, pc in table.cases])
    walk = ["i32 1", "i32 25", *["i32 1"] * 6]
    assert weights == {"walk": f', !prof !{{!"branch_weights", {", ".join(walk)}}}', "once": ""}
