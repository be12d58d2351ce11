"""`mipsrec profile`: what it shows, where, and with which status."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from mipsrec.elf import load_elf
from tests.support.commandline import (
    assert_one_line,
    command,
    environment,
    heed_interrupts,
    mipsrec,
    wait_for_processor_time,
)
from tests.support.compiled import ORDERS, binutils, compile_guest
from tests.support.paths import PREBUILT

SOURCE = """
static int number(const char *digits) { int n = 0; while (*digits) n = 10 * n + *digits++ - '0'; return n; }
static unsigned words[64];
__attribute__((noipa)) unsigned work(unsigned rounds)
{
    unsigned sum = 1;
    for (unsigned i = 0; i < rounds; i++)
        sum = sum * 1664525 + (words[i & 63] += sum);
    return sum;
}
__attribute__((noipa)) static long call(long number, long a, const void *b, long c)
{
    register long v0 __asm__("$2") = number, a0 __asm__("$4") = a, a2 __asm__("$6") = c;
    register const void *a1 __asm__("$5") = b;
    register long a3 __asm__("$7");
    __asm__ volatile("syscall" : "+r"(v0), "=r"(a3) : "r"(a0), "r"(a1), "r"(a2) : "memory", "$1", "$3", "$8", "$9",
                     "$10", "$11", "$12", "$13", "$14", "$15", "$24", "$25", "hi", "lo");
    return v0;
}
__attribute__((used)) unsigned idle(void) { return words[0]; }
__attribute__((used)) void begin(int count, char **arguments)
{
    call(4004, 1, "out\\n", 4);
    for (int millions = number(arguments[1]); millions != 0; millions--)
        work(1000000);
    call(4001, number(arguments[2]), 0, 0);
}
__asm__(".globl __start\\n.type __start, @function\\n"
        "__start: lw $4, 0($29)\\naddiu $5, $29, 4\\naddiu $29, $29, -32\\nj begin\\n");
"""


@pytest.fixture(scope="module", params=ORDERS)
def guest(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Writes a line, works for as many million rounds as the first argument says, and ends with the second."""
    options = ("-nostdlib", "-static", "-mno-abicalls", "-fno-pic", "-G0")
    return compile_guest(tmp_path_factory.mktemp(request.param), request.param, SOURCE, *options)


def test_report(guest: Path, tmp_path: Path) -> None:
    """Of a run, on standard error: the program's own output and status are untouched. Then of the file."""
    profile = tmp_path / "out.prof"
    result = mipsrec("profile", "-o", profile, guest, "300", "7")
    assert (result.returncode, result.stdout) == (7, "out\n"), result
    assert re.match(rf"{re.escape(str(guest))}: [\d,]+ samples in \d+\.\d\d s of processor time; ", result.stderr)
    assert re.search(r"^ *\d+\.\d\d +\d+  work +lifted$", result.stderr, re.MULTILINE)
    assert re.search(r"^[0-9a-f]{8} <work>: (100|9\d)\.\d\d %$", result.stderr, re.MULTILINE)
    assert re.search(r"^ +\d+\.\d\d %  [0-9a-f]{8}: [0-9a-f]{8}  \w+ ", result.stderr, re.MULTILINE)
    again = mipsrec("profile", "--from", profile, guest)
    assert (again.returncode, again.stdout, again.stderr) == (0, result.stderr, "")
    alone = mipsrec("profile", "--from", profile)
    assert (alone.returncode, alone.stdout, alone.stderr) == (0, result.stderr, "")
    moved = tmp_path / "moved.prof"
    moved.write_text(profile.read_text().replace(str(guest), str(tmp_path / "gone")))
    assert_one_line(mipsrec("profile", "--from", moved), f"its program {tmp_path / 'gone'} is gone")
    assert mipsrec("profile", "--from", moved, guest).returncode == 0


def test_json(guest: Path, tmp_path: Path) -> None:
    """A function that was asked for is shown even when it never ran."""
    profile = tmp_path / "out.prof"
    assert mipsrec("run", "--profile", profile, guest, "300", "0").returncode == 0
    options = ("--json", "--top", "1", "--function", "idle", "--function", "work")
    data = json.loads(mipsrec("profile", "--from", profile, *options, guest).stdout)
    assert (data["identity"], data["rate"]) == (load_elf(guest).identity, 1000)
    assert sum(data["engines"].values()) == data["samples"] > 50
    work, idle = data["functions"]
    assert (work["name"], idle["name"], idle["samples"]) == ("work", "idle", 0)
    assert work["samples"] == sum(block["samples"] for block in work["blocks"]) == sum(work["engines"].values())
    for block in work["blocks"]:
        assert block["samples"] == sum(instruction["samples"] for instruction in block["instructions"])
        assert block["instructions"][0]["pc"] == block["start"]


def test_interpreted_and_stripped(guest: Path, tmp_path: Path) -> None:
    """Functions without names have their addresses."""
    stripped = tmp_path / "stripped"
    stripped.write_bytes(guest.read_bytes())
    stripped.chmod(0o755)
    binutils("little" if guest.read_bytes()[5] == 1 else "big", "strip", stripped)
    result = mipsrec("profile", "--tier", "interp", stripped, "10", "0")
    assert re.search(r"^ *\d+\.\d\d +\d+  fn_[0-9a-f]{8} +interp$", result.stderr, re.MULTILINE), result


def test_too_short(guest: Path) -> None:
    result = mipsrec("profile", guest, "0", "3")
    assert (result.returncode, result.stdout) == (3, "out\n")
    assert result.stderr == (
        f"mipsrec profile: {guest} ended before a sample was taken: give it more to do, as samples are some "
        "milliseconds apart\n"
    )


def test_interrupted(guest: Path) -> None:
    """The way to profile what does not end."""
    words = command("profile", guest, "4000000", "0")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(),
                          start_new_session=True, preexec_fn=heed_interrupts) as process:  # fmt: skip
        assert process.stdout is not None and process.stdout.readline() == "out\n"
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        wait_for_processor_time(int(children[0]), 0.5)
        for number in (process.pid, *map(int, children)):  # as the terminal does
            os.kill(number, signal.SIGINT)
        output, errors = process.communicate(timeout=600)
    assert (process.returncode, output) == (128 + signal.SIGINT, "")
    assert re.search(r"^ *\d+\.\d\d +\d+  work +lifted$", errors, re.MULTILINE), errors


def test_refusals(guest: Path, tmp_path: Path) -> None:
    profile = tmp_path / "out.prof"
    assert mipsrec("run", "--profile", profile, guest, "100", "0").returncode == 0
    result = mipsrec("profile", "--from", profile, PREBUILT / "mips" / "hello.elf")
    assert_one_line(result, "is of another program than")
    assert_one_line(mipsrec("profile", "--from", profile, guest, "1"), "--from", "arguments", status=2)
    assert_one_line(mipsrec("profile", "--from", tmp_path / "none", guest), "cannot be read")
    assert_one_line(mipsrec("profile", "--from", profile, "--function", "nobody", guest), "no function nobody")
    result = mipsrec("profile", "-o", tmp_path, guest, "1", "0")
    assert_one_line(result, "is a folder; name a file")
