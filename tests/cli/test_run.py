"""`mipsrec run`: what goes through to the guest and comes back, and which libraries are kept."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path

import pytest

from tests.support.commandline import command, environment, mipsrec
from tests.support.compiled import compile_guest
from tests.support.hosts import cache_with_host
from tests.support.paths import GUESTS


def run_guest(guest: Path, *words: object, text: str = "", **changes: str | None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command("run", *words), input=text, capture_output=True, text=True, timeout=600, env=environment(**changes)
    )


@pytest.mark.parametrize("tier", ["aot", "interp"])
def test_streams_and_status(guest: Path, tier: str) -> None:
    """Input, output and status 7 pass through, and words that look like options belong to the guest."""
    words = ["--help", "-E", "--tier", "interp", "--", "-", ""]
    result = run_guest(guest, "--tier", tier, guest, *words, text="some\ninput" * 30)
    assert result.stdout == "".join(f"{word}\n" for word in words) + "some\ninput" * 30
    assert (result.returncode, result.stderr) == (7, "")


@pytest.mark.parametrize("tier", ["aot", "interp"])
def test_signals(guest: Path, tier: str) -> None:
    result = run_guest(guest, "--tier", tier, guest, "!")
    assert (result.returncode, result.stdout) == (-signal.SIGSEGV, "")
    line = " ".join(command("run", "--tier", tier, guest, "!")) + "; echo $?"
    shell = subprocess.run(["sh", "-c", line], capture_output=True, text=True, env=environment())
    assert shell.stdout.splitlines()[-1] == str(128 + signal.SIGSEGV)


def test_environment(tmp_path: Path) -> None:
    source = (GUESTS / "surroundings.c").read_text()
    guest = compile_guest(tmp_path, "little", source, "-static")
    words = ["run", "--tier", "interp", "-E", "COLOUR=dark=red", "-E", "HOME", "-E", "EMPTY=", guest]
    result = mipsrec(*words, "COLOUR", "HOME", "EMPTY", "GIVEN", GIVEN="yes")
    assert result.stdout == "COLOUR=dark=red\nHOME=(none)\nEMPTY=\nGIVEN=yes\n"
    assert result.returncode == 5


def test_libraries_are_kept(guest: Path, tmp_path: Path) -> None:
    """A second run builds nothing; other options, or another program, build another library."""
    folder = cache_with_host(tmp_path / "cache")
    cache = {"MIPSREC_CACHE": str(folder)}

    def kept() -> dict[str, int]:
        return {str(path): path.stat().st_mtime_ns for path in folder.glob("code/*/*/*/*.so")}

    assert run_guest(guest, guest, **cache).returncode == 7
    first = kept()
    assert len(first) == 1
    assert run_guest(guest, guest, **cache).returncode == 7
    assert kept() == first
    for count, words in enumerate((["--opt", "0"], ["--memory", "thunk"], ["--calls", "thunked"]), 2):
        assert run_guest(guest, *words, guest, **cache).returncode == 7
        assert len(kept()) == count and first.items() <= kept().items()
    changed = tmp_path / "changed"
    changed.write_bytes(guest.read_bytes() + b"\0")
    changed.chmod(0o755)
    assert run_guest(changed, changed, **cache).returncode == 7
    assert len(kept()) == 5


def test_stats_and_strace(guest: Path) -> None:
    result = run_guest(guest, "--strace", "--stats", guest)
    assert result.returncode == 7
    assert "read(0" in result.stderr and "exit(7" in result.stderr and "instructions interpreted" in result.stderr


def test_version() -> None:
    assert re.fullmatch(r"mipsrec \d+\.\d+\.\d+\n", mipsrec("--version").stdout)
