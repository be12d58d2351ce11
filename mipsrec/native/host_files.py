"""What stands in files of host code: the host itself, and libraries of recompiled code, about what runs of them.

Enters: a path. Leaves: addresses of symbols, the guest's file that a library is of, and the guest pcs that its line
table gives host code (ELF, DWARF 5 section 6.2). lines.c of the runtime reads the same tables as they are executed.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from pathlib import Path
from typing import Any

from elftools.common.exceptions import DWARFError, ELFError
from elftools.elf.elffile import ELFFile

from .. import abi


class HostFile:
    """A file of host code that is there as long as this is; what it does not tell is None."""

    def __init__(self, path: Path) -> None:
        """Raise OSError, or ValueError where the file is no such file."""
        self._stream = path.open("rb")
        try:
            self._elf: Any = ELFFile(self._stream)
        except ELFError as error:
            raise ValueError(str(error)) from error

    def address(self, offset: int) -> int | None:
        """Return the link-time address of what is loaded from an offset of the file."""
        for segment in self._elf.iter_segments("PT_LOAD"):
            if 0 <= offset - segment["p_offset"] < segment["p_filesz"]:
                return int(segment["p_vaddr"] + offset - segment["p_offset"])
        return None

    def _symbol(self, name: str) -> Any:
        for table in (".dynsym", ".symtab"):
            section = self._elf.get_section_by_name(table)
            if section is not None and (found := section.get_symbol_by_name(name)):
                return found[0]
        return None

    def thread_local(self, name: str) -> tuple[int, int, int] | None:
        """Return size and alignment of the thread-local segment, and where the variable of a name is in it."""
        symbol, segment = self._symbol(name), next(self._elf.iter_segments("PT_TLS"), None)
        if symbol is None or segment is None:
            return None
        return segment["p_memsz"], segment["p_align"], symbol["st_value"]

    @cached_property
    def guest_identity(self) -> str | None:
        """The identity of the guest's file that a library of recompiled code was made of."""
        symbol = self._symbol("mr_library")
        section = self._elf.get_section(symbol["st_shndx"]) if symbol is not None else None
        if section is None:
            return None
        at = section["sh_offset"] + symbol["st_value"] - section["sh_addr"] + abi.LIBRARY_IDENTITY_AT
        self._stream.seek(at)
        return self._stream.read(abi.LIBRARY_IDENTITY_BYTES).hex()

    @cached_property
    def _lines(self) -> tuple[list[int], list[int]]:
        """Where lines begin, in order, and which: guest pcs; 0 where code is of none."""
        rows: dict[int, int] = {}
        try:
            dwarf = self._elf.get_dwarf_info()
            for unit in dwarf.iter_CUs() if dwarf.has_debug_info else ():
                program = dwarf.line_program_for_CU(unit)
                states = (entry.state for entry in (program.get_entries() if program else ()))
                for state in (state for state in states if state is not None):
                    line = 0 if state.end_sequence or state.basic_block else state.line  # as line_program.py has it
                    if line != 0 or state.address not in rows:  # the last row of an address is the one that holds
                        rows[state.address] = line
        except (DWARFError, ELFError):
            pass
        ordered = sorted(rows.items())
        return [address for address, _ in ordered], [line for _, line in ordered]

    def guest_pc(self, address: int) -> int | None:
        """Return the guest pc that the code at a link-time address is of."""
        starts, lines = self._lines
        at = bisect_right(starts, address) - 1
        return (lines[at] or None) if at >= 0 else None
