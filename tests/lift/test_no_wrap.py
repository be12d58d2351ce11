"""No-wrap inference: an addition does not wrap whose operand or result is sure to be the base of an access."""

from __future__ import annotations

from mipsrec.flow.graph import Graph
from mipsrec.lift.passes.no_wrap import KnownAddresses
from tests.lift.plans import Snippets, marked
from tests.support.assembler import assembled_guest

# The immediates of those that do not wrap are even.
CODE = """
    .text; .set noreorder; .set mips32r2; .globl __start; .ent __start
__start:
    addiu $2, $4, 1
    addiu $2, $0, 3
    lw    $3, 0($5)
    addiu $5, $5, 2          # it was one; the sum is not known to be
    addiu $5, $5, 5
    addiu $6, $6, -4         # the result will be one
    addiu $3, $3, 7
    addiu $8, $7, 23         # the operand will be one, but what is stored before may show the sum
    sw    $7, 4($6)
    addiu $8, $7, 8          # the operand will be one
    addiu $9, $9, 12
    lh    $7, 4($7)
    lwc1  $f2, 4($9)
    addiu $10, $10, 9        # a trap comes first
    teq   $2, $3
    addiu $4, $10, 14
    lb    $10, ($10)
    lb    $15, ($12)
    bne   $2, $3, slot
    addiu $10, $10, 11
slot:
    bne   $2, $3, likely
    addiu $12, $12, 16
likely:
    addiu $11, $11, 13       # in the slot, but that may not be executed
    beql  $2, $3, merge
    lw    $15, ($11)
    lw    $15, ($14)
merge:
    addiu $11, $11, 15
    addiu $14, $14, 17       # one on one of two ways
    addiu $6, $6, 18         # one on all ways
loop:
    lbu   $2, ($6)
    bne   $2, $0, loop
    addiu $6, $6, 20
    lw    $15, ($16)
    bal   away
    addiu $16, $16, 22
    addiu $16, $16, 19
    lw    $15, ($17)
    syscall
    addiu $17, $17, 21
    jr    $31
    lwl   $18, ($18)
away:
    jr    $31
    nop
    .end __start
"""


SNIPPETS = Snippets(
    {"steps": "lw $2, 0($4)\n addiu $4, $4, 4\n jr $31\n nop", "idle": "addu $2, $4, $5\n jr $31\n nop"}
)


def test_marked() -> None:
    assert marked(SNIPPETS.plan("steps"), "no_wrap") == ["addiu a0, a0, 4"]
    assert marked(SNIPPETS.plan("steps", memory="paged"), "no_wrap") == []
    assert marked(SNIPPETS.plan("idle"), "no_wrap") == []


def test_no_wrap_additions() -> None:
    guest = assembled_guest(CODE, "little")
    function = guest.function("__start")
    addresses = KnownAddresses(Graph.reached(function, [function.start]), 0)
    exact, wrapping = [], []
    for block in function.blocks.values():
        found = addresses.no_wrap_additions(block)
        for index, instruction in enumerate(block.body_and_slot()):
            if instruction.row.name == "addiu":
                (exact if index in found else wrapping).append(instruction.imm)
    assert sorted(exact) == [-4, 2, 8, 12, 14, 16, 18, 20, 22]
    assert sorted(wrapping) == [1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23]
