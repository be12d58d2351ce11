"""Programs with MIPS16 code print what they print under qemu-user, in each tier and byte order."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from mipsrec import pipeline
from mipsrec.architecture import is_mips16
from mipsrec.cache.folders import cache_folder, variant_of
from mipsrec.elf import load_elf
from mipsrec.fill_store import store_all
from mipsrec.options import CALL_MODELS
from tests.runtime.dynamic_world import LIGHT
from tests.support.commandline import mipsrec
from tests.support.compiled import ORDERS, QEMU, compile_guest, library_at, printed_alone
from tests.support.compiler_runs import run_compiler
from tests.support.dynamic import compile_to, cross_libraries, used
from tests.support.paths import GUESTS
from tests.support.sampling import ALL
from tests.support.tiers import AUTO, BASELINE, INTERPRETED
from tests.support.tools import need

SOURCE = GUESTS / "mips16.c"


@pytest.mark.parametrize("order", ORDERS)
def test_both_kinds_of_code(host: Path, tmp_path: Path, order: str) -> None:
    guest = compile_guest(tmp_path, order, SOURCE.read_text(), "-static")
    expected = printed_alone(need(QEMU[order], "qemu-user"), guest, status=9)
    assert len(expected.splitlines()) == 4
    for tier in (INTERPRETED, *BASELINE.values()):
        assert printed_alone(host, *tier, guest, status=9) == expected
    assert "needs              MIPS32r2, MIPS16\n" in mipsrec("info", guest).stdout


FUNCTIONS = (
    "main", "many", "chosen", "compare", "faults", "on_*", "jumps_back", "short_*", "long_*",
    "__mips16_*", "printf", "__vfprintf_internal", "qsort*", "msort*", "memcmp", "raise",
)  # fmt: skip


@pytest.mark.parametrize("order", ORDERS)
def test_recompiled(host: Path, tmp_path: Path, order: str) -> None:
    """All functions of one kind, of the other, and of both."""
    guest = compile_guest(tmp_path, order, SOURCE.read_text(), "-static")
    expected = printed_alone(need(QEMU[order], "qemu-user"), guest, status=9)
    opened = pipeline.open_guest(guest)
    odd = [function.name for function in opened.functions_like(list(FUNCTIONS)) if is_mips16(function.start)]
    even = [function.name for function in opened.functions_like(list(FUNCTIONS)) if not is_mips16(function.start)]
    assert {"main", "chosen", "short_calls", "faults"} <= set(odd) and {"printf", "long_calls"} <= set(even)
    for number, (opt, names) in enumerate([(1, FUNCTIONS), ("auto", odd), (2, even)][: 3 if ALL else 2]):
        folder = tmp_path / str(number)
        folder.mkdir()
        library = library_at(opened, folder, opt, *names)
        assert printed_alone(host, "--library", library, guest, status=9) == expected
        assert printed_alone(host, *AUTO["auto at random"], "--library", library, guest, status=9) == expected


EXCEPTIONS = """
#include <cstdio>
#include <stdexcept>
struct Noted { int number; ~Noted() { std::printf("~%d\\n", number); } };
__attribute__((noinline)) int thrower(int x)
{
    if (x % 3 == 0)
        throw std::runtime_error("three");
    if (x % 5 == 0)
        throw x;
    return x * 2;
}
__attribute__((noinline)) int middle(int x) { Noted noted{x}; return thrower(x) + 1; }
int main()
{
    int sum = 0;
    for (int i = 1; i < 200; i++)
        try {
            sum += i < 20 ? middle(i) : thrower(i);
        } catch (const std::exception &error) {
            sum += error.what()[0];
        } catch (int number) {
            sum -= number;
        }
    std::printf("%d\\n", sum);
}
"""


@pytest.mark.parametrize("order", ORDERS)
def test_exceptions(host: Path, tmp_path: Path, order: str) -> None:
    guest = compile_guest(tmp_path, order, EXCEPTIONS, "-static", "-mips16", "-O2", language="c++")
    expected = printed_alone(need(QEMU[order], "qemu-user"), guest)
    library = library_at(pipeline.open_guest(guest), tmp_path, 2, "main", "*thrower*", "*middle*")
    assert printed_alone(host, "--library", library, guest) == expected
    assert printed_alone(host, *AUTO["auto at random"], "--library", library, guest) == expected


ASSEMBLY = """
    .set noreorder
    .text
    .globl __start
    .set mips16
    .ent __start
__start:
    li $4, 3
    {instruction}
    jal finish
    nop
    .end __start
    .set nomips16
    .align 2
    .globl finish
    .ent finish
finish:
    li $v0, 4001
    syscall
    .end finish
"""


WITHOUT_SLOT = """lw $2, 1f
    jalrc $2
    move $4, $2
    b 2f
    .align 2
1:  .word leaf
    .type leaf, @function
leaf:
    jr $31
    li $2, 7
2:
"""


def test_call_without_a_slot(host: Path, tmp_path: Path) -> None:
    """The state has to have the ra that jalrc writes, where calls do not pass it."""
    options = ("-nostdlib", "-static", "-mno-abicalls", "-fno-pic")
    source = ASSEMBLY.format(instruction=WITHOUT_SLOT)
    guest = compile_guest(tmp_path, "little", source, *options, language="assembler")
    assert subprocess.run([need(QEMU["little"], "qemu-user"), guest]).returncode == 7
    for calls in CALL_MODELS:
        library = tmp_path / f"{calls}.so"
        pipeline.build(pipeline.open_guest(guest), library, pipeline.Options(opt=1, jobs=1, calls=calls))
        ended = subprocess.run([host, "--tier", "aot", "--library", library, guest], timeout=60)
        assert (calls, ended.returncode) == (calls, 7)


UNWINDS = """
#include <stdio.h>
unsigned context[5];
__asm__(".set nomips16\\n.set noreorder\\n"
        ".globl marks\\n.type marks, @function\\nmarks: lui $8, %hi(context)\\n addiu $8, $8, %lo(context)\\n"
        "sw $31, 0($8)\\n sw $29, 4($8)\\n sw $30, 8($8)\\n sw $16, 12($8)\\n"
        "sw $17, 16($8)\\n jr $31\\n move $2, $0\\n"
        ".globl unwinds\\n.type unwinds, @function\\nunwinds: lui $8, %hi(context)\\n addiu $8, $8, %lo(context)\\n"
        "lw $31, 0($8)\\n lw $29, 4($8)\\n lw $30, 8($8)\\n lw $16, 12($8)\\n"
        "lw $17, 16($8)\\n jr $31\\n li $2, 1\\n");
int marks(void) __attribute__((nomips16)); void unwinds(void) __attribute__((nomips16));
volatile int rounds, sum;
__attribute__((noinline)) void deep(int n) { if (n) deep(n - 1); else unwinds(); sum++; }
__attribute__((noinline)) void guarded(void) { if (marks() == 0) deep(3); sum += 5; }
__attribute__((noinline)) void outer(void) { guarded(); sum += 100; }
int main(int count, char **words)
{
    for (rounds = 100 * count; rounds; rounds--) { outer(); for (volatile int i = 0; i < 50; i++); }
    return printf("%6d\\n", sum) != 7;
}
"""
"""Functions go back to a context that no analysis knows of, as it does not have all registers."""


@pytest.mark.parametrize("order", ORDERS)
def test_frames_below_an_unwound_one_stay(host: Path, tmp_path: Path, order: str) -> None:
    """`restore` frees a frame before the jump that returns: the interpreter hands over behind that jump, not before."""
    guest = compile_guest(tmp_path, order, UNWINDS, "-static", "-mips16", "-fno-pic", "-mno-abicalls")
    functions = "main", "outer", "guarded", "deep", "unwinds", "marks"
    library = library_at(pipeline.open_guest(guest), tmp_path, 1, *functions)
    interpreted = []
    for words in ((), ("one", "more")):
        expected = printed_alone(need(QEMU[order], "qemu-user"), guest, *words)
        command = [host, "--tier", "aot", "--stats", "--library", library, guest, *words]
        result = subprocess.run(command, capture_output=True, text=True)
        assert (result.returncode, result.stdout) == (0, expected), result
        interpreted += re.findall(r"(\d+) instructions interpreted", result.stderr)
    assert int(interpreted[1]) - int(interpreted[0]) < 200 * 20


CALLS_BETWEEN_KINDS = """
#define SHORT __attribute__((mips16, noinline))
#define LONG __attribute__((nomips16, noinline))
int printf(const char *, ...);
int atoi(const char *);
LONG static unsigned long_leaf(unsigned a) { return a * 31; }
SHORT static unsigned short_leaf(unsigned a) { return a ^ 33; }
static unsigned (*volatile leaves[])(unsigned) = {long_leaf, short_leaf};
LONG static unsigned long_calls(unsigned a) { return leaves[a & 1](a) + leaves[~a & 1](a) + short_leaf(a); }
SHORT static unsigned short_calls(unsigned a) { return leaves[a & 1](a) + leaves[~a & 1](a) + long_leaf(a); }
static unsigned (*volatile callers[])(unsigned) = {long_calls, short_calls};
int main(int count, char **words)
{
    unsigned sum = 1;
    for (int i = atoi(words[1]); i > 0; i--)
        sum = sum * 31 + callers[i & 1](sum);
    printf("%08x\\n", sum);
    return 0;
}
"""


@pytest.mark.parametrize("kind", ("-mips16", "-mno-mips16"))
@pytest.mark.parametrize("order", ORDERS)
def test_calls_between_kinds_stay_in_the_baseline_tier(host: Path, tmp_path: Path, order: str, kind: str) -> None:
    """Code of either kind goes to the other without host and interpreter: by jalr, jalx and returns."""
    guest = compile_guest(tmp_path, order, CALLS_BETWEEN_KINDS, "-static", kind, "-fno-pic", "-mno-abicalls")
    handed: list[int] = []
    for rounds in ("2000", "6000"):
        expected = printed_alone(need(QEMU[order], "qemu-user"), guest, rounds)
        command = [host, *BASELINE["baseline"], "--stats", guest, rounds]
        result = subprocess.run(command, capture_output=True, text=True)
        assert (result.returncode, result.stdout) == (0, expected), result
        (entries,) = re.findall(r"entered them (\d+) times", result.stderr)
        (interpreted,) = re.findall(r"(\d+) instructions interpreted", result.stderr)
        handed.append(int(entries) + int(interpreted))
    assert handed[1] - handed[0] < 1000  # of some 16,000 calls between both kinds


def test_report(host: Path, tmp_path: Path) -> None:
    """--report shows the halves, and the MIPS32 instruction that does the same."""
    options = ("-nostdlib", "-static", "-mno-abicalls", "-fno-pic")
    source = ASSEMBLY.format(instruction="lw $2, 8($4)")
    guest = compile_guest(tmp_path, "little", source, *options, language="assembler")
    result = subprocess.run([host, *INTERPRETED, "--report", guest], capture_output=True, text=True)
    assert result.returncode == -11 and re.search(r"^[0-9a-f]{7}[13579bdf]: 9c42  lw v0, 8\(a0\)$", result.stderr, re.M)


@pytest.mark.parametrize("order", ORDERS)
def test_it_may_start_so(host: Path, tmp_path: Path, order: str) -> None:
    """The entry point is odd. What is no MIPS16 code ends by SIGILL, and is named."""
    options = ("-nostdlib", "-static", "-mno-abicalls", "-fno-pic")
    guest = compile_guest(tmp_path, order, ASSEMBLY.format(instruction="addiu $4, 4"), *options, language="assembler")
    for tier in (INTERPRETED, *BASELINE.values()):
        assert subprocess.run([host, *tier, guest]).returncode == 7
    library = library_at(pipeline.open_guest(guest), tmp_path, 1)
    assert subprocess.run([host, "--library", library, guest]).returncode == 7
    assert "__start" in mipsrec("disasm", guest).stdout
    guest = compile_guest(tmp_path, order, ASSEMBLY.format(instruction=".half 0xe801"), *options, language="assembler")
    result = subprocess.run([host, guest], capture_output=True, text=True)
    assert result.returncode == -4 and "is no MIPS16 code" in result.stderr


LIBRARY = """
#include <stdio.h>
double scale = 1.5;
static int calls;
int (*chosen)(int);
int twice(int value) { calls++; return 2 * value; }
int each(int count, int (*callee)(int))
{
    int sum = 0;
    for (int i = 0; i < count; i++)
        sum += callee(i) ^ twice(i);
    return sum;
}
double mean(const float *numbers, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += numbers[i] * scale;
    printf("%d calls\\n", calls);
    return sum / count;
}
"""

PROGRAM = """
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
extern double scale;
extern int (*chosen)(int);
int twice(int), each(int, int (*)(int));
double mean(const float *, int);
static int own(int value) { return value * 3 + (value >> 2); }
static int compare(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }
static void at_end(void) { puts("the end"); }
int main(int count, char **words)
{
    float numbers[40];
    atexit(at_end);
    for (int i = 0; i < 40; i++)
        numbers[i] = i / 8.0f;
    printf("%d %d\\n", each(1000, own), each(100, twice));
    chosen = twice;
    scale = sqrt(2.0);
    printf("%d\\n", chosen(21));
    printf("%.12f %a\\n", mean(numbers, 40), pow(scale, 3));
    qsort(words + 1, count - 1, sizeof *words, compare);
    for (int i = 1; i < count; i++)
        printf("%s %lld\\n", words[i], atoll(words[i]) / 7);
    return 9;
}
"""


@pytest.mark.parametrize("order", ORDERS)
def test_a_library_in_a_root(host: Path, tmp_path: Path, order: str) -> None:
    """Both of MIPS16 code, beside a C library that is not: pointers to functions go to all three and back."""
    root, words = tmp_path / "root", ("90000000000", "-8", "b", "a", "12")
    (tmp_path / "library.c").write_text(LIBRARY)
    native = tmp_path / "native"
    (tmp_path / "program.c").write_text(PROGRAM)
    run_compiler([need("gcc"), "-w", *(tmp_path / f"{name}.c" for name in ("library", "program")), "-lm", "-o", native],
                 native)  # fmt: skip
    expected = printed_alone(native, *words, status=9)
    for name in ("ld.so.1", "libc.so.6", "libm.so.6"):
        (root / "lib").mkdir(parents=True, exist_ok=True)
        shutil.copy(cross_libraries(order) / name, root / "lib")
    shared = compile_to(root / "lib/libown.so", order, LIBRARY, "-mips16", "-shared", "-fPIC", "-Wl,-soname,libown.so")
    program = compile_to(root / "bin/program", order, PROGRAM, "-mips16", shared, "-lm")
    for tier in (INTERPRETED, *BASELINE.values()):
        assert printed_alone(host, *tier, "-L", root, program, *words, status=9) == expected
    assert store_all([(file, load_elf(file)) for file in (program, shared)], LIGHT).skipped == []
    command = [host, "--tier", "aot", "--cache", cache_folder(), "--variant", variant_of(LIGHT), "--stats", "-L", root]
    result = subprocess.run([*command, program, *words], capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (9, expected)
    assert used(result.stderr) == {"program", "libown.so"}
