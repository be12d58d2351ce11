"""Plans for tests that look at what was decided: of whole programs, and of functions in assembly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from mipsrec import pipeline
from mipsrec.isa.disassembly import disassemble
from mipsrec.lift.build import PIPELINE, decide, undecided_plan
from mipsrec.lift.check import findings
from mipsrec.lift.ir import FunctionPlan, Op
from mipsrec.lift.options import LiftOptions
from mipsrec.lift.pipeline import passes_up_to
from mipsrec.options import Options
from tests.support.assembler import assembled_guest

R = tuple(1 << number for number in range(32))
"""The bits of the general-purpose registers."""


@cache
def open_guest(path: Path) -> pipeline.Guest:
    """Return a program, which is analysed once."""
    return pipeline.open_guest(path)


def plans(path: Path, options: Options | None = None, *names: str) -> Iterator[tuple[str, FunctionPlan]]:
    """Yield the plans of the variants of functions that are no thunks, with their symbols: of named ones, or all."""
    guest = open_guest(path)
    return pipeline.plans(guest, options or Options(), guest.functions_named(list(names)) or None)


class Snippets:
    """Functions in assembly, by name: one program for each byte order. Labels inside are numbers."""

    def __init__(self, functions: Mapping[str, str]) -> None:
        self.text = ".set noreorder\n.set noat\n.set nomacro\n.set mips32r2\n.text\n" + "".join(
            f".globl {name}\n.type {name}, @function\n{name}:\n{text}\n.text\n.size {name}, . - {name}\n"
            for name, text in (functions | {"__start": "jr $31\nnop"}).items()  # type: ignore[operator]
        )
        self._guests: dict[str, pipeline.Guest] = {}

    def guest(self, order: str = "little") -> pipeline.Guest:
        """Return the program."""
        if order not in self._guests:
            self._guests[order] = assembled_guest(self.text, order)
        return self._guests[order]

    def plan(
        self,
        name: str,
        order: str = "little",
        memory_resident: int = 0,
        entries: tuple[int, ...] = (0,),
        last: str = PIPELINE[-1].name,
        **options: Any,
    ) -> FunctionPlan:
        """Return the plan of a function, which keeps the contracts.

        `entries` are numbers of instructions at which blocks begin. `last` names the last pass to run.
        """
        guest = self.guest(order)
        function = guest.function(name)
        lift = LiftOptions(order == "big", **options)
        pcs = [function.start + 4 * number for number in entries]
        plan = undecided_plan(function, pcs, lift, guest.starts.get, memory_resident)
        decide(plan, passes_up_to(last))
        assert findings(plan) == []
        return plan


def marked(plan: FunctionPlan, mark: str) -> list[str]:
    """Return the instructions that have a mark (a field of Op), in order, as the disassembler writes them."""
    return [text_of(op) for block in plan.blocks.values() for op in block.ops if getattr(op, mark)]


def text_of(op: Op) -> str:
    """Return an instruction as the disassembler writes it."""
    return disassemble(op.instruction, op.pc)


def switch(cases: list[str], code: str, loop: bool = True, default: str = "9f", section: str = ".rodata") -> str:
    """Return a function that jumps by a table to these labels; 9 is where cases meet, and the loop goes back."""
    words = "\n".join(f".word {case}" for case in cases)
    back = "bne $4, $6, 1b\n nop" if loop else "nop"
    return f"""
        1:  lbu   $8, 0($4)
            sltiu $9, $8, {len(cases)}
            beqz  $9, {default}
            addiu $4, $4, 1
            sll   $8, $8, 2
            lui   $9, %hi(7f)
            addu  $9, $9, $8
            lw    $9, %lo(7f)($9)
            jr    $9
            nop
            {code}
        9:  {back}
            jr    $31
            nop
            .section {section}
            .align 2
        7:  {words}"""
