"""The commands at work, as users type them: from ELF or edited IR to a library, kept libraries, what guests get."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from tests.support.commandline import assert_one_line, command, environment, mipsrec
from tests.support.compiled import ORDERS, compile_guest
from tests.support.paths import GUESTS, PREBUILT, SAMPLES
from tests.support.tools import need

SAMPLE = PREBUILT / "mips" / "crc32.elf"
EXPECTED = (SAMPLES / "expected" / "crc32.txt").read_text()

GUEST = """
    .set noreorder
    .text
    .globl __start
__start:                        # copies its input, prints its arguments, ends with status 7, or by a signal
    lw $s0, 0($sp)
    addiu $s1, $sp, 8
    addiu $s0, $s0, -1
next_word:
    beq $s0, $zero, copy
    lw $a1, 0($s1)
    lbu $t0, 0($a1)
    addiu $t1, $zero, '!'
    beq $t0, $t1, fault
    addiu $s0, $s0, -1
    jal length
    addu $a0, $a1, $zero
    addu $a2, $v0, $zero
    jal write
    nop
    lui $a1, %hi(newline)
    addiu $a1, $a1, %lo(newline)
    jal write
    addiu $a2, $zero, 1
    b next_word
    addiu $s1, $s1, 4
copy:
    lui $a1, %hi(buffer)
    addiu $a1, $a1, %lo(buffer)
    addu $a0, $zero, $zero
    addiu $a2, $zero, 64
    addiu $v0, $zero, 4003
    syscall
    blez $v0, done
    addu $a2, $v0, $zero
    jal write
    nop
    b copy
    nop
done:
    addiu $a0, $zero, 7
    addiu $v0, $zero, 4001
    syscall
fault:
    sw $zero, 0($zero)
    .globl write
write:
    addiu $a0, $zero, 1
    addiu $v0, $zero, 4004
    syscall
    jr $ra
    nop
    .globl length
    .type length, @function
length:
    addu $v0, $zero, $zero
1:  addu $t0, $a0, $v0
    lbu $t0, 0($t0)
    bnel $t0, $zero, 1b
    addiu $v0, $v0, 1
    jr $ra
    nop
    .globl mix
    .type mix, @function
mix:                            # v0 = a0 - a1, v1 = a2 ^ a3
    subu $v0, $a0, $a1
    jr $ra
    xor $v1, $a2, $a3
    .data
newline: .ascii "\\n"
buffer: .space 64
"""


@pytest.fixture(scope="module", params=ORDERS)
def guest(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    options = ("-nostdlib", "-static", "-mno-abicalls", "-fno-pic", "-G0", "-mips2")
    folder = tmp_path_factory.mktemp("guest")
    return compile_guest(folder, request.param, GUEST, *options, language="assembler")


# ---- from IR ----


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dump") / "ir"
    result = mipsrec("dump-llvm", SAMPLE, "-o", folder)
    assert result.returncode == 0 and re.fullmatch(r".*ir: \d+ functions\n", result.stdout)
    return folder


def test_dump_build_run(dump: Path, tmp_path: Path) -> None:
    """The library of the dumped IR does what the program's own does."""
    index = json.loads((dump / "index.json").read_text())
    assert {record["file"] for record in index["functions"]} == {path.name for path in dump.glob("*.ll")}
    for source in (dump, SAMPLE):
        library = tmp_path / f"{source.name}.so"
        assert mipsrec("build", source, "-o", library, "--opt", "1").returncode == 0
        result = mipsrec("run", "--library", library, SAMPLE)
        assert (result.returncode, result.stdout, result.stderr) == (0, EXPECTED, "")


def test_edited_ir_takes_effect(guest: Path, tmp_path: Path) -> None:
    assert mipsrec("dump-llvm", guest, "-o", tmp_path / "ir").returncode == 0
    (path,) = (tmp_path / "ir").glob("*_mix.ll")
    text = path.read_text()
    assert len(re.findall(r"= sub i32 ", text)) == 1
    path.write_text(text.replace("= sub i32 ", "= mul i32 "))
    assert mipsrec("build", tmp_path / "ir", "-o", tmp_path / "lib.so").returncode == 0
    host = _host()
    at = next(pc for pc, name in _entries(tmp_path / "ir") if name == "mix")
    words = [host, "--library", tmp_path / "lib.so", "--call", f"{at:x}", "6", "7", "0", "0", guest]
    output = subprocess.run(words, capture_output=True, text=True).stdout
    assert output.splitlines()[0] == "v0 = 0x0000002a (42)"


def _entries(folder: Path) -> list[tuple[int, str]]:
    return [
        (record["start"], record["name"]) for record in json.loads((folder / "index.json").read_text())["functions"]
    ]


def _host() -> Path:
    from mipsrec.host_build import host_executable

    need("cc", "gcc")
    return host_executable()


def test_optimized_ir(tmp_path: Path) -> None:
    """Shorter, without the allocas of unoptimised IR, and with the same output once built."""
    plain = mipsrec("dump-llvm", SAMPLE, "--function", "main").stdout
    optimized = mipsrec("dump-llvm", SAMPLE, "--function", "main", "--optimize").stdout
    if not plain:  # stripped: take any function by its address
        at = mipsrec("disasm", SAMPLE).stdout.split()[0]
        plain = mipsrec("dump-llvm", SAMPLE, "--function", at).stdout
        optimized = mipsrec("dump-llvm", SAMPLE, "--function", at, "--optimize").stdout
    assert "alloca" in plain and "alloca" not in optimized and "define" in optimized
    assert "; 0" in plain  # disassembly beside the IR
    assert mipsrec("dump-llvm", SAMPLE, "-o", tmp_path / "ir", "--optimize").returncode == 0
    assert mipsrec("build", tmp_path / "ir", "-o", tmp_path / "lib.so", "--opt", "0").returncode == 0
    assert mipsrec("run", "--library", tmp_path / "lib.so", SAMPLE).stdout == EXPECTED


def test_a_dump_of_some_functions(guest: Path, tmp_path: Path) -> None:
    """One .ll per named function; a library of them runs, the interpreter doing the rest."""
    result = mipsrec("dump-llvm", guest, "-o", tmp_path / "ir", "--function", "mix", "--function", "length")
    assert result.returncode == 0 and len(list((tmp_path / "ir").glob("*.ll"))) == 2


def test_only_some_functions(guest: Path, tmp_path: Path) -> None:
    """The library has entries of the chosen functions and no others; the rest of the program is interpreted."""
    library = tmp_path / "lib.so"
    words = [_host(), "--stats", "--library", library, guest, "one", "two"]
    interpreted = []
    for chosen in (("--function", "mi[wxy]"), ("--function", "length", "--function", "mix"), ("--function", "*")):
        assert mipsrec("build", guest, "-o", library, *chosen).returncode == 0
        result = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        assert (result.returncode, result.stdout) == (7, "one\ntwo\n"), result
        (counts,) = re.findall(r"(\d+) instructions interpreted, (\d+) runs of the interpreter", result.stderr)
        assert (counts[0] == "0") == (counts[1] == "0")
        interpreted.append(int(counts[0]))
    assert interpreted[0] > interpreted[1] > interpreted[2]
    assert_one_line(mipsrec("build", guest, "-o", library, "--function", "nothing*"), str(guest), "nothing*")


def test_only_is_for_programs(dump: Path, tmp_path: Path) -> None:
    assert_one_line(mipsrec("build", dump, "-o", tmp_path / "lib.so", "--function", "mix"), str(dump), "--function")


INTO_THE_NEXT = """
    .set noreorder
    .text
    .globl __start
    .type __start, @function
__start:
    addu $t0, $ra, $zero
    addiu $a0, $zero, 1
    addiu $t9, $zero, 1
    jal change
    addiu $a1, $zero, 1
    .globl next                 # which the call returns to
    .type next, @function
next:
    addu $v0, $a0, $t9
    addu $ra, $t0, $zero
    jr $ra
    addu $v0, $v0, $a1
    .globl change
    .type change, @function
change:
    addiu $a0, $zero, 40
    jr $ra
    addiu $t9, $zero, 1
"""


@pytest.mark.parametrize("order", ORDERS)
def test_call_at_the_end_of_a_function(order: str, tmp_path: Path) -> None:
    """What runs on into the next function takes along what the call left there, not what the function had before."""
    options = ("-nostdlib", "-static", "-mno-abicalls", "-fno-pic", "-G0", "-mips2")
    guest = compile_guest(tmp_path, order, INTO_THE_NEXT, *options, language="assembler")
    library = tmp_path / "lib.so"
    assert mipsrec("build", guest, "-o", library, "--opt", "0").returncode == 0
    at = mipsrec("disasm", guest, "--function", "__start").stdout.split()[0]
    words = [_host(), "--library", library, "--call", at, guest]
    output = subprocess.run(words, capture_output=True, text=True).stdout
    assert output.splitlines()[0] == "v0 = 0x0000002a (42)"


INTO_THE_SWITCH = """
    .set noreorder
    .text
    .globl __start
    .ent __start
__start:
    lui $t0, %hi(table)
    addiu $t0, $t0, %lo(table)
    bne $a1, $zero, other
    sltiu $t1, $a0, 3
    beq $t1, $zero, out
    sll $t2, $a0, 2
    addu $t2, $t0, $t2
    lw $t3, 0($t2)
middle:                         # where others come with a target of their own
    nop
    jr $t3
    nop
out:
    jr $ra
    addiu $v0, $zero, 99
zero:
    jr $ra
    addiu $v0, $zero, 40
one:
    jr $ra
    addiu $v0, $zero, 41
two:
    jr $ra
    addiu $v0, $zero, 42
other:
    lui $t3, %hi(one)
    addiu $t3, $t3, %lo(one)
    lui $t4, %hi(middle)
    addiu $t4, $t4, %lo(middle)
    addu $t5, $t4, $a0
    jr $t5
    nop
    .end __start
    .rdata
table: .word zero, one, two
"""


@pytest.mark.parametrize("order", ORDERS)
def test_jump_to_between_the_load_of_a_table_and_its_jump(order: str, tmp_path: Path) -> None:
    """The block of the jump does not know the entry's address; the target is found all the same."""
    options = ("-nostdlib", "-static", "-mno-abicalls", "-fno-pic", "-G0", "-mips2")
    guest = compile_guest(tmp_path, order, INTO_THE_SWITCH, *options, language="assembler")
    library = tmp_path / "lib.so"
    result = mipsrec("build", guest, "-o", library, "--opt", "0")
    assert result.returncode == 0, result.stderr
    at = mipsrec("disasm", guest, "--function", "__start").stdout.split()[0]
    for index, way, value in ((0, 0, 40), (2, 0, 42), (3, 0, 99), (0, 1, 41)):
        words = [_host(), "--library", library, "--call", at, str(index), str(way), guest]
        output = subprocess.run(words, capture_output=True, text=True).stdout
        assert output.splitlines()[0].endswith(f"({value})"), (index, way)


def test_an_entry_of_two_functions_is_in_the_table_once() -> None:
    """The host refuses a table whose pcs do not grow; functions of glibc share the ends of loops."""
    from mipsrec.linking import GuestFile, LibraryIdentity, table_text
    from mipsrec.target_cpu import chosen_cpu

    guest_file = GuestFile("00" * 32, 0, 0, False, False, ((4194304, 0, 4096),))
    identity = LibraryIdentity(guest_file, "flat", "direct", "2", chosen_cpu("generic"))
    found = [(4194312, "second"), (4194304, "first"), (4194312, "first")]
    once = table_text([(4194304, "first"), (4194312, "first")], identity, "x86_64-linux-gnu")
    assert table_text(found, identity, "x86_64-linux-gnu") == once and once.count("i32 4194312") == 1


# ---- looking ----


def test_info(guest: Path) -> None:
    facts = json.loads(mipsrec("info", "--json", guest).stdout)
    assert facts["byte_order"] == ("big" if guest.read_bytes()[5] == 2 else "little")  # EI_DATA
    assert (facts["isa"], facts["type"], facts["warnings"]) == ("mips2", "static", [])
    assert facts["functions"] >= 4 and facts["blocks"] > facts["functions"] and facts["unresolved_jumps"] == 0
    text = mipsrec("info", guest).stdout
    assert f"0x{facts['entry']:08x}" in text and facts["identity"] in text


def test_disasm(guest: Path) -> None:
    text = mipsrec("disasm", guest, "--function", "mix").stdout
    assert [line.split(None, 2)[2] for line in text.splitlines()[3:]] == ["subu v0, a0, a1", "jr ra", "xor v1, a2, a3"]
    whole = mipsrec("disasm", guest).stdout
    assert text.strip() in whole and "# length" in whole
    assert mipsrec("disasm", guest, "--function", "length", "--function", "mix").stdout.count("<") == 2


def test_cfg(guest: Path, tmp_path: Path) -> None:
    text = mipsrec("cfg", guest, "length").stdout
    assert text.startswith('digraph "length" {') and text.rstrip().endswith("}")
    edges = re.findall(r"(b[0-9a-f]{8}) -> (b[0-9a-f]{8})", text)
    nodes = set(re.findall(r"^  (b[0-9a-f]{8}) \[", text, re.MULTILINE))
    assert len(edges) >= 3 and {node for edge in edges for node in edge} <= nodes
    assert mipsrec("cfg", guest, "length", "-o", tmp_path / "length.dot").returncode == 0
    assert (tmp_path / "length.dot").read_text() == text
    need("dot", "graphviz")
    assert mipsrec("cfg", guest, "length", "-o", tmp_path / "length.svg").returncode == 0
    assert "<svg" in (tmp_path / "length.svg").read_text()


@pytest.mark.parametrize("tier", ["aot", "interp"])
def test_call(guest: Path, tier: str) -> None:
    result = mipsrec("call", "--tier", tier, guest, "mix", "-5", "0x10", "0xffffffff", "1")
    assert result.returncode == 0
    assert result.stdout.splitlines()[:2] == ["v0 = 0xffffffeb (-21)", "v1 = 0xfffffffe (-2)"]
    for text in ("five", "0b1", "1_000", "0x", "4294967296", "-2147483649"):
        assert_one_line(mipsrec("call", "--tier", tier, guest, "mix", text), text)


def test_call_of_a_program_whose_name_is_a_number(guest: Path, tmp_path: Path) -> None:
    (tmp_path / "12").write_bytes(guest.read_bytes())
    result = mipsrec("call", "--tier", "interp", "12", "mix", "9", "2", cwd=tmp_path)
    assert result.stdout.splitlines()[0] == "v0 = 0x00000007 (7)"


RETURNS_BY_T0 = """
    .set noreorder
    .globl __start, moved, later
    .ent __start
__start: b __start
    nop
    .end __start
    .ent moved
moved: move $t0, $ra
    addu $v0, $a0, $a1
    jr $t0
    nop
    .end moved
    .ent later
later: move $t0, $ra
    jal helper
    move $v0, $a0
    jr $t0
    addu $v0, $v0, $a1
    .end later
    .ent helper
helper: jr $ra
    addu $v0, $v0, $v0
    .end helper
"""


@pytest.mark.parametrize("tier", ["aot", "interp"])
def test_call_of_functions_that_return_by_another_register(tmp_path: Path, tier: str) -> None:
    options = ("-nostdlib", "-static", "-mno-abicalls", "-fno-pic")
    program = compile_guest(tmp_path, "big", RETURNS_BY_T0, *options, language="assembler")
    for function, found in ("moved", 23), ("later", 43):
        result = mipsrec("call", "--tier", tier, program, function, 20, 3)
        assert result.stdout.splitlines()[0] == f"v0 = 0x{found:08x} ({found})", result.stderr


# ---- running ----


def run_guest(guest: Path, *words: object, text: str = "", **changes: str | None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command("run", *words), input=text, capture_output=True, text=True, timeout=60, env=environment(**changes)
    )


@pytest.mark.parametrize("tier", ["aot", "interp"])
def test_streams_and_status(guest: Path, tier: str) -> None:
    """Input, output and status 7 pass through, and words that look like options belong to the guest."""
    words = ["--help", "-E", "--tier", "interp", "--", "-", ""]
    result = run_guest(guest, "--tier", tier, guest, *words, text="some\ninput" * 30)
    assert result.stdout == "".join(f"{word}\n" for word in words) + "some\ninput" * 30
    assert (result.returncode, result.stderr) == (7, "")


@pytest.mark.parametrize("tier", ["aot", "interp"])
def test_signals(guest: Path, tier: str) -> None:
    result = run_guest(guest, "--tier", tier, guest, "!")
    assert (result.returncode, result.stdout) == (-signal.SIGSEGV, "")
    line = " ".join(command("run", "--tier", tier, guest, "!")) + "; echo $?"
    shell = subprocess.run(["sh", "-c", line], capture_output=True, text=True, env=environment())
    assert shell.stdout.splitlines()[-1] == str(128 + signal.SIGSEGV)


def test_environment(tmp_path: Path) -> None:
    source = (GUESTS / "surroundings.c").read_text()
    guest = compile_guest(tmp_path, "little", source, "-static")
    words = ["run", "--tier", "interp", "-E", "COLOUR=dark=red", "-E", "HOME", "-E", "EMPTY=", guest]
    result = mipsrec(*words, "COLOUR", "HOME", "EMPTY", "GIVEN", GIVEN="yes")
    assert result.stdout == "COLOUR=dark=red\nHOME=(none)\nEMPTY=\nGIVEN=yes\n"
    assert result.returncode == 5


def test_libraries_are_kept(guest: Path, tmp_path: Path) -> None:
    """A second run builds nothing; other options, or another program, build another library."""
    _host()
    cache = {"MIPSREC_CACHE": str(tmp_path)}
    (tmp_path / "host").symlink_to(Path(os.environ["MIPSREC_CACHE"]) / "host")

    def kept() -> dict[str, int]:
        return {str(path): path.stat().st_mtime_ns for path in tmp_path.glob("code/*/*/*/*.so")}

    assert run_guest(guest, guest, **cache).returncode == 7
    first = kept()
    assert len(first) == 1
    assert run_guest(guest, guest, **cache).returncode == 7
    assert kept() == first
    for count, words in enumerate((["--opt", "0"], ["--memory", "thunk"], ["--calls", "thunked"]), 2):
        assert run_guest(guest, *words, guest, **cache).returncode == 7
        assert len(kept()) == count and first.items() <= kept().items()
    changed = tmp_path / "changed"
    changed.write_bytes(guest.read_bytes() + b"\0")
    changed.chmod(0o755)
    assert run_guest(changed, changed, **cache).returncode == 7
    assert len(kept()) == 5


def test_stats_and_strace(guest: Path) -> None:
    result = run_guest(guest, "--strace", "--stats", guest)
    assert result.returncode == 7
    assert "read(0" in result.stderr and "exit(7" in result.stderr and "instructions interpreted" in result.stderr


def test_version() -> None:
    assert re.fullmatch(r"mipsrec \d+\.\d+\.\d+\n", mipsrec("--version").stdout)
