"""Jump tables where the guess of where they lie, how they are read or what they hold is wrong now and then."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from mipsrec import pipeline
from mipsrec.flow.graph import Graph
from mipsrec.lift.facts.shared_switches import is_crowded
from mipsrec.lift.nodes import Jump
from mipsrec.lift.passes.switches import case_weights
from mipsrec.options import Options
from tests.support.compiled import BARE, ORDERS, QEMU, compile_guest, library_at
from tests.support.paths import GUESTS
from tests.support.tools import need

pytestmark = pytest.mark.sampled

SOURCE = GUESTS / "jump_tables.c"

END = """
void __start(void)
{
    int right = test();
    register int v0 __asm__("$2") = 4001;
    register int status __asm__("$4") = !right;
    __asm__ volatile("syscall" : : "r"(v0), "r"(status));
}
"""

CHANGED = """
int volatile sink = 3;
__attribute__((noipa)) int interpret(const unsigned char *code, unsigned change)
{
    static void *labels[] = {&&add, &&shift, &&both, &&end};
    int sum = sink;
    if (change)
        labels[change] = labels[change - 1];
    for (;;) {
        goto *labels[*code++];
    add: sum += sink; continue;
    shift: sum <<= 1; continue;
    both: sum = sum * 4 + sink; continue;
    end: return sum;
    }
}
static int test(void)
{
    static const unsigned char code[] = {0, 1, 2, 1, 3};
    return interpret(code, 0) == 102 && interpret(code, 1) == 42 && interpret(code, 2) == 15 &&
           interpret(code, 0) == 15;
}
""" + END

SPILLED = """
__asm__(".set noreorder\\n"
        ".globl spilled\\n.type spilled, @function\\n"
        "spilled: addiu $29, $29, -32\\n lui $2, %hi(table)\\n addiu $2, $2, %lo(table)\\n"
        "beqz $5, 1f\\n sw $2, 16($29)\\n"
        "sw $31, 28($29)\\n jal mixed\\n nop\\n lw $31, 28($29)\\n"
        "1: sltiu $2, $4, 3\\n beqz $2, 9f\\n lw $3, 16($29)\\n sll $2, $4, 2\\n addu $2, $3, $2\\n"
        "lw $2, 0($2)\\n jr $2\\n li $3, 7\\n"
        "2: b 8f\\n addiu $2, $3, 10\\n 3: b 8f\\n addiu $2, $3, 20\\n 4: b 8f\\n addiu $2, $3, 30\\n"
        "9: li $2, 5\\n 8: jr $31\\n addiu $29, $29, 32\\n .size spilled, . - spilled\\n"
        ".set reorder\\n.rdata\\n.align 2\\ntable: .word 2b, 3b, 4b, 3b\\n.text");
extern int spilled(unsigned number, int *other);
/* Its caller has stored the table at 16(sp); it puts another there, if asked to. */
__asm__(".set noreorder\\nmixed: lw $2, 0($5)\\n beqz $2, 1f\\n nop\\n sw $2, 16($29)\\n"
        "1: jr $31\\n nop\\n.set reorder\\n.rdata\\nanother: .word 4b, 4b, 2b\\n.text");
extern int another;
static int test(void)
{
    int none = 0, *moved = &another;
    return spilled(0, 0) == 17 && spilled(1, &none) == 27 && spilled(2, 0) == 37 && spilled(3, 0) == 5 &&
           spilled(0, (int *)&moved) == 37 && spilled(2, (int *)&moved) == 17;
}
""" + END

RELATIVE = """
__asm__(".set noreorder\\n"
        ".globl from_register\\n.type from_register, @function\\n"
        "from_register: bnez $5, 7f\\n nop\\n lui $6, %hi(first)\\n addiu $6, $6, %lo(first)\\n"
        "1: sltiu $2, $4, 3\\n beqz $2, 9f\\n sll $2, $4, 2\\n"
        "lui $3, %hi(distances)\\n addu $3, $3, $2\\n lw $2, %lo(distances)($3)\\n addu $2, $2, $6\\n jr $2\\n nop\\n"
        "7: b 1b\\n addu $6, $5, $0\\n"
        "first: jr $31\\n li $2, 10\\n jr $31\\n li $2, 20\\n"
        "jr $31\\n li $2, 30\\n jr $31\\n li $2, 40\\n"
        "9: jr $31\\n li $2, 5\\n .size from_register, . - from_register\\n"
        ".globl from_memory\\n.type from_memory, @function\\n"
        "from_memory: sltiu $2, $4, 3\\n beqz $2, 9f\\n sll $2, $4, 2\\n"
        "lui $3, %hi(distances)\\n addu $3, $3, $2\\n lui $6, %hi(origin)\\n lw $6, %lo(origin)($6)\\n"
        "lw $2, %lo(distances)($3)\\n addu $2, $2, $6\\n jr $2\\n nop\\n"
        "there: jr $31\\n li $2, 11\\n jr $31\\n li $2, 21\\n jr $31\\n li $2, 31\\n jr $31\\n li $2, 41\\n"
        "9: jr $31\\n li $2, 6\\n .size from_memory, . - from_memory\\n"
        ".set reorder\\n.data\\n.align 2\\n.globl origin\\norigin: .word there\\n"
        ".rdata\\n.align 2\\ndistances: .word 0, 8, 16\\n.text");
extern int from_register(unsigned number, const void *origin), from_memory(unsigned number);
extern const char first[];
extern const char *volatile origin;
static int test(void)
{
    int right = from_register(1, 0) == 20 && from_register(2, 0) == 30 && from_register(3, 0) == 5;
    right &= from_register(0, first + 8) == 20 && from_register(2, first + 8) == 40;
    right &= from_memory(0) == 11 && from_memory(2) == 31;
    origin += 8;
    return right && from_memory(0) == 21 && from_memory(2) == 41 && from_memory(7) == 6;
}
""" + END


SHARED = """
__asm__(".set noreorder\\n.globl far\\n.type far, @function\\n"
        "far: bnez $6, 8f\\n sltiu $8, $4, 64\\n addiu $29, $29, -16\\n beqz $8, 9f\\n sll $8, $4, 2\\n"
        "lui $9, %hi(table)\\n addu $9, $9, $8\\n lw $9, %lo(table)($9)\\n jr $9\\n addiu $29, $29, 16\\n"
        "cases: .rept 64\\n jr $31\\n li $2, 0\\n .endr\\n"
        "9: jr $31\\n addiu $29, $29, 16\\n"
        "8: beqz $8, 7f\\n sll $8, $4, 2\\n lui $9, %hi(table)\\n addu $9, $9, $8\\n lw $9, %lo(table)($9)\\n"
        "jr $9\\n nop\\n 7: jr $31\\n nop\\n .size far, . - far\\n" /* sp has not moved */
        ".globl stack\\n.type stack, @function\\nstack: jr $31\\n subu $2, $29, $5\\n .size stack, . - stack\\n"
        ".globl through\\n.type through, @function\\nthrough: addiu $29, $29, -32\\n sw $31, 28($29)\\n move $6, $5\\n"
        "jal far\\n addiu $5, $29, -7\\n lw $31, 28($29)\\n jr $31\\n addiu $29, $29, 32\\n"
        ".size through, . - through\\n"
        ".set reorder\\n.data\\n.align 2\\n.globl table\\n"
        "table: .set n, 0\\n .rept 64\\n .word cases + 8 * n\\n .set n, n + 1\\n .endr\\n.text");
extern void (*table[])(void);
extern void stack(void);
extern int through(int number, int second);
static int test(void)
{
    if (through(3, 0) != 0 || through(3, 1) != 0)
        return 0;
    table[3] = stack; /* returns how far sp is from where its caller has it, and 7 */
    return through(3, 0) == 7 && through(2, 0) == 0 && through(3, 1) == 7 && through(2, 1) == 0;
}
""" + END


CROWDED = """
__asm__(".set noreorder\\n"
        ".globl threaded\\n.type threaded, @function\\n" /* the code is addresses of operations */
        "threaded: lw $3, 0($4)\\n move $2, $0\\n jr $3\\n addiu $4, $4, 4\\n"
        "operations: .rept 192\\n addiu $2, $2, 1\\n lw $3, 0($4)\\n jr $3\\n addiu $4, $4, 4\\n .endr\\n"
        "last: jr $31\\n sll $2, $2, 1\\n .size threaded, . - threaded\\n"
        ".globl indexed\\n.type indexed, @function\\n" /* numbers of operations, but for the first, an address */
        "indexed: bnez $5, 1f\\n move $3, $5\\n lui $3, %hi(second)\\n addu $3, $3, $6\\n lw $3, %lo(second)($3)\\n"
        "1: jr $3\\n move $2, $0\\n"
        "steps: .rept 192\\n lbu $8, 0($4)\\n addiu $4, $4, 1\\n sll $8, $8, 2\\n lui $9, %hi(second)\\n"
        "addu $9, $9, $8\\n lw $3, %lo(second)($9)\\n jr $3\\n addiu $2, $2, 1\\n .endr\\n"
        "end: jr $31\\n sll $2, $2, 2\\n .size indexed, . - indexed\\n"
        ".globl away\\n.type away, @function\\naway: jr $31\\n addiu $2, $2, 100\\n.size away, . - away\\n"
        ".set reorder\\n.rdata\\n.align 2\\n"
        "first: .set n, 0\\n .rept 192\\n .word operations + 16 * n\\n .set n, n + 1\\n .endr\\n .word last, 0\\n"
        "second: .set n, 0\\n .rept 192\\n .word steps + 32 * n\\n .set n, n + 1\\n .endr\\n .word end, 0\\n"
        ".text");
extern int threaded(const void *const *code), indexed(const unsigned char *code, const void *first, int number);
extern const char operations[], last[], steps[], away[];
static int test(void)
{
    const void *code[] = {operations, operations + 16 * 191, operations + 16 * 7, last};
    static const unsigned char numbers[] = {3, 191, 7, 192};
    if (threaded(code) != 6)
        return 0;
    code[3] = away;
    return threaded(code) == 103 && indexed(numbers, 0, 0) == 16 && indexed(numbers, steps + 32 * 5, 0) == 16 &&
           indexed(numbers, away, 0) == 100;
}
""" + END


def ends(host: Path, guest: pipeline.Guest, folder: Path) -> list[int]:
    """Return how the guest ends, interpreted and recompiled in two ways."""
    ways = [["--engine", "interp"], *(["--library", library_at(guest, folder, opt)] for opt in (0, 3))]
    return [subprocess.run([host, *way, guest.image.path], timeout=600, check=False).returncode for way in ways]


@pytest.mark.parametrize("order", ORDERS)
def test_wrong_guesses(host: Path, tmp_path: Path, order: str) -> None:
    program = compile_guest(tmp_path, order, SOURCE.read_text(), *BARE)
    guest = pipeline.open_guest(program)
    (choose,) = (f for f in guest.program.functions.values() if f.name == "choose")
    (table,) = choose.jump_tables.values()
    assert table.index == (4, 0) and len(table.cases) == 4
    for function in guest.program.functions.values():
        if function.name == "choose_once":  # what the jump's block adds to the table's address is not known there
            assert all(table.index is None for table in function.jump_tables.values())
    assert subprocess.run([need(QEMU[order], "qemu-user"), program], timeout=600, check=False).returncode == 0
    assert ends(host, guest, tmp_path) == [0, 0, 0]


@pytest.mark.parametrize("order", ORDERS)
def test_between_entries(host: Path, tmp_path: Path, order: str) -> None:
    guest = pipeline.open_guest(compile_guest(tmp_path, order, SOURCE.read_text(), *BARE, "-DBETWEEN"))
    assert ends(host, guest, tmp_path) == [-signal.SIGSEGV] * 3


IDLE = """
int walk(const unsigned char *kinds, int *values, int count)
{
    int sum = 0;
    for (int i = 0; i < count; i++) {
        switch (kinds[i]) {
        case 0: break;
        case 1: sum += values[i]; values[i] = sum; break;
        case 2: sum ^= values[i] * 3; values[i] += 9; break;
        case 3: values[i] = sum * sum; break;
        case 4: values[sum & 7] = values[i]; break;
        case 5: sum -= values[i]; values[i + 1] = sum; break;
        case 6: values[i] *= values[i]; break;
        }
    }
    return sum;
}
int once(int kind, int *values)
{
    switch (kind) {
    case 1: *values += 7; break;
    case 2: *values ^= *values * 3; break;
    case 3: *values *= *values; break;
    case 4: values[3] = *values; break;
    case 5: values[1] = values[4]; break;
    case 6: *values /= values[1]; break;
    }
    return *values;
}
void __start(void) { int values[9]; walk((const unsigned char *)values, values, 7); once(values[0], values); }
"""


@pytest.mark.parametrize("order", ORDERS)
def test_weights(tmp_path: Path, order: str) -> None:
    """Of a switch in a loop, cases that do nothing are taken for usual; of others none is."""
    guest = pipeline.open_guest(compile_guest(tmp_path, order, IDLE, *BARE, "-fno-inline", "-fno-ipa-cp"))
    weights = {}
    for function in guest.program.functions.values():
        for block in function.blocks.values():
            if table := function.jump_tables.get(block.terminator_pc):
                weights[function.name] = case_weights(Graph.whole(function), block, [pc for _, pc in table.cases])
    assert weights == {"walk": [55, 1, 1, 1, 1, 1, 1], "once": []}


@pytest.mark.parametrize("order", ORDERS)
def test_table_that_changes(host: Path, tmp_path: Path, order: str) -> None:
    """Entries of a table in writable memory are compared with what they were when the code was made."""
    guest = pipeline.open_guest(compile_guest(tmp_path, order, CHANGED, *BARE))
    tables = guest.function("interpret").jump_tables.values()
    assert tables and all(table.load_pc is not None and table.writable and len(table.cases) == 4 for table in tables)
    assert ends(host, guest, tmp_path) == [0, 0, 0]


@pytest.mark.parametrize("order", ORDERS)
def test_indexed_table_that_changes(host: Path, tmp_path: Path, order: str) -> None:
    """The same where the switch is on the entry's number."""
    guest = pipeline.open_guest(compile_guest(tmp_path, order, SOURCE.read_text(), *BARE, "-DWRITABLE"))
    (table,) = guest.function("choose").jump_tables.values()
    assert table.index == (4, 0) and table.writable
    assert ends(host, guest, tmp_path) == [0, 0, 0]


@pytest.mark.parametrize("order", ORDERS)
def test_table_on_the_stack(host: Path, tmp_path: Path, order: str) -> None:
    """A table whose address waits on the stack is found there; another may be there when the code runs."""
    guest = pipeline.open_guest(compile_guest(tmp_path, order, SPILLED, *BARE))
    (table,) = guest.function("spilled").jump_tables.values()
    assert table.load_pc is not None and not table.writable and len(table.cases) == 3 and table.index == (4, 2)
    assert ends(host, guest, tmp_path) == [0, 0, 0]


@pytest.mark.parametrize("order", ORDERS)
def test_what_is_added_to_entries(host: Path, tmp_path: Path, order: str) -> None:
    """Of a table of distances, what is added to them when the code runs may be another number than it was taken for."""
    guest = pipeline.open_guest(compile_guest(tmp_path, order, RELATIVE, *BARE))
    for name in ("from_register", "from_memory"):
        (table,) = guest.function(name).jump_tables.values()
        assert table.load_pc is not None and table.added is not None and not table.writable
    assert ends(host, guest, tmp_path) == [0, 0, 0]


@pytest.mark.parametrize("order", ORDERS)
def test_shared_table_that_changes(host: Path, tmp_path: Path, order: str) -> None:
    """Where jumps share the way elsewhere, it stores what they left in SSA: sp, for code that is not lifted."""
    guest = pipeline.open_guest(compile_guest(tmp_path, order, SHARED, *BARE))
    tables = list(guest.function("far").jump_tables.values())
    assert [(table.writable, len(table.cases)) for table in tables] == [(True, 64)] * 2
    library = library_at(guest, tmp_path, "light", "far", "through")
    subprocess.run([host, "--library", library, guest.image.path], timeout=600, check=True)
    assert ends(host, guest, tmp_path) == [0, 0, 0]


@pytest.mark.parametrize("order", ORDERS)
def test_crowded_functions(host: Path, tmp_path: Path, order: str) -> None:
    """Where each operation of a large interpreter may lead to each, all jumps share a switch, and other places work."""
    guest = pipeline.open_guest(compile_guest(tmp_path, order, CROWDED, *BARE))
    for name in ("threaded", "indexed"):
        function = guest.function(name)
        assert len(function.jump_tables) == 193 and is_crowded(function)
        ((_, plan),) = pipeline.plans(guest, Options(), [function])
        switched = [edge for block in plan.blocks.values() if isinstance(block.end, Jump) for edge in block.end.edges]
        shared = [edge for hub in plan.hubs.values() for edge in hub.edges]
        assert not switched and len(shared) <= 2 * len(function.blocks)
    assert ends(host, guest, tmp_path) == [0, 0, 0]
