"""The baseline tier: what it makes of programs, how it is chosen, and the tables that it is made from."""

from __future__ import annotations

import re
import subprocess
from itertools import product
from pathlib import Path

import pytest

from mipsrec.isa import ROWS
from mipsrec.stencils.assembly import assemble
from mipsrec.stencils.catalogue import entries
from mipsrec.stencils.expressions import Expression, explain
from mipsrec.target.machine_code import Unfit
from tests.support.compiled import ORDERS, compile_guest
from tests.support.hosts import sanitized_host
from tests.support.paths import GUESTS, PREBUILT, SAMPLES
from tests.support.sampling import sampled, shared_by_orders

MANY_FUNCTIONS = GUESTS / "many_functions.c"
TARGETS = ("mipsel", "mips")
NAMES = ("callbacks", "floats", "jumptable", "nbody", "recursion", "sha256", "virtual")


def run(*command: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600)


@pytest.mark.parametrize(("name", "target", "threshold"), sampled([*product(NAMES, TARGETS, (1, 3, 255))]))
def test_samples(host: Path, name: str, target: str, threshold: int) -> None:
    """They print what native builds print (samples/expected)."""
    guest = PREBUILT / target / f"{name}.elf"
    result = run(host, "--tier", "baseline", "--threshold", threshold, guest)
    assert (result.returncode, result.stdout) == (0, (SAMPLES / "expected" / f"{name}.txt").read_text()), result.stderr


@pytest.mark.parametrize(("name", "target"), [("floats", "mips"), ("virtual", "mipsel")])
def test_under_sanitizers(name: str, target: str) -> None:
    """There the guest's memory is elsewhere, too, so that other stencils are used."""
    guest = PREBUILT / target / f"{name}.elf"
    result = run(sanitized_host(), "--tier", "baseline", "--threshold", "1", guest)
    assert (result.returncode, result.stdout) == (0, (SAMPLES / "expected" / f"{name}.txt").read_text()), result.stderr


def test_tiers(host: Path) -> None:
    """What a tier does is counted: auto and baseline translate, aot and interp do not."""
    guest = PREBUILT / "mipsel" / "callbacks.elf"
    for tier, translates in (("auto", True), ("baseline", True), ("aot", False), ("interp", False)):
        result = run(host, "--stats", "--tier", tier, guest)
        assert result.returncode == 0 and ("translated" in result.stderr) == translates, result
    assert "translated" in run(host, "--stats", guest).stderr
    assert "translated" not in run(host, "--stats", "--engine", "interp", guest).stderr


@pytest.mark.parametrize("words", [["--tier", "fast"], ["--threshold", "0"], ["--code-cache", "1023"]])
def test_bad_choices(host: Path, words: list[str]) -> None:
    result = run(host, *words, PREBUILT / "mipsel" / "hello.elf")
    assert result.returncode == 2 and result.stderr.count("\n") == 1 and words[0] in result.stderr


CHANGED = r"""
#include <stdio.h>
#include <string.h>
#include <sys/cachectl.h>
#include <sys/mman.h>
#include <unistd.h>

static unsigned code[2][2] = {{0x03e00008, 0x24020001}, {0x03e00008, 0x24020002}}; /* jr ra; addiu v0, zero, N */

int main(void)
{
    char name[] = "/tmp/mipsrec-code-XXXXXX";
    unsigned total = 0, *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int round = 0; round < 40; round++) { /* written where it may not be executed */
        mprotect(page, 4096, PROT_READ | PROT_WRITE);
        memcpy(page, code[round & 1], 8);
        mprotect(page, 4096, PROT_READ | PROT_EXEC);
        for (int call = 0; call < 20; call++)
            total = total * 3 + ((unsigned (*)(void))page)();
    }
    printf("%u\n", total);
    mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
    for (int round = 0; round < 40; round++) {
        memcpy(page, code[round & 1], 8);
        cacheflush((char *)page, 8, BCACHE);
        for (int call = 0; call < 20; call++)
            total = total * 3 + ((unsigned (*)(void))page)();
    }
    printf("%u\n", total);
    int fd = mkstemp(name);
    unlink(name);
    ftruncate(fd, 4096);
    unsigned *written = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    unsigned *executed = mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
    for (int round = 0; round < 40; round++) { /* written by another mapping of the same page */
        memcpy(written, code[round & 1], 8);
        cacheflush((char *)executed, 8, BCACHE);
        for (int call = 0; call < 20; call++)
            total = total * 3 + ((unsigned (*)(void))executed)();
    }
    printf("%u\n", total);
    for (int round = 0; round < 40; round++) { /* mapped over */
        memcpy(written, code[round & 1], 8);
        mmap(executed, 4096, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED, fd, 0);
        for (int call = 0; call < 20; call++)
            total = total * 3 + ((unsigned (*)(void))executed)();
    }
    printf("%u\n", total);
    return 0;
}
"""


def _changed_prints() -> str:
    total, lines = 0, []
    for _ in range(4):
        for turn in range(40):
            for _ in range(20):
                total = (total * 3 + 1 + (turn & 1)) & 0xFFFFFFFF
        lines.append(f"{total}\n")
    return "".join(lines)


@pytest.mark.parametrize("byte_order", ORDERS)
def test_changed_code(host: Path, tmp_path: Path, byte_order: str) -> None:
    """Code is found stale where it is written, by protection, flush, another mapping, and mapping over it."""
    guest = compile_guest(tmp_path, byte_order, CHANGED, "-static", "-w")
    for threshold in (1, 8):
        result = run(host, "--tier", "baseline", "--threshold", threshold, guest)
        assert (result.returncode, result.stdout) == (0, _changed_prints()), (threshold, result)


SLOT_CHANGES_WHAT_THE_BRANCH_READS = r"""
#include <stdio.h>

int main(void)
{
    int left, rounds;
    for (int count = 0; count < 20; count++) {
        __asm__(".set push\n.set noreorder\n"
                "move $t1, %2\nmove $t2, $zero\n"
                "1: addiu $t2, $t2, 1\n"
                "bgtz $t1, 1b\n"
                "addiu $t1, $t1, -1\n"
                "addiu $t3, $t2, 0\n"
                "bgtz $t1, 2f\n"
                "addiu $t1, $t1, 7\n"
                "addiu $t2, $t2, 5\n"
                "2: move %0, $t1\nmove %1, $t2\n.set pop"
                : "=r"(left), "=r"(rounds) : "r"(count) : "$t1", "$t2", "$t3");
        printf("%d %d\n", left, rounds);
    }
    return 0;
}
"""


@pytest.mark.parametrize("byte_order", ORDERS)
def test_slot_on_both_ways(host: Path, tmp_path: Path, byte_order: str) -> None:
    """The slot of such a branch is executed once, from the register's value, whichever way the branch goes."""
    guest = compile_guest(tmp_path, byte_order, SLOT_CHANGES_WHAT_THE_BRANCH_READS, "-static", "-w")
    result = run(host, "--tier", "baseline", "--threshold", "1", guest)
    assert (result.returncode, result.stdout) == (0, "".join(f"6 {count + 6}\n" for count in range(20)))


@pytest.mark.parametrize("byte_order", ORDERS)
def test_full_cache(host: Path, tmp_path: Path, byte_order: str) -> None:
    """The oldest code goes, whatever threads execute meanwhile; as much is made as is asked for."""
    guest = compile_guest(tmp_path, byte_order, MANY_FUNCTIONS.read_text(), "-static", "-pthread")
    ways = (host, 3000, 1), (host, 4000, 8), (sanitized_host(), 1000, 1)
    for runs, count, threshold in shared_by_orders(ways, byte_order):
        words = ["--tier", "baseline", "--stats", "--code-cache", "1024", "--threshold", threshold]
        result = run(runs, *words, guest, count, 4)
        assert (result.returncode, result.stdout) == (0, "0 wrong\n"), (threshold, result)
        made = re.search(r"units to (\d+) bytes", result.stderr)
        assert made and int(made[1]) > 4 << 20, result


def test_every_row_is_known() -> None:
    """Rows without a stencil are those that the interpreter performs, and no others."""
    known = {entry.name for entry in entries()}
    missing = {row.name for row in ROWS} - known
    assert missing == {"j", "jal", "syscall", "break"}


def test_expressions_explain_what_a_compiler_made_of_them() -> None:
    samples = [[Expression(5, "a"), Expression(9, "b")], [Expression(7, "a"), Expression(30, "b")]]
    assert explain([6, 8], samples, 0xFF) == "(a + 1)"
    assert explain([23, 2], samples, 0xFF) == "(32 - b)"
    assert explain([1, 2], samples, 0xFF) is None
    assert (Expression(3, "x") << 2 | 1).c == "((uint32_t)((uint64_t)x << 0x2u) | 0x1u)"


def test_code_ends_by_falling_through() -> None:
    """jne to a jump to `leave`, then the jump to `next`: one jump under a condition is left."""
    code = bytes.fromhex("4139d5 7505 e900000000 e900000000")
    assembled = assemble(code, {6: "next", 11: "leave"})
    assert assembled.code == bytes.fromhex("4139d5 0f8500000000") and assembled.exits == ((5, "leave"),)
    inverted = assemble(bytes.fromhex("4139d5 0f8400000000 e900000000"), {5: "next", 10: "taken"})
    assert inverted.code == bytes.fromhex("4139d5 0f8500000000") and inverted.exits == ((5, "taken"),)
    assert assemble(bytes.fromhex("ffc1 e900000000"), {3: "next"}).code == bytes.fromhex("ffc1")
    with pytest.raises(Unfit):
        assemble(bytes.fromhex("e800000000"), {1: "somewhere"})
