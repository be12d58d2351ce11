"""Functions in code of real compilers: where they begin, how blocks end, tail calls, entries besides the start."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mipsrec import pipeline
from mipsrec.analysis import BlockIndex, End, Program
from mipsrec.elf import load_elf
from tests.analysis.analysed import FREESTANDING, function, program_of
from tests.support.compiled import BARE, CATCHES, ORDERS, binutils, compile_guest

ASSEMBLY = """
    .set noreorder
    .text
    .globl __start
    .ent __start
__start:
    jal 1f                      # reads the pc only
    nop
1:  bal 2f
    nop
2:  bne $a0, $zero, slot        # into a delay slot
    nop
    beq $a1, $zero, elsewhere
slot:
    addiu $v0, $v0, 1
    jal work
    nop
    b leave                     # a tail call
    nop
    .end __start
elsewhere:
    addiu $v0, $v0, 2
    lui $t9, %hi(work)
    addiu $t9, $t9, %lo(work)
    jr $t9                      # a tail call through a register
    nop
words:
    .word 0xffffffff, 0xfc000001, 0x00000012
    .globl work
    .ent work
work:
    bnel $a0, $zero, 3f
    addiu $v0, $v0, 4
    addiu $v0, $v0, 5
3:  jr $ra
    nop
    .end work
    .globl leave
    .ent leave
leave:
    addiu $v0, $zero, 4001
    syscall
    break
    .end leave
"""


@pytest.mark.parametrize("order", ORDERS)
def test_hand_written(tmp_path: Path, order: str) -> None:
    options = (*BARE, "-mips2")
    guest = compile_guest(tmp_path, order, ASSEMBLY, *options, language="assembler")
    at = {}
    for line in binutils(order, "nm", guest).splitlines():
        value, _, name = line.split()
        at[name] = int(value, 16)
    program = program_of(guest)
    start, work = program.functions[at["__start"]], program.functions[at["work"]]
    first = start.blocks[start.start]
    assert first.end is End.JUMP and first.target == start.start + 8  # a jal to itself + 8
    second = start.blocks[start.start + 8]
    assert second.end is End.JUMP and second.target == start.start + 16  # a bal
    branch = start.blocks[start.start + 24]
    assert branch.end is End.BRANCH and branch.delay_slot is not None and at["slot"] in start.blocks
    assert {b.target for b in start.blocks.values() if b.end is End.CALL} == {at["work"]}
    assert [b.target for b in start.blocks.values() if b.end is End.JUMP and b.target == at["leave"]] == [at["leave"]]
    tail = program.functions.get(at["elsewhere"], start)
    assert at["work"] in tail.guesses.values()
    likely = work.blocks[work.start]
    assert likely.end is End.BRANCH and likely.terminator is not None and likely.terminator.row.name == "bnel"
    covered = {pc for f in program.functions.values() for b in f.blocks.values()
               for pc in range(b.first_pc, b.first_pc + 4 * b.instruction_count(), 4)}  # fmt: skip
    assert not covered & {at["words"], at["words"] + 4, at["words"] + 8}


CALLBACKS = """
    .set noreorder
    .text
    .globl __start
    .ent __start
__start:
    lw $t9, 152($a0)
    jr $t9                      # a tail call: the stack was not touched
    move $a1, $zero
    .end __start
one: lw $v0, 84($a0)            # to these only data points
    jr $ra
    andi $v0, $v0, 0x200
two: addiu $sp, $sp, -32
    sw $ra, 28($sp)
    lw $t9, 4($a0)
    jalr $t9
    nop
    lw $t9, 8($v0)
    lw $ra, 28($sp)
    jr $t9                      # one that frees the stack before
    addiu $sp, $sp, 32
three: jr $ra
    lw $v0, 4($a0)
    .rdata
    .word one, two, three
"""


@pytest.mark.parametrize("order", ORDERS)
def test_callbacks_behind_a_tail_call(tmp_path: Path, order: str) -> None:
    """They are functions, not labels that the jump may go to."""
    options = (*BARE, "-mips2")
    guest = compile_guest(tmp_path, order, CALLBACKS, *options, language="assembler")
    names = {line.split()[2]: int(line.split()[0], 16) for line in binutils(order, "nm", guest).splitlines()}
    program = program_of(guest)
    assert {names[name] for name in ("__start", "one", "two", "three")} <= program.functions.keys()
    assert all(not f.jump_tables for f in program.functions.values())
    assert len(program.functions[names["two"]].unresolved) == 1


BEHIND_CALLS = """
    .set noreorder
    .text
    .globl __start
    .ent __start
__start:
    jal work
    nop
    jal work
    addiu $v0, $zero, 4001
label:                          # of the same function: a branch leads over the border
    bne $v0, $zero, last
    nop
    jal work
    nop
last: addiu $v0, $zero, 4001
    syscall                     # exit
    .end __start
    nop                         # the linker aligns
    nop
one: addu $v0, $a0, $a1         # only data points here
    lui $a0, %hi(two)
    addiu $a0, $a0, %lo(two)
    jal work                    # which does not return either
    nop
    .align 4
two: bne $a0, $zero, two        # only code computes this, and a loop begins there
    addiu $a0, $a0, -1
    jr $ra
    nop
    .globl work
    .ent work
work:
    jr $ra
    nop
    .end work
    .data
    .word label, one, last
"""


@pytest.mark.parametrize("order", ORDERS)
def test_callbacks_behind_calls_that_do_not_return(tmp_path: Path, order: str) -> None:
    """An address in data or code begins a function where nothing but a return would lead over the border."""
    guest = compile_guest(tmp_path, order, BEHIND_CALLS, *BARE, language="assembler")
    names = {line.split()[2]: int(line.split()[0], 16) for line in binutils(order, "nm", guest).splitlines()}
    functions = program_of(guest).functions
    assert sorted(functions) == sorted(names[name] for name in ("__start", "one", "two", "work"))
    start = functions[names["__start"]]
    assert names["one"] not in start.blocks and {names["label"], names["last"]} <= start.blocks.keys()
    assert functions[names["one"]].limit == names["two"]


BEHIND_CODE16 = """
    .set noreorder
    .text
    .globl __start
    .ent __start
__start:
    jal work
    nop
    jr $ra
    nop
    .end __start
    .set mips16
    .globl work
    .ent work
work:
    lw $2, numbers
    jr $31
    nop
    .align 2
numbers: .word 0xffffffff       # no instruction, and no save behind it
    .end work
alone: addu $2, $4, $5
    jr $31
    nop
    .data
    .word alone                 # with the ISA bit
"""


@pytest.mark.parametrize("order", ORDERS)
def test_callbacks_of_mips16_code(tmp_path: Path, order: str) -> None:
    """They may make no stack frame, and stand behind numbers."""
    guest = compile_guest(tmp_path, order, BEHIND_CODE16, *BARE, "-mips32r2", language="assembler")
    names = {line.split()[2]: int(line.split()[0], 16) & ~1 for line in binutils(order, "nm", guest).splitlines()}
    assert names["alone"] + 1 in program_of(guest).functions


UNDECODABLE = """
    .set noreorder
    .text
    .globl __start
    .ent __start
__start:
    beq $a0, $zero, 1f
    nop
    jr $ra
    nop
1:  .word 0xffffffff            # no instruction
    .end __start
    addiu $v0, $zero, 1         # nothing leads here
    jr $ra
    nop
"""


@pytest.mark.parametrize("order", ORDERS)
def test_a_function_behind_a_word_that_is_no_instruction(tmp_path: Path, order: str) -> None:
    guest = compile_guest(tmp_path, order, UNDECODABLE, *BARE, language="assembler")
    program = program_of(guest)
    start = function(program, "__start").start
    assert sorted(program.functions) == [start, start + 20]


SPILLED = """
    .set noreorder
    .text
    .globl __start
    .ent __start
__start:
    addiu $sp, $sp, -32
    lui $t9, %hi(work)
    addiu $t9, $t9, %lo(work)
    bne $a0, $zero, 1f
    sw $t9, 24($sp)
    sw $zero, 20($sp)
1:  move $a0, $a1
    lw $t9, 24($sp)             # the one address that is ever stored there
first:
    jalr $t9
    nop
    lw $t9, 20($sp)             # no address
second:
    jalr $t9
    nop
    break
    .end __start
    .globl work
    .ent work
work:
    jr $ra
    nop
    .end work
"""


@pytest.mark.parametrize("order", ORDERS)
def test_call_by_a_word_of_the_stack(tmp_path: Path, order: str) -> None:
    guest = compile_guest(tmp_path, order, SPILLED, *BARE, language="assembler")
    at = {name: int(value, 16) for value, _, name in map(str.split, binutils(order, "nm", guest).splitlines())}
    start = program_of(guest).functions[at["__start"]]
    assert start.guesses == {at["first"]: at["work"]}


SLOT_IS_A_TARGET = """
    .set noreorder
    .globl __start
__start:
    beq $a1, $zero, slot
    nop
    beql $a0, $zero, taken
slot: addiu $v0, $v0, 4
    addiu $v0, $v0, 5
    jr $ra
    nop
taken: jr $ra
    addiu $v0, $v0, 6
"""


@pytest.mark.parametrize("order", ORDERS)
def test_the_slot_of_a_branch_likely(tmp_path: Path, order: str) -> None:
    """It is a block on the taken edge, and another one where control comes to its own pc."""
    program = program_of(compile_guest(tmp_path, order, SLOT_IS_A_TARGET, *BARE, "-mips2", language="assembler"))
    (start,) = program.functions.values()
    pc = start.start + 8
    branch, here = start.blocks[pc], start.blocks[pc + 4]
    assert (branch.end, branch.delay_slot, branch.instruction_count()) == (End.BRANCH, None, 1)
    assert branch.target is not None and start.successors(branch) == [branch.target, pc + 8]
    slot = start.blocks[branch.target]
    assert (slot.slot_of, slot.first_pc, slot.instruction_count()) == (pc, pc + 4, 1)
    assert start.successors(slot) == [pc + 20] and here.end is End.FALL and here.slot_of is None
    place = BlockIndex([start]).place
    assert [place(at) for at in (pc, pc + 4, pc + 8)] == [(start, branch), (start, here), (start, start.blocks[pc + 8])]


def test_branch_likely_of_gcc(tmp_path: Path) -> None:
    """-march=mips2 gives branch-likely; its slots belong to the taken way only."""
    source = "int f(int *p, int n) { int s = 0; for (int i = 0; i < n; i++) if (p[i] > 3) s += p[i]; return s; }\n"
    guest = compile_guest(tmp_path, "big", source + "void __start(void) {}", *FREESTANDING, "-march=mips2")
    names = [
        b.terminator.row.name for b in function(program_of(guest), "f").blocks.values() if b.terminator is not None
    ]
    assert any(name.endswith("l") and name.startswith("b") for name in names), names


WHOLE = """
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static jmp_buf back;
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static void handler(int number) { printf("%d\\n", number); longjmp(back, 1); }
static int hidden(int x) { return x * 31 + 7; }
static int (*const table[])(int) = {abs, hidden};
__attribute__((noreturn, noinline)) static void fail(const char *why) { fprintf(stderr, "%s\\n", why); exit(3); }
int main(int count, char **words)
{
    int numbers[] = {5, 3, count};
    if (count > 9) fail(words[0]);
    signal(SIGUSR1, handler);
    if (setjmp(back) == 0) raise(SIGUSR1);
    qsort(numbers, 3, sizeof *numbers, compare);
    return table[count & 1](numbers[1]) & strlen(words[0]);
}
"""


@pytest.fixture(scope="module", params=ORDERS)
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path, Program]:
    path = compile_guest(tmp_path_factory.mktemp("whole"), request.param, WHOLE, "-static")
    return request.param, path, program_of(path)


def test_functions_without_symbols(whole: tuple[str, Path, Program], tmp_path: Path) -> None:
    """In the stripped program 99 of 100 functions of the symbol table are found, callbacks among them."""
    order, path, with_symbols = whole
    stripped = tmp_path / "stripped"
    binutils(order, "strip", "-o", stripped, path)
    found = program_of(stripped).functions.keys()
    known = {
        s.address for s in load_elf(path).symbols if s.type == "FUNC" and s.size > 0
    } & with_symbols.functions.keys()
    share = len(known & found) / len(known)
    print(f"{order}: {len(known & found)} of {len(known)} functions found, {share:.1%}; {len(found - known)} others")
    assert share >= 0.99
    for name in ("compare", "handler", "hidden", "fail", "main"):
        assert function(with_symbols, name).start in found, name


def test_setjmp_and_calls_that_do_not_return(whole: tuple[str, Path, Program]) -> None:
    order, path, program = whole
    main, fail = function(program, "main"), function(program, "fail")
    calls = re.findall(
        r"^ *([0-9a-f]+):.*(?:jalr|bal|jal)\b.*", binutils(order, "objdump", "-d", "--disassemble=main", path), re.M
    )
    assert main.resume_points and all(pc - 8 in {int(call, 16) for call in calls} for pc in main.resume_points)
    assert fail.start not in main.blocks and main.start not in fail.blocks
    assert sum(len(f.jump_tables) for f in program.functions.values()) > 20


@pytest.mark.parametrize("order", ORDERS)
def test_landing_pads(tmp_path: Path, order: str) -> None:
    """Every landing pad of the unwind tables is a resume point of the function around it."""
    guest = pipeline.open_guest(compile_guest(tmp_path, order, CATCHES, "-static", language="c++"))
    pads = {pc for f in guest.image.eh_functions for pc in f.landing_pads}
    resume = {pc for f in guest.program.functions.values() for pc in f.resume_points}
    assert len(pads) >= 15
    assert len(pads & resume) >= 0.99 * len(pads)
    for name in ("_Z3twoi", "_Z6nestedi"):
        found = function(guest.program, name)
        assert found.resume_points == {pc for pc in pads if found.start <= pc < found.limit} != set()
