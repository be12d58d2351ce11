"""A fault's handler makes the page accessible and returns: the access is made again, in all tiers and between them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from mipsrec import pipeline
from tests.support.compiled import ORDERS, QEMU, compile_guest, library_at
from tests.support.paths import GUESTS
from tests.support.tiers import AUTO, BASELINE, INTERPRETED
from tests.support.tools import need

SOURCE = GUESTS / "repaired.c"
OPTIONS = ("-static", "-mips32r2", "-Wall", "-Wextra", "-Werror")
RANDOM = ("--code-cache", "1024", "--threshold")
SEEDS = range(2, 5)


def accesses() -> list[str]:
    """Return the functions of the guest whose accesses fault."""
    return re.findall(r"^(?:CODE\(|static OWN unsigned )(\w+)", SOURCE.read_text(), re.MULTILINE)


@pytest.mark.parametrize("byte_order", ORDERS)
def test_accesses_are_made_again(host: Path, tmp_path: Path, byte_order: str) -> None:
    program = compile_guest(tmp_path, byte_order, SOURCE.read_text(), *OPTIONS)
    functions = accesses()
    library = library_at(pipeline.open_guest(program), tmp_path, "light", "repair", "main", *functions)

    def run(*command: str | Path) -> str:
        return subprocess.run([*command, program], capture_output=True, text=True, timeout=600, check=True).stdout

    expected = run(need(QEMU[byte_order], "qemu-user"))
    assert expected.count(" faults") == len(functions) == 35
    for options in (INTERPRETED, *BASELINE.values()):
        assert run(host, *options) == expected, options
    for options in (*AUTO.values(), *(("--tier", "aot", *RANDOM, f"random:{seed}") for seed in SEEDS)):
        assert run(host, *options, "--library", library) == expected, options
