"""--cpu: what the code may use, that the library says so, and that the host heeds it."""

from __future__ import annotations

import json
import platform
import re
import subprocess
from pathlib import Path

import pytest

from mipsrec.errors import BuildError
from mipsrec.target import cpu, this_target
from tests.runtime import hand_library
from tests.support.commandline import assert_one_line, mipsrec
from tests.support.paths import PREBUILT
from tests.support.tools import need

SAMPLE = PREBUILT / "mips" / "hello.elf"


@pytest.mark.parametrize("choice", ["generic", "x86-64-v2", "x86-64-v3", "native"])
def test_library_says_its_processor(choice: str, tmp_path: Path) -> None:
    library = tmp_path / "lib.so"
    assert mipsrec("build", SAMPLE, "-o", library, "--cpu", choice, "--opt", "0").returncode == 0
    name = cpu.chosen_cpu(choice).name
    facts = json.loads(mipsrec("info", "--json", library).stdout)
    assert facts["cpu"] == name
    assert facts["options"] == f"--opt 0 --cpu {name} --memory flat --calls direct"
    assert facts["guest_identity"] == json.loads(mipsrec("info", "--json", SAMPLE).stdout)["identity"]
    assert re.search(rf"^cpu +{name}$", mipsrec("info", library).stdout, re.MULTILINE)


def test_code_keeps_to_its_processor(tmp_path: Path) -> None:
    """Big-endian loads are movbe only where that exists."""
    objdump = need("objdump")
    for choice, expected in (("generic", False), ("x86-64-v2", False), ("x86-64-v3", True)):
        library = tmp_path / f"{choice}.so"
        words = ("--cpu", choice, "--opt", "1", "--jobs", "1")
        assert mipsrec("build", PREBUILT / "mips" / "crc32.elf", "-o", library, *words).returncode == 0
        code = subprocess.run([objdump, "-d", library], capture_output=True, text=True, check=True).stdout
        assert ("movbe" in code) == expected


def test_runs_everywhere(tmp_path: Path) -> None:
    result = mipsrec("run", "--cpu", "generic", SAMPLE)
    assert (result.returncode, result.stdout) == (0, "Hello from MIPS.\n")


def test_native_is_what_this_machine_has(monkeypatch: pytest.MonkeyPatch) -> None:
    for number, level in enumerate(this_target().levels, 1):
        monkeypatch.setattr(cpu, "native_level", lambda number=number: number)
        assert cpu.chosen_cpu("native") == cpu.Cpu(number, level.name)
        assert cpu.chosen_cpu("generic") == cpu.least_cpu()
    with pytest.raises(BuildError, match="--cpu native"):
        cpu.chosen_cpu("of-another-kind")


def test_machine_without_a_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "pdp11")
    with pytest.raises(BuildError, match="pdp11.*add-a-host"):
        this_target.__wrapped__()


def test_library_for_a_better_processor(tmp_path: Path) -> None:
    library = hand_library.build(tmp_path, SAMPLE, {}, cpu_level=9)
    assert_one_line(mipsrec("run", "--library", library, SAMPLE), "x86-64-v9", "--cpu generic")


def test_damaged_library(tmp_path: Path) -> None:
    library = hand_library.build(tmp_path, SAMPLE, {}, layout=1)
    assert_one_line(mipsrec("info", library), "another layout")
