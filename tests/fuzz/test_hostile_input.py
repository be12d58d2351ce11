"""Broken programs end in one line or in the guest's own signal: a sample of what `make fuzz-input` and fuzz-host do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz import host as fuzz_host
from tests.fuzz import input as fuzz_input
from tests.fuzz.harmless import available
from tests.fuzz.input import Result, Trial
from tests.support.commandline import environment
from tests.support.compiled import ORDERS
from tests.support.hosts import plain_host
from tests.support.paths import ROOT, RUNTIME
from tests.support.tools import compiled, need

COUNT = 160


def test_broken_programs(tmp_path: Path) -> None:
    plain_host()
    for triple in ORDERS.values():
        for compiler in ("gcc", "g++"):
            need(f"{triple}-{compiler}", f"{compiler}-{triple}")
    words = [sys.executable, "-m", "tests.fuzz.input", "--seed", "7", "--count", str(COUNT), "--findings", tmp_path]
    result = subprocess.run(words, capture_output=True, text=True, env=environment())
    assert (result.returncode, result.stderr) == (0, ""), result.stdout + result.stderr
    if available:
        assert result.stdout.endswith(f"{COUNT} mutants, 0 findings\n")


def test_trials_repeat(tmp_path: Path) -> None:
    choices = fuzz_input.programs(tmp_path)
    assert fuzz_input.trial(3, 5, choices) == fuzz_input.trial(3, 5, choices) != fuzz_input.trial(3, 6, choices)


FAULTS = {
    "traceback": ("info", Result(1, errors="Traceback (most recent call last):\n"), "Traceback"),
    "two lines": ("disasm", Result(1, errors="mipsrec: a\nb\n"), "more than one line"),
    "no message": ("info", Result(1), "status 1"),
    "assertion of LLVM": ("build", Result(-signal.SIGABRT), "died of SIGABRT"),
    "slow": ("dump-llvm", Result(0, stopped=True), "too slow"),
    "large": ("build", Result(0, memory_bytes=2 << 30), "2048 MiB"),
    "file left": ("build", Result(1, errors="mipsrec: no\n", left=["output"]), "left behind: output"),
    "host's signal": ("interpret", Result(-signal.SIGSEGV), "the host died of SIGSEGV"),
    "host's own word": (
        "interpret",
        Result(-signal.SIGSEGV, errors="mipsrec-host: internal error\n"),
        "internal error",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_findings_are_found(name: str) -> None:
    kind, result, expected = FAULTS[name]
    assert any(expected in text for text in fuzz_input.faults(Trial(0, 0, kind, (), "", b""), result))


def test_ends_that_are_no_findings() -> None:
    report = "mipsrec-host: the guest dies of signal 11 (SIGSEGV)\n\n\n"
    for kind, result in (
        ("info", Result(1, errors="mipsrec: mutant: is not an ELF file\n")),
        ("interpret", Result(-signal.SIGSEGV, errors=report)),
        ("interpret", Result(-signal.SIGXCPU)),
        ("interpret", Result(77, stopped=True)),
    ):
        assert fuzz_input.faults(Trial(0, 0, kind, (), "", b""), result) == []


FORBIDDEN = """
import os, sys
sys.path.insert(0, sys.argv[1])
from tests.fuzz import harmless
harmless.renounce()
os.kill(os.getpid(), 0)
open(__file__ if "__file__" in globals() else "/dev/null").close()
for attempt in (lambda: os.kill(1, 0), lambda: os.kill(-1, 0), lambda: os.kill(0, 0), os.fork,
                lambda: open("new", "w"), lambda: os.unlink("kept"), lambda: os.rename("kept", "new"),
                lambda: os.truncate("kept", 0), lambda: os.mkdir("new"), lambda: os.chmod("kept", 0)):
    try:
        attempt()
    except PermissionError:
        continue
    print("allowed")
os.execv("/bin/sh", ["sh", "-c", "echo x > new; echo end; exec /bin/rm kept"])
"""


@pytest.mark.skipif(not available, reason="the system call filter is for x86-64")
def test_guests_are_harmless(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("as it was")
    words = [sys.executable, "-c", FORBIDDEN, ROOT]
    result = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert result.stdout == "end\n", result.stderr
    assert os.listdir(tmp_path) == ["kept"] and (tmp_path / "kept").read_text() == "as it was"


def test_loader_under_libfuzzer(tmp_path: Path) -> None:
    """For two seconds; the other targets are only compiled here."""
    compiler = fuzz_host.compiler_with_fuzzer()
    loader, *others = fuzz_host.TARGETS
    assert fuzz_host.fuzz(loader, tmp_path, 2)
    flags = [*fuzz_host.FLAGS, f"-I{tmp_path}", f"-I{RUNTIME}", "-fsyntax-only"]
    for target in others:
        compiled([compiler, *flags, fuzz_host.HARNESSES / f"host_{target.name}.c"])
