"""Names with control characters: none makes a line of its own, or reaches the terminal as it is."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

from mipsrec.commands.cfg import quoted
from tests.support.commandline import mipsrec
from tests.support.compiled import ORDERS
from tests.support.paths import PREBUILT
from tests.support.tiny_elf import CODE, TinyElf
from tests.support.tools import need

FORGED = "name\nmipsrec: forged\x1b[31m"
WRITTEN = r"name\nmipsrec: forged\x1b[31m"


def assert_written_out(*words: object, cwd: Path) -> None:
    """The name is in what is said, written out, and nothing else of it is."""
    said = mipsrec(*words, cwd=cwd).stderr
    assert WRITTEN in said and "\nmipsrec: forged" not in said and "\x1b" not in said, (words, said)


def test_names_in_graphs() -> None:
    """A name cannot end the string that it stands in, and so cannot add a link to a picture."""
    assert quoted('a"]b[URL="c\\\n') == r'a\"]b[URL=\"c\\\\n'


def test_a_file_that_is_no_program(tmp_path: Path) -> None:
    (tmp_path / FORGED).write_bytes(b"x")
    for words in (["run", FORGED], ["build", FORGED], ["info", FORGED], ["build", "--sysroot", tmp_path]):
        if words[1] == "--sysroot":
            (tmp_path / FORGED).write_bytes((PREBUILT / "mips" / "hello.elf").read_bytes()[:300])
        assert_written_out(*words, cwd=tmp_path)


def test_every_kind_of_character(host: Path, tmp_path: Path) -> None:
    """Text stays; what is no UTF-8, and what moves a cursor, ends a line or turns the direction of text, does not."""
    text, others = "ä€😀\t", ("\x85", "\x9b", "\x7f", "\u061c", "\u200f", "\u2028", "\u202e", "\u2066")
    cut_off = (b"\x9b31m", b"\xc0\xaf", b"\xed", b"\xe2\x82", b"\xf0\x9f\x98", b"\xf8")
    too_long, none = (b"\xe0\x81\x8a", b"\xf0\x80\x81\x8a"), (b"\xed\xa0\x80", b"\xf4\x90\x80\x80")
    broken = (*cut_off, *too_long, *none)
    for part in (*(other.encode() for other in others), *broken):
        said = subprocess.run([host, text.encode() + part], cwd=tmp_path, capture_output=True).stderr
        written = "".join(chr(byte) if 0x20 <= byte < 0x7F else f"\\x{byte:02x}" for byte in part)
        assert said.startswith(f"mipsrec-host: {text}{written}: ".encode()), said


def test_messages_that_are_cut_off(host: Path, tmp_path: Path) -> None:
    """One line all the same, whichever part of the name the message has."""
    for length in (100, 1000, 1500, 3000):
        for name in ("a" * length + "\n/b" * 9, "\nb" * 300, "\x9b" * length):
            words = [host, "--gdb", f"{name}/s", PREBUILT / "mips/hello.elf"], [host, f"--{name}"]
            for result in (subprocess.run(word, cwd=tmp_path, capture_output=True) for word in words):
                said = result.stderr
                assert said.count(b"\n") == 1 and said.endswith(b"\n") and b"\x9b" not in said, said


def test_the_report_of_a_program_that_dies(tmp_path: Path) -> None:
    code = struct.pack(">2I", 0x7C641008, 0)  # fork, which no processor here has
    (tmp_path / FORGED).write_bytes(TinyElf(segments=[(1, CODE + 0x200, code, len(code), 5)]).build())
    for option in ((), ("--report",)):
        assert_written_out("run", *option, f"./{FORGED}", cwd=tmp_path)


def test_names_of_libraries_and_of_an_interpreter(tmp_path: Path) -> None:
    triple = ORDERS["big"]
    compiler = [need(f"{triple}-gcc", f"gcc-{triple}"), "-nostdlib", "-o"]
    (tmp_path / "q.c").write_text("int q(void) { return 1; }")
    (tmp_path / "p.c").write_text("int q(void); void __start(void) { q(); }")
    shared = ["-shared", "-fPIC", f"-Wl,-soname,{FORGED}"]
    subprocess.run([*compiler, "lib.so", "q.c", *shared], cwd=tmp_path, check=True)
    for name, linker in (("prog", FORGED), ("other", shutil.which("true"))):
        options = ["p.c", "./lib.so", f"-Wl,--dynamic-linker={linker}"]
        subprocess.run([*compiler, name, *options], cwd=tmp_path, check=True)
    assert_written_out("build", "prog", cwd=tmp_path)
    assert_written_out("run", "./prog", cwd=tmp_path)
    assert_written_out("build", "other", cwd=tmp_path)
