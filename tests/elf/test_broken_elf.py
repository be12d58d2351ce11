"""What `load_elf` refuses, each with one line that names the file, and what it makes the best of."""

from __future__ import annotations

import os
import random
import struct
import sys
from pathlib import Path

import pytest

from mipsrec.elf import Image, load_elf
from mipsrec.errors import ElfError, MipsrecError
from mipsrec.memory import AddressSpace
from tests.elf.refused import REFUSED, load_segment
from tests.support.compiled import CATCHES, FREESTANDING, ORDERS, compile_guest
from tests.support.sampling import ALL
from tests.support.tiny_elf import CODE, TinyElf, symbol_table


def load(tmp_path: Path, content: bytes) -> Image:
    program = tmp_path / "prog"
    program.write_bytes(content)
    return load_elf(program)


def refusal(tmp_path: Path, content: bytes) -> str:
    """Return the message of the refusal: one line that starts with the file's name."""
    with pytest.raises(ElfError) as caught:
        load(tmp_path, content)
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / 'prog'}: ") and "\n" not in message
    return message.removeprefix(f"{tmp_path / 'prog'}: ")


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str, tmp_path: Path) -> None:
    elf, start = REFUSED[name]
    assert refusal(tmp_path, elf.build()).startswith(start)


def test_the_tiny_program_itself_is_accepted(tmp_path: Path) -> None:
    image = load(tmp_path, TinyElf().build())
    assert image.entry == CODE + 0x200 and image.warnings == () and image.gp is None and image.abi_flags is None
    assert image.executable_ranges == ((CODE + 0x200, CODE + 0x208),)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for name, text in {"none": "No such file", ".": "is a directory", "fifo": "is not a regular file"}.items():
        with pytest.raises(MipsrecError, match=text):
            load_elf(tmp_path / name)
    with pytest.raises(ElfError, match="cannot be read"):
        load_elf("nul\0byte")


def test_files_that_are_too_large(tmp_path: Path) -> None:
    with open(tmp_path / "prog", "wb") as file:
        file.truncate((256 << 20) + 1)
    with pytest.raises(ElfError, match="is larger than 256 MiB"):
        load_elf(tmp_path / "prog")


def test_files_that_are_no_elf(tmp_path: Path) -> None:
    for content in (b"", b"\x7fEL", b"#!/bin/sh\n", bytes(100)):
        assert refusal(tmp_path, content).startswith("is not an ELF file")


def test_every_truncation_is_refused_in_one_line(tmp_path: Path) -> None:
    content = TinyElf().build()
    for length in range(4, len(content)):
        assert "cut off" in (message := refusal(tmp_path, content[:length])) or "beyond the end" in message


def test_a_segment_must_be_congruent_with_its_offset(tmp_path: Path) -> None:
    content = bytearray(TinyElf().build())
    struct.pack_into(">I", content, 52 + 4, 0x100)
    assert "is not aligned with its place in the file (0x100)" in refusal(tmp_path, bytes(content))


def test_segments_may_not_multiply_the_file(tmp_path: Path) -> None:
    data = bytes(8 << 20)
    content = bytearray(TinyElf(segments=[load_segment(CODE, len(data), data)]).build().ljust(52 + 32 * 100, b"\0"))
    first = content[52:84]
    content[52 : 52 + 32 * 100] = first * 100
    struct.pack_into(">H", content, 44, 100)
    assert "its segments take more than" in refusal(tmp_path, bytes(content))


def test_r6_in_abiflags_is_refused(tmp_path: Path) -> None:
    flags = struct.pack(">H6B4I", 0, 32, 6, 1, 1, 0, 1, 0, 0, 0, 0)
    elf = TinyElf(segments=[load_segment(CODE + 0x200), (0x70000003, 0, flags, 24, 4)])
    assert refusal(tmp_path, elf.build()).startswith("is a MIPS R6 program")


@pytest.mark.parametrize(
    ("name", "options", "text"),
    [
        ("mips-linux-gnu", ("-mmicromips",), "microMIPS"),
    ],
)
def test_real_programs_of_other_kinds(name: str, options: tuple[str, ...], text: str, tmp_path: Path) -> None:
    program = compile_guest(tmp_path, "big", FREESTANDING, "-nostdlib", "-e", "__start", "-static", *options)
    with pytest.raises(ElfError) as caught:
        load_elf(program)
    assert text in str(caught.value)


def test_our_own_interpreter_is_no_guest() -> None:
    with pytest.raises(ElfError, match="not for MIPS"):
        load_elf(Path(sys.executable).resolve())


def test_broken_section_headers_are_ignored(tmp_path: Path) -> None:
    table, strings = symbol_table(">", [("f", CODE + 0x200, 8, 2)])
    elf = TinyElf(sections=[(".symtab", 2, 0, 0, table, 2), (".strtab", 3, 0, 0, strings, 0)])
    assert [symbol.name for symbol in load(tmp_path, elf.build()).symbols] == ["f"]
    for offset, value in ((32, 0x7FFFFFFF), (46, 0x0029_0004), (48, 0xFFFF_0003), (48, 0x0004_FFFF)):
        content = bytearray(elf.build())
        struct.pack_into(">I", content, offset, value)
        image = load(tmp_path, bytes(content))
        assert image.symbols == () and image.warnings == (
            "section headers ignored: the section header table does not fit the file",
        )


def test_a_broken_symbol_table_is_ignored(tmp_path: Path) -> None:
    symbols = [("f", CODE + 0x200, 8, 2), ("lost", CODE + 0x204, 0, 0)]
    table, strings = symbol_table(">", symbols)
    elf = TinyElf(sections=[(".symtab", 2, 0, 0, table, 2), (".strtab", 3, 0, 0, strings, 0)])
    content = bytearray(elf.build())
    size_offset = struct.unpack_from(">I", content, 32)[0] + 40 + 20
    struct.pack_into(">I", content, size_offset, 0x10000000)
    image = load(tmp_path, bytes(content))
    assert image.symbols == () and image.warnings == ("symbol table .symtab does not fit the file: ignored",)
    elf.sections[1] = (".strtab", 3, 0, 0, strings[:-1], 0)
    image = load(tmp_path, elf.build())
    assert [symbol[:2] for symbol in image.symbols] == [("f", CODE + 0x200), ("", CODE + 0x204)]
    assert image.warnings == ("1 symbols have a name that cannot be read: they keep their addresses only",)


def test_symbols_of_16_bit_code(tmp_path: Path) -> None:
    """Those of MIPS16 code have odd addresses, whatever bit 0 is in the file; those of microMIPS code are left out."""
    names = [("f", CODE + 0x200, 8, 2), ("small", CODE + 0x204, 2, 2), ("micro", CODE + 0x209, 2, 2)]
    table, strings = symbol_table(">", names)
    patched = bytearray(table)
    patched[16 * 2 + 13], patched[16 * 3 + 13] = 0xF0, 0x80
    elf = TinyElf(sections=[(".symtab", 2, 0, 0, bytes(patched), 2), (".strtab", 3, 0, 0, strings, 0)])
    image = load(tmp_path, elf.build())
    assert [symbol[:2] for symbol in image.symbols] == [("f", CODE + 0x200), ("small", CODE + 0x205)]
    assert "1 symbols name microMIPS code, which is not supported: micro" in image.warnings[0]


def test_executable_sections_outside_of_segments_are_not_believed(tmp_path: Path) -> None:
    elf = TinyElf(sections=[(".text", 1, 6, CODE + 0x100000, b"1234", 0)])
    image = load(tmp_path, elf.build())
    assert image.executable_ranges == ((CODE + 0x200, CODE + 0x208),)
    assert image.warnings[0].startswith("section headers do not fit the segments")


@pytest.mark.parametrize(
    "frames",
    [
        b"\xff\xff\xff\xf0\0\0\0\0",  # longer than the section
        struct.pack(">2I", 4, 0x7000),  # no such common entry
        struct.pack(">2I", 12, 0) + b"\x01" + b"z" * 11,  # augmentation without end
        struct.pack(">2I", 12, 0) + b"\x01zR\0\x80\x80\x80\x80\x80\x80\x80\x80" + struct.pack(">2I", 4, 20),
        struct.pack(">2I", 16, 0) + b"\x01zR\0\x01\x7c\x1f\x01\x0e\0\0\0" + struct.pack(">2I", 8, 24) + bytes(4),
    ],
)
def test_broken_unwind_tables_are_ignored(frames: bytes, tmp_path: Path) -> None:
    start = CODE + 0x1000
    elf = TinyElf(segments=[load_segment(CODE + 0x200), load_segment(start, len(frames), frames)])
    elf.sections = [(".eh_frame", 1, 2, start, frames, 0)]
    image = load(tmp_path, elf.build())
    assert image.eh_functions == () and image.warnings[0].startswith(".eh_frame read in part only: ")


@pytest.mark.parametrize("byte_order", list(ORDERS))
def test_flipped_bytes_never_do_more_than_refuse(byte_order: str, tmp_path: Path) -> None:
    chance = random.Random(20260101)
    for name, source, options, language in (
        ("static", CATCHES, ("-static",), "c++"),
        ("pie", FREESTANDING, ("-static-pie", "-nostdlib", "-nostartfiles", "-Wl,--no-dynamic-linker"), "c"),
    ):
        (tmp_path / name).mkdir()
        content = compile_guest(tmp_path / name, byte_order, source, *options, language=language).read_bytes()
        order = ">" if byte_order == "big" else "<"
        sections = struct.unpack_from(f"{order}I", content, 32)[0]
        unwind = load(tmp_path, content).eh_frame
        places = [(0, 52), (52, 360), (sections, len(content)), (0, min(len(content), 4096))]
        if unwind:
            places += [(unwind[0] - CODE, unwind[1] - CODE)] * 2
        for _ in range(150 if ALL else 75):
            broken = bytearray(content)
            low, high = chance.choice(places)
            for _ in range(chance.choice((1, 2, 8))):
                broken[chance.randrange(low, high)] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
            try:
                space = AddressSpace(load(tmp_path, bytes(broken)))
            except ElfError as error:
                assert str(error).startswith(str(tmp_path / "prog"))
            else:
                space.word(space.image.entry)


def test_one_long_name_for_everything(tmp_path: Path) -> None:
    """What all names take together is bounded."""
    count = 100_000
    table = b"".join(struct.pack(">IIIBBH", i % 9000, CODE + 0x200 + 4 * i, 4, 0x12, 0, 1) for i in range(count))
    strings = b"a" * 10_000 + b"\0"
    elf = TinyElf(sections=[(".symtab", 2, 0, 0, table, 2), (".strtab", 3, 0, 0, strings, 0)])
    content = elf.build()
    image = load(tmp_path, content)
    assert len(image.symbols) == count and sum(len(symbol.name) for symbol in image.symbols) < 70 << 20


def test_a_got_ends_where_the_file_does(tmp_path: Path) -> None:
    """A size of gigabytes cost a look at each of its words."""
    elf = TinyElf(sections=[(".got", 1, 3, CODE + 0x200, bytes(8), 0)])
    content = bytearray(elf.build())
    size_offset = struct.unpack_from(">I", content, 32)[0] + 40 + 20
    for size in (8, 0x7FFFFFFF, 0xFFFFFFFF):
        struct.pack_into(">I", content, size_offset, size)
        assert load(tmp_path, bytes(content)).got == (CODE + 0x200, CODE + 0x208)
