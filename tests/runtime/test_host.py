"""The host by itself: its command line, and how guests end."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest

from tests.runtime.host_guest import FAULTS, Guest, assert_refused, compiled_guest, run
from tests.support.hosts import plain_host, sanitized_host


@pytest.fixture(scope="module", params=["plain", "sanitized"])
def host(request: pytest.FixtureRequest) -> Path:
    return plain_host() if request.param == "plain" else sanitized_host()


@pytest.fixture(scope="module", params=["little", "big"])
def guest(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Guest:
    return Guest(tmp_path_factory.mktemp("guest"), request.param)


# ---- the command line ----


def test_help_and_version(host: Path) -> None:
    assert run(host, "--help").stdout.startswith("usage: mipsrec-host")
    assert run(host, "--version").stdout.startswith("mipsrec-host")


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--nonsense", "x"),
        ("--engine", "jit", "x"),
        ("--window", "low", "x"),
        ("--call", "zz", "x"),
        ("--call", "400000", "1", "-2", "0x3"),
        ("-E", "=x", "y"),
        ("--library",),
    ],
)
def test_usage_errors(host: Path, words: tuple[str, ...]) -> None:
    result = run(host, *words)
    assert result.returncode == 2 and result.stderr.startswith("mipsrec-host: ") and result.stdout == ""


def test_missing_program(host: Path, tmp_path: Path) -> None:
    assert_refused(run(host, tmp_path / "absent"), "absent")


def test_call(host: Path, guest: Guest) -> None:
    result = run(host, "--call", hex(guest.at["add"]), -3, 0x10, guest.path, "--ignored")
    assert (result.returncode, result.stdout) == (0, "v0 = 0x0000000d (13)\n")
    result = run(host, "--call", f"{guest.at['fifth']:x}", 1, 2, 3, 4, "0xffffffff", 6, -7, guest.path)
    assert result.stdout == "v0 = 0xffffffff (-1)\nv1 = 0xfffffff9 (-7)\na0 = 0x00000006 (6)\n"


def test_call_of_no_code(host: Path, guest: Guest) -> None:
    assert_refused(run(host, "--call", "1000", guest.path), "0x00001000")


def test_stats(host: Path, guest: Guest) -> None:
    result = run(host, "--stats", guest.path)
    assert result.returncode == 42
    assert "instructions interpreted" in result.stderr and "1 system calls, 0 of them unknown" in result.stderr


def test_environment(host: Path, tmp_path: Path) -> None:
    guest = compiled_guest(tmp_path, "big", "surroundings")
    options = ["-E", "COLOUR=dark=red", "-E", "HOME", "-E", "EMPTY="]
    result = run(host, *options, guest, "COLOUR", "HOME", "EMPTY", "--stats")
    assert result.stdout == "COLOUR=dark=red\nHOME=(none)\nEMPTY=\n--stats=(none)\n"
    assert result.returncode == 5 and result.stderr == ""


# ---- how guests end ----

ENDS = [
    ("load", (0,), signal.SIGSEGV),
    ("load", (0x12345678,), signal.SIGSEGV),
    ("store", (0x400000, 1), signal.SIGSEGV),  # the text is not writable
    ("load", (0x80000000,), signal.SIGBUS),
    ("store", (0xFFFFFFFF, 1), signal.SIGBUS),
    ("jump", (0x1000,), signal.SIGSEGV),
    ("jump", (0x1002,), signal.SIGBUS),
    ("jump", (6,), signal.SIGBUS),
    ("jump", (0x1001,), signal.SIGSEGV),  # MIPS16 code, as the next one
    ("jump", (1,), signal.SIGSEGV),
    ("overflow", (), signal.SIGFPE),
    ("break7", (), signal.SIGFPE),
    ("break77", (), signal.SIGFPE),
    ("break9", (), signal.SIGTRAP),
    ("trap", (), signal.SIGTRAP),
    ("trap7", (), signal.SIGFPE),
    ("reserved", (), signal.SIGILL),
]


@pytest.mark.parametrize(("name", "arguments", "expected"), ENDS)
def test_fatal_signals(host: Path, guest: Guest, name: str, arguments: tuple[int, ...], expected: int) -> None:
    result = run(host, "--call", hex(guest.at[name]), *arguments, guest.path)
    assert (result.returncode, result.stdout) == (-expected, ""), result
    ends = rf"the function dies of signal \d+ \({signal.Signals(expected).name}\) at pc 0x[0-9a-f]{{8}}, .*"
    assert re.fullmatch(f"mipsrec-host: {ends}\n", result.stderr), result


def test_a_called_function_that_ends_the_program(host: Path, guest: Guest) -> None:
    """Instead of returning; a program that runs as a whole ends without a word, by exit and by signals."""
    result = run(host, "--call", hex(guest.at["finish"]), 7, guest.path)
    assert (result.returncode, result.stdout) == (7, "")
    assert result.stderr == "mipsrec-host: the function ended the program with exit status 7, and did not return\n"
    assert (run(host, guest.path).returncode, run(host, guest.path).stderr) == (42, "")


def test_report(host: Path, guest: Guest) -> None:
    result = run(host, "--report", "--call", hex(guest.at["store"]), 0x123, 0x456, guest.path)
    assert result.returncode == -signal.SIGSEGV
    first, place, *rows, last = result.stderr.splitlines()
    assert place == f"mipsrec-host: that pc is 0x{guest.at['store']:08x} of {guest.path}"
    assert "(" not in "".join(rows)
    assert "SIGSEGV" in first and f"pc 0x{guest.at['store']:08x}" in first and "address 0x00000123" in first
    words = " ".join(rows).split()
    registers = dict(zip(words[::2], words[1::2]))
    assert len(registers) == 34 and registers["a0"] == "00000123" and registers["a1"] == "00000456"
    assert last == f"{guest.at['store']:08x}: ac850000  sw a1, 0(a0)"


@pytest.mark.parametrize("byte_order", ["little", "big"])
def test_caught_faults(host: Path, tmp_path: Path, byte_order: str) -> None:
    guest = compiled_guest(tmp_path, byte_order, "faults")
    result = run(host, guest)
    assert (result.returncode, result.stdout, result.stderr) == (-signal.SIGSEGV, FAULTS, "")
