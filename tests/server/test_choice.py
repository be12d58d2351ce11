"""What the compile server chooses to compile, of a program with calls in all directions."""

from __future__ import annotations

import subprocess

import pytest

from mipsrec.pipeline import open_guest
from mipsrec.server.choice import FileIndex, choose, unknown_starts
from mipsrec.server.protocol import ARRIVED
from tests.support.compiled import BARE
from tests.support.tools import need

SOURCE = """
#define APART __attribute__((noinline, noclone))
volatile int sink;
APART int leaf(int x) { return x * 3 + sink; }
APART int hot(int x) { for (int i = 0; i < x; i++) sink += leaf(i); return sink; }
APART int caller(int x) { return hot(x) + 1; }
APART int distant(int x) { return caller(x) + 2; }
APART int elsewhere(int x) { for (int i = 0; i < x; i++) sink ^= i; return sink; }
APART int never(int x) { return hot(x) + elsewhere(x); }
void __start(void) { sink = distant(3) + elsewhere(4); if (sink == 77) sink = never(sink); for (;;) ; }
"""


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> FileIndex:
    compiler = need("mipsel-linux-gnu-gcc")
    folder = tmp_path_factory.mktemp("choice")
    (folder / "guest.c").write_text(SOURCE)
    subprocess.run([compiler, *BARE, "-O1", folder / "guest.c", "-o", folder / "guest"], check=True)
    return FileIndex(open_guest(folder / "guest"))


def start(index: FileIndex, name: str) -> int:
    return index.guest.function(name).start


def names(index: FileIndex, chosen: dict[int, frozenset[int]]) -> list[str]:
    return [index.guest.program.functions[start].name for start in chosen]


def test_what_is_executed_comes_with_what_is_hot_by_distance(index: FileIndex) -> None:
    executed = dict.fromkeys((start(index, name) for name in ("elsewhere", "distant", "caller", "leaf")), 0)
    chosen = names(index, choose(index, {start(index, "hot") + 4: 10, **executed}, {}))
    assert chosen[0] == "hot" and set(chosen[1:3]) == {"leaf", "caller"} and chosen[3:] == ["distant", "elsewhere"]


def test_what_is_not_executed_is_left_out(index: FileIndex) -> None:
    assert names(index, choose(index, {start(index, "hot"): 10}, {})) == ["hot"]


def test_what_is_there_is_left_out_unless_a_loop_of_it_is_hot(index: FileIndex) -> None:
    hot, leaf = start(index, "hot"), start(index, "leaf")
    there: dict[int, frozenset[int]] = {hot: frozenset(), leaf: frozenset()}
    assert choose(index, {leaf: 10}, there) == {}
    loop = max(index.guest.program.functions[hot].blocks)
    (chosen,) = choose(index, {pc: 5 for pc in index.guest.program.functions[hot].blocks}, there).items()
    assert chosen[0] == hot and chosen[1] and all(hot < pc <= loop for pc in chosen[1])


def test_room_grows_with_samples(index: FileIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    from mipsrec.server import choice

    monkeypatch.setattr(choice, "LEAST_INSTRUCTIONS", 0)
    monkeypatch.setattr(choice, "_INSTRUCTIONS_OF_A_SAMPLE", 1)
    executed = dict.fromkeys(index.guest.starts, 0)
    few, many = (choose(index, {**executed, start(index, "hot"): count}, {}) for count in (1, 1000))
    assert names(index, few) == ["hot"] and len(many) == len(executed)


def test_a_place_that_analysis_does_not_know_is_a_start(index: FileIndex) -> None:
    inside = start(index, "hot") + 4
    assert unknown_starts(index, {inside | ARRIVED: 9}) == {inside}
    assert unknown_starts(index, {inside | ARRIVED: 1, inside: 9, start(index, "leaf") | ARRIVED: 9}) == frozenset()
