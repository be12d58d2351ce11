"""Guests that go wrong end by the signal the kernel would send, recompiled or interpreted; the host never fails."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.commandline import command, environment, heed_interrupts, mipsrec, wait_for_processor_time
from tests.support.compiled import BARE, ORDERS, compile_guest

pytestmark = pytest.mark.sampled

GUEST = """
    .set noreorder
    .text
    .globl __start
__start:                        # the first letter of the first argument chooses
    lw $t0, 8($sp)
    lbu $t0, 0($t0)
    addiu $t0, $t0, -'a'
    lui $t1, %hi(table)
    sll $t0, $t0, 2
    addu $t1, $t1, $t0
    lw $t9, %lo(table)($t1)
    jalr $t9
    nop
    addiu $v0, $zero, 4001      # exit(7)
    syscall
    addiu $a0, $zero, 7

nowhere:
    lui $t9, 0x1234
    jr $t9
    nop
data:                           # words that no row matches, in a segment that may be executed or not
    lui $t9, %hi(words)
    addiu $t9, $t9, %lo(words)
    jr $t9
    nop
recursion:
    addiu $sp, $sp, -32
    sw $ra, 28($sp)
    jal recursion
    nop
    lw $ra, 28($sp)
    jr $ra
    addiu $sp, $sp, 32
forever:
    addiu $t0, $t0, 1
    b forever
    addu $t1, $t1, $t0
division:                       # as compilers divide
    div $zero, $a0, $zero
    teq $zero, $zero, 7
    mflo $v0
    jr $ra
    nop
undefined:
    addiu $t0, $zero, 1
    .word 0x7000003b
    jr $ra
    nop
text:
    lui $t0, %hi(text)
    sw $zero, %lo(text)($t0)
    jr $ra
    nop
misaligned:
    lui $t9, %hi(misaligned)
    addiu $t9, $t9, %lo(misaligned)
    addiu $t9, $t9, 2
    jr $t9
    nop
mutual:                         # frames of the host only: nothing is stored in the guest's
    addiu $t0, $t0, 1
    jal other
    nop
    addiu $t0, $t0, 2
    jr $ra
    nop
other:
    addiu $t0, $t0, 3
    jal mutual
    nop
    addiu $t0, $t0, 4
    jr $ra
    nop
    .data
table:
    .word nowhere, data, recursion, forever, division, undefined, text, misaligned, mutual
words:
    .word 0x70000007, 0x70000007
"""

ENDS = {
    "nowhere": ("a", signal.SIGSEGV),
    "recursion": ("c", signal.SIGSEGV),
    "division": ("e", signal.SIGFPE),
    "undefined": ("f", signal.SIGILL),
    "text": ("g", signal.SIGSEGV),
    "misaligned": ("h", signal.SIGBUS),
}
WAYS = ("interpreted", "opt 0", "opt 2", "opt light")
MODELS = ("paged", "thunk")
CASES = [*((name, way) for name in ENDS for way in WAYS), *((n, way) for n in ("recursion", "text") for way in MODELS)]


class Built:
    """The guest for one byte order, and how to run it each way."""

    def __init__(self, folder: Path, byte_order: str) -> None:
        self.path = compile_guest(folder, byte_order, GUEST, *BARE, language="assembler")
        self._folder = folder
        self._words = {"interpreted": ("--tier", "interp")}

    def words(self, way: str, letter: str) -> list[object]:
        """Return the arguments of `mipsrec` that run the guest, building a library the first time."""
        if way not in self._words:
            library = self._folder / f"{way}.so"
            options = ["--opt", way.removeprefix("opt ")] if way.startswith("opt") else ["--memory", way, "--opt", "1"]
            result = mipsrec("build", self.path, "-o", library, "--jobs", "1", *options)
            assert result.returncode == 0, result.stderr
            self._words[way] = ("--library", str(library))
        return ["run", *self._words[way], self.path, letter]


@pytest.fixture(scope="module", params=list(ORDERS))
def guest(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Built:
    return Built(tmp_path_factory.mktemp("guest"), request.param)


@pytest.mark.parametrize(("name", "way"), CASES)
def test_signals(guest: Built, name: str, way: str) -> None:
    letter, expected = ENDS[name]
    result = mipsrec(*guest.words(way, letter))
    assert (result.returncode, result.stdout, result.stderr) == (-expected, "", "")


@pytest.mark.parametrize("way", WAYS)
def test_data_that_is_executed(guest: Built, way: str) -> None:
    """The segment is executable where the ELF file asks for an executable stack, as on Linux."""
    result = mipsrec(*guest.words(way, "b"))
    assert result.returncode in (-signal.SIGILL, -signal.SIGSEGV) and result.stderr == ""
    assert result.returncode == mipsrec(*guest.words("interpreted", "b")).returncode


@pytest.mark.parametrize("way", ["interpreted", "opt 0", "opt 2"])
def test_interrupt_of_an_endless_loop(guest: Built, way: str) -> None:
    process = subprocess.Popen(command(*guest.words(way, "d")), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               start_new_session=True, env=environment(), preexec_fn=heed_interrupts)  # fmt: skip
    try:
        deadline = time.monotonic() + 600
        while Path(f"/proc/{process.pid}/comm").read_text() != f"{guest.path.name}\n":
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)
        wait_for_processor_time(process.pid, 0.3)
        os.killpg(process.pid, signal.SIGINT)
        output, errors = process.communicate(timeout=600)
        assert (process.returncode, output, errors) == (-signal.SIGINT, b"", b"")
    finally:
        process.kill()


def test_shells_see_the_usual_status(guest: Built) -> None:
    words = command(*guest.words("opt 0", "a"))
    result = subprocess.run(["sh", "-c", '"$@"; echo $?', "sh", *words], capture_output=True, text=True,
                            env=environment())  # fmt: skip
    assert result.stdout == "139\n"
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("way", ["opt 0", "opt 2", "thunk"])
def test_recursion_on_the_hosts_stack_alone(guest: Built, way: str) -> None:
    """Endless calls that store nothing in the guest's memory fill the host's stack: the guest's SIGSEGV."""
    result = mipsrec(*guest.words(way, "i"))
    assert (result.returncode, result.stdout, result.stderr) == (-signal.SIGSEGV, "", "")
