"""Scalar lanes: instructions of the DSP module are scalars in loops of one block that walk through memory."""

from __future__ import annotations

import pytest

from tests.lift.plans import Snippets, marked

BACK = "bne $4, $5, 1b\n nop\n jr $31\n nop"
SUM = "addq_s.ph $2, $2, $8"


def loop(*lines: str) -> str:
    return "\n".join([".set dspr2", "1:", *lines, BACK])


CODE = Snippets(
    {
        "walks": loop("lw $8, 0($4)", SUM, "addiu $4, $4, 4"),
        "stays": loop("lw $8, 0($6)", SUM, "sw $2, 4($6)", "addiu $4, $4, 4"),
        "jumps_about": loop("lw $8, 0($9)", SUM, "addu $9, $9, $7", "addiu $4, $4, 4"),
        "steps_twice": loop("lw $8, 0($4)", SUM, "addiu $4, $4, 4", "addiu $4, $4, 4"),
        "follows": loop("lw $8, 0($9)", SUM, "lw $9, 4($9)", "addiu $4, $4, 4"),
        "steps_from_another": loop("lw $8, 0($9)", SUM, "addiu $9, $4, 8", "addiu $4, $4, 4"),
        "indexed": loop(".word 0x7c86400a", SUM, "addiu $4, $4, 4"),  # lwx $8, $6($4)
        "in_parts": loop("lwl $8, 3($4)", "lwr $8, 0($4)", SUM, "addiu $4, $4, 4"),
        "traps": loop("lw $8, 0($4)", SUM, "teq $8, $0", "addiu $4, $4, 4"),
        "two_blocks": loop("lw $8, 0($4)", "beqz $8, 2f", "addiu $4, $4, 4", SUM, "2:"),
        "no_loop": f".set dspr2\n lw $8, 0($4)\n {SUM}\n jr $31\n nop",
    }
)


@pytest.mark.parametrize("name", ["walks", "stays"])
def test_scalars(name: str) -> None:
    assert marked(CODE.plan(name), "scalar_lanes") == ["addq_s.ph v0, v0, t0"]


@pytest.mark.parametrize(
    "name",
    ["jumps_about", "steps_twice", "follows", "steps_from_another", "indexed", "in_parts", "traps", "two_blocks",
     "no_loop"],
)  # fmt: skip
def test_vectors(name: str) -> None:
    """Where the loop vectorizer has nothing to do."""
    assert marked(CODE.plan(name), "scalar_lanes") == []
