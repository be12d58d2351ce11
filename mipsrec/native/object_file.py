"""An object file as LLVM makes it (ELF, relocatable, 64 bits): its sections, and the same file with others.

Enters: the file. Leaves: contents of sections with their relocations applied; a file in which some sections are others.
An address in a relocated section is a place in the object: the number of a section of code, then the offset in it.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from ..errors import BuildError
from ..target import this_target

SECTION_SHIFT = 32
"""Of a place in the object: above these bits is the number of the section."""

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")
_IDENT = b"\x7fELF\x02\x01\x01"
_ET_REL = 1
_SHT_PROGBITS, _SHT_SYMTAB, _SHT_RELA, _SHT_NOBITS = 1, 2, 4, 8
_SHF_INFO_LINK, _SHF_EXECINSTR, _SHF_EXCLUDE = 0x40, 0x4, 0x80000000
_STT_FUNC = 2
_RELA = ".rela"
_MOST_ALIGNMENT = 1 << 20
"""Of code and data that users add to IR. What asks for more is damaged."""


class UnexpectedObject(BuildError):
    """An object has a form that LLVM does not give the IR that mipsrec writes."""


@dataclass(frozen=True)
class Symbol:
    """`section` is the number of its section in the object."""

    kind: int
    section: int
    value: int


@dataclass(frozen=True)
class Relocation:
    """At an offset of a section stands a place in the object, `size_bytes` long."""

    offset: int
    size_bytes: int
    place: int


@dataclass(frozen=True)
class NewSection:
    """What a section is to contain."""

    contents: bytes
    relocations: Sequence[Relocation] = ()


@dataclass(frozen=True)
class _Header:
    """A section's header, without what follows from its contents."""

    name: str
    name_at: int
    type: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_bytes: int


@dataclass
class ObjectFile:
    """An object; raises UnexpectedObject where it is none, and struct.error and the like where it is damaged."""

    data: bytes
    headers: list[_Header] = field(init=False)
    symbols: list[Symbol] = field(init=False)

    def __post_init__(self) -> None:
        ident, kind, _, _, _, _, sections_at, _, _, _, _, section_bytes, count, names = _HEADER.unpack_from(self.data)
        if not ident.startswith(_IDENT) or kind != _ET_REL or section_bytes != _SECTION.size or not count:
            raise UnexpectedObject("the object is no relocatable ELF file of 64 bits")
        raw = [_SECTION.unpack_from(self.data, sections_at + number * _SECTION.size) for number in range(count)]
        names_at, names_end = raw[names][4], raw[names][4] + raw[names][5]
        self._names = names
        self.headers = []
        for name_at, kind, flags, _, offset, size, link, info, alignment, entry_bytes in raw:
            end = self.data.index(b"\0", names_at + name_at, names_end) if kind else names_at + name_at
            name = self.data[names_at + name_at : end].decode()
            if kind != _SHT_NOBITS and offset + size > len(self.data):
                raise UnexpectedObject(f"the object's section {name} leads beyond its end")
            if alignment > _MOST_ALIGNMENT:
                raise UnexpectedObject(f"the object's section {name} has an alignment of {alignment}")
            self.headers.append(_Header(name, name_at, kind, flags, offset, size, link, info, alignment, entry_bytes))
        tables = [number for number, header in enumerate(self.headers) if header.type == _SHT_SYMTAB]
        self._symbol_table = tables[0] if tables else 0
        found = _SYMBOL.iter_unpack(self._contents(self._symbol_table))
        self.symbols = [Symbol(kind & 15, section, value) for _, kind, _, section, value, _ in found]
        self._symbol_in = {
            symbol.section: number for number, symbol in reversed([*enumerate(self.symbols)]) if symbol.section
        }

    def _contents(self, number: int) -> bytes:
        header = self.headers[number]
        return self.data[header.offset : header.offset + header.size]

    def _number(self, name: str) -> int:
        """Return the number of the section of a name; 0 where there is none."""
        found = [number for number, header in enumerate(self.headers) if header.name == name]
        if len(found) > 1:
            raise UnexpectedObject(f"the object has {len(found)} sections {name}")
        return found[0] if found else 0

    def has(self, name: str) -> bool:
        return self._number(name) != 0

    def place(self, name: str, offset: int) -> int:
        """Return the place in the object that is at an offset of a section."""
        return (self._number(name) << SECTION_SHIFT) + offset

    def is_code(self, section: int) -> bool:
        return section < len(self.headers) and self.headers[section].flags & _SHF_EXECINSTR != 0

    def function_starts(self) -> list[int]:
        """Return the places where functions begin, in order."""
        functions = (symbol for symbol in self.symbols if symbol.kind == _STT_FUNC and self.is_code(symbol.section))
        return sorted(map(self._place, functions))

    def _place(self, symbol: Symbol) -> int:
        section = symbol.section if self.is_code(symbol.section) else 0
        return (section << SECTION_SHIFT) + symbol.value

    @cached_property
    def _places(self) -> list[int]:
        """The places of the symbols, by number."""
        return [self._place(symbol) for symbol in self.symbols]

    def contents(self, name: str) -> bytes:
        """Return what a section has when its relocations are applied; nothing where there is none."""
        number = self._number(name)
        relocations = self._number(_RELA + name)
        if not number or not relocations:
            return self._contents(number) if number else b""
        contents = bytearray(self._contents(number))
        kinds = this_target().relocations
        symbols, places = self.symbols, self._places
        pack = struct.pack_into
        for offset, info, addend in _RELOCATION.iter_unpack(self._contents(relocations)):
            size_bytes = kinds.get(info & 0xFFFFFFFF)
            if symbols[info >> 32].section == 0 or size_bytes is None:
                raise UnexpectedObject(f"the object's section {name} has a relocation of an unexpected kind")
            pack("<Q" if size_bytes == 8 else "<I", contents, offset, places[info >> 32] + addend)
        return bytes(contents)

    # ---- another file ----

    def with_sections(self, changed: Mapping[str, NewSection | None]) -> bytes:
        """Return the file with other contents of some sections, by name; None leaves one out of what is linked.

        Those that are not there yet come last. No section gets another number, so that symbols stay as they are.
        """
        headers, contents = list(self.headers), [self._contents(number) for number in range(len(self.headers))]
        names = bytearray(contents[self._names])
        for name, new in changed.items():
            number = self._number(name)
            if new is None:
                for left_out in filter(None, (number, self._number(_RELA + name))):
                    flags = headers[left_out].flags & ~_SHF_INFO_LINK | _SHF_EXCLUDE
                    headers[left_out] = replace(
                        headers[left_out], type=_SHT_PROGBITS, flags=flags, link=0, info=0, entry_bytes=0
                    )
                    contents[left_out] = b""
                continue
            if not number:
                number = len(headers)
                headers.append(_Header(name, len(names), _SHT_PROGBITS, 0, 0, 0, 0, 0, 1, 0))
                contents.append(b"")
                names += name.encode() + b"\0"
            contents[number] = new.contents
            table = self._number(_RELA + name)
            if not table and new.relocations:
                table = len(headers)
                headers.append(
                    _Header(_RELA + name, len(names), _SHT_RELA, _SHF_INFO_LINK, 0, 0, self._symbol_table, number, 8,
                            _RELOCATION.size)
                )  # fmt: skip
                contents.append(b"")
                names += (_RELA + name).encode() + b"\0"
            if table:
                contents[table] = b"".join(map(self._packed, new.relocations))
        contents[self._names] = bytes(names)
        return self._written(headers, contents)

    def _packed(self, relocation: Relocation) -> bytes:
        """Return a relocation as the file has it: relative to the first symbol in the section, which is a local one."""
        section, offset = relocation.place >> SECTION_SHIFT, relocation.place & ((1 << SECTION_SHIFT) - 1)
        number = self._symbol_in.get(section)
        if number is None:
            raise UnexpectedObject(f"the object has no symbol in its section {self.headers[section].name}")
        kind = next(kind for kind, size in this_target().relocations.items() if size == relocation.size_bytes)
        return _RELOCATION.pack(relocation.offset, number << 32 | kind, offset - self.symbols[number].value)

    def _written(self, headers: Sequence[_Header], contents: Sequence[bytes]) -> bytes:
        file = bytearray(_HEADER.size)
        packed = []
        for header, part in zip(headers, contents, strict=True):
            size = len(part)
            if header.type == _SHT_NOBITS:
                size, part = header.size, b""
            if header.type != 0:
                file += bytes(-len(file) % max(1, header.alignment))
            packed.append(
                _SECTION.pack(header.name_at, header.type, header.flags, 0, len(file) if header.type else 0, size,
                              header.link, header.info, header.alignment, header.entry_bytes)
            )  # fmt: skip
            file += part
        file += bytes(-len(file) % 8)
        fields = list(_HEADER.unpack_from(self.data))
        fields[6], fields[12] = len(file), len(headers)
        file[: _HEADER.size] = _HEADER.pack(*fields)
        return bytes(file) + b"".join(packed)
