"""Models of processors have the modules of qemu's models: every instruction of those, in each tier.

What lacks ends as the guest's own SIGILL, and a jump to MIPS16 code as SIGBUS. Recompiled code of files with such
instructions is not used.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from mipsrec import pipeline
from mipsrec.architecture import DSP, DSP2
from mipsrec.isa import ROWS, Flow, Row
from tests.support.compiled import ORDERS, OUT, QEMU, compile_guest, library_at, printed_alone
from tests.support.paths import GUESTS
from tests.support.tiers import AUTO, BASELINE, INTERPRETED
from tests.support.tools import need

WITH_MIPS16 = ("4Km", "4KEmR1", "4KEm", "24Kc", "24KEc", "24Kf", "34Kf", "74Kf")
WITHOUT_MIPS16 = ("4Kc", "4KEcR1", "4KEc")
"""And M14K, M14Kc and P5600: the first two have microMIPS code in qemu, the last the other encoding of NaNs."""
ROWS_OF_MODULES = [row for row in ROWS if row.module in (DSP, DSP2)]


def word_of(row: Row) -> int:
    """Return the row's instruction on v0, a0 and a1; a branch skips its delay slot only."""
    fields = 1 if row.flow is Flow.BRANCH else 4 << 21 | 5 << 16 | 2 << 11
    return row.value | fields & ~row.mask


def functions() -> str:
    """Return assembly of functions and their table: one for each row, one with a word in a delay slot, MIPS16 code."""
    bodies = {f"row_{number}": f".word 0x{word_of(row):08x}" for number, row in enumerate(ROWS_OF_MODULES)}
    first = word_of(ROWS_OF_MODULES[0])
    bodies["in_slot"] = f"b 1f\n.word 0x{first:08x}\n1:"
    text = "".join(
        f".globl {name}\n.type {name}, @function\n.ent {name}\n{name}: {body}\nnop\njr $ra\nnop\n.end {name}\n"
        f".size {name}, . - {name}\n" for name, body in bodies.items()
    )  # fmt: skip
    called = (
        ".globl by_jalx\n.type by_jalx, @function\n.ent by_jalx\nby_jalx: move $t8, $ra\njal other\nnop\njr $t8\nnop\n"
        ".end by_jalx\n.size by_jalx, . - by_jalx\n"
    )
    other = (
        ".set mips16\n.globl other\n.type other, @function\n.ent other\nother: jr $ra\nnop\n.end other\n"
        ".size other, . - other\n.set nomips16\n"
    )
    table = "\n".join(f".word {name}" for name in (*bodies, "by_jalx", "other"))
    return (
        f".set noreorder\n.set noat\n.text\n.align 2\n{text}{called}{other}.section .rodata\n.align 2\n"
        f".globl functions\nfunctions:\n{table}\n.globl function_count\nfunction_count: .word {len(bodies) + 2}\n"
    )


def guest_with(folder: Path, order: str) -> Path:
    table = folder / "functions.s"
    table.write_text(functions())
    source = (GUESTS / "models.c").read_text()
    return compile_guest(folder, order, source, *OUT, "-march=mips32", table)


@pytest.mark.parametrize("order", ORDERS)
def test_every_instruction_with_every_model(host: Path, tmp_path: Path, order: str) -> None:
    guest = guest_with(tmp_path, order)
    library = library_at(pipeline.open_guest(guest), tmp_path, 0)
    tiers = [INTERPRETED, *BASELINE.values(), ("--library", library), (*AUTO["auto at random"], "--library", library)]
    for model in (*WITH_MIPS16, *WITHOUT_MIPS16):
        words = [guest, *([] if model in WITH_MIPS16 else ["no MIPS16"])]
        expected = printed_alone(need(QEMU[order], "qemu-user"), "-cpu", model, *words)
        assert len(expected.splitlines()[0]) == 3 * (len(ROWS_OF_MODULES) + 4 - len(words))
        for tier in tiers:
            assert printed_alone(host, *tier, "--guest-cpu", model, *words) == expected, (model, tier)
    for tier in tiers:  # qemu-user dies of the address exception, for which Linux sends SIGBUS
        outcomes = printed_alone(host, *tier, "--guest-cpu", "4Kc", guest).splitlines()[0]
        assert outcomes == 3 * ("I" * (len(ROWS_OF_MODULES) + 2) + "B")
    assert "I" not in printed_alone(host, guest)


# ---- programs ----

TELLS = r"""
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>
static int sum(int a, int b)
{
    __asm__ volatile(".set push\n.set dsp\naddq.ph %0, %0, %1\n.set pop" : "+r"(a) : "r"(b));
    return a;
}
int main(int count, char **words)
{
    char line[100];
    FILE *of = fopen("/proc/cpuinfo", "r");
    printf("%lx", getauxval(AT_HWCAP));
    while (fgets(line, sizeof line, of))
        if (strncmp(line, "ASEs", 4) == 0 || strncmp(line, "cpu model", 9) == 0)
            printf("%.*s", (int)strcspn(strchr(line, ':') + 1, "\n"), strchr(line, ':') + 1);
    fclose(of);
    puts("");
    fflush(stdout);
    if (count > 1 && strcmp(words[1], "execute") == 0)
        execl(words[0], words[0], "sum", (char *)0);
    return count > 1 ? sum(count, 5) : 0;
}
"""
SEEN = {
    "24Kc": "8 MIPS 24Kc V4.12  FPU V0.0 mips16", "34Kf": "88 MIPS 34Kc V4.12  FPU V0.0 mips16 dsp",
    "74Kf": "188 MIPS 74Kc V4.12  FPU V0.0 mips16 dsp dsp2", "P5600": "0 MIPS P5600 V4.12  FPU V0.0",
}  # fmt: skip
"""By asm/hwcap.h and arch/mips/kernel/proc.c."""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a program with one instruction of the DSP module."""
    return compile_guest(tmp_path_factory.mktemp("program"), "little", TELLS, "-static", "-march=mips32r2")


def ended(*command: str | Path) -> tuple[int, list[str], list[str]]:
    """Return the status of a command, what it prints first of each line of a processor, and what it says."""
    result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    first = [line.split(" MIPS", 2)[:2] for line in result.stdout.splitlines()]
    return result.returncode, [" MIPS".join(parts) for parts in first], result.stderr.splitlines()


@pytest.mark.parametrize("model", SEEN)
@pytest.mark.parametrize("way", ["option", "name of qemu-user"])
def test_program_sees_its_processor_as_does_one_that_it_executes(
    host: Path, program: Path, model: str, way: str
) -> None:
    option = ("--guest-cpu", model) if way == "option" else ("--qemu", "qemu-mipsel", "-cpu", model)
    assert ended(host, *option, program) == (0, [SEEN[model]], [])
    status, seen, said = ended(host, *option, program, "execute")
    assert seen == [SEEN[model]] * 2
    if "dsp" in SEEN[model]:
        assert (status, said) == (2 + 5, [])
    else:
        assert status == -4 and len(said) == 1 and f" is of DSP, which the processor {model} lacks" in said[0]


def test_library_with_such_instructions_is_not_used(host: Path, tmp_path: Path, program: Path) -> None:
    library = library_at(pipeline.open_guest(program), tmp_path, 0, "main")
    for model, used in (("74Kf", True), ("34Kf", True), ("24Kc", False)):
        status, _, said = ended(host, "--stats", "--library", library, "--guest-cpu", model, program)
        assert status == 0 and any("mipsrec-host: recompiled " in line for line in said) == used
        reason = "is not used: it has instructions of DSP, which the program's processor lacks"
        assert any(line.endswith(reason) for line in said) != used


@pytest.mark.parametrize("marked", [(), ("-Wa,-mdspr2",)])
def test_other_libraries_are_used(host: Path, tmp_path: Path, marked: tuple[str, ...]) -> None:
    """Whatever the file is marked as using, and what its constants look like: a word of DSP lies beside the code."""
    data = "const unsigned table[] = {0x7c851290}; unsigned value(int i) { return table[i & 0]; }"  # addq.ph v0, a0, a1
    source = f"{data}\nint main(int count, char **words) {{ return (int)value(count) & 3; }}"
    guest = compile_guest(tmp_path, "little", source, *OUT, "-march=mips32r2", *marked)
    library = library_at(pipeline.open_guest(guest), tmp_path, 0)
    status, _, said = ended(host, "--stats", "--library", library, "--guest-cpu", "24Kc", guest)
    assert status == 0 and any("mipsrec-host: recompiled " in line for line in said), said


def test_unknown_model(host: Path, program: Path) -> None:
    result = subprocess.run([host, "--guest-cpu", "24K", program], capture_output=True, text=True)
    assert result.returncode == 2 and "no model is named '24K'" in result.stderr
