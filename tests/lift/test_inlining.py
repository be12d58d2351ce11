"""Functions that call nothing, in the loops that call them: which are copied there, and that they do what calls do."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from mipsrec import pipeline
from mipsrec.emit.lifted import lift_function
from mipsrec.lift.options import LiftOptions
from mipsrec.lift.policy import copied_functions, lifted_starts
from tests.support.compiled import BARE, ORDERS, compile_guest, library_at

SOURCE = """
__asm__(".set noreorder\\n"
        ".globl odd\\n.type odd, @function\\n" /* returns past an instruction where a0 is odd */
        "odd: andi $2, $4, 1\\n beqz $2, 1f\\n nop\\n addiu $31, $31, 4\\n 1: jr $31\\n li $2, 5\\n"
        ".size odd, . - odd\\n"
        ".globl loop\\n.type loop, @function\\n" /* 100 for each even number below a0, 5 for each odd one */
        "loop: move $15, $31\\n move $8, $4\\n li $9, 0\\n"
        "2: addiu $8, $8, -1\\n move $4, $8\\n jal odd\\n nop\\n"
        "li $2, 100\\n addu $9, $9, $2\\n bnez $8, 2b\\n nop\\n"
        "jr $15\\n move $2, $9\\n.size loop, . - loop\\n"
        ".set reorder");
extern unsigned loop(unsigned count);

__attribute__((noinline)) unsigned leaf(unsigned a, unsigned b) { return a * 31 ^ b; }
__attribute__((noinline)) unsigned caller(unsigned a) { return leaf(a, a) + 1; }

void __start(void)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < 10; i++)
        sum += leaf(i, 0) + caller(sum);
    unsigned same = 0;
    for (unsigned i = 0; i < 10; i++)
        same += (i * 31) + ((same * 31 ^ same) + 1);
    int right = sum == same && loop(10) == 525 && leaf(2, 3) == 61;
    register int v0 __asm__("$2") = 4001;
    register int status __asm__("$4") = !right;
    __asm__ volatile("syscall" : : "r"(v0), "r"(status));
}
"""


@pytest.mark.parametrize("order", ORDERS)
def test_copies(host: Path, tmp_path: Path, order: str) -> None:
    path = compile_guest(tmp_path, order, SOURCE, *BARE)
    guest = pipeline.open_guest(path)
    program = guest.program
    starts = lifted_starts(program)
    assert {program.functions[start].name for start in copied_functions(program)} == {"odd", "leaf"}
    texts = {
        function.name: "".join(
            lifted.text for lifted in lift_function(function, starts, LiftOptions(big_endian=order == "big"))
        )
        for function in program.functions.values()
    }
    assert {name for name, text in texts.items() if "alwaysinline" in text} == {"loop", "__start"}
    copies = [line for line in texts["__start"].splitlines() if "alwaysinline" in line]
    assert len(copies) == 1 and "@leaf" in copies[0]
    for opt in (0, 3):
        library = library_at(guest, tmp_path, opt)
        subprocess.run([host, "--library", library, path], timeout=60, check=True)
