"""Optimisation policy: which functions --opt light, auto and profiles spend effort on; all levels do the same."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from mipsrec import pipeline, profiles
from mipsrec.emit.lifted import lift_function
from mipsrec.lift import policy as levels
from mipsrec.lift.options import LiftOptions
from mipsrec.lift.policy import with_cold
from mipsrec.options import LEVELS, LIGHT
from tests.support.commandline import assert_one_line, mipsrec
from tests.support.compiled import ORDERS, compile_guest, library_at
from tests.support.compiler_runs import run_compiler
from tests.support.hosts import cache_with_host
from tests.support.paths import PREBUILT, SAMPLES
from tests.support.sampling import sampled, shared_by_orders
from tests.support.tools import need

SAMPLE = PREBUILT / "mips" / "crc32.elf"
EXPECTED = (SAMPLES / "expected" / "crc32.txt").read_text()

SOURCE = """
volatile int sink;
#define FOUR(x) x x x x
#define MANY(x) FOUR(FOUR(FOUR(FOUR(x))))
#define USED __attribute__((noinline, used))
USED int tiny(int a) { if (a & 1) sink = a; return a * 3 + sink; }
USED int straight(int a) { FOUR(FOUR(FOUR(sink += a;))) return a * 3 + sink; }
USED int in_loop(int a) { FOUR(FOUR(FOUR(sink ^= a;))) return a * 5 + sink; }
USED int looped(int n) { int sum = 0; for (int i = 0; i < n; i++) sum += sink; return sum; }
USED int again(int n) { return n < 2 ? n + sink : again(n - 1) + again(n - 2) * 3; }
USED int large(int n) { MANY(sink += straight(n);) return n; }
USED int calls_around(int n) { while (sink) { MANY(sink += in_loop(n);) } return n; }
USED int loop_in_large(int n, int *p)
{
    MANY(sink += straight(n);)
    for (int i = 0; i < n; i++) { MANY(sink ^= i;) for (int j = 0; j < n; j++) { FOUR(p[j] ^= p[i] >> j;) } }
    return n;
}
#define CASE(n) case n: sink = in_loop(sink * n + (n ^ 5)); continue;
#define CASES(n) CASE(n) CASE(n + 1) CASE(n + 2) CASE(n + 3) CASE(n + 4) CASE(n + 5) CASE(n + 6) CASE(n + 7)
USED void interpreter(const unsigned char *code)
{
    for (;;)
        switch (*code++) {
            CASES(0) CASES(8) CASES(16) CASES(24) CASES(32) CASES(40) CASES(48) CASES(56)
        default: return;
        }
}
void __start(void)
{
    sink = straight(1) + looped(2) + again(3) + large(4) + calls_around(5) + loop_in_large(6, (int *)&sink);
    interpreter((const unsigned char *)&sink);
    for (;;) ;
}
"""
OPTIONS = ("-O1", "-nostdlib", "-static", "-mno-abicalls", "-fno-pic", "-G0", "-fno-optimize-sibling-calls")
HOT = {"tiny", "in_loop", "looped", "again", "loop_in_large", "interpreter", "__start"}


@pytest.fixture(scope="module", params=ORDERS)
def guest(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> pipeline.Guest:
    return pipeline.open_guest(compile_guest(tmp_path_factory.mktemp("guest"), request.param, SOURCE, *OPTIONS))


def _levels(guest: pipeline.Guest, level: str, profile: profiles.Profile | None = None) -> dict[str, str]:
    found = levels.levels_of_program(guest.program, guest.starts, level, profile)
    return {guest.program.functions[start].name: level for start, level in found.items()}


def test_auto(guest: pipeline.Guest) -> None:
    """Effort goes to loops, but not to those of large functions with calls; to what they call; to interpreters."""
    found = _levels(guest, "auto")
    assert {name for name, level in found.items() if level == "2"} == HOT
    assert {level for name, level in found.items() if name not in HOT} == {"light"}
    assert {"straight", "large", "calls_around"} <= found.keys() - HOT


@pytest.mark.parametrize("level", ["light", "0", "1", "2", "3"])
def test_plain_levels(guest: pipeline.Guest, level: str) -> None:
    assert set(_levels(guest, level).values()) == {level}


def test_profile(guest: pipeline.Guest) -> None:
    """What has samples gets the effort, whatever it looks like."""
    middle = guest.function("large").start + 40
    profile = profiles.Profile(Path("x"), "", {"lifted": {middle: 3}, "interp": {0x7FFF0000: 5}, "host": {}})
    assert _levels(guest, "auto", profile) == _levels(guest, "light") | {"large": "2"}
    assert _levels(guest, "3", profile)["large"] == "3"
    assert set(_levels(guest, "0", profile).values()) == {"0"}


def test_huge_functions_are_light() -> None:
    assert levels.level_of(True, 30_000, "3") == "light"
    assert levels.level_of(True, 30_000, "0") == "0"


def test_cold_functions(guest: pipeline.Guest) -> None:
    """They have most registers in the state, but for those with loops in loops. What auto finds hot is not cold."""
    program = guest.program
    names = {function.name: start for start, function in program.functions.items()}
    lightly = dict.fromkeys(guest.starts, LIGHT)
    cold = levels.cold_functions(program, lightly, LIGHT)
    assert {name for name, start in names.items() if start in guest.starts and start not in cold} == HOT
    assert levels.cold_functions(program, dict.fromkeys(guest.starts, "2"), "2") == set()
    callees = with_cold(program, guest.starts, lightly)
    memory_resident = {name for name, start in names.items() if start in callees and callees[start].memory_resident}
    assert {"large", "straight", "looped", "again"} <= memory_resident and "loop_in_large" not in memory_resident
    assert all(callee.cold for callee in callees.values())
    text = lift_function(program.functions[names["looped"]], callees, LiftOptions(False))[0].text
    assert "%r8 = alloca" not in text and "%r4 = alloca" in text and "store i32" in text


INTERPRETER = """
#include <stdio.h>
#include <stdlib.h>
static unsigned values[64];
static double scales[4] = {1, 0.5, 3, 7};
__attribute__((noipa)) unsigned mixed(unsigned a, unsigned b) { return (a ^ b) * 2654435761u; }
__attribute__((noipa)) double scaled(double a, int n) { return a * scales[n & 3] + n; }
#define CASE(n) \\
    case n: \\
        top = mixed(top + low, code[1] + n); \\
        if ((top & 7) == n % 8) low += values[(top >> 8) & 63]; \\
        if (n % 5 == 0) sum = scaled(sum, top & 15); \\
        if (n % 3 != 1 && depth < 5) high ^= run(code + 1, depth + 1, low) * (long long)top; \\
        values[(low + n) & 63] = top - high; code += 1 + (top & 1); break;
#define CASES(n) CASE(n) CASE(n + 1) CASE(n + 2) CASE(n + 3) CASE(n + 4) CASE(n + 5) CASE(n + 6) CASE(n + 7)
__attribute__((noipa)) unsigned run(const unsigned char *code, int depth, unsigned low)
{
    unsigned top = 1;
    long long high = depth;
    double sum = 0;
    while (*code != 255 && depth < 7)
        switch (*code & 63) {
            CASES(0) CASES(8) CASES(16) CASES(24) CASES(32) CASES(40) CASES(48) CASES(56)
        }
    printf("%d %08x %016llx %.3f\\n", depth, low, (unsigned long long)high, sum > 1e9 ? 1e9 : sum);
    return top ^ low;
}
int main(void)
{
    unsigned char code[24];
    for (int i = 0; i < 20; i++) code[i] = (i * 37 + 3) % 251;
    for (int i = 20; i < 24; i++) code[i] = 255;
    return run(code, 0, 5) & 1;
}
"""


@pytest.mark.parametrize("order", ORDERS)
def test_large_interpreters(host: Path, order: str, tmp_path: Path) -> None:
    """They have their registers in the state at every level, and do what the native program does."""
    guest = pipeline.open_guest(compile_guest(tmp_path, order, INTERPRETER, "-static", "-ffp-contract=off"))
    large = levels.large_interpreters(guest.program, guest.starts)
    callees = with_cold(guest.program, guest.starts, (), large)
    assert guest.function("run").start in large
    assert {start for start, callee in callees.items() if callee.memory_resident} == large
    native = tmp_path / "native"
    run_compiler([need("gcc"), "-O2", "-ffp-contract=off", tmp_path / "guest.c", "-o", native], native)
    expected = subprocess.run([native], capture_output=True)
    assert expected.stdout.count(b"\n") > 50
    for opt in shared_by_orders(("0", "light", "auto", "3"), order):
        library = library_at(guest, tmp_path, opt, "run", "mixed", "scaled", "main")
        result = subprocess.run([host, "--library", library, guest.image.path], capture_output=True, timeout=600)
        assert (result.returncode, result.stdout, result.stderr) == (expected.returncode, expected.stdout, b"")


ENTERED = """
volatile int sink;
int f(int a);
__asm__(".text; .globl f; .ent f; f: .set noreorder; addiu $2, $4, 1; middle: jr $31; addiu $2, $2, 2; .end f; "
        ".globl g; .ent g; g: b middle; addiu $2, $4, 8; .end g; .set reorder");
void __start(void) { sink = f(1); for (;;) ; }
"""


@pytest.mark.parametrize("order", ORDERS)
def test_cold_functions_are_written_once(order: str, tmp_path: Path) -> None:
    guest = pipeline.open_guest(compile_guest(tmp_path, order, ENTERED, *OPTIONS))
    function = next(function for function in guest.program.functions.values() if function.entries)
    usual = lift_function(function, guest.starts, LiftOptions(False))
    cold = with_cold(guest.program, guest.starts, guest.starts)
    once = lift_function(function, cold, LiftOptions(False))
    assert [part.instruction_count for part in usual] == [3, 2] and [part.instruction_count for part in once] == [3, 0]
    served = [sorted(pc for part in parts for pc in part.entries) for parts in (usual, once)]
    assert served[0] == served[1] == sorted({function.start} | function.entries)


@pytest.mark.parametrize("level", LEVELS)
def test_same_output(level: str, tmp_path: Path) -> None:
    result = mipsrec("run", "--opt", level, SAMPLE, MIPSREC_CACHE=str(cache_with_host(tmp_path / "cache")))
    assert (result.returncode, result.stdout, result.stderr) == (0, EXPECTED, "")


def test_dump_knows_what_is_hot(guest: pipeline.Guest, tmp_path: Path) -> None:
    pipeline.dump_llvm(guest, tmp_path / "ir")
    index = json.loads((tmp_path / "ir" / "index.json").read_text())
    assert {record["name"] for record in index["functions"] if record["hot"]} == HOT


@pytest.mark.parametrize("guest", sampled(list(ORDERS)), indirect=True)
def test_build_of_a_dump(guest: pipeline.Guest, tmp_path: Path) -> None:
    pipeline.dump_llvm(guest, tmp_path / "ir")
    assert mipsrec("build", tmp_path / "ir", "-o", tmp_path / "lib.so", "--opt", "auto", "--jobs", "1").returncode == 0
    assert json.loads(mipsrec("info", "--json", tmp_path / "lib.so").stdout)["options"].startswith("--opt auto --cpu")


# ---- profiles on the command line ----


def _profile(folder: Path, identity: str, *lines: str) -> Path:
    path = folder / "out.prof"
    path.write_text("".join(line + "\n" for line in (f"mipsrec profile 1 {identity}", *lines)))
    return path


def test_build_with_a_profile(tmp_path: Path) -> None:
    facts = json.loads(mipsrec("info", "--json", SAMPLE).stdout)
    profile = _profile(tmp_path, facts["identity"], f"{facts['entry']:08x} 5 lifted")
    library = tmp_path / "lib.so"
    assert mipsrec("build", SAMPLE, "-o", library, "--opt", "auto", "--use-profile", profile).returncode == 0
    assert json.loads(mipsrec("info", "--json", library).stdout)["options"].startswith("--opt auto+prof --cpu")
    for words in (("--library", library), ("--use-profile", profile, "--opt", "1")):
        result = mipsrec("run", *words, SAMPLE)
        assert (result.returncode, result.stdout) == (0, EXPECTED)
    assert mipsrec("dump-llvm", SAMPLE, "-o", tmp_path / "ir").returncode == 0
    assert mipsrec("build", tmp_path / "ir", "-o", library, "--opt", "1", "--use-profile", profile).returncode == 0


def test_profile_of_another_program(tmp_path: Path) -> None:
    profile = _profile(tmp_path, "0f" * 32)
    assert mipsrec("dump-llvm", SAMPLE, "-o", tmp_path / "ir").returncode == 0
    for source in (SAMPLE, tmp_path / "ir"):
        result = mipsrec("build", source, "-o", tmp_path / "lib.so", "--use-profile", profile)
        assert_one_line(result, "another program", "out.prof")
    assert_one_line(mipsrec("run", "--use-profile", profile, SAMPLE), "another program")
    assert_one_line(mipsrec("run", "--use-profile", tmp_path / "none", SAMPLE), "none: cannot be read")
