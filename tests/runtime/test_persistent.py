"""AFL++'s persistent mode: a process for many inputs, and inputs in shared memory."""

from __future__ import annotations

import os
import re
import signal
import struct
import subprocess
from pathlib import Path

import pytest

from mipsrec import pipeline
from tests.support.compiled import ORDERS, OUT, compile_guest
from tests.support.fork_server import Shared, fork_server
from tests.support.paths import GUESTS, ROOT
from tests.support.tiers import BASELINE, INTERPRETED
from tests.support.tools import need

STOPPED = signal.SIGSTOP << 8 | 0x7F
"""The wait status of a process that has stopped itself."""
WAYS = {"interpreted": INTERPRETED, **BASELINE, "recompiled": ("--tier", "aot")}
BUFFER = {"MIPSREC_FUZZ_BUFFER": "a0,a1"}
MEMORY = {"AFL_QEMU_PERSISTENT_MEM": "1"}


class Target:
    """A program with `parse`, and code of it that counts."""

    def __init__(self, order: str, folder: Path, host: Path) -> None:
        self.program = compile_guest(folder, order, (GUESTS / "looped.c").read_text(), *OUT)
        guest = pipeline.open_guest(self.program)
        self.at = guest.function("parse").start
        self.library = folder / "counting.so"
        pipeline.build(guest, self.library, pipeline.Options(jobs=1, cover=True))
        self.host = host

    def words(self, way: str) -> list[str | Path]:
        library = ("--library", self.library) if way == "recompiled" else ()
        return [self.host, *WAYS[way], *library, "--qemu", "afl-qemu-trace", "--", self.program]

    def settings(self, **more: str) -> dict[str, str]:
        return {"AFL_QEMU_PERSISTENT_ADDR": f"{self.at:#x}"} | more


@pytest.fixture(scope="module", params=ORDERS)
def target(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, host: Path) -> Target:
    return Target(request.param, tmp_path_factory.mktemp("looped"), host)


@pytest.mark.parametrize("way", WAYS)
def test_many_inputs(target: Target, way: str) -> None:
    """One process has them all; each counts as in a process of its own, and a fault ends it."""
    texts = [b"a", b"BA", b"BUX", b"a" * 100, b"", b"b"] * 4
    with fork_server(*target.words(way), shares_inputs=True, **target.settings(**BUFFER, **MEMORY)) as server:
        looped = [server.run(text) for text in texts]
        assert {status for status, _ in looped} == {STOPPED} and len(set(server.made)) == 1
        assert server.run(b"BUG")[0] == signal.SIGSEGV
        assert server.run(b"a") == looped[0] and len(set(server.made)) == 2
        assert server.run(b"X")[0] == 7 << 8
        assert server.run(b"BA") == looped[1] and len(set(server.made)) == 3
    once = target.settings(**BUFFER, AFL_QEMU_PERSISTENT_CNT="1")
    with fork_server(*target.words(way), shares_inputs=True, **once) as server:
        alone = [server.run(text) for text in texts[:6]]
        assert len(set(server.made)) == 6 and {status for status, _ in alone} == {0}
    assert [counts for _, counts in alone] == [counts for _, counts in looped[:6]]


def test_buffer_that_is_lost(target: Target) -> None:
    """A process that can take no input any more is followed by a new one."""
    with fork_server(*target.words("baseline"), shares_inputs=True, **target.settings(**BUFFER)) as server:
        assert [server.run(text)[0] for text in (b"BA", b"P", b"BA", b"BA")] == [STOPPED, 0, STOPPED, STOPPED]
        assert len(set(server.made)) == 2


def test_server_is_not_woken(target: Target) -> None:
    """The process itself speaks to the fuzzer: it goes on while the fork server is stopped. Then it ends as ever."""
    with fork_server(*target.words("baseline"), shares_inputs=True, **target.settings(**BUFFER)) as server:
        first = server.run(b"BA")
        os.kill(server.process.pid, signal.SIGSTOP)
        assert [server.run(b"BA") for _ in range(5)] == [first] * 5 and first[0] == STOPPED
        os.kill(server.process.pid, signal.SIGCONT)
        assert server.run(b"X")[0] == 7 << 8 and server.run(b"BA") == first and len(set(server.made)) == 2


def test_memory(target: Target) -> None:
    """What was stored is no longer there for the next input; without that wish it is."""
    words = target.words("baseline")
    with fork_server(*words, shares_inputs=True, **target.settings(**BUFFER, **MEMORY)) as server:
        assert [server.run(b"?")[0] for _ in range(9)] == [STOPPED] * 9
        assert server.run(b"M")[0] == 0  # a mapping is left: the process ends
        assert server.run(b"?")[0] == STOPPED and len(set(server.made)) == 2
        assert [server.run(b"U")[0] for _ in range(3)] == [STOPPED] * 3 and len(set(server.made)) == 2
    with fork_server(*words, shares_inputs=True, **target.settings(**BUFFER)) as server:
        assert [server.run(b"?")[0] for _ in range(2)] == [STOPPED, signal.SIGSEGV]


def test_descriptors(target: Target) -> None:
    """The kernel copies a small table for each process; the program still gets each number that it asks for."""
    with fork_server(*target.words("baseline"), shares_inputs=True, **target.settings(**BUFFER)) as server:
        assert server.run(b"?")[0] == STOPPED
        used = [int(path.name) for path in Path(f"/proc/{server.process.pid}/fd").iterdir()]
        assert len(used) > 6 and max(used) < 256
        assert [server.run(b"D")[0] for _ in range(3)] == [STOPPED] * 3 and len(set(server.made)) == 1


COMPARED_ROWS = 65536
FORMS = {"4.0": (8, 32, 24), "4.21": (2, 42, 6)}
"""Of AFL++'s include/cmplog.h, by version: bytes of a header, and of a comparison's operands, 32 of which a row has;
bits of the hits, the lowest of a header."""


@pytest.mark.parametrize("version", FORMS)
def test_comparisons(target: Target, version: str) -> None:
    """Both forms of the map have the values; a place that was often compared is not taken for one that never was."""
    header_bytes, operands_bytes, bits = FORMS[version]
    head, row = COMPARED_ROWS * header_bytes, 32 * operands_bytes
    with Shared(head + COMPARED_ROWS * row) as compared:
        wishes = target.settings(**BUFFER, __AFL_CMPLOG_SHM_ID=str(compared.number))
        with fork_server(*target.words("interpreted"), shares_inputs=True, **wishes) as server:
            for turn in range(1, 70):
                assert server.run(b"ABC")[0] == STOPPED
                if turn not in (1, 64, 65):
                    continue
                content = compared.content()
                headers = (content[at : at + header_bytes] for at in range(0, head, header_bytes))
                hits = [int.from_bytes(header, "little") & (1 << bits) - 1 for header in headers]
                hit = [at for at, count in enumerate(hits) if count]
                rows = (content[head + row * at : head + row * (at + 1)] for at in hit)
                values = {struct.unpack("QQ", one[:16]) for one in rows}
                assert (ord("A"), ord("B")) in values or (ord("B"), ord("A")) in values


def test_no_form_of_the_map(target: Target) -> None:
    """A map of another size is no map of comparisons that is known."""
    with Shared(4096) as compared:
        wishes = target.settings(**BUFFER, __AFL_CMPLOG_SHM_ID=str(compared.number))
        server = fork_server(*target.words("interpreted"), shares_inputs=True, **wishes)
        with pytest.raises(EOFError, match="map of comparisons has 4096 bytes"), server:
            pass


def test_counts_and_times(target: Target) -> None:
    """A process ends after so many inputs; one that took too long is another one the next time."""
    with fork_server(*target.words("baseline"), **target.settings(AFL_QEMU_PERSISTENT_CNT="3")) as server:
        assert [server.run()[0] for _ in range(7)] == [STOPPED, STOPPED, 0, STOPPED, STOPPED, 0, STOPPED]
        assert len(set(server.made)) == 3
        server.kill()
        assert len(set(server.made)) == 4
        assert server.run()[0] == STOPPED and len(set(server.made)) == 4


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"AFL_QEMU_PERSISTENT_ADDR": "parse"}, "must be a hexadecimal address"),
        ({"AFL_QEMU_PERSISTENT_CNT": "0"}, "must be a number from 1 on"),
        ({"AFL_QEMU_PERSISTENT_HOOK": "/tmp/hook.so"}, "which this host cannot load"),
        ({"AFL_QEMU_PERSISTENT_RET": "0x400400"}, "not heeded"),
        ({"MIPSREC_FUZZ_BUFFER": "a0,b7"}, "write one register, or two"),
        ({"MIPSREC_FUZZ_BUFFER": "a0", "__AFL_SHM_FUZZ_ID": "x"}, "wants inputs in shared memory"),
    ],
)
def test_wrong_wishes(target: Target, more: dict[str, str], said: str) -> None:
    settings = os.environ | target.settings() | {"__AFL_SHM_ID": ""} | more
    result = subprocess.run(target.words("interpreted"), env=settings, capture_output=True, text=True, timeout=60)
    assert result.returncode != 0 and said in result.stderr and result.stderr.count("\n") == 1


def test_client_for_measurements(target: Target, tmp_path: Path) -> None:
    """The client that speeds are measured with gets inputs done, in both ways."""
    (tmp_path / "input").write_bytes(b"BA")
    client = tmp_path / "client"
    subprocess.run(["cc", "-O2", "-Wall", "-Werror", ROOT / "tests/support/fuzz_client.c", "-o", client], check=True)
    for way, settings in (("memory", target.settings(**BUFFER)), ("file", {})):
        words = [client, "0.2", way, tmp_path / "input", "--", *target.words("recompiled")]
        result = subprocess.run(words, env=os.environ | settings, capture_output=True, text=True, timeout=60)
        said = re.fullmatch(r"(\d+) inputs/s, (\d+) processes, 0 crashes\n", result.stdout)
        assert result.returncode == 0 and said is not None, result
        assert int(said[1]) > 10 and (way == "memory") == (int(said[2]) < int(said[1]) / 100)


def test_campaign(target: Target, host: Path, tmp_path: Path) -> None:
    """afl-fuzz hands inputs over in memory, and finds the fault."""
    (tmp_path / "afl").mkdir()
    (tmp_path / "afl/afl-qemu-trace").symlink_to(host)
    (tmp_path / "seeds").mkdir()
    (tmp_path / "seeds/one").write_text("A")
    settings = os.environ | target.settings(**BUFFER, **MEMORY) | {
        "AFL_NO_UI": "1", "AFL_NO_AFFINITY": "1", "AFL_SKIP_CPUFREQ": "1", "AFL_BENCH_UNTIL_CRASH": "1",
        "AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES": "1", "AFL_PATH": str(tmp_path / "afl"),
    }  # fmt: skip
    folders = ("-i", tmp_path / "seeds", "-o", tmp_path / "out")
    words = [need("afl-fuzz", "afl++"), "-Q", "-t", "5000", "-V", "240", *folders]
    ended = subprocess.run([*words, "--", target.program], capture_output=True, text=True, timeout=550, env=settings)
    found = [path.read_bytes() for path in (tmp_path / "out/default/crashes").glob("id*")]
    assert found and all(text.startswith(b"BUG") for text in found), ended.stdout[-2000:] + ended.stderr[-500:]
    assert "SHARED MEMORY" in ended.stdout
