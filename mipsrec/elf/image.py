"""Reads a MIPS program: file in, `Image` out; a file that mipsrec cannot run is refused with one line.

Leaves: segments, symbols, entry, GOT and gp, floating-point ABI, executable ranges, and what .eh_frame says, all with
the load bias already added. Not done here: laying segments out in memory (`memory.py`), applying relocations (a static
position-independent program relocates itself at run time), reading an interpreter or shared libraries.

What the program needs in order to run is checked by `elf_header` and refused with `ElfError`. Everything else
(sections, symbols, unwind tables) degrades: it comes back empty, and `Image.warnings` says so. Only the modules whose
names start with `elf` import elftools.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from elftools.elf.constants import SH_FLAGS

from ..architecture import WIDE, whole_instructions
from ..errors import ElfError
from ..files.checksum import identity_of
from . import header, marks, tables
from .exceptions import EhFunction, read_eh_functions
from .header import ET_DYN, EFlags, Segment, release_6
from .tables import Malformed, RawFile, Relocation, SectionHeader, Symbol

_TablePlaces = list[tuple[tables.Place, tables.Place]]
_GP_OFFSET = 0x7FF0
_FP_SOFT, _FP_64, _FP_64A = 3, 6, 7


@dataclass(frozen=True)
class AbiFlags:
    """What .MIPS.abiflags says; `fp_abi` is a Val_GNU_MIPS_ABI_FP number, `ases` are bits AFL_ASE."""

    isa_level: int
    isa_rev: int
    fp_abi: int
    ases: int


class RunPaths(NamedTuple):
    """Folders that a file tells its dynamic linker to look in; those of DT_RPATH count for what it loads, too."""

    folders: tuple[str, ...]
    are_inherited: bool


@dataclass(frozen=True)
class Image:
    """One program as the rest of mipsrec sees it; guest addresses include `bias`.

    `identity` is the hexadecimal BLAKE2b-256 of the file. `content` is the whole file. `got` and `eh_frame` are (start,
    end). `entry` is 0 for a library. `interpreter` and `needed` name the dynamic linker and the libraries that it
    loads first, `run_paths` where it looks for them besides. `gp` is the canonical gp value of the main module. `fr`
    is 1 when the code needs Status.FR=1. `soft_float` is False when the file does not say. `modules` are names of
    what it is marked as using (marks.py). `executable_ranges` are (start, end), sorted and disjoint: the executable
    sections, or the executable segments of a file without usable section headers. `symbols` are sorted by address.
    `relocations` are not applied: a position-independent file, or its interpreter, does that at run time.
    """

    path: Path
    identity: str
    content: bytes = field(repr=False)
    byte_order: str
    e_type: int
    entry: int
    bias: int
    interpreter: str | None
    needed: tuple[str, ...]
    run_paths: RunPaths
    soname: str | None
    segments: tuple[Segment, ...]
    symbols: tuple[Symbol, ...] = field(repr=False)
    relocations: tuple[Relocation, ...] = field(repr=False)
    got: tuple[int, int] | None
    gp: int | None
    abi_flags: AbiFlags | None
    modules: tuple[str, ...]
    e_flags: EFlags
    fr: int
    soft_float: bool
    executable_ranges: tuple[tuple[int, int], ...]
    eh_frame: tuple[int, int] | None
    eh_functions: tuple[EhFunction, ...] = field(repr=False)
    warnings: tuple[str, ...]

    @property
    def is_relocatable(self) -> bool:
        """Whether the file may be loaded anywhere: a library or a position-independent program."""
        return self.e_type == ET_DYN


def load_elf(path: str | Path) -> Image:
    """Return the program in a file; raises ElfError when mipsrec cannot run it."""
    return parse_elf(Path(path), header.read_file(Path(path)))


def parse_elf(path: Path, content: bytes) -> Image:
    """Return the program of some contents, which the path is the name of; raises ElfError as load_elf."""
    order = header.check_ident(path, content)
    e_type, _, _, entry, phoff, _, flags_word = struct.unpack_from(f"{order}2H5I", content, 16)
    flags = header.check_flags(path, flags_word)
    headers = header.check_program_headers(path, content, order, phoff)
    bias = header.load_bias(e_type, headers)
    segments = header.load_segments(path, content, headers, bias)
    warnings: list[str] = []
    degrade = partial(_degrade, warnings)
    entry = header.check_entry(path, e_type, entry, bias, segments, warnings)
    sections: tuple[SectionHeader, ...] = degrade("section headers", (), lambda: tables.read_sections(content, order))
    raw = RawFile(content, order, headers, sections)
    abi_flags = degrade(".MIPS.abiflags", None, lambda: _abi_flags(path, raw))
    _refuse_other_systems(path, raw, _interpreter(raw))
    modules = marks.modules_of(flags_word, abi_flags.ases if abi_flags else 0)
    _warn_of_marks(flags, modules, warnings)
    dynamic: dict[int, int] = degrade("dynamic section", {}, lambda: tables.read_dynamic(raw))
    names: list[tuple[int, str]] = degrade("names of libraries", [], lambda: tables.read_dynamic_names(raw, dynamic))
    places = _symbol_tables(raw, dynamic, warnings)
    symbols: tuple[Symbol, ...] = degrade("symbol table", (), lambda: _symbols(raw, places, bias, warnings))
    executable = _executable_ranges(raw, bias, segments, entry, warnings)
    eh_frame = degrade("unwind table", None, lambda: _eh_frame(raw))
    return Image(
        path=path,
        identity=identity_of(content),
        content=content,
        byte_order="little" if order == "<" else "big",
        e_type=e_type,
        entry=entry,
        bias=bias,
        interpreter=_interpreter(raw),
        needed=tuple(name for tag, name in names if tag == tables.DT_NEEDED),
        run_paths=_run_paths(names),
        soname=next((name for tag, name in names if tag == tables.DT_SONAME), None),
        segments=segments,
        symbols=symbols,
        relocations=degrade("relocations", (), lambda: tables.read_relocations(raw, dynamic, bias)),
        got=degrade("GOT", None, lambda: _got(raw, dynamic, bias)),
        gp=degrade("gp value", None, lambda: _gp(raw, dynamic, places, bias)),
        abi_flags=abi_flags,
        modules=modules,
        e_flags=flags,
        fr=int(flags.fp64 or (abi_flags is not None and abi_flags.fp_abi in (_FP_64, _FP_64A))),
        soft_float=abi_flags is not None and abi_flags.fp_abi == _FP_SOFT,
        executable_ranges=executable,
        eh_frame=(eh_frame[0] + bias, eh_frame[1] + bias) if eh_frame else None,
        eh_functions=degrade(".eh_frame", (), lambda: read_eh_functions(raw, eh_frame, bias, executable, warnings)),
        warnings=tuple(warnings),
    )


def _refuse_other_systems(path: Path, raw: RawFile, interpreter: str | None) -> None:
    system = marks.other_system(raw, interpreter)
    if system is not None:
        raise ElfError(f"{path}: is a program for {system}; give a MIPS Linux program")


def _warn_of_marks(flags: EFlags, modules: tuple[str, ...], warnings: list[str]) -> None:
    if lack := marks.lack_of(modules):
        warnings.append(lack)
    if any(flags.arch == arch for module in WIDE for _, arch in module.archs):
        warnings.append(f"is marked {flags.arch}: 64-bit instructions are not supported")


T = TypeVar("T")


def _degrade(warnings: list[str], what: str, default: T, read: Callable[[], T]) -> T:
    """Return what a reader of an optional part returns; its default and a warning when the part is malformed."""
    try:
        return read()
    except (Malformed, struct.error) as error:
        warnings.append(f"{what} ignored: {error}")
        return default


def _interpreter(raw: RawFile) -> str | None:
    header = raw.segment(tables.PT_INTERP)
    if header is None:
        return None
    return raw.content[header.offset : header.offset + header.filesz].split(b"\0")[0].decode("utf-8", "surrogateescape")


def _run_paths(names: list[tuple[int, str]]) -> RunPaths:
    """Return the folders of DT_RUNPATH, or else of DT_RPATH, which it replaces."""
    newer = [name for tag, name in names if tag == tables.DT_RUNPATH]
    chosen = newer or [name for tag, name in names if tag == tables.DT_RPATH]
    return RunPaths(tuple(folder for name in chosen for folder in name.split(":") if folder), not newer)


def _abi_flags(path: Path, raw: RawFile) -> AbiFlags | None:
    header, section = raw.segment(tables.PT_MIPS_ABIFLAGS), raw.section(".MIPS.abiflags")
    if header is not None:
        data = raw.content[header.offset : header.offset + 24]
    elif section is not None:
        data = raw.content[section.offset : section.offset + 24]
    else:
        return None
    if len(data) < 24:
        raise Malformed("it is cut off")
    version, level, rev, _, _, _, fp_abi, _, ases = struct.unpack_from(f"{raw.order}H6B2I", data)
    if version != 0:
        raise Malformed(f"its version is {version}, not 0")
    if rev == 6:
        raise release_6(path)
    return AbiFlags(level, rev, fp_abi, ases)


def _symbol_tables(raw: RawFile, dynamic: dict[int, int], warnings: list[str]) -> _TablePlaces:
    """Return (table, strings) of .symtab and of the dynamic symbols; the latter need no section headers."""
    found = [tables.dynamic_symbol_table(raw, dynamic)] if dynamic else []
    for kind in (tables.SHT_SYMTAB,) if dynamic else (tables.SHT_SYMTAB, tables.SHT_DYNSYM):
        section = next((section for section in raw.sections if section.type == kind), None)
        if section is None:
            continue
        place = raw.section_place(section)
        if place[1] < section.size or section.link >= len(raw.sections):
            warnings.append(f"symbol table {section.name} does not fit the file: ignored")
        else:
            found.append((place, raw.section_place(raw.sections[section.link])))
    return found


def _symbols(raw: RawFile, places: _TablePlaces, bias: int, warnings: list[str]) -> tuple[Symbol, ...]:
    merged: dict[tuple[int, str], Symbol] = {}
    for table, strings in places:
        for symbol in tables.read_symbols(raw, table, strings, warnings):
            merged[symbol.address, symbol.name] = symbol
    ordered = (merged[key] for key in sorted(merged))
    return tuple(symbol._replace(address=(symbol.address + bias) & 0xFFFFFFFF) for symbol in ordered)


def _got(raw: RawFile, dynamic: dict[int, int], bias: int) -> tuple[int, int] | None:
    """Return (start, end) of the GOT as far as the file has it; None when nothing tells its place and size."""
    section = raw.section(".got")
    if section is not None and section.size and section.address:
        start, size = section.address, section.size
    elif tables.DT_PLTGOT in dynamic:
        start, size = dynamic[tables.DT_PLTGOT], 4 * dynamic.get(tables.DT_MIPS_LOCAL_GOTNO, 0)
        size += 4 * max(0, dynamic.get(tables.DT_MIPS_SYMTABNO, 0) - dynamic.get(tables.DT_MIPS_GOTSYM, 0))
    else:
        return None
    return start + bias, start + raw.loaded_place(start, size)[1] + bias


def _gp(raw: RawFile, dynamic: dict[int, int], places: _TablePlaces, bias: int) -> int | None:
    """Return the canonical gp: ri_gp_value, else DT_PLTGOT + 0x7ff0, else the symbol _gp, else None."""
    value = 0
    header, section = raw.segment(tables.PT_MIPS_REGINFO), raw.section(".reginfo")
    place = header or section
    data = raw.content[place.offset : place.offset + 24] if place else b""
    if len(data) == 24:
        value = struct.unpack_from(f"{raw.order}I", data, 20)[0]
    if not value and tables.DT_PLTGOT in dynamic:
        value = dynamic[tables.DT_PLTGOT] + _GP_OFFSET
    for table, strings in places if not value else ():
        value = value or tables.absolute_symbol(raw, table, strings, "_gp") or 0
    return (value + bias) & 0xFFFFFFFF if value else None


def _executable_ranges(
    raw: RawFile, bias: int, segments: tuple[Segment, ...], entry: int, warnings: list[str]
) -> tuple[tuple[int, int], ...]:
    """Return the executable sections when they make sense (in executable segments, entry inside), else segments."""
    loaded = [(segment.vaddr, segment.vaddr + segment.filesz) for segment in segments if segment.execute]
    wanted = SH_FLAGS.SHF_ALLOC | SH_FLAGS.SHF_EXECINSTR
    sections = [
        (section.address + bias, section.address + section.size + bias)
        for section in raw.sections
        if section.flags & wanted == wanted and section.size and section.type != tables.SHT_NOBITS
    ]
    inside = all(any(low <= start and end <= high for low, high in loaded) for start, end in sections)
    if sections and inside and (entry == 0 or any(start <= entry < end for start, end in sections)):
        return _merged(sections)
    if sections:
        warnings.append("section headers do not fit the segments: all of the executable segments counts as code")
    return _merged(loaded)


def _merged(ranges: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Return the ranges sorted, rounded inwards to whole words, touching and overlapping ones made one."""
    result: list[tuple[int, int]] = []
    for start, end in sorted(whole_instructions(start, end) for start, end in ranges):
        if result and start <= result[-1][1]:
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        elif start < end:
            result.append((start, end))
    return tuple(result)


def _eh_frame(raw: RawFile) -> tuple[int, int] | None:
    """Return the link-time (start, end) of .eh_frame, from its section or by way of PT_GNU_EH_FRAME."""
    section = raw.section(".eh_frame")
    if section is not None and section.size and section.address:
        return section.address, section.address + section.size
    header = raw.segment(tables.PT_GNU_EH_FRAME)
    if header is None:
        return None
    data = raw.loaded_bytes(header.vaddr, 8)
    if len(data) < 8 or data[0] != 1 or data[1] != 0x1B:
        raise Malformed("PT_GNU_EH_FRAME does not hold a table of version 1 with a pcrel sdata4 pointer")
    start = (header.vaddr + 4 + struct.unpack_from(f"{raw.order}i", data, 4)[0]) & 0xFFFFFFFF
    return start, start + raw.loaded_place(start)[1]
