"""Counters of decisions: what a program of which each decision is known counts, the same in all tiers.

The rule of where a decision counts is that of mipsrec/counters.py, and how often it was made stands beside it in
guests/decisions.s.
"""

from __future__ import annotations

import io
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mipsrec import pipeline
from mipsrec.counters import HASH_SHIFT, MAP_BYTES, MULTIPLIER, place, seed_of
from tests.support.compiled import BARE, ORDERS, QEMU, compile_guest
from tests.support.fork_server import fork_server
from tests.support.paths import GUESTS, SAMPLES
from tests.support.sampling import sampled
from tests.support.tiers import AUTO, BASELINE, INTERPRETED
from tests.support.tools import need

FAULT = ("-Wa,--defsym,FAULT=1",)
SIZES = {"jumptable": "200", "bitstream": "1", "replay_vm": "1", "sha256": "3", "recursion": "12"}
WAYS = {"interpreted": INTERPRETED, **BASELINE, **AUTO, "recompiled": ("--tier", "aot")}


class Counting:
    """A program, with a library that counts, and the host."""

    def __init__(self, program: Path, folder: Path, host: Path) -> None:
        self.guest = pipeline.open_guest(program)
        self.program, self.folder, self.host = program, folder, host
        self.library = folder / "counting.so"
        pipeline.build(self.guest, self.library, pipeline.Options(jobs=1, cover=True))

    def words(self, way: str) -> list[str | Path]:
        """Return the host with the options of a way."""
        needs_code = way in AUTO or way == "recompiled"
        return [self.host, *WAYS[way], *(("--library", self.library) if needs_code else ())]

    def run(self, way: str, *arguments: str) -> tuple[int, bytes]:
        """Return the exit status and the map of a run."""
        path = self.folder / "map"
        path.unlink(missing_ok=True)
        words = [*self.words(way), "--counters", path, self.program, *arguments]
        result = subprocess.run(words, capture_output=True, timeout=600)
        return result.returncode, path.read_bytes()


def after(count: int) -> int:
    """Return what a counter has after so many decisions: it goes from 255 to 1."""
    return (count - 1) % 255 + 1


def expected(guest: pipeline.Guest) -> bytes:
    """Return the map of guests/decisions.s."""
    seed = seed_of(guest.image.content, guest.image.byte_order)
    at = {symbol.name: symbol.address for symbol in guest.image.symbols}
    found = bytearray(MAP_BYTES)

    def branch(name: str, taken: int, other: int) -> None:
        for way, count in enumerate((other, taken)):
            if count:
                found[place(seed, at[name]) + way] = after(count)

    def jump(name: str, target: str) -> None:
        mixed = (at[target] * MULTIPLIER & 0xFFFFFFFF) >> HASH_SHIFT
        found[(place(seed, at[name]) + mixed) % MAP_BYTES] = 1

    branch("often", 299, 1)
    branch("twice_likely", 2, 1)
    branch("slot_of_nan", 19, 1)
    branch("called", 1, 0)
    branch("not_called", 0, 1)
    jump("by_table", "middle")
    jump("by_call", "function")
    branch("never", 0, 1)
    return bytes(found)


@pytest.fixture(scope="module", params=[(order, fault) for order in ORDERS for fault in ((), FAULT)],
                ids=[f"{order}{fault}" for order in ORDERS for fault in ("", "-fault")])  # fmt: skip
def known(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, host: Path
) -> Iterator[tuple[Counting, int]]:
    """A program of known decisions, and how it ends."""
    order, fault = request.param
    folder = tmp_path_factory.mktemp("counters")
    source = (GUESTS / "decisions.s").read_text() + "    .globl function\n"
    program = compile_guest(folder, order, source, *BARE, *fault, language="assembler")
    yield Counting(program, folder, host), -11 if fault else 7


@pytest.mark.parametrize("way", WAYS)
def test_known_decisions(known: tuple[Counting, int], way: str) -> None:
    """A branch counts behind its slot: one in which a fault ends the program counts nothing."""
    counting, end = known
    status, found = counting.run(way)
    assert status == end
    wanted = expected(counting.guest)
    assert found == wanted, [(hex(at), found[at], wanted[at]) for at in range(MAP_BYTES) if found[at] != wanted[at]]


def test_map_is_counted_on(known: tuple[Counting, int], tmp_path: Path) -> None:
    """A second run counts on what the first has left; a file of another size is refused."""
    counting, _ = known
    path = tmp_path / "map"
    words = [counting.host, "--tier", "interp", "--counters", path]
    for _ in range(2):
        subprocess.run([*words, counting.program], timeout=60)
    wanted = bytes(after({44: 299}.get(count, count) * 2) if count else 0 for count in expected(counting.guest))
    assert path.read_bytes() == wanted
    path.write_bytes(b"x")
    refused = subprocess.run([*words, counting.program], capture_output=True, text=True, timeout=60)
    assert refused.returncode == 1 and "is no map of counters, which has 65536 bytes" in refused.stderr
    assert path.read_bytes() == b"x"


def test_library_without_counters(known: tuple[Counting, int], tmp_path: Path) -> None:
    """The host refuses one where decisions are to be counted; one with counters runs where none are."""
    counting, end = known
    plain = tmp_path / "plain.so"
    pipeline.build(counting.guest, plain, pipeline.Options(jobs=1))
    words = [counting.host, "--library", plain, "--counters", tmp_path / "map", counting.program]
    refused = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert refused.returncode == 1 and "does not count decisions; rebuild it with --cover" in refused.stderr
    words = [counting.host, "--library", counting.library, counting.program]
    assert subprocess.run(words, timeout=60).returncode == end


@pytest.mark.parametrize("way", ("interpreted", "baseline", "recompiled"))
def test_fork_server(known: tuple[Counting, int], way: str, tmp_path: Path) -> None:
    """Each process that a fuzzer asks for counts the same; where it begins later, what came before does not count."""
    counting, end = known
    fuzzed = [*counting.words(way), "--qemu", "afl-qemu-trace", "--", counting.program]
    wanted, status = expected(counting.guest), -end if end < 0 else end << 8
    for ignored in (False, True):  # SIGCHLD, by who starts it
        with fork_server(*fuzzed, ignores_children=ignored) as server:
            assert [server.run() for _ in range(3)] == [(status, wanted)] * 3
    symbols = {symbol.name: symbol.address for symbol in counting.guest.image.symbols}
    with fork_server(*fuzzed, AFL_ENTRYPOINT=f"{symbols['middle']:x}") as server:
        for _ in range(2):
            ended, found = server.run()
            seed = seed_of(counting.guest.image.content, counting.guest.image.byte_order)
            later = {place(seed, symbols["never"])} & {at for at in range(MAP_BYTES) if found[at]}
            assert ended == status and later and sum(map(bool, found)) == 2  # the call, and `never`


@pytest.mark.parametrize("way", ("interpreted", "baseline"))
def test_excluded(known: tuple[Counting, int], way: str) -> None:
    """What a fuzzer excludes does not count, whatever it has chosen; the rest counts as before."""
    counting, _ = known
    at = {symbol.name: symbol.address for symbol in counting.guest.image.symbols}
    called = f"0x{at['called']:x}-0x{at['by_table']:x}"
    fuzzed = [*counting.words(way), "--qemu", "afl-qemu-trace", "--", counting.program]
    maps = {}
    for excluded in ("nothing", called, f"other.so,{called}", "program", "all"):
        with fork_server(*fuzzed, AFL_INST_LIBS="1", AFL_QEMU_EXCLUDE_RANGES=excluded) as server:
            maps[excluded] = server.run()[1]
    left = [a - b for a, b in zip(maps["nothing"], maps[called], strict=True)]
    assert sum(left) == 2 and min(left) == 0 and maps[f"other.so,{called}"] == maps[called]
    assert not any(maps["program"]) and not any(maps["all"])
    with (
        pytest.raises(EOFError, match="AFL_QEMU_EXCLUDE_RANGES: '0x400000' is neither"),
        fork_server(*fuzzed, AFL_QEMU_EXCLUDE_RANGES="0x400000"),
    ):
        pass


CHANGING = """
#include <sys/cachectl.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void)
{
    unsigned sum = 0;
    alarm(10);
    for (unsigned turn = 0; turn < 4; turn++) {
        unsigned *code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (unsigned change = 0; change < 3; change++) {
            code[0] = 0x03e00008; /* jr $ra */
            code[1] = 0x24020000 | (4 * turn + change); /* li $v0 */
            cacheflush(code, 8, BCACHE);
            for (int i = 0; i < 100; i++)
                sum += ((unsigned (*)(void))code)();
        }
        munmap(code, 4096);
    }
    return sum / 100;
}
"""


@pytest.mark.parametrize("order", ORDERS)
def test_changing_code_behind_a_fork_server(order: str, tmp_path: Path, host: Path) -> None:
    """Code that a program flushes and unmaps is gone, in each process, and what it writes anew runs."""
    program = compile_guest(tmp_path, order, CHANGING, "-static", "-w")
    qemu = [need(QEMU[order], "qemu-user"), program]
    status = subprocess.run(qemu, timeout=60).returncode << 8
    for way in BASELINE.values():
        with fork_server(host, *way, "--qemu", "afl-qemu-trace", "--", program) as server:
            assert [server.run()[0] for _ in range(4)] == [status] * 4


def test_inherited_code(known: tuple[Counting, int]) -> None:
    """What processes translate the fork server has for the next ones, also of what runs a few times in each."""
    counting, end = known
    often = ("--tier", "baseline", "--threshold", "20", "--stats")
    with fork_server(counting.host, *often, "--qemu", "afl-qemu-trace", "--", counting.program) as server:
        assert [server.run() for _ in range(25)] == [(-end if end < 0 else end << 8, expected(counting.guest))] * 25
        assert isinstance(server.process.stderr, io.BufferedReader)
        said = server.process.stderr.read1(1 << 16).decode()
    translated = [int(number) for number in re.findall(r"translated (\d+) instructions", said)]
    assert len(translated) == 25 and translated[0] < translated[18] < translated[-1], translated


@pytest.mark.parametrize(("name", "size"), sampled([*SIZES.items()]))
@pytest.mark.parametrize("order", ("mips", "mipsel"))
def test_tiers_agree(name: str, size: str, order: str, tmp_path: Path, host: Path) -> None:
    """Programs count the same in all tiers, and after any switch between them."""
    counting = Counting(SAMPLES / "prebuilt" / order / f"{name}.elf", tmp_path, host)
    first = counting.run("interpreted", size)
    assert sum(map(bool, first[1])) > 10
    for way in WAYS:
        assert counting.run(way, size) == first, way


def test_ranges(known: tuple[Counting, int], tmp_path: Path) -> None:
    """Only decisions in a range of addresses count; what is no range is refused."""
    counting, _ = known
    at = {symbol.name: symbol.address for symbol in counting.guest.image.symbols}
    path = tmp_path / "map"
    words = [counting.host, "--counters", path, "--cover"]
    subprocess.run([*words, f"0x{at['called']:x}-0x{at['by_table']:x}", counting.program], timeout=60)
    assert sum(path.read_bytes()) == 2
    for wrong in ("0x10-0x8", "0x400000", "lib/libc.so.6"):
        refused = subprocess.run([*words, wrong, counting.program], capture_output=True, text=True, timeout=60)
        assert refused.returncode == 1 and refused.stderr.count("\n") == 1 and wrong in refused.stderr
