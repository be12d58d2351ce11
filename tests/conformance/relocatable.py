"""Rewrites relocatable objects so that many programs can be linked into one.

Enters: objects as a MIPS compiler leaves them. Leaves: the same objects, every symbol they define renamed, and their
lists of constructors and destructors in sections that the C library does not know.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

SHT_PROGBITS, SHT_SYMTAB = 1, 2
STT_SECTION, STT_FILE = 3, 4
LISTS = {".init_array": "init", ".fini_array": "fini"}


@dataclass
class _Section:
    number: int
    name: int
    type: int
    offset: int
    size: int
    link: int


class Relocatable:
    """One object file; `data` is what it holds by now."""

    def __init__(self, data: bytes) -> None:
        self.data = bytearray(data)
        self._order = ">" if data[5] == 2 else "<"
        self._table, size, count, names = (*self._words("I", 0x20), *self._words("3H", 0x2E))
        assert data[:5] == b"\x7fELF\x01" and size == 40, "not a 32-bit ELF file"
        self._sections = [self._section(number) for number in range(count)]
        self._names = self._sections[names]
        self._symbols = next(s for s in self._sections if s.type == SHT_SYMTAB)

    def _words(self, form: str, offset: int) -> tuple[int, ...]:
        return struct.unpack_from(self._order + form, self.data, offset)

    def _section(self, number: int) -> _Section:
        name, type_, _, _, offset, size, link = self._words("7I", self._table + 40 * number)
        return _Section(number, name, type_, offset, size, link)

    def _string(self, table: _Section, offset: int) -> str:
        start = table.offset + offset
        return self.data[start : self.data.index(0, start)].decode()

    def symbols(self) -> list[tuple[int, str, bool]]:
        """Return (file offset, name, whether it is defined here) of all symbols that are neither files nor sections."""
        strings = self._sections[self._symbols.link]
        found = []
        for offset in range(self._symbols.offset, self._symbols.offset + self._symbols.size, 16):
            name, _, _, info, _, section = self._words("3I2BH", offset)
            if name and info & 15 not in (STT_SECTION, STT_FILE):
                found.append((offset, self._string(strings, name), section != 0))
        return found

    def defined(self) -> set[str]:
        """Return the names of the symbols that this object defines."""
        return {name for _, name, here in self.symbols() if here}

    def _replace_strings(self, table: _Section, strings: bytes) -> None:
        """Move a string table to the end of the file, with other contents."""
        struct.pack_into(
            self._order + "2I", self.data, self._table + 40 * table.number + 16, len(self.data), len(strings)
        )
        table.offset, table.size = len(self.data), len(strings)
        self.data += strings

    def rename(self, names: set[str], prefix: str) -> None:
        """Give each symbol of these names, defined here or not, the prefix."""
        table = self._sections[self._symbols.link]
        strings = bytearray(self.data[table.offset : table.offset + table.size])
        for offset, name, _ in self.symbols():
            if name in names:
                struct.pack_into(self._order + "I", self.data, offset, len(strings))
                strings += (prefix + name).encode() + b"\0"
        self._replace_strings(table, strings)

    def hide_lists(self, prefix: str) -> None:
        """Rename .init_array and .fini_array, those with priorities too, to PREFIX_init and PREFIX_fini.

        The linker then defines __start_PREFIX_init and __stop_PREFIX_init. Priorities are lost.
        """
        strings = bytearray(self.data[self._names.offset : self._names.offset + self._names.size])
        for section in self._sections:
            name = self._string(self._names, section.name)
            kind = next((LISTS[known] for known in LISTS if name == known or name.startswith(known + ".")), None)
            if kind is not None:
                header = self._table + 40 * section.number
                struct.pack_into(self._order + "2I", self.data, header, len(strings), SHT_PROGBITS)
                strings += f"{prefix}_{kind}\0".encode()
        self._replace_strings(self._names, strings)


def isolate(objects: list[bytes], prefix: str, keep: bool = False) -> list[bytes]:
    """Return the objects of one program with their own symbols named PREFIX.name and their lists hidden.

    With `keep`, only `main` is renamed: for programs that replace functions of the libraries.
    """
    files = [Relocatable(data) for data in objects]
    names = {"main"} if keep else set().union(*(file.defined() for file in files))
    for file in files:
        file.rename(names, prefix + ".")
        file.hide_lists(prefix)
    return [bytes(file.data) for file in files]
