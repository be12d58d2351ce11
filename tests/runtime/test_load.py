"""The loader of the host, on programs that are broken in every field: one line and status 1, or the guest's own end."""

from __future__ import annotations

import random
import struct
import subprocess
from pathlib import Path

import pytest

from mipsrec.elf import load_elf
from mipsrec.elf.header import MACHINES
from mipsrec.errors import ElfError
from tests.elf.refused import ABIFLAGS, note, with_segment
from tests.support.tiny_elf import CODE, PT_INTERP, PT_LOAD, TinyElf

NOWHERE = 0x7FFF0000

REFUSED = {
    "empty": (b"", "is not an ELF file"),
    "text": (b"#!/bin/sh\nexit\n", "is not an ELF file"),
    "cut off": (TinyElf().build()[:40], "cut off"),
    "another machine": (TinyElf(machine=62).build(), "not for MIPS"),
    "class 64": (TinyElf(ident=b"\x7fELF\x02\x02\x01").build(), "64-bit"),
    "no byte order": (TinyElf(ident=b"\x7fELF\x01\x03\x01").build(), "cut off or broken"),
    "no type": (TinyElf(e_type=9).build(), "e_type 9"),
    "n32": (TinyElf(flags=0x70000020).build(), "n32"),
    "o64": (TinyElf(flags=0x70002000).build(), "ABI"),
    "R6": (TinyElf(flags=0x90001000).build(), "R6"),
    "64-bit R6": (TinyElf(flags=0xA0001000).build(), "R6"),
    "microMIPS": (TinyElf(flags=0x72001000).build(), "holds microMIPS code"),
    "R6 by .MIPS.abiflags": (with_segment(0x70000003, ABIFLAGS).build(), "R6"),
    "IRIX": (TinyElf(ident=b"\x7fELF\x01\x02\x01\x08").build(), "is a program for IRIX"),
    "IRIX by its interpreter": (with_segment(3, b"/lib/rld\0").build(), "is a program for IRIX"),
    "NetBSD by its note": (with_segment(4, note(b"Oth\0", 9) + note(b"NetBSD\0", 9)).build(), "for NetBSD"),
    "the Hurd by its note": (with_segment(4, note(b"GNU\0", 1)).build(), "is a program for GNU Hurd"),
    "entry outside": (TinyElf(entry=CODE + 0x20000).build(), "entry point"),
    "no headers": (TinyElf(program_count=0).build(), "no program headers"),
    "many headers": (TinyElf(program_count=5000).build(), "program headers"),
    "large headers": (TinyElf(program_entry_size=56).build(), "program headers"),
    "no segment": (TinyElf(segments=[(4, CODE, b"note", 4, 4)]).build(), "no loadable segment"),
    "in the kernel": (TinyElf(segments=[(PT_LOAD, 0x80000000, b"\0" * 8, 8, 5)]).build(), "outside"),
    "across the end": (TinyElf(segments=[(PT_LOAD, 0x7FFF0000, b"\0" * 8, 8, 5)]).build(), "outside"),
    "wraps": (TinyElf(segments=[(PT_LOAD, CODE, b"\0" * 8, 0xFFFFFFFF, 5)]).build(), "outside"),
    "too low": (TinyElf(segments=[(PT_LOAD, 0x1000, b"\0" * 8, 8, 5)]).build(), "outside"),
    "fills everything": (TinyElf(segments=[(PT_LOAD, CODE, b"\0" * 8, 0x7FBE0000, 5)], entry=CODE).build(), "stack"),
    "less memory": (TinyElf(segments=[(PT_LOAD, CODE, b"\0" * 8, 4, 5)]).build(), "more bytes in the file"),
    "dynamic": (
        TinyElf(
            segments=[(PT_INTERP, 0, b"/nowhere/ld.so.1\0", 17, 4), (PT_LOAD, CODE + 0x200, b"\0" * 8, 8, 5)]
        ).build(),
        "interpreter /nowhere/ld.so.1 cannot be read",
    ),
    "shared library": (TinyElf(e_type=3, entry=0).build(), "shared library"),
}


def run_host(host: Path, program: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([host, "--engine", "interp", program], capture_output=True, text=True, timeout=600)


@pytest.mark.parametrize("case", REFUSED)
def test_refuses_with_one_line(host: Path, tmp_path: Path, case: str) -> None:
    content, reason = REFUSED[case]
    program = tmp_path / "program"
    program.write_bytes(content)
    result = run_host(host, program)
    assert result.returncode == 1
    assert result.stderr.startswith("mipsrec-host: ") and result.stderr.count("\n") == 1
    assert reason in result.stderr


def test_names_as_the_translator_does(host: Path, tmp_path: Path) -> None:
    """Of other processors, and of ELF files that are no programs: the host and Python say the same of each."""
    program = tmp_path / "program"
    others = [TinyElf(machine=number) for number in (*MACHINES, 1, 0xBEEF)]
    for elf in (*others, *(TinyElf(e_type=number) for number in (0, 1, 4, 9))):
        program.write_bytes(elf.build())
        with pytest.raises(ElfError) as refused:
            load_elf(program)
        assert run_host(host, program).stderr == f"mipsrec-host: {refused.value}\n"


@pytest.mark.parametrize("name", ["none", "."])
def test_refuses_what_is_no_file(host: Path, tmp_path: Path, name: str) -> None:
    result = run_host(host, tmp_path / name)
    assert result.returncode == 1 and result.stderr.count("\n") == 1


def exit_code_program(order: str) -> TinyElf:
    """Return a program that exits with the byte at the end of its second segment in the file plus the one behind it."""
    code = [
        0x3C080041,  # lui   $t0, 0x41
        0x91040003,  # lbu   $a0, 3($t0)
        0x91090004,  # lbu   $t1, 4($t0)
        0x00892021,  # addu  $a0, $a0, $t1
        0x24020FA1,  # li    $v0, 4001
        0x0000000C,  # syscall
    ]
    text = struct.pack(f"{order}6I", *code)
    return TinyElf(
        order=order,
        entry=CODE + 0x200,
        segments=[(PT_LOAD, CODE + 0x200, text, len(text), 5), (PT_LOAD, 0x00410000, b"\1\2\3\x2a", 0x3000, 6)],
    )


@pytest.mark.parametrize("order", "<>")
def test_loads_segments_and_zeroes_the_rest(host: Path, tmp_path: Path, order: str) -> None:
    program = tmp_path / "program"
    program.write_bytes(exit_code_program(order).build() + b"\xff" * 5000)  # what follows in the file is not memory
    result = run_host(host, program)
    assert (result.returncode, result.stderr) == (42, "")


@pytest.mark.parametrize("seed", range(4))
def test_survives_any_field(host: Path, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    sound = exit_code_program("<>"[seed % 2]).build()
    program = tmp_path / "program"
    for _ in range(40):
        broken = bytearray(sound)
        for _ in range(chance.randint(1, 3)):
            at = chance.randrange(16, 52 + 64) if chance.random() < 0.9 else chance.randrange(len(broken))
            broken[at] = chance.choice([0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)])
        program.write_bytes(broken)
        result = run_host(host, program)
        if result.returncode == 1:
            assert result.stderr.startswith("mipsrec-host: ") and result.stderr.count("\n") == 1, broken.hex()
        assert "internal error" not in result.stderr, broken.hex()
