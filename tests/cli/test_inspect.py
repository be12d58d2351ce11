"""`info`, `disasm`, `cfg` and `call`: what they say of a program and its functions."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.commandline import assert_one_line, mipsrec, mipsrec_here
from tests.support.compiled import BARE, compile_guest
from tests.support.dynamic import library, program
from tests.support.hosts import cache_with_host
from tests.support.tools import need


def test_info(guest: Path) -> None:
    facts = json.loads(mipsrec("info", "--json", guest).stdout)
    assert facts["byte_order"] == ("big" if guest.read_bytes()[5] == 2 else "little")  # EI_DATA
    assert (facts["isa"], facts["type"], facts["warnings"]) == ("mips2", "static", [])
    assert facts["functions"] >= 4 and facts["blocks"] > facts["functions"] and facts["unresolved_jumps"] == 0
    text = mipsrec("info", guest).stdout
    assert f"0x{facts['entry']:08x}" in text and facts["identity"] in text


def test_info_of_a_dynamic_program(tmp_path: Path) -> None:
    own = library(tmp_path / "libown.so", "big")
    guest = program(tmp_path / "program", "big", own, interpreter="/lib/ld-uClibc.so.0")
    lines = mipsrec("info", guest).stdout.splitlines()
    assert {"interpreter        /lib/ld-uClibc.so.0", "libraries          libown.so"} <= set(lines)
    assert "interpreter        none" in mipsrec("info", own).stdout


def test_links_of_a_sysroot(guest: Path, tmp_path: Path) -> None:
    """A path below the sysroot leads where the guest's does: by absolute links to files there."""
    programs = tmp_path / "root/bin"
    programs.mkdir(parents=True)
    (programs / "busybox").write_bytes(guest.read_bytes())
    (programs / "ls").symlink_to("/bin/busybox")
    (tmp_path / "link").symlink_to("root")
    expected = mipsrec("disasm", guest).stdout
    for name in ("root/bin/ls", "./link/bin/../bin/ls", str(programs / "ls"), "/bin/ls", "root/bin/busybox"):
        assert mipsrec("disasm", "-L", tmp_path / "root", name, cwd=tmp_path).stdout == expected
        facts = json.loads(mipsrec("info", "--json", "-L", "root", name, cwd=tmp_path).stdout)
        assert facts["path"].endswith("root/bin/busybox") and facts["type"] == "static"
    assert_one_line(mipsrec("info", "root/bin/none", "-L", "root", cwd=tmp_path), "root/bin/none", "No such file")
    assert_one_line(mipsrec("info", "root/bin/ls/", "-L", "root", cwd=tmp_path), "root/bin/ls/", "leave out the /")
    twice = tmp_path / "root" / str(tmp_path)[1:] / "root/bin"  # what the guest would call so is another file
    twice.mkdir(parents=True)
    (twice / "ls").write_bytes(b"")
    assert mipsrec("disasm", "-L", tmp_path / "root", programs / "ls").stdout == expected
    (tmp_path / "root/bin/folder").mkdir()
    assert_one_line(mipsrec("info", "-L", tmp_path / "root", "/bin/folder"), "/bin/folder", "directory")


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
    for ending, part in (("svg", b"<svg"), ("png", b"\x89PNG\r\n"), ("pdf", b"%PDF-")):
        picture = tmp_path / f"length.{ending}"
        assert mipsrec("cfg", guest, "length", "-o", picture).returncode == 0
        assert part in picture.read_bytes()


@pytest.mark.parametrize("tier", ["aot", "interp"])
def test_call(guest: Path, tier: str) -> None:
    result = mipsrec("call", "--tier", tier, guest, "mix", "-5", "0x10", "0xffffffff", "1")
    assert result.returncode == 0
    assert result.stdout.splitlines()[:2] == ["v0 = 0xffffffeb (-21)", "v1 = 0xfffffffe (-2)"]
    for text in ("five", "0b1", "1_000", "0x", "4294967296", "-2147483649"):
        assert_one_line(mipsrec("call", "--tier", tier, guest, "mix", text), text, status=2)


REACHES = """
__attribute__((noipa)) int leaf(int x) { return x * 3; }
__attribute__((noipa)) int last(int x) { return leaf(x) + 1; }
__attribute__((noipa)) int tail(int x) { return last(x + 1); }
__attribute__((noipa)) int other(int x) { return x - 1; }
int __start(void) { return tail(1) + other(2); }
"""


def test_call_recompiles_what_the_function_reaches(tmp_path: Path) -> None:
    """The second time, that is in the cache."""
    program, cache = compile_guest(tmp_path, "little", REACHES, *BARE), cache_with_host(tmp_path / "cache")
    for _ in range(2):
        result = mipsrec("call", "--tier", "aot", program, "tail", 4, MIPSREC_CACHE=str(cache))
        assert result.stdout.splitlines()[0] == "v0 = 0x00000010 (16)", result.stderr
        (library,) = (cache / "libraries").rglob("*.so")
        starts = {line.split()[0] for line in mipsrec("disasm", program).stdout.splitlines() if "<" in line}
        assert json.loads(mipsrec("info", "--json", library).stdout)["entries"] == 3 < len(starts)


def test_call_of_a_program_whose_name_is_a_number(guest: Path, tmp_path: Path) -> None:
    (tmp_path / "12").write_bytes(guest.read_bytes())
    result = mipsrec("call", "--tier", "interp", "12", "mix", "9", "2", cwd=tmp_path)
    assert result.stdout.splitlines()[0] == "v0 = 0x00000007 (7)"


PRODUCT = '#include <stdio.h>\nint product(int a, int b) { return a * b; }\nint main(void) { return puts(""); }\n'


@pytest.mark.parametrize("tier, link", [("aot", "-no-pie"), ("aot", "-pie"), ("interp", "-pie")])
def test_call_in_a_dynamic_program(tmp_path: Path, tier: str, link: str) -> None:
    program = compile_guest(tmp_path, "little", PRODUCT, link)
    need("/usr/mipsel-linux-gnu/lib/ld.so.1", "libc6-mipsel-cross")
    result = mipsrec("call", "-L", "/usr/mipsel-linux-gnu", "--tier", tier, program, "product", 6, 7)
    assert result.stdout.splitlines()[0] == "v0 = 0x0000002a (42)", result.stderr
    assert_one_line(mipsrec("call", "--tier", tier, program, "product", 6, 7), "--sysroot DIR")


@pytest.mark.parametrize(
    "said, options",
    [("static", ("-static",)), ("dynamic", ("-no-pie",)), ("dynamic-pie", ("-pie",)), ("shared library", ("-shared",)),
     ("static-pie", ("-static-pie", "-nostdlib", "-nostartfiles", "-Wl,--no-dynamic-linker"))],
)  # fmt: skip
def test_how_a_file_is_linked(tmp_path: Path, said: str, options: tuple[str, ...]) -> None:
    text = PRODUCT.replace("main", "__start").replace('puts("")', "0") if "-nostdlib" in options else PRODUCT
    program = compile_guest(tmp_path, "little", text, "-fPIC", *options)
    assert json.loads(mipsrec_here("info", "--json", program).stdout)["type"] == said


@pytest.mark.parametrize("words, missing", [(("run",), "prog.elf"), (("call", "x"), "FUNCTION")])
def test_what_is_missing_is_what_is_required(words: tuple[str, ...], missing: str) -> None:
    assert_one_line(mipsrec_here(*words), f"required: {missing}; see", status=2)


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
    program = compile_guest(tmp_path, "big", RETURNS_BY_T0, *BARE, language="assembler")
    for function, found in ("moved", 23), ("later", 43):
        result = mipsrec("call", "--tier", tier, program, function, 20, 3)
        assert result.stdout.splitlines()[0] == f"v0 = 0x{found:08x} ({found})", result.stderr
