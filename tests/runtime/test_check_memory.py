"""Faults of the heap: each is found where it happens, and said with the block and who made and freed it.

That they are faults, and of which kind, GCC's AddressSanitizer says of the native build.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from tests.support.compiled import BARE, ORDERS, binutils, compile_guest
from tests.support.fork_server import fork_server
from tests.support.paths import GUESTS
from tests.support.tiers import BASELINE, INTERPRETED
from tests.support.tools import need

SOURCE = GUESTS / "heap_faults.c"
WAYS = {"interpreted": INTERPRETED, **BASELINE}
FAULTS = {
    1: ("store", "0 bytes behind a block of 21", "heap-buffer-overflow"),
    2: ("load", "1 bytes before a block of 21", "heap-buffer-overflow"),
    3: ("load", "3 bytes into a freed block of 21", "heap-use-after-free"),
    4: ("free of 0x[0-9a-f]+, which is freed already", "0 bytes into a freed block of 21", "double-free"),
    5: ("free of 0x[0-9a-f]+, which is not the beginning", "8 bytes into a block of 21", "bad-free"),
    6: ("store", "0 bytes behind a block of 64", "heap-buffer-overflow"),
    7: ("read has written 30 bytes", "0 bytes behind a block of 21", "heap-buffer-overflow"),
    8: ("store", "0 bytes behind a block of 100", "heap-buffer-overflow"),
    9: ("store", "0 bytes behind a block of 21", "heap-buffer-overflow"),
    10: ("store", "0 bytes behind a block of 300000", "heap-buffer-overflow"),
    11: ("free of 0x[0-9a-f]+, which is not the beginning", "in no block", "bad-free"),
    12: ("store", "0 bytes behind a block of 20", "heap-buffer-overflow"),
    13: ("load", "0 bytes behind a block of 5", "heap-buffer-overflow"),
    14: ("write reads 4 bytes", "0 bytes into a freed block of 21", "heap-use-after-free"),
    15: ("readv has written 30 bytes", "0 bytes behind a block of 21", "heap-buffer-overflow"),
    16: ("writev reads 4 bytes", "0 bytes into a freed block of 21", "heap-use-after-free"),
}
"""By number in guests/heap_faults.c: what is said of the access and of its place, and the kind of AddressSanitizer."""


@pytest.fixture(scope="module", params=ORDERS)
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    options = ("-static", "-g", "-w", "-fno-optimize-sibling-calls")
    return compile_guest(tmp_path_factory.mktemp("heap"), request.param, SOURCE.read_text(), *options)


def checked(host: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([host, "--check-memory", *words], capture_output=True, text=True, timeout=600)


@pytest.mark.parametrize("number", FAULTS)
@pytest.mark.parametrize("way", WAYS)
def test_a_fault(program: Path, host: Path, way: str, number: int) -> None:
    access, place, _ = FAULTS[number]
    result = checked(host, *WAYS[way], program, str(number))
    assert result.returncode == -signal.SIGABRT and "end" not in result.stdout
    assert re.match(rf"mipsrec-host: heap error: {access}", result.stderr), result.stderr
    assert f"that is {place}" in result.stderr or f"that is {place} bytes" in result.stderr
    chain = result.stderr.split("that is")[0]
    assert "<main" in chain
    if "block of" in place:
        made = result.stderr.split("the block was made")[1].split("and freed")[0]
        assert "alloc" in made or "memalign" in made
        assert "<main" in made and ("<make" in made) == place.endswith(("21", "20", "300000"))
    if "freed block" in place:
        assert "<drop" in result.stderr.split("and freed")[1]


def test_lines_of_the_source(program: Path) -> None:
    """`mipsrec run` names them, and ends as the program did."""
    words = [sys.executable, "-m", "mipsrec", "run", "--check-memory", program]
    result = subprocess.run([*words, "3"], capture_output=True, text=True, timeout=600)
    lines = {name: text.count("\n", 0, text.index(part)) + 1 for text in [SOURCE.read_text()] for name, part in
             (("load", "static void load"), ("make", "static char *make"), ("drop", "static void drop"))}  # fmt: skip
    assert result.returncode == -signal.SIGABRT
    for name, line in lines.items():
        assert re.search(rf"<{name}\+?[0-9a-fx]*> of .*, .*guest\.c:{line}$", result.stderr, re.M), result.stderr
    assert subprocess.run([*words, "0"], capture_output=True, timeout=600).returncode == 0


def test_the_same_faults_natively(tmp_path: Path) -> None:
    native = tmp_path / "native"
    compiler = need("gcc", "gcc")
    subprocess.run([compiler, "-O2", "-w", "-fsanitize=address", SOURCE, "-o", native, "-pthread"], check=True)
    run = partial(subprocess.run, capture_output=True, text=True, timeout=600)
    settings = os.environ | {"ASAN_OPTIONS": "detect_leaks=0"}
    for number, (_, _, kind) in FAULTS.items():
        result = run([native, str(number)], env=settings)
        assert result.returncode != 0 and kind in result.stderr.replace("attempting free", "bad-free"), result.stderr
    assert "behaved 0 0" in run([native], env=settings, check=True).stdout


@pytest.mark.parametrize("way", WAYS)
def test_a_program_without_faults(program: Path, host: Path, way: str) -> None:
    result = checked(host, *WAYS[way], program)
    assert (result.returncode, result.stdout, result.stderr) == (0, "behaved 0 0\nend\n", "")


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", ["-no-pie", "-pie"])
def test_a_dynamic_program(tmp_path: Path, host: Path, order: str, kind: str) -> None:
    guest = compile_guest(tmp_path, order, SOURCE.read_text(), kind, "-fPIE" if kind == "-pie" else "-fno-pie", "-w")
    root = ("--sysroot", f"/usr/{ORDERS[order]}")
    assert checked(host, *root, guest).stdout == "behaved 0 0\nend\n"
    for number in (1, 4, 13):
        access, place, _ = FAULTS[number]
        result = checked(host, *root, guest, str(number))
        assert result.returncode == -signal.SIGABRT
        assert re.match(rf"mipsrec-host: heap error: {access}", result.stderr) and place in result.stderr


OWN = """
static unsigned char heap[4096] __attribute__((aligned(8)));
static unsigned used;
__attribute__((noinline)) void *take(unsigned size_bytes) { used += size_bytes; return heap + used - size_bytes; }
__attribute__((noinline)) void give(void *block) { used += block == heap; }
__attribute__((nomips16)) static void leave(int status)
{
    register int v0 __asm__("$2") = 4001;
    register int a0 __asm__("$4") = status;
    __asm__ volatile("syscall" : : "r"(v0), "r"(a0));
}
int __start(void)
{
    volatile unsigned char *block = take(10), *other = take(10);
    block[9] = 1;
    other[0] = 2;
    give((void *)block);
    block[3] = 1;
    leave(0);
    return 0;
}
"""


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", ["-mno-mips16", "-mips16"])
def test_an_allocator_that_is_named(tmp_path: Path, host: Path, order: str, kind: str) -> None:
    """By symbols, or by addresses where there are none; of code of either kind."""
    guest = compile_guest(tmp_path, order, OWN, *BARE, "-march=mips32r2", "-msoft-float", kind, "-fno-builtin")
    found = dict(line.split()[::2][::-1] for line in binutils(order, "nm", guest).splitlines())
    odd = kind == "-mips16"
    named = checked(host, "--allocator", "malloc=take,free=give", guest)
    assert named.returncode == -signal.SIGABRT and "3 bytes into a freed block of 10" in named.stderr
    binutils(order, "strip", guest)
    assert "has no symbol malloc" in checked(host, guest).stderr
    places = ",".join(f"{name}={int(found[own], 16) | odd:#x}" for name, own in (("malloc", "take"), ("free", "give")))
    by_address = checked(host, "--allocator", places, guest)
    assert by_address.returncode == -signal.SIGABRT and "3 bytes into a freed block of 10" in by_address.stderr


def test_wrong_names(program: Path, host: Path) -> None:
    for words, said in (
        (("--allocator", "malok=0x1"), "'malok=0x1' is not NAME=SYMBOL or NAME=0xADDRESS"),
        (("--allocator", "malloc"), "'malloc' is not NAME=SYMBOL"),
        (("--allocator", "malloc=malloc,free=nosuch"), "has no function nosuch, which is to be free"),
        (("--allocator", "malloc=malloc,malloc=main"), "names malloc twice"),
        (("--allocator", "malloc=0x1"), "has no function 0x1, which is to be malloc"),
    ):
        result = checked(host, *words, program)
        assert result.returncode == 1 and said in result.stderr and result.stderr.count("\n") == 1
    alone = subprocess.run([host, "--allocator", "malloc=m", program], capture_output=True, text=True, timeout=60)
    assert alone.returncode != 0 and "give that, too" in alone.stderr


def test_under_a_fuzzer(program: Path, host: Path, tmp_path: Path) -> None:
    """AFL_USE_QASAN asks for it, as in AFL++'s own qemu-user."""
    name = tmp_path / "afl-qemu-trace"
    name.symlink_to(host)
    for number, wanted in (("0", 0), ("3", signal.SIGABRT), ("9", signal.SIGABRT)):
        with fork_server(name, program, number, AFL_USE_QASAN="1") as server:
            statuses = {server.run()[0] for _ in range(3)}
            assert statuses == {wanted} and any(server.run()[1])
