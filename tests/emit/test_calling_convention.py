"""What comes in host registers, and what goes back in them alone.

Functions that jump to a pc they computed hand on the arguments that they got. v0 and v1 are in the state again wherever
other code looks there.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from mipsrec import pipeline
from mipsrec.lift.convention import ARGUMENT_BITS, argument_registers
from tests.support.compiled import BARE, ORDERS, compile_guest, library_at

SOURCE = """
__asm__(".set noreorder\\n"
        ".globl on, last, adds\\n"
        ".type on, @function\\n"
        "on: lw $25, 0($4)\\n jr $25\\n nop\\n .size on, . - on\\n" /* reads a0, passes a1 to a3, sp and ra */
        ".type last, @function\\n" /* a second way to its jump, after what writes a2 */
        "last: beqz $6, 1f\\n lw $25, 0($4)\\n addiu $6, $6, 1\\n 1: jr $25\\n nop\\n .size last, . - last\\n"
        ".set reorder");

typedef unsigned (*handler)(void *, unsigned, unsigned, unsigned, unsigned);
extern unsigned on(void *, unsigned, unsigned, unsigned, unsigned);
extern unsigned last(void *, unsigned, unsigned, unsigned, unsigned);

static unsigned weigh(void *object, unsigned a, unsigned b, unsigned c, unsigned d)
{
    return a + 3 * b + 9 * c + 27 * d + (object != 0);
}

static handler volatile object;

void __start(void)
{
    object = weigh;
    int right = on((void *)&object, 1, 2, 0, 1) == 35 && on((void *)&object, 0, 1, 2, 3) == 103 &&
                last((void *)&object, 2, 0, 1, 1) == 39 && last((void *)&object, 2, 1, 1, 1) == 45;
    register int v0 __asm__("$2") = 4001;
    register int status __asm__("$4") = !right;
    __asm__ volatile("syscall" : : "r"(v0), "r"(status));
}
"""


@pytest.mark.parametrize("order", ORDERS)
def test_arguments_pass_through(host: Path, tmp_path: Path, order: str) -> None:
    program = compile_guest(tmp_path, order, SOURCE, *BARE)
    guest = pipeline.open_guest(program)
    functions = {function.name: function for function in guest.program.functions.values()}
    for name in ("on", "last"):
        assert argument_registers(functions[name]) == ARGUMENT_BITS
    assert argument_registers(functions["weigh"]) != ARGUMENT_BITS
    for opt in (0, 3):
        library = library_at(guest, tmp_path, opt)
        subprocess.run([host, "--library", library, program], timeout=60, check=True)


RESULTS_SOURCE = """
__asm__(".set noreorder\\n"
        ".macro function name\\n .globl \\\\name\\n .type \\\\name, @function\\n \\\\name:\\n .endm\\n"
        ".macro enter\\n addiu $29, $29, -8\\n sw $31, 4($29)\\n .endm\\n"
        ".macro leave to\\n lw $31, 4($29)\\n jr \\\\to\\n addiu $29, $29, 8\\n .endm\\n"
        "function pair\\n li $2, 7\\n jr $31\\n li $3, 9\\n"
        "function wraps\\n enter\\n jal pair\\n nop\\n leave $31\\n" /* does not touch v0 and v1 */
        "function sums\\n enter\\n jal wraps\\n nop\\n sll $3, $3, 4\\n addu $2, $2, $3\\n leave $31\\n"
        "function perhaps\\n enter\\n li $2, 1\\n li $3, 2\\n bltzal $4, pair\\n nop\\n"
        " sll $3, $3, 4\\n addu $2, $2, $3\\n leave $31\\n" /* calls on condition */
        "function strays\\n la $31, odd\\n li $2, 5\\n jr $31\\n li $3, 6\\n" /* returns elsewhere */
        "function detour\\n enter\\n jal strays\\n nop\\n break\\n"
        "function odd\\n sll $3, $3, 4\\n addu $2, $2, $3\\n leave $31\\n"
        "function hands_on\\n enter\\n jal wraps\\n nop\\n la $25, takes\\n leave $25\\n"
        "function takes\\n jr $31\\n addu $2, $2, $3\\n" /* v0 and v1 are its arguments */
        "function moves\\n la $31, lower\\n addiu $29, $29, -16\\n jr $31\\n li $4, 8\\n" /* returns with sp below */
        "function nested\\n enter\\n jal moves\\n nop\\n break\\n"
        "function lower\\n addiu $29, $29, 16\\n move $2, $4\\n leave $31\\n"
        "function returns_late\\n la $31, late\\n li $2, 5\\n jr $31\\n li $3, 6\\n"
        "function saves\\n .irp n, 16, 17, 18, 19, 20, 21, 22, 23\\n sw $\\\\n, 4 * (\\\\n - 16)($4)\\n .endr\\n"
        " jr $31\\n li $2, 0\\n" /* as setjmp does, it may return twice */
        "function resumes\\n enter\\n jal saves\\n addiu $4, $29, -64\\n late: bnez $2, 1f\\n nop\\n"
        " jal returns_late\\n nop\\n break\\n" /* returns where the first call did */
        "1: sll $3, $3, 4\\n addu $2, $2, $3\\n leave $31\\n"
        "function traps\\n enter\\n jal pair\\n nop\\n rdhwr $9, $29\\n leave $31\\n"
        ".set reorder");

extern int sums(void), perhaps(int), detour(void), hands_on(void), traps(void), nested(void),
    resumes(void);

void __start(void)
{
    int wrong = (sums() != 151) | (perhaps(-1) != 151) << 1 | (perhaps(1) != 33) << 2 | (detour() != 101) << 3 |
                (hands_on() != 16) << 4 | (traps() != 7) << 5 | (nested() != 8) << 6 | (resumes() != 101) << 7;
    register int v0 __asm__("$2") = 4001;
    register int status __asm__("$4") = wrong;
    __asm__ volatile("syscall" : : "r"(v0), "r"(status));
}
"""
_RESULT_PARTS = (
    (), ("pair", "strays", "takes", "odd"), ("wraps", "perhaps", "detour", "hands_on", "traps"), ("wraps", "sums"),
    ("nested", "resumes"),
)  # fmt: skip


@pytest.mark.parametrize("order", ORDERS)
def test_results_reach_whoever_reads_them(host: Path, tmp_path: Path, order: str) -> None:
    """They do so in any mix of recompiled and other code: a library of all functions, and of some."""
    program = compile_guest(tmp_path, order, RESULTS_SOURCE, *BARE, "-march=mips32r2")
    guest = pipeline.open_guest(program)
    assert guest.function("resumes").resume_points
    for opt, names in (("light", ()), *(("3", names) for names in _RESULT_PARTS)):
        library = library_at(guest, tmp_path, opt, *names)
        subprocess.run([host, "--library", library, program], timeout=60, check=True)
