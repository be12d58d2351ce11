"""What analysis finds in code of real compilers: jump tables, tail calls, entries, functions; its speed."""

from __future__ import annotations

import dataclasses
import re
import struct
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from mipsrec import pipeline
from mipsrec.analysis import End, Function, Program, analyze
from mipsrec.elf import load_elf
from mipsrec.memory import AddressSpace
from tests.support.compiled import CATCHES, ORDERS, binutils, compile_guest
from tests.support.counting import counted_calls
from tests.support.tiny_elf import PT_LOAD, TinyElf

FREESTANDING = ("-nostdlib", "-static", "-fno-asynchronous-unwind-tables", "-Wl,--build-id=none")
MODELS = {"pic": ("-fPIC", "-mabicalls"), "plain": ("-fno-pic", "-mno-abicalls", "-G0")}


def program_of(path: Path) -> Program:
    return pipeline.open_guest(path).program


def function(program: Program, name: str) -> Function:
    """Return the function of that name, or that name with a suffix of the compiler's."""
    found = [f for f in program.functions.values() if f.name == name or f.name.startswith(name + ".")]
    assert len(found) == 1, (name, [f.name for f in program.functions.values()])
    return found[0]


SWITCHES = """
int volatile sink;
__attribute__((noinline)) int dense(unsigned x)
{
    switch (x) {
    case 0: return 17; case 1: sink = 4; return 3; case 2: return sink; case 3: sink++; return 99; case 4: return -5;
    case 5: sink = 1; return sink + 2; case 6: return sink * 3; case 7: return sink / 3; case 8: return sink ^ 5;
    }
    return 1000;
}
__attribute__((noinline)) int holes(int x)
{
    switch (x) {
    case 100: return sink; case 101: sink = 2; return 7; case 103: sink *= 5; return 8; case 104: return sink - 9;
    case 107: sink = 12; return sink; case 108: return sink << 3; case 110: sink--; return 5; case 111: return sink | 6;
    }
    return sink + 1;
}
__attribute__((used)) void __start(void) { for (;;) { sink = dense(sink); sink = holes(sink); } }
"""


def labels_by_objdump(order: str, program: Path, name: str) -> set[int]:
    """Return the instruction addresses of a function, as objdump has them."""
    text = binutils(order, "objdump", "-d", f"--disassemble={name}", program)
    return {int(match, 16) for match in re.findall(r"^ *([0-9a-f]+):\t", text, re.MULTILINE)}


def table_by_eye(order: str, path: Path, table: tuple[int, ...], offset: int) -> list[int]:
    """Return the targets that the words at `table` stand for, read from the file by objdump."""
    text = binutils(order, "objdump", "-s", f"--start-address={table[0]}", f"--stop-address={table[-1] + 4}", path)
    found = []
    for line in re.findall(r"^ [0-9a-f]+ ((?:[0-9a-f]{2,8} ?){1,4})", text, re.MULTILINE):
        data = bytes.fromhex(line.replace(" ", ""))
        found += struct.unpack(f"{'>' if order == 'big' else '<'}{len(data) // 4}I", data)
    return [(word + offset) & 0xFFFFFFFF for word in found]


@pytest.mark.parametrize("level", ["-O2", "-Os"])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("order", ORDERS)
def test_jump_tables_of_gcc(tmp_path: Path, order: str, model: str, level: str) -> None:
    """Exactly the cases of the source: as many entries as the range has values, each a known block."""
    guest = compile_guest(tmp_path, order, SWITCHES, *FREESTANDING, *MODELS[model], level)
    program = program_of(guest)
    assert_tables(program, order, guest, {"dense": 9, "holes": 12})


def assert_tables(program: Program, order: str, guest: Path, sizes: dict[str, int]) -> None:
    for name, size in sizes.items():
        found = function(program, name)
        assert found.unresolved == set()
        (table,) = found.jump_tables.values()
        assert table.load_pc is not None and len(table.cases) == size
        addresses = tuple(address for address, _ in table.cases)
        assert addresses == tuple(range(addresses[0], addresses[0] + 4 * size, 4))
        targets = [target for _, target in table.cases]
        raw = table_by_eye(order, guest, addresses, 0)
        assert len({(target - word) & 0xFFFFFFFF for target, word in zip(targets, raw)}) == 1  # absolute, or from gp
        assert set(targets) <= labels_by_objdump(order, guest, name)
        assert set(targets) <= found.blocks.keys()


HOISTED = """
    .set noreorder
    .text
    .globl __start
    .ent __start
__start:
    lui $gp, %hi(_gp_disp)
    addiu $gp, $gp, %lo(_gp_disp)
    addu $gp, $gp, $t9
    beq $a1, $zero, last
    nop
    lw $s6, %got(table)($gp)
    addiu $s6, $s6, %lo(table)
again:
    lbu $v0, 0($a0)
    beq $v0, $a2, more
    addiu $a0, $a0, 1
    beq $v0, $a3, more
    nop
    beq $v0, $a1, more
    nop
    sltiu $v1, $v0, 3
    beq $v1, $zero, last
    sll $v0, $v0, 2
    addu $v0, $s6, $v0
    lw $v0, 0($v0)
    addu $v0, $v0, $gp
    jr $v0
    nop
zero:
    addiu $t0, $t0, 1
one:
    addiu $t0, $t0, 2
two:
    b again
    addiu $t0, $t0, 4
more:
    b again
    addiu $t0, $t0, 8
last:
    break
    .end __start
    .rdata
table:
    .gpword zero
    .gpword one
    .gpword two
"""


OWN_GP = ("-nostdlib", "-static", "-mabicalls", "-G0", "-fPIC")


@pytest.mark.parametrize("order", ORDERS)
def test_table_whose_address_is_loaded_before_a_loop(tmp_path: Path, order: str) -> None:
    """Its register holds that number at the end of one block alone, far away; the prologues tell gp."""
    image = load_elf(compile_guest(tmp_path, order, HOISTED, *OWN_GP, language="assembler"))
    image = dataclasses.replace(image, gp=None, symbols=())
    found = analyze(image, AddressSpace(image)).functions[image.entry]
    assert found.unresolved == set()
    (table,) = found.jump_tables.values()
    assert table.load_pc is not None and len(table.cases) == 3


ZIG = {"big": "mips-linux-musleabihf", "little": "mipsel-linux-musleabihf"}


def compile_clang(folder: Path, order: str, source: str, *options: str) -> Path:
    """Return a freestanding program of clang, by way of ziglang."""
    pytest.importorskip("ziglang", reason="ziglang is not installed: pip install ziglang")
    (folder / "guest.c").write_text(source)
    command = [
        sys.executable,
        "-m",
        "ziglang",
        "cc",
        "-target",
        ZIG[order],
        "-nostdlib",
        "-static",
        "-fno-unwind-tables",
    ]
    command += ["-fno-sanitize=all", "-g", *options, "guest.c", "-o", "guest", "-Wl,-e,__start", "-fno-stack-protector"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / "guest"


@pytest.mark.parametrize("level", ["-O2", "-Os"])
@pytest.mark.parametrize("order", ORDERS)
def test_jump_tables_of_clang(tmp_path: Path, order: str, level: str) -> None:
    guest = compile_clang(tmp_path, order, SWITCHES, level)
    assert_tables(program_of(guest), order, guest, {"dense": 9, "holes": 12})


GOTO = """
int volatile sink;
__attribute__((noinline)) int interpret(const unsigned char *code)
{
    static const void *const labels[] = {&&add, &&sub, &&mul, &&end};
    int acc = 1;
    goto *labels[*code++];
add: acc += sink; goto *labels[*code++];
sub: acc -= sink; goto *labels[*code++];
mul: acc *= sink; goto *labels[*code++];
end: return acc;
}
static const unsigned char code[] = {0, 1, 2, 3};
__attribute__((used)) void __start(void) { for (;;) sink = interpret(code); }
"""


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("order", ORDERS)
def test_computed_goto(tmp_path: Path, order: str, model: str) -> None:
    """All labels are blocks, and every jump knows them."""
    guest = compile_guest(tmp_path, order, GOTO, *FREESTANDING, *MODELS[model])
    found = function(program_of(guest), "interpret")
    assert found.unresolved == set() and found.jump_tables
    for table in found.jump_tables.values():
        assert len({target for _, target in table.cases}) == 4
        assert {target for _, target in table.cases} <= found.blocks.keys()


DIFFERENCES = """
int volatile sink; int work(int);
__attribute__((noinline)) int interpret(const unsigned char *code)
{
    static const int one[] = {&&add - &&end, &&sub - &&end, &&mul - &&end, 0};
    static const int two[] = {&&mul - &&end, &&add - &&end, &&sub - &&end, 0};
    int acc = 1;
    if (*code > 3) goto end;
    goto *(&&end + one[*code++]);
add: acc += sink; if (acc & 1) { if (*code > 3) goto end; goto *(&&end + two[*code++]); } goto *(&&end + one[*code++]);
sub: acc -= sink; goto *(&&end + one[*code++]);
mul: acc *= sink; if (acc & 2) goto *(&&end + two[*code++]); goto *(&&end + one[*code++]);
end: return acc;
}
static const unsigned char code[] = {0, 1, 2, 3};
__attribute__((used)) void __start(void) { for (;;) sink = interpret(code); }
"""


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("order", ORDERS)
def test_tables_of_differences(tmp_path: Path, order: str, model: str) -> None:
    """What is added to their entries is loaded once, far before, as in glibc's printf."""
    guest = compile_guest(tmp_path, order, DIFFERENCES, *FREESTANDING, *MODELS[model])
    found = function(program_of(guest), "interpret")
    assert found.unresolved == set() and len(found.jump_tables) >= 3
    for table in found.jump_tables.values():
        assert len({target for _, target in table.cases}) >= 4 and table.load_pc is not None


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
    options = ("-nostdlib", "-static", "-mno-abicalls", "-fno-pic", "-G0", "-mips2")
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
               for pc in range(b.start, b.start + 4 * b.instruction_count(), 4)}  # fmt: skip
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
    options = ("-nostdlib", "-static", "-mno-abicalls", "-fno-pic", "-G0", "-mips2")
    guest = compile_guest(tmp_path, order, CALLBACKS, *options, language="assembler")
    names = {line.split()[2]: int(line.split()[0], 16) for line in binutils(order, "nm", guest).splitlines()}
    program = program_of(guest)
    assert {names[name] for name in ("__start", "one", "two", "three")} <= program.functions.keys()
    assert all(not f.jump_tables for f in program.functions.values())
    assert len(program.functions[names["two"]].unresolved) == 1


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
    options = ("-nostdlib", "-static", "-mno-abicalls", "-fno-pic", "-G0")
    guest = compile_guest(tmp_path, order, SPILLED, *options, language="assembler")
    at = {name: int(value, 16) for value, _, name in map(str.split, binutils(order, "nm", guest).splitlines())}
    start = program_of(guest).functions[at["__start"]]
    assert start.guesses == {at["first"]: at["work"]}


def test_branch_likely_of_gcc(tmp_path: Path) -> None:
    """-march=mips2 gives branch-likely; its slots belong to the taken way only."""
    source = "int f(int *p, int n) { int s = 0; for (int i = 0; i < n; i++) if (p[i] > 3) s += p[i]; return s; }\n"
    guest = compile_guest(tmp_path, "big", source + "void __start(void) {}", *FREESTANDING, "-march=mips2")
    names = [
        b.terminator.row.name for b in function(program_of(guest), "f").blocks.values() if b.terminator is not None
    ]
    assert any(name.endswith("l") and name.startswith("b") for name in names), names


# ---- whole programs of libc ----

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
    """In the stripped program at least 95 of 100 functions of the symbol table are found, callbacks among them."""
    order, path, with_symbols = whole
    stripped = tmp_path / "stripped"
    binutils(order, "strip", "-o", stripped, path)
    found = program_of(stripped).functions.keys()
    known = {
        s.address for s in load_elf(path).symbols if s.type == "FUNC" and s.size > 0
    } & with_symbols.functions.keys()
    share = len(known & found) / len(known)
    print(f"{order}: {len(known & found)} of {len(known)} functions found, {share:.1%}; {len(found - known)} others")
    assert share >= 0.95
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


# ---- cost ----

FUNCTION = [  # addiu sp; sw ra; beq; addu (slot); jal next; nop; lw; sltu; bne; addiu (slot); jr ra; addiu sp
    0x27BDFFE0, 0xAFBF001C, 0x10800003, 0x00851021, None, 0x00000000, 0x8FBF001C, 0x0082182B, 0x1460FFFB, 0x24420001,
    0x03E00008, 0x27BD0020,
]  # fmt: skip


def synthetic(folder: Path, count: int) -> Path:
    """Return a program of `count` functions that call each other."""
    base = 0x400000
    words = []
    for number in range(count):
        target = base + 48 * ((number * 7919 + 1) % count)
        words += [0x0C000000 | target >> 2 if word is None else word for word in FUNCTION]
    path = folder / f"{count}.elf"
    data = struct.pack(f">{len(words)}I", *words)
    path.write_bytes(TinyElf(">", entry=base, segments=[(PT_LOAD, base, data, len(data), 5)]).build())
    return path


def cost(path: Path) -> tuple[int, int]:
    """Return the calls of functions in an analysis, and its instructions."""
    image = load_elf(path)
    with counted_calls() as calls:
        program = analyze(image, AddressSpace(image))
    return calls[0], sum(f.instruction_count() for f in program.functions.values())


def test_work_is_linear(tmp_path: Path) -> None:
    """Ten times the instructions cost at most a tenth more each."""
    small, large = cost(synthetic(tmp_path, 2_000)), cost(synthetic(tmp_path, 20_000))
    assert small[1] == 24_000 and large[1] == 240_000
    print(f"{small[0] / small[1]:.2f} and {large[0] / large[1]:.2f} calls an instruction")
    assert large[0] / large[1] < 1.1 * small[0] / small[1]


def test_memory_is_bounded(tmp_path: Path) -> None:
    """Less than 400 bytes of Python objects an instruction."""
    image = load_elf(synthetic(tmp_path, 4_000))
    tracemalloc.start()
    program = analyze(image, AddressSpace(image))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(program.functions) == 4_000 and peak < 400 * 48_000, peak / 48_000


def tables_that_overlap(folder: Path, jump_count: int, entry_count: int) -> Path:
    """Return a program of many jumps through one table, whose entries are all of them."""
    start = 0x00401000
    table = start + 36 * jump_count + 64
    code = b""
    for index in range(jump_count):
        rest = (jump_count - index) * 9 - 2
        code += struct.pack(
            "<9I", 0x2C820000 | entry_count, 0x10400000 | rest & 0xFFFF, 0x00041080,
            0x3C030000 | (table + 0x8000) >> 16, 0x00431021, 0x8C420000 | table & 0xFFFF, 0, 0x00400008, 0,
        )  # fmt: skip
    code = (code + struct.pack("<2I", 0x03E00008, 0)).ljust(table - start, b"\0")
    code += b"".join(struct.pack("<I", start + 36 * (index % jump_count)) for index in range(entry_count))
    path = folder / f"tables-{jump_count}"
    path.write_bytes(TinyElf(order="<", entry=start, segments=[(PT_LOAD, start, code, len(code), 5)]).build())
    return path


@pytest.mark.parametrize("jump_count", [1_000, 6_000])
def test_overlapping_tables_cost_no_more_than_the_file(jump_count: int, tmp_path: Path) -> None:
    """They multiplied: 1,500 jumps through one table of 4,000 were six million cases in 800 MB.

    Of 6,000 jumps most are in a gap, each found after the one before it: a look at all others each time took 18 s.
    """
    path = tables_that_overlap(tmp_path, jump_count, 4_000)
    program = program_of(path)
    calls, instructions = cost(path)
    assert calls < 200 * instructions
    assert sum(len(t.cases) for f in program.functions.values() for t in f.jump_tables.values()) <= 1 << 16
