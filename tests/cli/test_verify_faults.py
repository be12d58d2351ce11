"""`mipsrec verify`: planted faults are found and named.

Faults are planted in the IR of `dump-llvm`, or in a row of the instruction set while a process builds a library.
"""

from __future__ import annotations

import re
import socket
import subprocess
from pathlib import Path

import pytest

from mipsrec import pipeline
from tests.cli.verifying import AGREES, FREESTANDING, STATUS, build_wrong
from tests.support.commandline import mipsrec
from tests.support.compiled import BARE, ORDERS, compile_guest, readelf_symbols
from tests.support.hosts import plain_host, sanitized_host


class Planted:
    """The guest above and the folder of its IR, in which faults are planted."""

    def __init__(self, folder: Path, byte_order: str, calls: str) -> None:
        self.folder = folder
        self.guest = compile_guest(folder, byte_order, FREESTANDING, *BARE)
        self.ir = folder / "ir"
        pipeline.dump_llvm(pipeline.open_guest(self.guest), self.ir, pipeline.Options(calls=calls))
        self.at = {name: value for name, value, *_ in readelf_symbols(byte_order, self.guest)}

    def edit(self, function: str, pattern: str, replacement: str) -> None:
        """Replace the first match in the IR of a function."""
        (file,) = self.ir.glob(f"*_{function}.ll")
        text, count = re.subn(pattern, replacement, file.read_text(), count=1, flags=re.DOTALL)
        assert count == 1, f"nothing like {pattern} in {file.read_text()}"
        file.write_text(text)

    def verify(self, *options: str) -> subprocess.CompletedProcess[str]:
        """Build the IR as it is now and verify a run."""
        library = self.folder / "lib.so"
        pipeline.build(self.ir, library, pipeline.Options(opt=1, jobs=1))
        return mipsrec("verify", "--library", library, *options, self.guest)


@pytest.fixture
def planted(tmp_path: Path) -> Planted:
    plain_host()
    return Planted(tmp_path, "big", "instrumented")


def assert_found(result: subprocess.CompletedProcess[str], *words: str) -> None:
    """Exit status 1, and a report with these words."""
    assert result.returncode == 1, result
    assert result.stderr.startswith("mipsrec verify: divergence after "), result.stderr
    for word in words:
        assert word in result.stderr, f"no {word} in {result.stderr}"


# ---- faults ----


def test_without_a_fault(planted: Planted) -> None:
    result = planted.verify()
    assert (result.returncode, result.stdout) == (STATUS, "")
    assert result.stderr.startswith(AGREES) and result.stderr.count("\n") == 1


@pytest.mark.parametrize("byte_order", ORDERS)
def test_fault_in_a_row(tmp_path: Path, byte_order: str) -> None:
    """xor computes or. The program's name makes no line of its own."""
    plain_host()
    guest = compile_guest(tmp_path, byte_order, FREESTANDING, *BARE).rename(tmp_path / "a\nmipsrec: b\x1b[31m")
    result = mipsrec("verify", "--library", build_wrong(tmp_path, guest), guest)
    assert_found(result, "in function mix (0x", "registers differ at control at", "; the interpreter's by ")
    assert re.search(r"> [0-9a-f]{8}: [0-9a-f]{8}  xor ", result.stderr), result.stderr
    assert re.search(r"last agreed at the call of 0x[0-9a-f]{8} <mix>", result.stderr), result.stderr
    assert r"/a\nmipsrec: b\x1b[31m" in result.stderr and "\x1b" not in result.stderr, result.stderr


def test_fault_in_a_jump_table(planted: Planted) -> None:
    """Two cases change places: pick goes to the wrong block."""
    case = r"(i32 \d+), (label %b_[0-9a-f]+)"
    planted.edit("pick", rf"(switch i32 [^\n]* \[ ){case} {case}", r"\1\2, \5 \4, \3")
    result = planted.verify()
    assert_found(result, "in function pick (0x", "pick, block", "jr ")


@pytest.mark.parametrize("calls", ["instrumented", "thunked"])
def test_fault_in_the_flush_before_a_call(tmp_path: Path, calls: str) -> None:
    """One argument of a call is not in the state when the callee begins."""
    plain_host()
    planted = Planted(tmp_path, "big", calls)
    planted.edit("chain", r"  store i32 %?\w+, ptr %s\.r5, [^\n]*\n", "")
    result = planted.verify()
    assert_found(result, "in function chain (0x", "registers differ at the call of", "<mix>", "a1*")
    assert re.search(r"  a1 +lifted 0x[0-9a-f]{8}, interpreter 0x[0-9a-f]{8}; the interpreter's by", result.stderr)
    assert f"mipsrec verify --static-lib {planted.folder / 'lib.so'} {planted.guest}" in result.stderr


def test_wrong_store(planted: Planted) -> None:
    """The value a function stores is seen where it returns, with the instruction that stores it."""
    planted.edit("keep", r"(  store i32 )%\d+(, ptr %\d+, align 1)", r"\g<1>77\2")
    result = planted.verify()
    assert_found(result, "in function keep (0x", "memory differs at 0x", "last written by the interpreter at", "sw ")


@pytest.mark.parametrize("options", [(), ("--scan", "1")], ids=["at the end", "at once"])
def test_stray_store(planted: Planted, options: tuple[str, ...]) -> None:
    """What only lifted code stores is found by comparing all memory: when keep returns, or else at the end."""
    address = planted.at["far_away"] + 4100
    planted.edit("keep", r"(\nb_[0-9a-f]+:\n)", rf"\g<1>  store i8 1, ptr inttoptr (i64 {address} to ptr)\n")
    result = planted.verify(*options)
    assert_found(
        result, f"memory differs at 0x{address:08x}", "the interpreter has not written there lately", "--scan 1"
    )
    assert f"in function {'keep' if options else '__start'} (0x" in result.stderr


def test_wrong_branch(planted: Planted) -> None:
    """Lifted code returns where the interpreter calls."""
    planted.edit("pick", r"br i1 (%\w+), label (%\w+), label (%\w+)", r"br i1 \1, label \3, label \2")
    assert_found(planted.verify(), "in function pick (0x", "lifted code came to", "the interpreter to")


FORKS = """
__attribute__((noipa)) int call(int number, int a, int b)
{
    register int v0 __asm__("$2") = number, a0 __asm__("$4") = a, a1 __asm__("$5") = b, a2 __asm__("$6") = 0;
    register int a3 __asm__("$7");
    __asm__ volatile("syscall" : "+r"(v0), "=r"(a3) : "r"(a0), "r"(a1), "r"(a2)
                     : "$1", "$3", "$8", "$9", "$10", "$11", "$12", "$13", "$14", "$15", "$24", "$25", "memory");
    return v0;
}
__attribute__((noipa)) int mix(int a, int b) { return (a ^ b) + 5; }
__attribute__((used)) void __start(void)
{
    int status = 0, child = call(4002, 0, 0);
    if (child == 0)
        call(4001, mix(6, 3), 0);
    call(4007, child, (int)&status);
    call(4001, status >> 8 == 10 ? 3 : 4, 0);
}
"""


def test_forked_children_are_verified(tmp_path: Path) -> None:
    """A fault in the child alone: 6 ^ 3 is 5, the child's status 10."""
    plain_host()
    guest = compile_guest(tmp_path, "big", FORKS, *BARE)
    right = mipsrec("verify", "--jobs", "1", guest)
    assert right.returncode == 3 and right.stderr.startswith(AGREES), right
    assert_found(mipsrec("verify", "--library", build_wrong(tmp_path, guest), guest), "in function mix (0x")


def test_under_sanitizers(tmp_path: Path) -> None:
    """The host itself: its two memories, the logs, and the report of a fault."""
    guest = compile_guest(tmp_path, "little", FREESTANDING, *BARE)
    library = tmp_path / "lib.so"
    pipeline.build(pipeline.open_guest(guest), library, pipeline.Options(0, "paged", "thunked", 1))
    right = run_host(sanitized_host(), library, guest)
    assert (right.returncode, right.stderr) == (STATUS, "")
    result = run_host(sanitized_host(), build_wrong(tmp_path, guest, "paged"), guest)
    assert (result.returncode, result.stderr) == (1, "") and '"kind":"divergence"' in result.stdout


def run_host(host: Path, library: Path, guest: Path) -> subprocess.CompletedProcess[str]:
    """Run the host by itself; the records it sends stand for standard output."""
    here, there = socket.socketpair()
    with here, there:
        words = [host, "--library", library, "--verify", str(there.fileno()), "--verify-scan", "10", guest]
        done = subprocess.run(words, capture_output=True, text=True, pass_fds=(there.fileno(),), timeout=600)
        there.shutdown(socket.SHUT_WR)
        done.stdout = "".join(iter(lambda: here.recv(1 << 16).decode(), ""))
    return done
