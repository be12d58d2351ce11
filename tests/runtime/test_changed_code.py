"""Code that a guest makes, and changes, runs as it is from then on, however it was changed (guests/changed).

The guest knows by itself what each changed function must return; it prints "ok", or where something else came out. It
flushes wherever MIPS wants it, with three exceptions that a kernel answers for: pages that become executable by
mprotect, that are mapped anew, and that are moved. Where code changes itself and does not flush, the old code is
accepted once. Two ways (stored, by_read_alone) do not flush, and want new code, as coherent caches and qemu have it.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from mipsrec import pipeline
from tests.support.compiled import ORDERS, QEMU, compile_guest, library_at, readelf_symbols
from tests.support.compiler_runs import run_compiler
from tests.support.hosts import sanitized_host
from tests.support.paths import GUESTS
from tests.support.sampling import shared_by_orders
from tests.support.tiers import AUTO, BASELINE, INTERPRETED
from tests.support.tools import need

pytestmark = pytest.mark.sampled

SOURCES = sorted((GUESTS / "changed").glob("*.c"))
OPTIONS = ("-O1", "-Wall", "-Wextra", "-Werror", "-pthread")
TIERS = {"interpreted": INTERPRETED, "baseline from the 8th time on": ("--tier", "baseline"), **BASELINE, **AUTO}
WRONG_IN_QEMU = {
    "dropped text_dropped": "7.2 has no madvise",
    "text_protected": "it dies (rcu_read_unlock) where a page that it is translating cannot be read",
    "heap": "7.2 keeps what is above the heap's end",
    "file_twice memfd_twice shm_twice file_written by_proc_mem text_by_proc_mem loop_in_shared_page":
        "it sees the guest's stores alone",
    "truncated": "what it has translated of a file stays",
    "by_process_vm_writev by_a_child": "it has no process_vm_writev",
    "system_v_twice": "it dies in some of the runs",
}
SLOW_IN_QEMU = {"data_beside_code", "caller_writes", "changed_in_between", "changed_each_time"}


@dataclass(frozen=True)
class Guest:
    """The program, the names of its ways, and those of its own functions."""

    path: Path
    ways: tuple[str, ...]
    functions: tuple[str, ...]


@pytest.fixture(scope="module")
def guests(tmp_path_factory: pytest.TempPathFactory, host: Path) -> dict[str, Guest]:
    """The guest by byte order."""
    return {order: _build(tmp_path_factory.mktemp(order), order, host) for order in ORDERS}


def _build(folder: Path, order: str, host: Path) -> Guest:
    compiler = need(f"{ORDERS[order]}-gcc", f"gcc-{ORDERS[order]}")
    program, unlinked = folder / "changed", folder / "changed.o"
    run_compiler([compiler, *OPTIONS, *SOURCES, "-r", "-o", unlinked], unlinked)
    run_compiler([compiler, *OPTIONS, unlinked, "-static", "-o", program], program)
    ways = subprocess.run([host, program], capture_output=True, text=True, timeout=600, check=True).stdout.split()
    functions = {name for name, _, size, kind, _ in readelf_symbols(order, unlinked) if kind == "FUNC"}
    return Guest(program, tuple(ways), tuple(sorted(functions)))


def failures(command: list[str | Path], guest: Guest, left_out: set[str] = frozenset()) -> dict[str, str]:
    """Return what the ways printed that did not print "ok"."""
    found = {}
    for way in guest.ways:
        if way not in left_out:
            words = [*command, guest.path, way]
            result = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)
            if (result.returncode, result.stdout) != (0, "ok\n"):
                found[way] = f"{result.stdout}status {result.returncode} {result.stderr}"
    return found


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("tier", TIERS)
def test_changed_code(host: Path, guests: dict[str, Guest], order: str, tier: str) -> None:
    assert failures([host, *TIERS[tier]], guests[order]) == {}


@pytest.mark.parametrize(("order", "tiers"), [("little", AUTO), ("big", {"": (), "aot": ("--tier", "aot")})])
def test_recompiled(host: Path, guests: dict[str, Guest], order: str, tiers: dict[str, tuple[str, ...]]) -> None:
    """Code of the program itself is recompiled, and changes as well: text.c, and for each order half of the others."""
    guest = guests[order]
    text = next(path for path in SOURCES if path.name == "text.c").read_text()
    own = [name for name in guest.functions if re.search(rf"\b{name}\b", text)]
    others = [name for name in guest.functions if name not in own]
    chosen = own + shared_by_orders(others, order)
    library = library_at(pipeline.open_guest(guest.path), guest.path.parent, "light", *chosen)
    for tier, options in tiers.items():
        assert failures([host, *options, "--library", library], guest) == {}, tier


@pytest.mark.parametrize(("order", "tier"), [("little", "interpreted"), ("big", "baseline")])
def test_under_sanitizers(guests: dict[str, Guest], order: str, tier: str) -> None:
    assert failures([sanitized_host(), *TIERS[tier]], guests[order]) == {}


@pytest.mark.parametrize("order", ORDERS)
def test_qemu_agrees(guests: dict[str, Guest], order: str) -> None:
    wrong = set(" ".join(WRONG_IN_QEMU).split())
    assert wrong | SLOW_IN_QEMU < set(guests[order].ways)
    assert failures([need(QEMU[order], "qemu-user")], guests[order], wrong | SLOW_IN_QEMU) == {}


NESTED = """
#include <stdio.h>
static int apply(int (*function)(int), int times)
{
    return times == 0 ? 0 : function(times) + apply(function, times - 1);
}
int main(void)
{
    int total = 0;
    for (int round = 0; round < 100; round++) {
        int added(int value) { return value * round; }
        char room[round * 8 + 8]; /* each round has its trampoline elsewhere */
        __asm__ volatile("" : : "r"(room) : "memory");
        int further(int value) { return value + total % 7 + apply(added, 2); }
        total += apply(added, 10) + apply(further, 3);
    }
    printf("%d\\n", total);
}
"""
"""Functions within functions: gcc writes code for their addresses on the stack, and flushes it."""


@pytest.mark.parametrize("order", ORDERS)
def test_code_on_the_stack(host: Path, tmp_path: Path, order: str) -> None:
    total = 0
    for turn in range(100):
        remainder = total % 7
        total += 55 * turn + 6 + 3 * remainder + 3 * 3 * turn
    guest = compile_guest(tmp_path, order, NESTED, "-static", "-w")
    for command in ([need(QEMU[order], "qemu-user")], *([host, *tier] for tier in TIERS.values())):
        result = subprocess.run([*command, guest], capture_output=True, text=True, timeout=600)
        assert (result.returncode, result.stdout) == (0, f"{total}\n"), (command, result)
