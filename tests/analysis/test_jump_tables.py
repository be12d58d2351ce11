"""Jump tables in code of real compilers: exactly the cases of the source, however their addresses are made."""

from __future__ import annotations

import dataclasses
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from mipsrec.analysis import Program, analyze
from mipsrec.architecture import is_mips16
from mipsrec.elf import load_elf
from mipsrec.memory import AddressSpace
from tests.analysis.analysed import FREESTANDING, MODELS, function, program_of
from tests.support.compiled import ORDERS, binutils, compile_guest

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


@pytest.mark.parametrize("order", ORDERS)
def test_tables_of_halves(tmp_path: Path, order: str) -> None:
    """In MIPS16e code: what an entry has more than the table's address is known when the code is assembled."""
    guest = compile_guest(tmp_path, order, SWITCHES, *FREESTANDING, *MODELS["plain"], "-mips16")
    program = program_of(guest)
    for name, size in {"dense": 9, "holes": 12}.items():
        found = function(program, name)
        assert is_mips16(found.start) and found.unresolved == set()
        (table,) = found.jump_tables.values()
        addresses = [address for address, _ in table.cases]
        assert addresses == list(range(addresses[0], addresses[0] + 2 * size, 2))
        targets = {target for _, target in table.cases}
        assert all(map(is_mips16, targets)) and targets <= found.blocks.keys()
        assert {target - 1 for target in targets} <= labels_by_objdump(order, guest, name)


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


OPERATIONS = 300


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("order", ORDERS)
def test_jumps_that_share_a_table(tmp_path: Path, order: str, model: str) -> None:
    """Interpreters end each operation with a jump by one table: its cases count once, however many jumps there are."""
    names = [f"op{number}" for number in range(OPERATIONS)]
    texts = [f"{name}: x = x * {n + 3} + {n}; goto *labels[*code++];\n" for n, name in enumerate(names)]
    source = f"""
    int volatile sink;
    __attribute__((noinline)) int interpret(const unsigned short *code, unsigned x)
    {{
        static const void *const labels[] = {{&&end, {", ".join(f"&&{name}" for name in names)}}};
        goto *labels[*code++];
        {"".join(texts)}
    end:
        return x;
    }}
    static const unsigned short code[] = {{1, 2, 3, 0}};
    __attribute__((used)) void __start(void) {{ for (;;) sink = interpret(code, sink); }}
    """
    options = (*FREESTANDING, *MODELS[model], "-fno-gcse", "-fno-crossjumping")
    found = function(program_of(compile_guest(tmp_path, order, source, *options)), "interpret")
    assert len(found.jump_tables) > OPERATIONS and found.unresolved == set()
