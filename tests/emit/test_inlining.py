"""Inlining: functions that call nothing are copied into the loops that call them, and do there what calls do.

Tiny ones are copied wherever they are called, into other modules as well.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from mipsrec import pipeline, recompile
from mipsrec.emit.lifted import lift_function
from mipsrec.emit.module import module_text
from mipsrec.lift.options import LiftOptions
from mipsrec.lift.policy import TINY_INSTRUCTIONS, copied_functions, lifted_starts
from mipsrec.native import shards
from mipsrec.native.codegen import optimized_text
from mipsrec.native.library import lift_shard
from mipsrec.options import Options
from mipsrec.target import this_target
from mipsrec.target.cpu import chosen_cpu
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
__attribute__((noipa)) unsigned larger(unsigned a)
{
    return (a << 7 ^ a >> 3) + (a << 9 ^ a >> 5) + (a << 11 ^ a >> 6) + (a << 13 ^ a >> 7) + (a << 15 ^ a >> 8);
}
__attribute__((noinline)) unsigned caller(unsigned a) { return leaf(a, a) + 1; }

void __start(void)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < 10; i++)
        sum += leaf(i, 0) + caller(sum);
    unsigned same = 0;
    for (unsigned i = 0; i < 10; i++)
        same += (i * 31) + ((same * 31 ^ same) + 1);
    unsigned large = larger(0x8001);
    for (unsigned i = 0; i < 3; i++)
        large += larger(0x8001);
    int right = sum == same && large == 4 * 0x5540c200u && loop(10) == 525 && leaf(2, 3) == 61;
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
    assert {program.functions[start].name for start in copied_functions(program)} == {"odd", "leaf", "larger"}
    sizes = {function.name: function.instruction_count() for function in program.functions.values()}
    assert sizes["leaf"] <= TINY_INSTRUCTIONS < sizes["larger"]
    texts = {
        function.name: "".join(
            lifted.text for lifted in lift_function(function, starts, LiftOptions(big_endian=order == "big"))
        )
        for function in program.functions.values()
    }
    assert {name for name, text in texts.items() if "alwaysinline" in text} == {"loop", "caller", "__start"}
    calls = [line for line in texts["__start"].splitlines() if " call x86" in line]
    copies = [line for line in calls if "alwaysinline" in line]
    assert sum("@leaf" in line for line in copies) == sum("@leaf" in line for line in calls) == 2
    assert sum("@larger" in line for line in copies) == 1 and sum("@larger" in line for line in calls) == 2
    for opt in (0, 3):
        library = library_at(guest, tmp_path, opt)
        subprocess.run([host, "--library", library, path], timeout=600, check=True)


@pytest.mark.parametrize("opt", ["light", 2])
def test_copies_of_other_modules(
    host: Path, tmp_path: Path, opt: int | str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module has copies of the tiny functions of others, which are gone once they are in place."""
    monkeypatch.setattr(shards, "LEAST_INSTRUCTIONS", 1)
    monkeypatch.setattr(shards, "MOST_INSTRUCTIONS", 1)
    path = compile_guest(tmp_path, "little", SOURCE, *BARE)
    guest = pipeline.open_guest(path)
    plan = recompile.plan_of(guest, Options(opt), guest.starts)
    names = {function.start: function.name for function in guest.program.functions.values()}
    found = {names[shard.starts[0]]: lift_shard(shard, plan) for shard in plan.shards()}
    assert {name: [one.guest_name for one in lifted[1:]] for name, lifted in found.items()} == {
        "__start": ["leaf"], "caller": ["leaf"], "loop": ["odd"], "leaf": [], "larger": [], "odd": []
    }  # fmt: skip
    assert all(one.entries == () for lifted in found.values() for one in lifted[1:])
    text = module_text(found["caller"], this_target().triple)
    lines = optimized_text(text, str(opt), chosen_cpu("native")).splitlines()
    assert not any("@leaf" in line and " call " in line for line in lines)
    library = library_at(guest, tmp_path, opt)
    subprocess.run([host, "--library", library, path], timeout=600, check=True)
