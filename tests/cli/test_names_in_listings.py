"""Names that a guest chose, in what is printed: one line each, and nothing for the terminal to obey."""

from __future__ import annotations

import io
import struct
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from mipsrec.commands import bench_chart, bench_markdown
from mipsrec.elf import load_elf
from mipsrec.long_work import bar_for_people
from tests.support.commandline import mipsrec, mipsrec_here
from tests.support.tiny_elf import CODE, TinyElf

START = CODE + 0x200
PLAIN = (b"first", b"second", b"gr\xc3\xb6\xc3\x9fe")
FORGED = (
    b'first\n  ret void\n}\n; \x1b[31m"x', b"sec\xffond\xc2\x9b31m\xe2\x80\xae\r\ndefine i32 @evil() {",
    b"gr\xc3\xb6\xc3\x9fe\x07",
)  # fmt: skip
WRITTEN = (r'first\n  ret void\n}\n; \x1b[31m"x', r"sec\xffond\x9b31m\u202e\r\ndefine i32 @evil() {", r"größe\x07")


def _program(path: Path, names: tuple[bytes, ...]) -> Path:
    """Make a program of three functions with such names."""
    jal = 0x0C000000 | (START + 16) >> 2
    code = struct.pack(">8I", jal, 0, 0x03E00008, 0, 0x03E00008, 0, 0x03E00008, 0)
    table, strings = bytearray(16), bytearray(b"\0")
    for name, start in zip(names, (START, START + 16, START + 24)):
        table += struct.pack(">IIIBBH", len(strings), start, 8, 0x12, 0, 1)
        strings += name + b"\0"
    elf = TinyElf(segments=[(1, START, code, len(code), 5)])
    elf.sections = [(".symtab", 2, 0, 0, bytes(table), 2), (".strtab", 3, 0, 0, bytes(strings), 0)]
    path.write_bytes(elf.build())
    return path


def _printed(*words: object) -> str:
    result = mipsrec_here(*words)
    assert (result.returncode, result.stderr) == (0, ""), result
    return result.stdout


def assert_as_plain(forged: str, plain: str) -> None:
    """As many lines as with plain names, and no character that is none of a text."""
    assert forged.count("\n") == plain.count("\n"), forged
    assert all(line.isprintable() for line in forged.split("\n")), forged


def test_listings(tmp_path: Path) -> None:
    forged, plain = _program(tmp_path / "forged", FORGED), _program(tmp_path / "plain", PLAIN)
    assert [symbol.name for symbol in load_elf(forged).symbols] == list(WRITTEN)
    for command, *after in (["info"], ["disasm"], ["dump-plan"], ["dump-llvm"], ["cfg", f"{START:x}"]):
        assert_as_plain(_printed(command, forged, *after), _printed(command, plain, *after))
    for name in WRITTEN:
        assert f"<{name}>:" in _printed("disasm", "--function", name, forged)


def test_names_of_sections(tmp_path: Path) -> None:
    elf = TinyElf()
    elf.sections = [(".stran\n\x1b[2mge", 2, 0, 0, bytes(16), 99)]
    (tmp_path / "prog").write_bytes(elf.build())
    assert r"warning            symbol table .stran\n\x1b[2mge does not fit" in _printed("info", tmp_path / "prog")


def test_names_in_ir(tmp_path: Path) -> None:
    """They end no comment and no string; what is no ASCII stands there whole."""
    text = _printed("dump-llvm", _program(tmp_path / "prog", FORGED))
    module = llvm.parse_assembly(text)
    defined = [function.name for function in module.functions if not function.is_declaration]
    assert sum(name.endswith(("00400200", "00400210", "00400218")) for name in defined) >= 3 and "evil" not in defined
    assert 'name: "gr\\C3\\B6\\C3\\9Fe' in text


def test_a_file_whose_name_is_no_text(tmp_path: Path) -> None:
    """Also one that becomes the name of a source, and where standard output has no such letters."""
    name = b"lib\xff\n\xc3\xa9\x1b[31m".decode("utf-8", "surrogateescape")
    elf = TinyElf(e_type=3, entry=0, segments=[(1, 0x200, struct.pack(">2I", 0x03E00008, 0), 8, 5)])
    (tmp_path / name).write_bytes(elf.build())
    for words in (["info", name], ["dump-llvm", name], ["dump-llvm", name, "-o", f"{name}.d"], ["build", name]):
        result = mipsrec(*words, cwd=tmp_path, PYTHONIOENCODING="ascii:strict")
        assert (result.returncode, result.stderr) == (0, ""), result
        assert result.stdout.isascii() and all(line.isprintable() for line in result.stdout.split("\n")), result
    said = mipsrec("info", f"{name}.so", cwd=tmp_path)
    assert said.stdout.startswith("path               lib\\udcff\\né\\x1b[31m.so\nproducer "), said


def test_profiles(tmp_path: Path) -> None:
    """Of functions, and of libraries that are named in the file."""
    program, profile = _program(tmp_path / "prog", FORGED), tmp_path / "out.prof"
    lines = [f"mipsrec profile 2 {load_elf(program).identity}", f"{START:08x} 5 lifted", f"{START + 16:08x} 4 interp"]
    lines += [f"file {'0' * 64} /lib/\x1b[31m\r\u2028lib.so", "00400000 3 host", ""]
    profile.write_text("\n".join(lines), newline="")
    said = _printed("profile", "--from", profile, program)
    assert_as_plain(said, said)
    assert WRITTEN[0] in said and WRITTEN[1] in said and r"/lib/\x1b[31m\r\u2028lib.so: is gone" in said


def test_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, folder in (("MIPSREC_CACHE", "own\n\x1b[31m"), ("MIPSREC_CACHE_PATH", "layer\n\x1b[31m")):
        (tmp_path / folder).mkdir()
        monkeypatch.setenv(name, str(tmp_path / folder))
    odd = tmp_path / "own\n\x1b[31m/code/ver\x1b\nsion/var\x1b\niant/ab"
    odd.mkdir(parents=True)
    (odd / "iden\x1b\ntity.so").write_text("")
    said = _printed("cache", "list")
    assert_as_plain(said, said)
    assert r"own\n\x1b[31m: " in said and r"layer\n\x1b[31m: " in said
    assert all(name in said for name in (r"ver\x1b\nsion", r"var\x1b\niant", r"iden\x1b\ntity"))


def test_reports_of_the_bench() -> None:
    assert bench_markdown.row(["a\n| b", "1"]) == r"| a\n\| b | 1 |"
    facts = {"reference": "native", "mipsrec": "1", "options": "", "machine": {"processor": "p"}}
    programs = {"\x1b<a>": {"ratio": {"mipsel": 1.0}}}
    chart = bench_chart.chart(facts | {"programs": programs, "geometric_mean": {"mipsel": 1.0}})
    assert r"\x1b<a>" in "".join(ElementTree.fromstring(chart).itertext())


def test_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", terminal)
    with bar_for_people("a\n\x1b[31m", total=1):
        pass
    assert r"a\n\x1b[31m" in terminal.getvalue() and "\x1b[31m" not in terminal.getvalue()
