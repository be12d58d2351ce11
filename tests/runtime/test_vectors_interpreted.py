"""The test vectors: in the interpreter, and against the assembler."""

from __future__ import annotations

import os
import re
import struct
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from mipsrec.isa import ROWS
from tests.runtime.vectors_interpreted import VECTORS, run_all
from tests.support.guest_cpu import CODE
from tests.support.interpreter import build
from tests.support.tools import need

MODULES = ("mips32r2", "dspr2", "fp=64", "oddspreg")
"""What the assembler is to accept."""


def test_interpreter(tmp_path: Path) -> None:
    assert run_all(build(tmp_path), VECTORS) == []


def test_interpreter_sanitized(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same under gcc's undefined-behaviour sanitizer, which speaks on standard error (clang's wants a program)."""
    monkeypatch.setenv("CC", need("gcc"))
    assert run_all(build(tmp_path, "-O1", "-fsanitize=undefined"), VECTORS) == []
    assert "runtime error" not in capfd.readouterr().err


def test_two_of_each() -> None:
    """Every mnemonic has two vectors at least, wherever it stands; what depends on the host has none."""
    names = Counter(part.split()[0] for vector in VECTORS for part in vector.text.split(" | "))
    hints = ("ehb", "ssnop", "jr.hb", "jalr.hb")  # of nop, jr and jalr
    assert [name for name, count in names.items() if count < 2 and name not in hints] == []
    assert {row.name for row in ROWS} - names.keys() == {"rdhwr", "synci"}


def test_code_is_what_the_text_says(tmp_path: Path) -> None:
    """The cross-assembler makes the words from the text."""
    assembler = need("mips-linux-gnu-as", "binutils-mips-linux-gnu")
    objcopy = need("mips-linux-gnu-objcopy", "binutils-mips-linux-gnu")
    lines = [*(f".module {name}" for name in MODULES), ".set noreorder", ".set noat", ".set nomacro"]
    for vector in VECTORS:
        lines += vector.text.split(" | ")
    (tmp_path / "all.s").write_text("\n".join([*lines, ""]))
    environment = os.environ | {"LC_ALL": "C"}
    for command in ([assembler, "-mips32r2", "-mabi=32", "-o", "all.o", "all.s"],
                    [objcopy, "-O", "binary", "-j", ".text", "all.o", "all.bin"]):  # fmt: skip
        subprocess.run(command, cwd=tmp_path, env=environment, check=True)
    data = (tmp_path / "all.bin").read_bytes()
    expected = [word for vector in VECTORS for word in vector.code]
    assert list(struct.unpack(f">{len(expected)}I", data[: 4 * len(expected)])) == expected
    assert not any(data[4 * len(expected) :])
    assert CODE == 0x10100 and not any(re.search(r"\bj(al)? (?!0x101)", vector.text) for vector in VECTORS)
