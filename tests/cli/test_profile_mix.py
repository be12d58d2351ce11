"""`mipsrec profile --mix`: shares follow from the code that runs, in each tier; native programs; what is refused."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support import call_filter
from tests.support.assembler import assembled
from tests.support.commandline import (
    assert_one_line,
    command,
    environment,
    heed_interrupts,
    mipsrec,
    wait_for_processor_time,
)
from tests.support.paths import PREBUILT
from tests.support.tools import compiled, need

LOOP = 10  # instructions, with one load and one store; t0 is written twice
SOURCE = """
    .text
__start:
    lui $s0, %hi(words)
    addiu $s0, $s0, %lo(words)
    addu $t0, $zero, $zero
2:  lui $s1, 0x10
1:  addu $t2, $s0, $t0
    lw $t1, 0($t2)
    addiu $t0, $t0, 4
    andi $t0, $t0, 0xfc
    addu $t3, $s0, $t0
    addu $t1, $t1, $t0
    sw $t1, 256($t3)
    addiu $s1, $s1, -1
    bne $s1, $zero, 1b
    nop
    beq $zero, $zero, 2b
    nop
    .data
words:
""" + "    .word 1\n" * 128


@pytest.fixture(scope="module", params=("little", "big"))
def guest(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs for ever in a loop whose instructions are known."""
    path = tmp_path_factory.mktemp(request.param) / "guest"
    path.write_bytes(assembled(SOURCE, request.param))
    path.chmod(0o755)
    return path


def child_named(process: subprocess.Popen[str], program: object) -> int:
    """Return the child that has the name of a program, as soon as there is one."""
    while process.poll() is None:
        for number in map(int, Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()):
            with suppress(OSError):
                if Path(f"/proc/{number}/comm").read_text() == f"{Path(str(program)).name[:15]}\n":
                    return number
        time.sleep(0.02)
    raise AssertionError(process.communicate())


def interrupted(*words: object) -> str:
    """Return what `profile --mix` says of a program that Ctrl-C ends when it has computed for a while."""
    process = subprocess.Popen(
        command("profile", "--mix", *words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=environment(), preexec_fn=heed_interrupts,
    )  # fmt: skip
    with process:
        program = child_named(process, words[-1])
        wait_for_processor_time(program, 0.3)
        for number in (process.pid, program):  # as the terminal does
            os.kill(number, signal.SIGINT)
        output, errors = process.communicate(timeout=600)
    assert (process.returncode, output) == (128 + signal.SIGINT, ""), errors
    return errors


def data_of(*words: object, steps: int = 2000) -> dict[str, Any]:
    options = ("--json", "--windows", "20", "--steps", steps)
    data: dict[str, Any] = json.loads(interrupted(*options, *words))
    assert 1 <= data["windows"] <= 20 and data["instructions"] <= steps * data["windows"]
    assert sum(data["kinds"].values()) == data["instructions"]
    assert data["store_commits"] <= sum(data["stores"].values())
    return data


@pytest.mark.parametrize("tier", ("recompiled", "baseline"))
def test_shares_follow_from_the_code(guest: Path, tier: str) -> None:
    data = data_of("--tier", "baseline" if tier == "baseline" else "auto", guest)
    assert sum(data["tiers"].values()) == data["instructions"]
    assert data["tiers"][tier] > 0.9 * data["instructions"]
    rounds = data["stores"]["guest"]
    assert data["loads"]["guest"] == pytest.approx(rounds, rel=0.02)
    assert data["guest_instructions"][tier] == pytest.approx(LOOP * rounds, rel=0.02)
    assert data["landmarks_unconnected"] < 0.01 * data["landmarks"]


def test_registers_in_the_state(guest: Path) -> None:
    """The interpreter stores each result into the state, and loads each operand from there."""
    data = data_of("--tier", "interp", guest, steps=20000)  # fifty rounds of the loop in a window
    assert data["tiers"]["host"] == data["instructions"]
    rounds = data["stores"]["guest"]
    stores = {name: count["stores"] / rounds for name, count in data["registers"].items()}
    assert stores["t0"] == pytest.approx(2, rel=0.15)
    for name in ("t2", "t3", "s1"):
        assert stores[name] == pytest.approx(1, rel=0.15)
    assert data["registers"]["s0"]["loads"] == pytest.approx(2 * rounds, rel=0.15)
    assert "v0" not in stores


def test_text(guest: Path) -> None:
    text = interrupted(guest)
    assert re.match(rf"{guest}: [\d,]+ host instructions in \d+ windows; (9\d|100)\.\d\d % recompiled code, ", text)
    assert re.search(r"^host instructions for a guest instruction: \d\.\d\d in recompiled code", text, re.MULTILINE)
    assert re.search(r"^ +\d+\.\d\d +\d+\.\d\d  guest memory$", text, re.MULTILINE)
    assert re.search(r"^\d+\.\d\d % stores in \d+\.\d\d % commits: ", text, re.MULTILINE)


NATIVE = """
#include <pthread.h>
#include <unistd.h>
static volatile unsigned long words[64];
static void *work(void *seconds)
{
    (void)seconds;
    for (unsigned long i = 0; ; i++)
        words[i & 63] += i;
    return 0;
}
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    pthread_join(thread, 0);
    return 0;
}
"""


def test_native_program(tmp_path: Path) -> None:
    """Of its threads the one that computes is looked at; it has nothing of a guest."""
    (tmp_path / "native.c").write_text(NATIVE)
    compiled([need("gcc"), "-O1", "-pthread", tmp_path / "native.c", "-o", tmp_path / "native"])
    data = data_of(tmp_path / "native")
    assert data["tiers"] is data["registers"] is data["guest_instructions"] is None
    assert data["loads"]["other"] == pytest.approx(data["stores"]["other"], rel=0.01)
    assert data["kinds"]["branch"] + data["kinds"]["jump"] == pytest.approx(data["stores"]["other"], rel=0.01)
    assert "guest" not in interrupted(tmp_path / "native").replace(str(tmp_path), "")


def test_program_that_ends_at_once() -> None:
    """Its output and status are its own."""
    result = mipsrec("profile", "--mix", PREBUILT / "mipsel" / "hello.elf")
    assert (result.returncode, result.stdout) == (0, "Hello from MIPS.\n")
    assert "host instructions in" in result.stderr or "ended before it was looked at" in result.stderr


@pytest.mark.skipif(not call_filter.available, reason="no system call filter for this machine")
def test_ptrace_is_refused() -> None:
    """Nothing is run then."""
    result = mipsrec("profile", "--mix", PREBUILT / "mipsel" / "hello.elf", before=call_filter.refuse_ptrace)
    assert_one_line(result, "ptrace", "refused", "ptrace_scope", "SYS_PTRACE")


def test_usage(tmp_path: Path) -> None:
    hello = PREBUILT / "mipsel" / "hello.elf"
    assert_one_line(mipsrec("profile", "--steps", "3", hello), "--steps is of --mix", status=2)
    assert_one_line(mipsrec("profile", "--mix", "-o", tmp_path / "out.prof", hello), "-o", "--mix", status=2)
    assert_one_line(mipsrec("profile", "--mix"), "name it", status=2)
    assert_one_line(mipsrec("profile", "--mix", tmp_path / "none"), str(tmp_path / "none"))
