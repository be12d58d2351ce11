"""The map of an input is the same in all tiers, after any switch between them, and in each run: of many inputs.

The interpreter's map is the measure. That its rule is the stated one, test_counters.py shows by hand.
"""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from mipsrec import pipeline
from tests.support.compiled import BARE, ORDERS, compile_guest
from tests.support.fork_server import fork_server
from tests.support.paths import GUESTS
from tests.support.sampling import ALL
from tests.support.tiers import AUTO, BASELINE, INTERPRETED

COUNT = 1000 if ALL else 250
WAYS = {**BASELINE, **AUTO, "recompiled": ("--tier", "aot")}
WORDS = "( ) + - * / @ ! # 0 1 7 64 300 4194304 98765 abc z".split()

End = tuple[int, bytes]


def inputs() -> list[bytes]:
    """Return inputs of guests/formats.c: half of them begin well, so that they come far."""
    dice = random.Random(38)
    found = []
    for number in range(COUNT):
        begin = ["3 4 5 6 7 8", "(1 2 3)"] if number % 2 else []
        found.append(" ".join(begin + dice.choices(WORDS, k=dice.randrange(1, 24))).encode())
    return found


def ends(command: Sequence[str | Path], given: Sequence[bytes]) -> list[End]:
    """Return the wait status and the map of a process for each input, which comes as standard input."""
    with tempfile.TemporaryFile() as stream, fork_server(*command, stdin=stream.fileno()) as server:
        found = []
        for text in given:
            os.ftruncate(stream.fileno(), 0)
            os.pwrite(stream.fileno(), text, 0)
            os.lseek(stream.fileno(), 0, os.SEEK_SET)
            found.append(server.run())
        return found


@pytest.fixture(scope="module", params=[(order, kind) for order in ORDERS for kind in ("-mno-mips16", "-mips16")],
                ids=[f"{order}{kind}" for order in ORDERS for kind in ("", "-mips16")])  # fmt: skip
def parser(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, host: Path) -> tuple[Path, Path]:
    """Return the program, and a library of it that counts."""
    order, kind = request.param
    folder = tmp_path_factory.mktemp("maps")
    options = (*BARE, "-march=mips32r2", "-msoft-float", kind)
    program = compile_guest(folder, order, (GUESTS / "formats.c").read_text(), *options)
    pipeline.build(pipeline.open_guest(program), folder / "counting.so", pipeline.Options(jobs=1, cover=True))
    return program, folder / "counting.so"


@pytest.mark.every_case
def test_maps_agree(parser: tuple[Path, Path], host: Path) -> None:
    program, library = parser
    given = inputs()

    def command(way: Sequence[str | Path]) -> list[str | Path]:
        return [host, *way, "--qemu", "afl-qemu-trace", "--", program]

    wanted = ends(command(INTERPRETED), given)
    statuses = {status for status, _ in wanted}
    maps = {counters for _, counters in wanted}
    assert len(maps) > COUNT // 3 and len(statuses) > 10 and len(statuses & {4, 5, 7, 10, 11}) > 1
    for name, way in {**WAYS, "interpreted again": INTERPRETED}.items():
        words = (*way, "--library", library) if name in AUTO or name == "recompiled" else way
        for text, expected, found in zip(given, wanted, ends(command(words), given), strict=True):
            assert found == expected, (name, text)
