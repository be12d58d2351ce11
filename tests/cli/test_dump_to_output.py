"""`dump-llvm` without -o: one module on standard output, which LLVM reads, for people and for pipes."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import struct
import subprocess
import termios
from itertools import product
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from mipsrec import pipeline
from mipsrec.options import CALL_MODELS, MEMORY_MODELS, Options
from tests.support.commandline import assert_one_line, command, environment, mipsrec
from tests.support.compiled import HELLO, compile_guest
from tests.support.paths import PREBUILT

SAMPLE = PREBUILT / "mips" / "crc32.elf"


def parsed(text: str) -> llvm.ModuleRef:
    module = llvm.parse_assembly(text)
    module.verify()
    return module


def defined(text: str) -> set[str]:
    return {function.name for function in parsed(text).functions if not function.is_declaration}


def lifted_symbols(guest: pipeline.Guest) -> set[str]:
    return {callee.symbol for callee in guest.starts.values()}


@pytest.mark.parametrize("name", ["mips/virtual.elf", "mipsel/floats.elf", "mips/hello.elf"])
def test_the_module_has_all_functions(name: str) -> None:
    result = mipsrec("dump-llvm", PREBUILT / name)
    guest = pipeline.open_guest(PREBUILT / name)
    assert (result.returncode, result.stderr) == (0, "")
    assert lifted_symbols(guest) < defined(result.stdout)
    assert result.stdout == "".join(pipeline.llvm_module(guest))


def test_code_that_may_be_anywhere(tmp_path: Path) -> None:
    """The pool of guest pcs and the word of the bias are there once."""
    guest = pipeline.open_guest(compile_guest(tmp_path, "little", HELLO, "-fPIC", "-pie"))
    text = "".join(pipeline.llvm_module(guest))
    assert lifted_symbols(guest) < defined(text)
    assert text.count("@mr_delta = ") == 1 and "@pc." in text


def test_every_model_can_be_printed(guest: Path) -> None:
    opened = pipeline.open_guest(guest)
    for memory, calls in product(MEMORY_MODELS, CALL_MODELS):
        text = "".join(pipeline.llvm_module(opened, Options(memory=memory, calls=calls)))
        assert lifted_symbols(opened) < defined(text)


def test_values_are_numbered_without_gaps() -> None:
    """LLVM before 19 takes no other."""
    for body in mipsrec("dump-llvm", SAMPLE).stdout.split("\ndefine ")[1:]:
        if " @lookup(" in body:
            continue
        numbers = [int(number) for number in re.findall(r"^  %(\d+) = ", body, re.MULTILINE)]
        assert numbers == list(range(len(numbers))), body[:200]


@pytest.mark.parametrize("level", ["light", "auto"])
def test_the_optimized_module(level: str) -> None:
    """Functions of all modules of a build are in it, once, without what only unoptimised code has."""
    result = mipsrec("dump-llvm", SAMPLE, "--optimize", "--opt", level, "--jobs", "2")
    assert (result.returncode, result.stderr) == (0, "")
    symbols = lifted_symbols(pipeline.open_guest(SAMPLE))
    assert symbols <= defined(result.stdout) and "alloca i32" not in result.stdout


def test_some_functions_in_one_module() -> None:
    starts = sorted(pipeline.open_guest(SAMPLE).starts)[:2]
    for more in ((), ("--optimize",)):
        result = mipsrec("dump-llvm", SAMPLE, "--function", ",".join(f"{start:x}" for start in starts), *more)
        names = {name for name in defined(result.stdout) if re.fullmatch(r"fn_[0-9a-f]{8}", name)}
        assert names == {f"fn_{start:08x}" for start in starts}
    assert_one_line(mipsrec("dump-llvm", SAMPLE, "--function", "nothing"), str(SAMPLE), "nothing")


@pytest.mark.parametrize("more", [(), ("--optimize",)], ids=["plain", "optimize"])
def test_a_reader_may_leave(more: tuple[str, ...]) -> None:
    """As after `| head -1`: what is to be written does not fit into the pipe."""
    words = command("dump-llvm", SAMPLE, *more)
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True, env=environment()) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == -signal.SIGPIPE


@pytest.mark.parametrize("words", [("dump-llvm", SAMPLE), ("info", SAMPLE), ("disasm", SAMPLE), ("run", "--help")])
def test_a_full_disk_is_one_line(words: tuple[str | Path, ...]) -> None:
    with open("/dev/full", "w") as full:
        result = subprocess.run(command(*words), stdout=full, stderr=subprocess.PIPE, text=True, env=environment())
    assert result.stderr == "mipsrec: standard output cannot be written (No space left on device)\n"
    assert result.returncode == 1


def test_a_closed_output_is_one_line() -> None:
    result = mipsrec("dump-llvm", SAMPLE, before=lambda: os.close(1))
    assert_one_line(result, "standard output cannot be written (Bad file descriptor)")


def _on_a_terminal(both: bool) -> tuple[str, str]:
    """Return what dump-llvm writes to a terminal on standard error, or `both`, and to a pipe."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 0, 0, 0, 0))  # it knows no size
    shown = bytearray()
    output = theirs if both else subprocess.PIPE
    with subprocess.Popen(command("dump-llvm", SAMPLE), stdout=output, stderr=theirs, env=environment()) as process:
        os.close(theirs)
        printed = process.stdout.read().decode() if process.stdout is not None else ""
        try:
            while data := os.read(ours, 1 << 16):
                shown += data
        except OSError:  # the other end is closed
            pass
    os.close(ours)
    assert process.returncode == 0
    return shown.decode(), printed


def test_a_bar_for_people() -> None:
    shown, printed = _on_a_terminal(both=False)
    assert "dump-llvm: " in shown and "\r" in shown
    assert printed == mipsrec("dump-llvm", SAMPLE).stdout


def test_the_bar_leaves_the_text_alone() -> None:
    shown, _ = _on_a_terminal(both=True)
    assert "dump-llvm: " in shown
    lines = re.sub(r"\r[^\r\n]*(?=\r)", "", shown.replace("\r\n", "\n")).replace("\r", "").split("\n")
    assert set(mipsrec("dump-llvm", SAMPLE).stdout.split("\n")) <= set(lines)
