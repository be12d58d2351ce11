"""A program that ends by an instruction of a module that is not there is told which; one that handles SIGILL is not."""

from __future__ import annotations

import signal
import struct
import subprocess
from pathlib import Path

import pytest

from tests.support.commandline import mipsrec
from tests.support.compiled import compile_guest
from tests.support.hosts import plain_host
from tests.support.tiny_elf import CODE, TinyElf

ORDERS = {"little": "<", "big": ">"}
AT = CODE + 0x200

WORDS = {  # as binutils assembles them
    0x7C641008: "the MT module",  # fork
    0x41600001: "the MT module",  # dvpe
    0x70430481: "SmartMIPS",  # pperm
    0x70831088: "SmartMIPS",  # lwxs
    0x70430441: "SmartMIPS",  # maddp
    0x00001052: "SmartMIPS",  # mflhxu
    0x00400053: "SmartMIPS",  # mtlhx
    0x00430459: "SmartMIPS",  # multp
    0x7C620028: "enhanced virtual addressing (EVA)",  # lbue
    0x7802080E: "MSA or MDMX",  # addv.b
    0x4560FFFF: "MSA or MDMX",  # bz.v
    0x46C41018: "MIPS-3D",  # addr.ps
    0x46C41000: "paired-single floating point",  # add.ps
    0xDC620000: "MIPS III or MIPS64 (64 bits)",  # ld
    0x0064102D: "MIPS III or MIPS64 (64 bits)",  # daddu
    0x7C031020: "MIPS R6",  # bitswap
    0x00641098: "MIPS R6",  # mul
    0x48020000: "coprocessor 2 or MIPS R6",  # mfc2
    0x40026000: "coprocessor 0, the kernel's",  # mfc0
}
NAMELESS = (0x0000003D, 0x70000007, 0x4C000003)


def run(tier: str, program: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([plain_host(), "--tier", tier, program], capture_output=True, text=True, check=False)


def program_of(folder: Path, order: str, *words: int) -> Path:
    code = struct.pack(f"{ORDERS[order]}{len(words) + 1}I", *words, 0)
    path = folder / "prog"
    path.write_bytes(TinyElf(order=ORDERS[order], segments=[(1, AT, code, len(code), 5)]).build())
    return path


@pytest.mark.sampled
@pytest.mark.parametrize("tier", ["interp", "baseline"])
@pytest.mark.parametrize("order", ORDERS)
def test_modules_are_named(tmp_path: Path, order: str, tier: str) -> None:
    for word, module in WORDS.items():
        program = program_of(tmp_path, order, word)
        said = f"the instruction {word:08x} at 0x{AT:08x} is of {module}, which is not supported"
        result = run(tier, program)
        assert (result.returncode, result.stderr) == (-signal.SIGILL, f"mipsrec-host: {program}: {said}\n")
    for word in NAMELESS:
        result = run(tier, program_of(tmp_path, order, word))
        assert (result.returncode, result.stderr) == (-signal.SIGILL, "")


@pytest.mark.parametrize("order", ORDERS)
def test_what_is_no_mips16_code_is_named(tmp_path: Path, order: str) -> None:
    """An odd address is one of MIPS16 code, also where no mark says so. Data there are no such code."""
    words = (0x3C080000 | AT >> 16, 0x35080001 | AT + 0x10 & 0xFFFF, 0x01000008, 0)  # lui, ori, jr t0
    program = program_of(tmp_path, order, *words, 0xF800F800)
    said = f"mipsrec-host: {program}: the code at the odd address 0x{AT + 0x11:08x} is no MIPS16 code"
    for tier in ("interp", "baseline"):
        result = run(tier, program)
        assert result.returncode == -signal.SIGILL and result.stderr.startswith(said)
    nowhere = run("baseline", program_of(tmp_path, order, 0x24080001, 0x01000008, 0))
    assert (nowhere.returncode, nowhere.stderr) == (-signal.SIGSEGV, "")


@pytest.mark.parametrize("order", ORDERS)
def test_recompiled_code_in_a_delay_slot(tmp_path: Path, order: str) -> None:
    program = program_of(tmp_path, order, 0x10000001, 0x7C641008)  # b; fork
    assert mipsrec("build", program, "-o", tmp_path / "lib.so", "--opt", "0").returncode == 0
    result = subprocess.run([plain_host(), "--library", tmp_path / "lib.so", program], capture_output=True, text=True)
    assert result.returncode == -signal.SIGILL and f"7c641008 at 0x{AT + 4:08x} is of the MT module" in result.stderr


ASKS = r"""
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
static sigjmp_buf back;
static void on_illegal(int number) { (void)number; siglongjmp(back, 1); }
int main(int count, char **arguments)
{
    if (count > 2) {
        int status;
        if (fork() != 0)
            return wait(&status) > 0 ? WTERMSIG(status) : 0;
    } else if (count > 1)
        dup2(open(arguments[1], O_WRONLY | O_CREAT, 0600), 2);
    else
        signal(SIGILL, on_illegal);
    if (sigsetjmp(back, 1))
        return 3;
    __asm__ volatile(".word 0x7c641008");
    return 0;
}
"""


def test_who_handles_the_signal_hears_nothing(tmp_path: Path) -> None:
    """Nor does one that forked the child which died, nor a file that has taken the place of standard error."""
    guest = compile_guest(tmp_path, "little", ASKS, "-static", "-O1")
    handled = run("baseline", guest)
    assert (handled.returncode, handled.stderr) == (3, "")
    forked = subprocess.run([plain_host(), guest, "in a", "child"], capture_output=True, text=True, check=False)
    assert (forked.returncode, forked.stderr) == (signal.SIGILL, "")
    command = [plain_host(), "--tier", "interp", guest, tmp_path / "data"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (-signal.SIGILL, "") and (tmp_path / "data").read_bytes() == b""


def test_what_a_file_is_marked_as_using(tmp_path: Path) -> None:
    """`info` and `build` say so before anything runs."""
    flags = struct.pack("<H6B4I", 0, 32, 2, 1, 1, 0, 1, 0, 0x201, 0, 0)  # DSP and MSA
    code = struct.pack("<2I", 0x03E00008, 0)
    segments = [(1, AT, code, len(code), 5), (0x70000003, 0, flags, len(flags), 4)]
    program = tmp_path / "prog"
    program.write_bytes(TinyElf(order="<", flags=0x748B1000, segments=segments).build())
    said = "is marked as using MSA, Octeon: such instructions are not supported and raise SIGILL"
    shown = mipsrec("info", program).stdout
    assert said in shown and "modules            DSP, MSA, MIPS16, Octeon\n" in shown
    assert said in mipsrec("build", program, "-o", tmp_path / "lib.so", "--opt", "0").stderr


def test_what_the_instructions_of_a_file_need(tmp_path: Path) -> None:
    """Whatever it is marked as: movz is of MIPS32, lwx of DSP."""
    words = {"MIPS I": (0x03E00008, 0), "MIPS32, DSP": (0x0000100A, 0x7C85100A, 0x03E00008, 0)}
    for needs, code in words.items():
        data = struct.pack(f"<{len(code)}I", *code)
        program = tmp_path / "prog"
        program.write_bytes(TinyElf(order="<", flags=0x70001000, segments=[(1, AT, data, len(data), 5)]).build())
        assert f"\nneeds              {needs}\n" in mipsrec("info", program).stdout
