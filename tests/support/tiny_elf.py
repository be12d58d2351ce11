"""Builds ELF files byte by byte, so that tests can break them at will and need no cross compiler."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

PT_LOAD, PT_INTERP = 1, 3
CODE = 0x00400000


@dataclass
class TinyElf:
    """A program of one code segment with two words; every field may be set to nonsense before `build`."""

    order: str = ">"
    ident: bytes = b""
    e_type: int = 2
    machine: int = 8
    entry: int = CODE + 0x200
    flags: int = 0x70001000
    program_entry_size: int = 32
    program_count: int | None = None
    segments: list[tuple[int, int, bytes, int, int]] = field(default_factory=list)
    """(type, vaddr, bytes, memsz, flags); by default one executable PT_LOAD at CODE."""
    sections: list[tuple[str, int, int, int, bytes, int]] = field(default_factory=list)
    """(name, type, flags, address, bytes, link); a null section goes first, .shstrtab last."""

    def build(self) -> bytes:
        """Return the file: headers, segments at offsets congruent with their addresses, sections, section headers."""
        segments = self.segments or [(PT_LOAD, CODE + 0x200, struct.pack(f"{self.order}2I", 0x03E00008, 0), 8, 5)]
        body = bytearray(52 + 32 * len(segments))
        headers = b""
        for kind, vaddr, data, memsz, flags in segments:
            body += b"\xee" * ((vaddr - len(body)) % 4096 if kind == PT_LOAD else 0)
            headers += struct.pack(f"{self.order}8I", kind, len(body), vaddr, vaddr, len(data), memsz, flags, 4096)
            body += data
        section_offset, count, names_index = self._append_sections(body)
        ident = self.ident or b"\x7fELF\x01" + (b"\x01" if self.order == "<" else b"\x02") + b"\x01"
        body[:52] = ident.ljust(16, b"\0") + struct.pack(
            f"{self.order}2H5I6H",
            *(self.e_type, self.machine, 1, self.entry, 52, section_offset, self.flags),
            *(52, self.program_entry_size, len(segments) if self.program_count is None else self.program_count),
            *(40, count, names_index),
        )
        body[52 : 52 + len(headers)] = headers
        return bytes(body)

    def _append_sections(self, body: bytearray) -> tuple[int, int, int]:
        if not self.sections:
            return 0, 0, 0
        names = b"\0"
        headers = bytes(40)
        for name, kind, flags, address, data, link in [*self.sections, (".shstrtab", 3, 0, 0, b"", 0)]:
            name_offset = len(names)
            names += name.encode() + b"\0"
            data = data or (names if name == ".shstrtab" else b"")
            headers += struct.pack(
                f"{self.order}10I", name_offset, kind, flags, address, len(body), len(data), link, 0, 4, 0
            )
            body += data
        offset = len(body)
        body += headers
        return offset, len(self.sections) + 2, len(self.sections) + 1


def symbol_table(order: str, symbols: list[tuple[str, int, int, int]]) -> tuple[bytes, bytes]:
    """Return the bytes of .symtab and .strtab for (name, address, size, type) symbols, all of them global."""
    table, strings = bytearray(16), bytearray(b"\0")
    for name, address, size, kind in symbols:
        table += struct.pack(f"{order}IIIBBH", len(strings), address, size, 0x10 | kind, 0, 1)
        strings += name.encode() + b"\0"
    return bytes(table), bytes(strings)
