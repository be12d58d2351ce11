"""Breaks ELF files: one seed and a number make the same mutant every time.

Enters: the bytes of a program. Leaves: others, wrong in headers, tables, sections or code. Only offsets are read from
the original, by struct, since what is made here must not depend on the reader it is made for.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from dataclasses import dataclass

from mipsrec.isa import ROWS

EHDR, PHDR, SHDR = 52, 32, 40  # bytes
VALUES = (0, 1, 2, 3, 4, 7, 8, 0x10, 0x34, 0x7F, 0x80, 0xFF, 0x100, 0xFFF, 0x1000, 0x7FFF, 0x8000, 0xFFFF, 0x10000,
          0x400000, 0x7FFF0000, 0x7FFFFFFF, 0x80000000, 0xFFFF0000, 0xFFFFFFF0, 0xFFFFFFFC, 0xFFFFFFFF)  # fmt: skip
TABLES = (".symtab", ".dynsym", ".strtab", ".dynstr", ".rel.dyn", ".dynamic", ".MIPS.abiflags", ".reginfo", ".eh_frame",
          ".gcc_except_table", ".got", ".data", ".rodata", ".note.ABI-tag", ".shstrtab")  # fmt: skip


@dataclass(frozen=True)
class Layout:
    """Where the parts of a program are: (start, end) offsets in the file."""

    order: str
    size: int
    program_headers: tuple[int, int]
    section_headers: tuple[int, int]
    sections: dict[str, tuple[int, int]]
    code: tuple[int, int]


def layout_of(content: bytes) -> Layout:
    """Return the layout of an unbroken file."""
    order = "<" if content[5] == 1 else ">"
    phoff, shoff = struct.unpack_from(f"{order}2I", content, 28)
    phnum, _, shnum, names_index = struct.unpack_from(f"{order}4H", content, 44)
    headers = [struct.unpack_from(f"{order}10I", content, shoff + SHDR * n) for n in range(shnum)]
    names = content[headers[names_index][4] :] if shnum else b""
    sections = {
        names[header[0] : names.index(b"\0", header[0])].decode(): (header[4], header[4] + header[5])
        for header in headers
        if header[1] not in (0, 8) and header[5]
    }
    code = sections.get(".text")
    if code is None:
        segments = [struct.unpack_from(f"{order}8I", content, phoff + PHDR * n) for n in range(phnum)]
        code = next((s[1], s[1] + s[4]) for s in segments if s[0] == 1 and s[6] & 1)
    return Layout(order, len(content), (phoff, phoff + PHDR * phnum), (shoff, shoff + SHDR * shnum), sections, code)


class Mutation:
    """One mutant under way."""

    def __init__(self, content: bytes, layout: Layout, chance: random.Random) -> None:
        self.bytes = bytearray(content)
        self.layout = layout
        self.chance = chance

    def _value(self) -> int:
        chance = self.chance
        kind = chance.randrange(5)
        if kind == 0:
            return chance.getrandbits(32)
        if kind == 1:
            return (self.layout.size + chance.choice((-4, -1, 0, 1, 4))) & 0xFFFFFFFF
        if kind == 2:
            return 0x400000 + 4 * chance.randrange(self.layout.size // 4 + 64)
        return chance.choice(VALUES)

    def _put(self, offset: int, size: int, value: int) -> None:
        if 0 <= offset <= len(self.bytes) - size:
            raw = struct.pack(f"{self.layout.order}I", value & 0xFFFFFFFF)
            self.bytes[offset : offset + size] = raw[:size] if self.layout.order == "<" else raw[4 - size :]

    def _word(self, offset: int) -> int:
        if not 0 <= offset <= len(self.bytes) - 4:
            return 0
        return struct.unpack_from(f"{self.layout.order}I", self.bytes, offset)[0]

    def field(self, start: int, end: int, sizes: tuple[int, ...] = (4,)) -> None:
        """Change an aligned field of the part: to a value that matters, or by a little."""
        if end - start < 4:
            return
        size = self.chance.choice(sizes)
        offset = start + self.chance.randrange((end - start) // size) * size
        if self.chance.random() < 0.3:
            self._put(offset, size, (self._word(offset) >> (32 - 8 * size)) + self.chance.choice((-4, -1, 1, 4, 8)))
        else:
            self._put(offset, size, self._value())

    def header(self) -> None:
        self.field(16, EHDR, (2, 4))

    def identity(self) -> None:
        self.bytes[self.chance.randrange(4, 16)] = self.chance.randrange(256)

    def program_header(self) -> None:
        self.field(*self.layout.program_headers)

    def section_header(self) -> None:
        self.field(*self.layout.section_headers)

    def table(self) -> None:
        """Change a field of a symbol, relocation, flag, unwind entry, string..."""
        present = [self.layout.sections[name] for name in TABLES if name in self.layout.sections]
        if present:
            self.field(*self.chance.choice(present), (1, 2, 4, 4))

    def unwinding(self) -> None:
        present = [self.layout.sections[n] for n in (".eh_frame", ".gcc_except_table") if n in self.layout.sections]
        if present:
            self.field(*self.chance.choice(present), (1, 1, 2, 4))

    def some_bytes(self) -> None:
        for _ in range(self.chance.choice((1, 2, 8, 64))):
            self.bytes[self.chance.randrange(len(self.bytes))] = self.chance.randrange(256)

    def flip(self) -> None:
        self.bytes[self.chance.randrange(len(self.bytes))] ^= 1 << self.chance.randrange(8)

    def copied_part(self) -> None:
        """Copy some of the file over another place of it."""
        length = self.chance.choice((4, 16, 32, 40, 200))
        start, to = (self.chance.randrange(max(1, len(self.bytes) - length)) & ~3 for _ in range(2))
        self.bytes[to : to + length] = self.bytes[start : start + length]

    def cut(self) -> None:
        del self.bytes[self.chance.randrange(4, len(self.bytes)) :]

    def longer(self) -> None:
        self.bytes += self.chance.randbytes(self.chance.choice((1, 100, 5000)))

    # code

    def _code_offset(self) -> int:
        start, end = self.layout.code
        return start + 4 * self.chance.randrange((end - start) // 4)

    def code_word(self) -> None:
        self._put(self._code_offset(), 4, self.chance.getrandbits(32))

    def code_row(self) -> None:
        """A known instruction with any fields."""
        row = self.chance.choice(ROWS)
        self._put(self._code_offset(), 4, self.chance.getrandbits(32) & ~row.mask | row.value)

    def code_field(self) -> None:
        """Other registers, another immediate or target."""
        offset = self._code_offset()
        position, width = self.chance.choice(((0, 16), (0, 26), (6, 5), (11, 5), (16, 5), (21, 5), (0, 6)))
        mask = ((1 << width) - 1) << position
        self._put(offset, 4, self._word(offset) & ~mask | self.chance.getrandbits(32) & mask)

    def code_move(self) -> None:
        """An instruction of elsewhere, so that branches follow branches and tables lose their bounds."""
        self._put(self._code_offset(), 4, self._word(self._code_offset()))

    def code_noise(self) -> None:
        offset = self._code_offset()
        for step in range(self.chance.choice((4, 16, 64))):
            self._put(offset + 4 * step, 4, self.chance.getrandbits(32))


ANYWHERE: tuple[Callable[[Mutation], None], ...] = (
    Mutation.header, Mutation.identity, Mutation.program_header, Mutation.program_header, Mutation.section_header,
    Mutation.section_header, Mutation.table, Mutation.table, Mutation.unwinding, Mutation.some_bytes, Mutation.flip,
    Mutation.copied_part, Mutation.cut, Mutation.longer,
)  # fmt: skip
IN_CODE: tuple[Callable[[Mutation], None], ...] = (
    Mutation.code_word, Mutation.code_row, Mutation.code_row, Mutation.code_field, Mutation.code_field,
    Mutation.code_move, Mutation.code_noise,
)  # fmt: skip


def mutant(content: bytes, layout: Layout, chance: random.Random) -> bytes:
    """Return a broken copy; about half are broken in their code alone, since few others run."""
    mutation = Mutation(content, layout, chance)
    kinds = IN_CODE if chance.random() < 0.45 else ANYWHERE if chance.random() < 0.6 else ANYWHERE + IN_CODE
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        if len(mutation.bytes) > 256:
            chance.choice(kinds)(mutation)
    return bytes(mutation.bytes)
