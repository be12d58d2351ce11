"""The page about profiling works as it is printed: its commands run one after the other, and say what it shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commandline import environment
from tests.support.hosts import plain_host
from tests.support.paths import ROOT
from tests.support.tools import need

PAGE = ROOT / "docs/usage/profile.md"
LINES = [line.removeprefix("    ") for line in PAGE.read_text().splitlines() if line.startswith("    ")]
NAMES = re.compile(r"'?(quicksort|compare_name|memcmp)\b")


def sessions() -> list[tuple[str, list[str], list[str]]]:
    """Return (command, what is typed into it, what the page shows of it)."""
    found: list[tuple[str, list[str], list[str]]] = []
    for line in LINES:
        if line.startswith("$ "):
            found.append((line[2:], [], []))
        elif line.startswith("(gdb) "):
            found[-1][1].append(line[6:])
        else:
            found[-1][2].append(line)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder as the page takes it: with the samples, and with the commands of an installation in PATH."""
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/mipsrec-host").symlink_to(plain_host())
    (tmp_path / "bin/mipsrec").write_text(f'#!/bin/sh\nexec {sys.executable} -m mipsrec "$@"\n')
    (tmp_path / "bin/mipsrec").chmod(0o755)
    return tmp_path


def test_the_page(folder: Path) -> None:
    for tool, package in (("mipsel-linux-gnu-gcc", "gcc-mipsel-linux-gnu"), ("gdb", "gdb-multiarch")):
        need(tool, package)
    changes = environment(MIPSREC_SERVER="0")
    changes["PATH"] = f"{folder / 'bin'}:{changes['PATH']}"
    commands = sessions()
    assert len(commands) == 13 and sum(bool(typed) for _, typed, _ in commands) == 1
    perf = subprocess.run("perf record -o /dev/null true", shell=True, capture_output=True).returncode == 0
    for command, typed, shown in commands:
        if command.startswith("perf") and not perf:
            continue  # the kernel or the machine has none
        if command.startswith("python3 "):
            command = command.replace("python3", sys.executable, 1)
        command = command.replace("callbacks 4000", "callbacks 1000")  # as quick as it may be
        if typed:
            (folder / "typed").write_text("".join(f"{line}\n" for line in (*typed, "kill", "quit")))
        with open(folder / "typed" if typed else os.devnull) as source:  # perf would read its data from a pipe
            result = subprocess.run(command, shell=True, cwd=folder, env=changes, stdin=source, capture_output=True,
                                    text=True, timeout=600)  # fmt: skip
        said = result.stdout + result.stderr
        assert result.returncode == 0 and "mipsrec: " not in said, (command, said)
        for name in NAMES.findall("\n".join(shown)):
            assert name in said, (command, said)
    assert (folder / "report.json").stat().st_size > 1000
