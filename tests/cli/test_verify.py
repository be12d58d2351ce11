"""`mipsrec verify`: its options, its exit status, what it refuses, and its progress."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
from pathlib import Path

from mipsrec.commands.verify import COMPARED
from tests.cli.verifying import AGREES, FREESTANDING, STATUS
from tests.support.commandline import assert_one_line, command, environment, mipsrec
from tests.support.compiled import BARE, compile_guest
from tests.support.hosts import plain_host
from tests.support.paths import PREBUILT


def test_refusals(tmp_path: Path) -> None:
    plain_host()
    program = compile_guest(tmp_path, "big", FREESTANDING, *BARE)
    assert_one_line(mipsrec("verify", "--function", "leaf,nonesuch", program), "nonesuch", "mipsrec disasm")
    assert_one_line(mipsrec("verify", "--function", "leaf", "--library", "x.so", program), "give one of them", status=2)


def test_registers_that_the_host_knows() -> None:
    """Those that the command lets through are the host's, each once."""
    names = [name for alike in COMPARED for name in alike]
    ignored = [word for name in names for word in ("--verify-ignore", name)]
    result = subprocess.run([plain_host(), *ignored, "--version"], capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "") and len(set(names)) == 32 + 2 + 7 + 32 + 8 + 2


def test_only_some_functions(tmp_path: Path) -> None:
    """The rest is interpreted: two functions have one entry each, and are seen at their calls and returns."""
    plain_host()
    guest = compile_guest(tmp_path, "little", FREESTANDING, *BARE)
    result = mipsrec("verify", "--function", "leaf,mix", "--jobs", "1", guest)
    assert result.returncode == STATUS and "; 2 lifted entries used, " in result.stderr, result.stderr


def test_ends_by_a_signal(tmp_path: Path) -> None:
    source = FREESTANDING.replace('"syscall"', '"break 7"')
    result = mipsrec("verify", "--jobs", "1", compile_guest(tmp_path, "little", source, *BARE))
    assert result.returncode == 128 + signal.SIGFPE and result.stderr.startswith(AGREES), result


ENABLES_EXCEPTIONS = """
__attribute__((noipa)) static int pass(int control) {
    int passed = 0;
    __asm__ volatile(".set push\\n.set noreorder\\n"
                     "ctc1 $0, $31\\nctc1 %2, $25\\nctc1 %1, $31\\nctc1 $0, $31\\nctc1 %2, $25\\n"
                     "bc1t $fcc5, 1f\\nctc1 %1, $31\\naddiu %0, %0, 1\\n1: addiu %0, %0, 16\\nctc1 $0, $31\\n"
                     ".set pop" : "+r"(passed) : "r"(control), "r"(0x20));
    return passed;
}
__attribute__((used)) void __start(void)
{
    int passed = pass(0) + pass(0x80) + pass(0);
    register int number __asm__("$2") = 4001, status __asm__("$4") = passed;
    __asm__ volatile("syscall" : : "r"(number), "r"(status));
    for (;;) ;
}
"""


def test_enabled_exceptions(tmp_path: Path) -> None:
    """Both sides go on where a ctc1 enables exceptions of the FPU: in straight code, and in a slot."""
    result = mipsrec("verify", "--jobs", "1", compile_guest(tmp_path, "big", ENABLES_EXCEPTIONS, *BARE))
    assert result.returncode == 48 and result.stderr.startswith(AGREES), result


def test_progress_is_for_terminals() -> None:
    """A display where standard error is a terminal, with the guest's own output untouched."""
    plain_host()
    terminal, other_end = pty.openpty()
    words = command("verify", "--jobs", "1", PREBUILT / "mipsel" / "callbacks.elf")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=other_end, env=environment()) as process:
        os.close(other_end)
        seen = b""
        try:
            while data := os.read(terminal, 1 << 16):
                seen += data
        except OSError:
            pass  # the other end is closed
        assert process.stdout is not None and b"verify" not in process.stdout.read()
    assert re.search(rb"verify: .* points", seen) and AGREES.encode() in seen, seen


# ---- equal runs ----
