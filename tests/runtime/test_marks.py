"""Marks of executed code: exactly the instructions that run, in both tiers without recompiled code.

What runs of guests/executed.s is known by hand; of other programs qemu says it.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from mipsrec.coverage.marks import ExecutedFile
from mipsrec.elf import load_elf
from tests.support.compiled import BARE, ORDERS, OUT, compile_guest
from tests.support.dynamic import compile_to, cross_libraries, library, summing_guests
from tests.support.marked import addresses, marked_run, qemu_addresses
from tests.support.paths import GUESTS, PREBUILT
from tests.support.sampling import ALL
from tests.support.tiers import BASELINE, INTERPRETED

WAYS = {"interpreted": INTERPRETED, **BASELINE, "baseline as usual": ("--tier", "baseline")}
SIZES = {"jumptable": "20", "sha256": "1", "recursion": "4", "callbacks": "1"}
if ALL:  # qemu's logs of these have millions of lines
    SIZES |= {"bitstream": "1", "replay_vm": "1"}

each_order = pytest.mark.parametrize("order", ORDERS)
each_way = pytest.mark.parametrize("way", WAYS)


# ---- single instructions ----


def by_hand(program: Path) -> set[int]:
    """Return the addresses of code behind labels `on_`, up to the next label `off_`."""
    marks = sorted(
        (symbol.address, symbol.name) for symbol in load_elf(program).symbols if re.match("(on|off)_", symbol.name)
    )
    found: set[int] = set()
    for (low, name), (high, _) in pairwise(marks):
        if name.startswith("on_"):
            found.update(range(low, high))
    return found


@each_order
@each_way
@pytest.mark.parametrize("fault", [(), ("-Wa,--defsym,FAULT=1",)], ids=("", "fault"))
def test_known_by_hand(order: str, way: str, fault: tuple[str, ...], tmp_path: Path, host: Path) -> None:
    """Annulled slots do not run; the instruction that faults does."""
    program = compile_guest(tmp_path, order, (GUESTS / "executed.s").read_text(), *BARE, *fault, language="assembler")
    result, files = marked_run(host, *WAYS[way], program)
    assert result.returncode == (-11 if fault else 7)
    assert [file.path for file in files] == [str(program)]
    wanted = by_hand(program)
    found = addresses(files[0])
    assert len(wanted) > 100 and found == wanted, [hex(at) for at in sorted(found ^ wanted)]


@each_order
@each_way
@pytest.mark.parametrize("name", SIZES)
def test_as_qemu_says(order: str, way: str, name: str, tmp_path: Path, host: Path) -> None:
    program, size = PREBUILT / {"big": "mips", "little": "mipsel"}[order] / f"{name}.elf", SIZES[name]
    status, wanted = qemu_addresses(load_elf(program), tmp_path / "log", size)
    result, files = marked_run(host, *WAYS[way], program, size)
    assert result.returncode == status
    assert len(wanted) > 1000 and addresses(files[0]) == wanted


@each_order
@each_way
def test_mips16_as_qemu_says(order: str, way: str, tmp_path: Path, host: Path) -> None:
    program = compile_guest(tmp_path, order, (GUESTS / "short_code.c").read_text(), *OUT)
    status, wanted = qemu_addresses(load_elf(program), tmp_path / "log")
    result, files = marked_run(host, *WAYS[way], program)
    assert result.returncode == status
    sizes = {instruction.size_bytes for instruction in files[0].instructions}
    assert sizes == {2, 4} and addresses(files[0]) == wanted


# ---- processes, threads, and code that comes and goes ----

Guest = Callable[[str], Path]


@pytest.fixture(scope="module")
def covered(tmp_path_factory: pytest.TempPathFactory) -> Guest:
    """Return the function that makes guests/covered.c of a byte order, a position-independent program, once."""

    @cache
    def make(order: str) -> Path:
        folder = tmp_path_factory.mktemp("covered")
        options = ("-fPIE", "-pie", f"-Wl,--dynamic-linker={cross_libraries(order)}/ld.so.1",
                   f"-Wl,-rpath,{cross_libraries(order)}")  # fmt: skip
        library(folder / "libopened.so", order, source="int one(void) { return 11; } int two(void) { return 2; }")
        return compile_to(folder / "covered", order, (GUESTS / "covered.c").read_text(), *options, "-lpthread")

    return make


def ran(file: ExecutedFile) -> set[str]:
    """Return the names of the functions of a file whose first instruction ran."""
    image = load_elf(Path(file.path))
    found = set(file.addresses)
    return {symbol.name for symbol in image.symbols if symbol.address - image.bias & ~1 in found}


WORDS = {"fork": "in_child", "thread": "in_thread", "handle": "in_handler", "kill": "before_kill"}


@each_order
@pytest.mark.parametrize("word", WORDS)
def test_wherever_it_runs(covered: Guest, order: str, word: str, host: Path) -> None:
    """In a child that is killed, in a thread, in a handler, and before the program itself is killed."""
    result, files = marked_run(host, "--tier", "baseline", covered(order), word)
    assert result.returncode == (-9 if word == "kill" else 0), result.stderr
    assert len({file.path for file in files}) == len(files) > 2
    found = ran(next(file for file in files if file.path == str(covered(order))))
    assert found & {*WORDS.values(), "nowhere"} == {WORDS[word]} and "main" in found


@each_order
@pytest.mark.parametrize("tier", ("baseline", "interp"))
def test_executed_programs(covered: Guest, order: str, tier: str, tmp_path: Path, host: Path) -> None:
    """What a program executes has its own entry; the libraries that both load have one."""
    other = compile_guest(tmp_path, order, (GUESTS / "executed.s").read_text(), *BARE, language="assembler")
    program = covered(order)
    result, files = marked_run(host, "--tier", tier, program, "exec", program, "exec", other)
    assert result.returncode == 7
    by_path = {file.path: file for file in files}
    assert len(by_path) == len(files) and addresses(by_path[str(other)]) == by_hand(other)
    assert "main" in ran(by_path[str(program)])


@each_order
@pytest.mark.parametrize("tier", ("baseline", "interp"))
def test_code_that_is_changed(covered: Guest, order: str, tier: str, host: Path) -> None:
    """Code that the program writes into a page of its file counts at its place there; that of no file nowhere."""
    result, files = marked_run(host, "--tier", tier, covered(order), "patch")
    assert (result.returncode, result.stdout) == (0, b"2\n")
    file = next(file for file in files if file.path == str(covered(order)))
    assert {"patched", "after_patched"} <= ran(file)  # only by the change does control come to the latter
    result, files = marked_run(host, "--tier", tier, covered(order), "map")
    assert (result.returncode, result.stdout) == (0, b"42\n")
    file = next(file for file in files if file.path == str(covered(order)))
    assert min(addresses(file)) >= 0x200  # behind the headers, over which that code ran


@each_order
def test_opened_library(covered: Guest, order: str, host: Path) -> None:
    opened = covered(order).with_name("libopened.so")
    result, files = marked_run(host, "--tier", "baseline", covered(order), "open", opened)
    assert (result.returncode, result.stdout) == (0, b"11\n")
    file = next(file for file in files if file.path == str(opened))
    assert ran(file) & {"one", "two"} == {"one"}


@each_order
def test_dynamic_program(order: str, tmp_path_factory: pytest.TempPathFactory, host: Path) -> None:
    program, _ = summing_guests(tmp_path_factory)(order)
    result, files = marked_run(host, "--tier", "baseline", program)
    assert result.returncode == 0
    by_name = {Path(file.path).name: file for file in files}
    assert {"sum", "libfill.so", "ld.so.1", "libc.so.6"} <= set(by_name)
    assert "fill" in ran(by_name["libfill.so"]) and "printf" in ran(by_name["libc.so.6"])


# ---- the option ----


def test_refused(host: Path, tmp_path: Path) -> None:
    """Recompiled code marks nothing, and what is no file of marks is not written to."""
    program = PREBUILT / "mips/hello.elf"
    refused = subprocess.run([host, "--marks", "0", program], capture_output=True, text=True, timeout=60)
    assert refused.returncode == 2 and "--marks needs --tier baseline or interp" in refused.stderr
    path = tmp_path / "file"
    path.write_bytes(b"x" * 5000)
    with path.open("r+b") as stream:
        words: list[str | Path] = [host, "--tier", "interp", "--marks", str(stream.fileno()), program]
        refused = subprocess.run(words, capture_output=True, text=True, timeout=60, pass_fds=[stream.fileno()])
    assert refused.returncode == 1 and "is no file of marks" in refused.stderr
    assert path.read_bytes() == b"x" * 5000
