"""The guest's address space, held against the file and against what the kernel's loader does with odd segments."""

from __future__ import annotations

import struct
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mipsrec.elf import Image, load_elf
from mipsrec.memory import MAX_READ_BYTES, AddressSpace
from tests.support.compiled import FREESTANDING, HELLO, ORDERS, compile_guest
from tests.support.counting import counted_calls
from tests.support.tiny_elf import CODE, PT_LOAD, TinyElf

R, W, X = 4, 2, 1
CODE_SEGMENT = (PT_LOAD, CODE, b"\x01\x02\x03\x04" * 256, 1024, R | X)


def space_of(folder: Path, *segments: tuple[int, int, bytes, int, int]) -> AddressSpace:
    """Return the memory of a big-endian program with these segments, the first one at CODE."""
    program = folder / "prog"
    program.write_bytes(TinyElf(entry=CODE, segments=list(segments)).build())
    return AddressSpace(load_elf(program))


@pytest.mark.parametrize("byte_order", list(ORDERS))
def test_a_real_program_reads_as_its_file_says(byte_order: str, tmp_path: Path) -> None:
    image = load_elf(compile_guest(tmp_path, byte_order, HELLO, "-static"))
    space = AddressSpace(image)
    layout = (">" if byte_order == "big" else "<") + "I"
    for segment in image.segments:
        data = image.content[segment.offset : segment.offset + segment.filesz]
        assert space.read(segment.vaddr, segment.filesz) == data
        assert space.read(segment.vaddr + segment.filesz, segment.memsz - segment.filesz) == bytes(
            segment.memsz - segment.filesz
        )
        start = -segment.vaddr % 4
        whole = data[start : len(data) - (len(data) - start) % 4]
        expected = [word for (word,) in struct.iter_unpack(layout, whole)]
        assert list(space.words(segment.vaddr + start, segment.vaddr + start + len(whole))) == expected
        assert [space.word(segment.vaddr + start + 4 * i) for i in range(0, len(expected), 97)] == expected[::97]
        assert space.is_executable(segment.vaddr) == segment.execute
        assert space.is_writable(segment.vaddr + segment.memsz - 1) == segment.write
    names = {symbol.name: symbol.address for symbol in image.symbols}
    one = space.word(names["names"])
    assert one is not None and space.read(one, 4) == b"one\0" and not space.is_writable(one)
    assert (names["names"], one) in set(space.aligned_words_in_data(one, one + 1))
    low, high = image.executable_ranges[0]
    assert space.is_executable(low) and space.is_executable(high - 1)


def test_nothing_outside_is_ever_read(tmp_path: Path) -> None:
    space = space_of(tmp_path, CODE_SEGMENT)
    page_end = CODE + 4096
    for address in (0, 4, CODE - 4, page_end, 0x7FFFFFFC, 0x80000000, 0xFFFFFFFC, 1 << 32, 1 << 70, -4, -(1 << 70)):
        assert space.word(address) is None and space.read(address, 1) is None
        assert not space.is_executable(address) and not space.is_writable(address)
        assert len(space.words(address & ~3, (address & ~3) + 400)) == 0
    assert space.word(CODE) == 0x01020304
    assert space.word(CODE + 1) is None and space.word(CODE + 2) is None
    assert space.read(page_end - 4, 4) is not None and space.read(page_end - 4, 5) is None
    assert space.read(CODE, 0) == b"" and space.read(CODE, -1) is None and space.read(CODE, MAX_READ_BYTES + 1) is None
    assert len(space.words(CODE, CODE + 100_000)) == 1024 and len(space.words(CODE, CODE + 3)) == 0


def test_the_file_around_a_segment_shows_in_its_pages(tmp_path: Path) -> None:
    odd = (PT_LOAD, 0x00500123, b"data", 4, R)
    space = space_of(tmp_path, CODE_SEGMENT, odd)
    content = space.image.content
    offset = space.image.segments[1].offset
    assert space.read(0x00500000, 0x127) == content[offset - 0x123 : offset + 4]
    assert space.read(0x00500127, 0x1000 - 0x127) == content[offset + 4 :].ljust(0x1000 - 0x127, b"\0")


def test_memory_beyond_the_file_is_zero(tmp_path: Path) -> None:
    tail = (PT_LOAD, 0x00500100, b"data", 0x2000, R | W)
    space = space_of(tmp_path, CODE_SEGMENT, tail, (PT_LOAD, 0x00600105, b"rest" * 100, 400, R))
    assert space.read(0x00500100, 0x2F00) == b"data" + bytes(0x2EFC)
    assert space.word(0x00501000) == 0 and space.word(0x00502FFC) == 0 and space.word(0x00503000) is None
    assert space.is_writable(0x00502FFF) and len(space.words(0x00500100, 0x00503000)) == 0x3C0


def test_a_later_segment_covers_an_earlier_one(tmp_path: Path) -> None:
    first = (PT_LOAD, 0x00500000, b"a" * 0x5000, 0x5000, R | W)
    second = (PT_LOAD, 0x00502000, b"b" * 0x1000, 0x1000, R | X)
    bss = (PT_LOAD, 0x00503800, b"", 0x10, R | W)
    space = space_of(tmp_path, CODE_SEGMENT, first, second, bss)
    assert space.read(0x00501FFF, 2) == b"ab" and space.read(0x00502FFF, 2) == b"b\0"
    assert space.read(0x00503000, 0x1001) == bytes(0x1000) + b"a"
    assert [space.is_executable(0x00500000 + 0x1000 * page) for page in range(5)] == [False, False, True, False, False]
    back = space_of(tmp_path, CODE_SEGMENT, second, first)
    assert back.read(0x00502000, 4) == b"aaaa" and not back.is_executable(0x00502000)


def test_a_page_without_permissions_cannot_be_read(tmp_path: Path) -> None:
    space = space_of(tmp_path, CODE_SEGMENT, (PT_LOAD, 0x00500000, b"hush", 4, 0))
    assert space.word(0x00500000) is None and space.read(0x00500000, 1) is None


def test_nearly_two_gigabytes_of_zeros_take_no_memory(tmp_path: Path) -> None:
    tracemalloc.start()
    space = space_of(tmp_path, CODE_SEGMENT, (PT_LOAD, 0x00500000, b"x", 0x79000000, R | W | X))
    assert space.word(0x70000000) == 0 and space.read(0x70000001, 7) == bytes(7)
    assert space.is_writable(0x70000000)
    assert len(space.words(0x00500000, 0x79000000)) == 1024
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5 << 20


@pytest.mark.parametrize("byte_order", list(ORDERS))
def test_relocated_words_are_what_run_time_will_find(byte_order: str, tmp_path: Path) -> None:
    options = ("-static-pie", "-nostdlib", "-nostartfiles", "-Wl,--no-dynamic-linker")
    image = load_elf(compile_guest(tmp_path, byte_order, FREESTANDING, *options))
    space = AddressSpace(image)
    address = {symbol.name: symbol.address for symbol in image.symbols}
    assert space.word(address["table"]) == address["one"] - image.bias
    assert space.relocated_word(address["table"]) == address["one"]
    assert space.relocated_word(image.entry) == space.word(image.entry)
    code = image.executable_ranges[0]
    found = set(space.aligned_words_in_data(*code))
    assert {(address["table"], address["one"]), (address["table"] + 4, address["two"])} <= found
    assert all(code[0] <= word < code[1] for _, word in found)


@pytest.mark.parametrize("order", ["<", ">"])
def test_the_scan_for_code_addresses_sees_data_only(order: str, tmp_path: Path) -> None:
    words = [CODE + 8, 0, CODE + 12, CODE - 4, 0xFFFFFFFF, CODE + 1024]
    data = struct.pack(f"{order}6I", *words)
    code = struct.pack(f"{order}2I", CODE + 16, 0)
    elf = TinyElf(order=order, entry=CODE, segments=[(PT_LOAD, CODE, code + data, 32, R | X)])
    elf.segments.append((PT_LOAD, 0x00500002, b"\0\0" + data, 26, R | W))
    elf.sections = [(".text", 1, 6, CODE, code, 0)]
    program = tmp_path / "prog"
    program.write_bytes(elf.build())
    found = list(AddressSpace(load_elf(program)).aligned_words_in_data(CODE, CODE + 1024))
    for place in (CODE + 8, 0x00500004):
        assert (place, CODE + 8) in found and (place + 8, CODE + 12) in found
    assert all(CODE <= word < CODE + 1024 for _, word in found) and CODE not in {address for address, _ in found}


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    odd = (PT_LOAD, 0x00402123, bytes(range(256)) * 20, 0x3000, R | W)
    return space_of(tmp_path_factory.mktemp("image"), CODE_SEGMENT, odd, (PT_LOAD, 0x00404000, b"", 4, R)).image


@settings(max_examples=200, deadline=None)
@given(st.integers(CODE - 0x100, CODE + 0x6100), st.integers(0, 0x3000))
def test_words_and_bytes_agree(image: Image, address: int, size: int) -> None:
    space = AddressSpace(image)
    data = space.read(address, size)
    singles = [space.read(address + i, 1) for i in range(size)]
    assert data == (None if None in singles else b"".join(single or b"" for single in singles))
    word, aligned = space.read(address & ~3, 4), space.word(address & ~3)
    assert aligned == (None if word is None else int.from_bytes(word, "big"))


def test_a_word_takes_few_calls(tmp_path: Path) -> None:
    """The analysis reads each several times."""
    space = space_of(tmp_path, (PT_LOAD, CODE, bytes(1 << 14), 1 << 14, R | X))
    word = space.word
    with counted_calls() as calls:
        for address in range(CODE, CODE + (1 << 14), 4):
            word(address)
    assert calls[0] <= 3 * (1 << 12)
