"""Raw tables of an ELF32 file: program headers, sections, the dynamic section, symbols and relocations.

Enters: the bytes of a file. Leaves: tuples and dataclasses whose addresses are link-time addresses. Everything is
bounds-checked and capped, so that no file makes a reader slow or large; what is broken in a part the program runs
without raises `Malformed`, which `image.py` turns into a warning. Not done here: judging whether mipsrec runs the file.

The tables are read with `struct` and not with elftools: iterating symbols there takes nearly 20 times as long, and
a malformed file makes it raise whatever comes to hand.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import NamedTuple

from elftools.elf.constants import SHN_INDICES

from ..architecture import MICROMIPS
from ..errors import one_line

PT_LOAD, PT_DYNAMIC, PT_INTERP, PT_GNU_EH_FRAME = 1, 2, 3, 0x6474E550
PT_MIPS_REGINFO, PT_MIPS_ABIFLAGS = 0x70000000, 0x70000003
SHT_NOBITS, SHT_SYMTAB, SHT_DYNSYM = 8, 2, 11
DT_NEEDED, DT_PLTGOT, DT_STRTAB, DT_SYMTAB, DT_STRSZ, DT_SONAME, DT_RPATH = 1, 3, 5, 6, 10, 14, 15
DT_REL, DT_RELSZ, DT_RUNPATH = 17, 18, 29
DT_MIPS_LOCAL_GOTNO, DT_MIPS_SYMTABNO, DT_MIPS_GOTSYM = 0x7000000A, 0x70000011, 0x70000013
R_MIPS_REL32 = 3

MAX_SYMBOLS = 500_000
MAX_NAME_BYTES = 1 << 14
MAX_ALL_NAMES_BYTES = 64 << 20
MAX_RELOCATIONS = 250_000
MAX_DYNAMIC_ENTRIES = 4096

_TYPES = {0: "NOTYPE", 1: "OBJECT", 2: "FUNC", 10: "FUNC"}
_BINDINGS = {0: "LOCAL", 1: "GLOBAL", 2: "WEAK", 10: "GLOBAL"}
MAX_SHOWN_NAMES = 8
_STO_COMPRESSED, _STO_MIPS16 = 0x80, 0xF0
"""Bit of st_other that both STO_MICROMIPS (0x80) and STO_MIPS16 have, and the latter's bits."""


class Malformed(Exception):
    """A part of the file that the program runs without cannot be read."""


Place = tuple[int, int]
"""Where a table is: (offset, size) in the file, never beyond its end. Slices of a large file would be copies."""


class ProgramHeader(NamedTuple):
    """One Elf32_Phdr, fields in the order of the file."""

    type: int
    offset: int
    vaddr: int
    paddr: int
    filesz: int
    memsz: int
    flags: int
    align: int


class SectionHeader(NamedTuple):
    """One Elf32_Shdr with its name looked up."""

    name: str
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int


class Symbol(NamedTuple):
    """A defined symbol; `type` is FUNC, OBJECT or NOTYPE, `binding` LOCAL, GLOBAL or WEAK."""

    name: str
    address: int
    size: int
    type: str
    binding: str


class Relocation(NamedTuple):
    """A word that a self-relocating program changes before it uses it.

    `target` is what the word will hold, or None where the symbol is undefined. `kind` is "REL32" for an entry of
    the relocation table and "GOT" for an entry of the GOT, which the MIPS ABI relocates without a table.
    """

    address: int
    target: int | None
    kind: str


@dataclass(frozen=True)
class RawFile:
    """The bytes of an ELF32 file with what is needed to find things in it; `order` is "<" or ">"."""

    content: bytes
    order: str
    program_headers: tuple[ProgramHeader, ...]
    sections: tuple[SectionHeader, ...]

    @cached_property
    def loads(self) -> tuple[tuple[int, int, int], ...]:
        """Return (address, end address, file offset) of what the file puts into memory, the last laid down first."""
        loads = [header for header in reversed(self.program_headers) if header.type == PT_LOAD and header.filesz]
        return tuple((header.vaddr, header.vaddr + header.filesz, header.offset) for header in loads)

    def section(self, name: str) -> SectionHeader | None:
        return next((section for section in self.sections if section.name == name), None)

    def section_place(self, section: SectionHeader) -> Place:
        """Return where a section is in the file; its size is less than it says when the file ends early."""
        if section.type == SHT_NOBITS or section.offset > len(self.content):
            return 0, 0
        return section.offset, min(section.size, len(self.content) - section.offset)

    def segment(self, segment_type: int) -> ProgramHeader | None:
        return next((header for header in self.program_headers if header.type == segment_type), None)

    def loaded_place(self, address: int, limit: int = 0xFFFFFFFF) -> Place:
        """Return what the file puts at a link-time address, as far as it goes and at most `limit` bytes."""
        for start, end, offset in self.loads:
            if start <= address < end:
                return offset + address - start, min(end - address, limit)
        return 0, 0

    def loaded_bytes(self, address: int, size: int) -> bytes:
        """Return up to `size` bytes that the file puts at a link-time address; b"" where it puts none."""
        offset, available = self.loaded_place(address, size)
        return self.content[offset : offset + available]

    def loaded_word(self, address: int) -> int | None:
        """Return the word that the file puts at a link-time address."""
        data = self.loaded_bytes(address, 4)
        return int(struct.unpack(f"{self.order}I", data)[0]) if len(data) == 4 else None

    def records(self, place: Place, layout: str) -> Iterator[tuple[int, ...]]:
        """Return the whole records of a table; a broken-off last one is left out."""
        record = struct.Struct(self.order + layout)
        offset, size = place
        return record.iter_unpack(memoryview(self.content)[offset : offset + size - size % record.size])


def read_program_headers(content: bytes, order: str, offset: int, count: int) -> tuple[ProgramHeader, ...]:
    """Return the program headers; the caller has checked that they lie inside the file."""
    data = content[offset : offset + 32 * count]
    return tuple(ProgramHeader(*fields) for fields in struct.iter_unpack(f"{order}8I", data))


def read_sections(content: bytes, order: str) -> tuple[SectionHeader, ...]:
    """Return the section headers, () where the file has none; raises Malformed on a table that cannot be right."""
    offset = struct.unpack_from(f"{order}I", content, 32)[0]
    entry_size, count, names_index = struct.unpack_from(f"{order}3H", content, 46)
    if offset == 0 or count == 0:
        return ()
    if entry_size != 40 or offset + 40 * count > len(content) or names_index >= count:
        raise Malformed("the section header table does not fit the file")
    raw = list(struct.iter_unpack(f"{order}10I", content[offset : offset + 40 * count]))
    names = (raw[names_index][4], raw[names_index][5])
    return tuple(
        SectionHeader(_string(content, names, name, 256) or "", kind, flags, address, start, size, link)
        for name, kind, flags, address, start, size, link, _info, _align, _entry in raw
    )


def _string(content: bytes, strings: Place, offset: int, limit: int) -> str | None:
    """Return the zero-terminated string at an offset of a string table; None where it does not end in time.

    Such names are shown, and name no file: what cannot be printed is written out, so a name is one line of text.
    """
    start = strings[0] + offset
    end = content.find(b"\0", start, min(start + limit, strings[0] + strings[1]))
    return one_line(content[start:end].decode("utf-8", "backslashreplace")) if end >= 0 else None


def read_symbols(raw: RawFile, table: Place, strings: Place, warnings: list[str]) -> list[Symbol]:
    """Return the defined symbols of one table that name code or data; files, sections and TLS offsets are left out.

    A symbol whose name cannot be read keeps its address and has the name "". Those of MIPS16 code (st_other) get
    odd addresses; those of microMIPS code are left out, with one warning.
    """
    if table[1] > 16 * MAX_SYMBOLS:
        warnings.append(f"symbol table of {table[1] // 16} entries: only the first {MAX_SYMBOLS} were read")
    symbols, nameless, budget = [], 0, MAX_ALL_NAMES_BYTES
    compressed: list[str] = []
    for name_offset, value, size, info, other, section in raw.records(_head(table), "IIIBBH"):
        kind = _TYPES.get(info & 15)
        if kind is None or section == SHN_INDICES.SHN_UNDEF or section >= SHN_INDICES.SHN_LORESERVE:
            continue
        if other & _STO_COMPRESSED:
            if other & _STO_MIPS16 != _STO_MIPS16:
                compressed.append(_string(raw.content, strings, name_offset, MAX_NAME_BYTES) or f"0x{value:x}")
                continue
            value |= 1
        name = _string(raw.content, strings, name_offset, MAX_NAME_BYTES) if budget > 0 else None
        nameless += name is None
        budget -= len(name or "")
        symbols.append(Symbol(name or "", value, size, kind, _BINDINGS.get(info >> 4, "LOCAL")))
    if compressed:
        shown = ", ".join(compressed[:MAX_SHOWN_NAMES]) + (", ..." if len(compressed) > MAX_SHOWN_NAMES else "")
        warnings.append(f"{len(compressed)} symbols name {MICROMIPS.name} code, which is not supported: {shown}")
    if nameless:
        warnings.append(f"{nameless} symbols have a name that cannot be read: they keep their addresses only")
    return symbols


def _head(table: Place) -> Place:
    return table[0], min(table[1], 16 * MAX_SYMBOLS)


def absolute_symbol(raw: RawFile, table: Place, strings: Place, name: str) -> int | None:
    """Return the value of the first symbol of that name, whatever its section.

    Its name may be the end of a longer one in the table of strings: linkers keep `_gp` inside `__gnu_local_gp`.
    """
    content, end = raw.content, strings[0] + strings[1]
    wanted, offsets = name.encode() + b"\0", set()
    start = content.find(wanted, strings[0], end)
    while start >= 0:
        offsets.add(start - strings[0])
        start = content.find(wanted, start + 1, end)
    records = raw.records(_head(table), "IIIBBH") if offsets else ()
    return next((record[1] for record in records if record[0] in offsets and record[5] != 0), None)


def _dynamic_entries(raw: RawFile) -> Iterator[tuple[int, ...]]:
    """Return (tag, value) of the entries of PT_DYNAMIC, nothing where there is none."""
    header = raw.segment(PT_DYNAMIC)
    if header is None:
        return iter(())
    size = max(0, min(header.filesz, 8 * MAX_DYNAMIC_ENTRIES, len(raw.content) - header.offset))
    return takewhile(lambda entry: entry[0] != 0, raw.records((header.offset, size), "II"))


def read_dynamic(raw: RawFile) -> dict[int, int]:
    """Return tag -> value of PT_DYNAMIC (the first entry of each tag), {} where there is none."""
    entries: dict[int, int] = {}
    for tag, value in _dynamic_entries(raw):
        entries.setdefault(tag, value)
    return entries


def read_dynamic_names(raw: RawFile, dynamic: dict[int, int]) -> list[tuple[int, str]]:
    """Return (tag, name) of the entries of PT_DYNAMIC that name libraries or folders, in order."""
    offset, strings_size = raw.loaded_place(dynamic.get(DT_STRTAB, 0), dynamic.get(DT_STRSZ, 0))
    strings = raw.content[offset : offset + strings_size]
    found = []
    for tag, value in _dynamic_entries(raw):
        if tag in (DT_NEEDED, DT_SONAME, DT_RPATH, DT_RUNPATH) and value < len(strings):
            found.append((tag, strings[value:].split(b"\0", 1)[0].decode("utf-8", "surrogateescape")))
    return found


def dynamic_symbol_table(raw: RawFile, dynamic: dict[int, int]) -> tuple[Place, Place]:
    """Return the dynamic symbol table and its strings, as the dynamic section places them."""
    table = raw.loaded_place(dynamic.get(DT_SYMTAB, 0), 16 * dynamic.get(DT_MIPS_SYMTABNO, 0))
    return table, raw.loaded_place(dynamic.get(DT_STRTAB, 0), dynamic.get(DT_STRSZ, 0))


def read_relocations(raw: RawFile, dynamic: dict[int, int], bias: int) -> tuple[Relocation, ...]:
    """Return what a position-independent program does to itself at start, addresses and targets with bias.

    MIPS psABI, chapter 5: REL32 adds the bias or the symbol's value to the word; of the GOT, the local entries get
    the bias added and the global ones the values of the last symbols of the table.
    """
    table, _ = dynamic_symbol_table(raw, dynamic)
    symbols = [(value, section) for _, value, _, _, _, section in raw.records(_head(table), "IIIBBH")]

    def target(address: int, symbol: int) -> int | None:
        addend = raw.loaded_word(address)
        if addend is None or symbol >= max(len(symbols), 1):
            return None
        value, section = symbols[symbol] if symbol else (0, 1)
        return (addend + value + bias) & 0xFFFFFFFF if section else None

    found = []
    size = min(dynamic.get(DT_RELSZ, 0), 8 * MAX_RELOCATIONS)
    for address, info in raw.records(raw.loaded_place(dynamic.get(DT_REL, 0), size), "II"):
        if info & 0xFF == R_MIPS_REL32:
            found.append(Relocation(address + bias & 0xFFFFFFFF, target(address, info >> 8), "REL32"))
    return (*found, *_got_relocations(raw, dynamic, bias, symbols))


def _got_relocations(
    raw: RawFile, dynamic: dict[int, int], bias: int, symbols: list[tuple[int, int]]
) -> list[Relocation]:
    start, local_count = dynamic.get(DT_PLTGOT), dynamic.get(DT_MIPS_LOCAL_GOTNO, 0)
    if start is None:
        return []
    place = raw.loaded_place(start, 4 * min(local_count, MAX_RELOCATIONS))
    words = [word for (word,) in raw.records(place, "I")]
    reserved = 2 if len(words) > 1 and words[1] == 0x80000000 else 1
    found = [
        Relocation(start + 4 * index + bias, (word + bias) & 0xFFFFFFFF, "GOT")
        for index, word in enumerate(words)
        if index >= reserved
    ]
    first = dynamic.get(DT_MIPS_GOTSYM, len(symbols))
    for index, (value, section) in enumerate(symbols[first : first + MAX_RELOCATIONS]):
        target = (value + bias) & 0xFFFFFFFF if section else None
        found.append(Relocation(start + 4 * (local_count + index) + bias & 0xFFFFFFFF, target, "GOT"))
    return found
