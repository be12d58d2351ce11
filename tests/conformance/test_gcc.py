"""A sample of gcc's own tests, recompiled and interpreted; `make conformance ARGS=gcc` runs all of them.

First the machinery itself: that a test which fails is seen to fail, and that tests sharing a program do not meet.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.conformance.gcc_batch import Batch, compile_batch, link_batch, run, run_batch, ways
from tests.conformance.gcc_suites import SUITES, Case, Suite, load_test, read_suite, sources
from tests.support.sampling import shared_by_orders

SAMPLE = [  # gcc's level, byte order, the level of recompilation, how many tests of each suite
    ("O0", "big", "0", {"execute": 8, "ieee": 3, "builtins": 4}),
    ("O2-mips1", "little", "1", {"execute": 8, "ieee": 3}),
    ("O3", "big", "0", {"execute": 8}),
    ("O2-mips16", "little", "1", {"execute": 8}),
    ("O2-fp64", "little", "1", {"ieee": 5}),
    ("O2", "big", "1", {"g++old": 4, "g++eh": 4}),
]

ENDS = {
    "passes.c": ("", "int main(void) { return 0; }"),
    "returns.c": ("exit status 3", "int main(void) { return 3; }"),
    "aborts.c": ("signal 6", "#include <stdlib.h>\nint main(void) { abort(); }"),
    "faults.c": ("signal 11", "int main(void) { return *(volatile int *)16; }"),
    "divides.c": ("signal 5", "int main(void) { __builtin_trap(); }"),
    "own.c": ("", "int shared = 1; int work(void) { return shared - 1; } int main(void) { return work(); }"),
    "other.c": ("exit status 2", "int shared = 2; int work(void) { return shared; } int main(void) { return work(); }"),
    "replaces.c": ("exit status 9", "__attribute__((noipa)) unsigned strlen(const char *s) { return *s ? 9 : 0; }\n"
                   "int main(int count, char **words) { return strlen(words[0]); }"),
    "constructed.c": ("exit status 4", "#include <unistd.h>\nint value;\n"
                      "__attribute__((constructor)) static void begin(void) { value = 4; }\n"
                      "__attribute__((destructor)) static void end(void) { _exit(value); }\nint main(void) {}"),
    "kills.c": ("signal 9", "#include <signal.h>\nint main(void) { kill(0, SIGKILL); }"),
    "broken.c": ("does not build", "int main(void) { return"),
    "statics.cc": ("exit status 5", "struct S { int v; S() : v(5) {} ~S() { v = 0; } } s; int main() { return s.v; }"),
    "throws.cc": ("", "int main() { try { throw 1; } catch (int e) { return e - 1; } }"),
    "uncaught.cc": ("signal 6", "int main() { throw 1; }"),
}  # fmt: skip


@pytest.mark.parametrize("order", ["big", "little"])
def test_ends(host: Path, tmp_path: Path, order: str) -> None:
    """How programs end is seen for each of those that share one, each way they are run."""
    tests = []
    for name, (_, text) in ENDS.items():
        (tmp_path / name).write_text(text)
        tests.append(Case("own", name, (tmp_path / name,), ()))
    batch = Batch("O2", order, tests)
    builds = shared_by_orders([["--opt", "1"], ["--opt", "0", "--calls", "thunked"]], order)
    assert run_batch(batch, tmp_path / "batch", host, builds) == []
    assert batch.results == {(way, test): ENDS[test.name][0] for way in ways(builds) for test in tests}


def test_operators(host: Path, tmp_path: Path) -> None:
    """A program that replaces operator new gets a program of its own, in which the library calls the replacement."""
    path = tmp_path / "replaces.cc"
    path.write_text(
        "#include <cstdlib>\n#include <new>\n#include <string>\nint calls;\n"
        "void *operator new(std::size_t size) { calls++; return std::malloc(size); }\n"
        "void operator delete(void *memory) noexcept { std::free(memory); }\n"
        "int main() { std::string text(100, 'x'); text += text; return calls < 2; }\n"
    )
    case = Case("own", path.name, (path,), ())
    inside, (alone,) = compile_batch(Batch("O2", "big", [case]), tmp_path)
    assert inside == [] and compile_batch(alone, tmp_path) == ([case], [])
    assert run([str(host), str(link_batch(alone, 1, tmp_path))], [case], tmp_path) == {case: ""}


@pytest.mark.parametrize("name", SUITES)
def test_lists(name: str) -> None:
    """The lists name levels that are known and tests once each."""
    suite = read_suite(name)
    assert suite.all_levels() and set(suite.orders) <= {"big", "little"}
    assert all(suite.tests(level) for level in suite.all_levels())


@pytest.fixture(scope="session")
def testsuite() -> Path:
    return sources(Path(os.environ["MIPSREC_CACHE"]) / "gcc-testsuite")


def _spread(suite: Suite, level: str, count: int) -> list[str]:
    """Return so many tests of a level, from all over the list."""
    names = suite.tests(level)
    return [names[(2 * number + 1) * len(names) // (2 * count)] for number in range(count)]


@pytest.mark.parametrize("level, order, opt, counts", SAMPLE, ids=lambda value: value if isinstance(value, str) else "")
def test_sample(
    host: Path, tmp_path: Path, testsuite: Path, level: str, order: str, opt: str, counts: dict[str, int]
) -> None:
    builds = [["--opt", opt]]
    suites = [(read_suite(name), count) for name, count in counts.items()]
    tests = [load_test(testsuite, suite, name) for suite, count in suites for name in _spread(suite, level, count)]
    batch = Batch(level, order, tests)
    alone = run_batch(batch, tmp_path / "batch", host, builds)
    for number, other in enumerate(alone):
        run_batch(other, tmp_path / str(number), host, builds)
        batch.results |= other.results
    assert {key: end for key, end in batch.results.items() if end} == {}
    assert len(batch.results) == len(ways(builds)) * len(tests)
