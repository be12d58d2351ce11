"""The host's disassembler says what Python's says, from the same rows, for words of every row."""

from __future__ import annotations

import ctypes
import random
import subprocess
from pathlib import Path

from mipsrec.host_build import generated_headers, runtime_folder
from mipsrec.isa import ROWS, decode
from mipsrec.isa.disassembly import disassemble
from tests.support.tools import need


def host_disassembler(folder: Path) -> ctypes.CDLL:
    for name, text in generated_headers().items():
        (folder / name).write_text(text)
    library = folder / "disasm.so"
    sources = [runtime_folder() / "cpu" / name for name in ("disasm.c", "registers.c")]
    command = [
        need("cc", "gcc"),
        "-std=c11",
        "-D_GNU_SOURCE=",
        "-shared",
        "-fPIC",
        f"-I{folder}",
        f"-I{runtime_folder()}",
        *sources,
        "-o",
        library,
    ]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(library))


def test_same_text(tmp_path: Path) -> None:
    host = host_disassembler(tmp_path)
    words = random.Random(1)
    text = ctypes.create_string_buffer(100)
    for row in ROWS:
        for _ in range(20):
            word = row.value | (words.getrandbits(32) & ~row.mask & 0xFFFFFFFF)
            pc = words.getrandbits(29) << 2
            instruction = decode(word)
            if instruction is None:  # reserved by a rule between fields, such as that of ext
                continue
            host.mr_disassemble(pc, word, text, len(text))
            assert text.value.decode() == disassemble(instruction, pc, word)


def test_short_buffers(tmp_path: Path) -> None:
    host = host_disassembler(tmp_path)
    for size in range(1, 20):
        text = ctypes.create_string_buffer(b"x" * 30)
        host.mr_disassemble(0, 0x24420001, text, size)
        assert text.value.decode() == "addiu v0, v0, 1"[: size - 1] and text.raw[size:20] == b"x" * (20 - size)
