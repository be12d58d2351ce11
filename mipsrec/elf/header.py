"""Checks what a MIPS program needs in order to run, as strictly as the kernel does, and refuses with `ElfError`.

Enters: a path. Leaves: its bytes, byte order, e_flags taken apart, program headers, and loadable segments with their
load bias. Each refusal is one line with the file, what is wrong, and what to do. Sources: fs/binfmt_elf.c and
arch/mips/kernel/elf.c. Not done here: everything a program runs without (`image.py`).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.constants import E_FLAGS, E_FLAGS_MASKS, P_FLAGS

from ..architecture import ISAS, MICROMIPS, MODULES, R6, may_be_code
from ..errors import ElfError
from ..files.input_file import TooLarge, Unfit, read_input
from . import tables
from .tables import ProgramHeader

PIE_BIAS = 0x00400000
"""Where a position-independent program that is linked at 0 goes; the runtime puts it at the same address."""

USER_SPACE_START, USER_SPACE_END = 0x00010000, 0x80000000
"""The guest addresses that the runtime maps; below is vm.mmap_min_addr, above is the kernel."""

PAGE_BYTES = 4096
MAX_LOADED_BYTES = 128 << 20
"""This and the limit of a file (files/input_file.py) keep what one program can make us allocate below 600 MB."""

MAX_PROGRAM_HEADERS = 128
"""The program headers must fit a page (fs/binfmt_elf.c, load_elf_phdrs)."""

ET_EXEC, ET_DYN = 2, 3
EF_MIPS_FP64 = 0x200
EF_MIPS_MICROMIPS = 0x02000000
_ARCHITECTURES = {number: (module, arch) for module in MODULES for number, arch in module.archs}
"""By EF_MIPS_ARCH >> 28."""
MACHINES = {
    2: "SPARC", 3: "i386", 4: "m68k", 15: "PA-RISC", 20: "PowerPC", 21: "64-bit PowerPC", 22: "S/390", 40: "ARM",
    42: "SuperH", 43: "64-bit SPARC", 50: "Itanium", 62: "x86-64", 183: "AArch64", 243: "RISC-V", 258: "LoongArch",
}  # fmt: skip
"""By e_machine; runtime/linux/marks.c has the same for the host."""
_ABIS = {0: "o32", E_FLAGS_MASKS.EFM_MIPS_ABI_O32: "o32", E_FLAGS_MASKS.EFM_MIPS_ABI_O64: "o64",
         E_FLAGS_MASKS.EFM_MIPS_ABI_EABI32: "eabi32", E_FLAGS_MASKS.EFM_MIPS_ABI_EABI64: "eabi64"}  # fmt: skip


@dataclass(frozen=True)
class Segment:
    """One PT_LOAD: `memsz` bytes at `vaddr` (bias included), the first `filesz` of them from `offset` of the file."""

    vaddr: int
    memsz: int
    offset: int
    filesz: int
    read: bool
    write: bool
    execute: bool


@dataclass(frozen=True)
class EFlags:
    """The e_flags word taken apart; `arch` is mips1 ... mips64r2, `abi` is o32 (others are refused)."""

    arch: str
    abi: str
    nan2008: bool
    fp64: bool
    pic: bool
    cpic: bool


def read_file(path: Path) -> bytes:
    """Return the bytes of a regular file of sensible size."""
    try:
        return read_input(path)
    except IsADirectoryError as error:
        raise ElfError(f"{path}: is a directory; give the file name of a MIPS program") from error
    except TooLarge as error:
        raise ElfError(f"{path}: is {error}; remove debug information (strip -g)") from error
    except Unfit as error:
        raise ElfError(f"{path}: is {error}") from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ElfError(f"{path}: cannot be read: {reason}; check the name and its permissions") from error


def check_ident(path: Path, content: bytes) -> str:
    """Return "<" or ">" after e_ident, e_type and e_machine have been found to be those of a 32-bit MIPS program."""
    if content[:4] != b"\x7fELF":
        raise ElfError(f"{path}: is not an ELF file; give a MIPS Linux program")
    if len(content) < 52 or content[5] not in (1, 2):
        raise ElfError(f"{path}: the ELF header is cut off or broken; get a whole copy of the file")
    order = "<" if content[5] == 1 else ">"
    e_type, machine = struct.unpack_from(f"{order}2H", content, 16)
    if machine != 8:
        name = MACHINES.get(machine, f"machine {machine}")
        raise ElfError(f"{path}: is a program for {name}, not for MIPS; give a MIPS Linux program")
    if content[4] != 1:
        raise ElfError(f"{path}: is a 64-bit (n64) program; only 32-bit o32 is supported: build it with -mabi=32")
    kinds = {1: "an object file; link it first", 4: "a core dump; give the program itself"}
    if e_type not in (ET_EXEC, ET_DYN):
        raise ElfError(f"{path}: is {kinds.get(e_type, f'no program (e_type {e_type}); give a MIPS Linux program')}")
    return order


def release_6(path: Path) -> ElfError:
    """Return the refusal of a program of MIPS R6."""
    supported = f"{ISAS[0].name} to {ISAS[-1].name} are supported"
    return ElfError(f"{path}: is a {R6.name} program; {supported}: build with -march=mips32r2")


def check_flags(path: Path, value: int) -> EFlags:
    """Return e_flags taken apart; refuses other ABIs, MIPS R6 and microMIPS."""
    arch, abi = value >> 28, value & E_FLAGS_MASKS.EFM_MIPS_ABI
    if value & E_FLAGS.EF_MIPS_ABI2:
        raise ElfError(f"{path}: is an n32 program; only o32 is supported: build it with -mabi=32")
    if _ABIS.get(abi) != "o32":
        raise ElfError(f"{path}: uses ABI {_ABIS.get(abi, hex(abi))}; only o32 is supported: build it with -mabi=32")
    if arch not in _ARCHITECTURES:
        raise ElfError(f"{path}: has an unknown architecture (e_flags 0x{value:08x}); build it with -march=mips32r2")
    module, arch_name = _ARCHITECTURES[arch]
    if module is R6:
        raise release_6(path)
    if value & EF_MIPS_MICROMIPS:
        raise ElfError(f"{path}: holds {MICROMIPS.name} code, which is not supported: build it with -mno-micromips")
    return EFlags(
        arch=arch_name,
        abi="o32",
        nan2008=bool(value & E_FLAGS.EF_MIPS_NAN2008),
        fp64=bool(value & EF_MIPS_FP64),
        pic=bool(value & E_FLAGS.EF_MIPS_PIC),
        cpic=bool(value & E_FLAGS.EF_MIPS_CPIC),
    )


def check_program_headers(path: Path, content: bytes, order: str, phoff: int) -> tuple[ProgramHeader, ...]:
    """Return the program headers of a static program; refuses one that needs an interpreter."""
    entry_size, count = struct.unpack_from(f"{order}2H", content, 42)
    if count == 0:
        raise ElfError(f"{path}: has no program headers, so nothing to load; link it as a program")
    if entry_size != 32 or count > MAX_PROGRAM_HEADERS:
        raise ElfError(f"{path}: has {count} program headers of {entry_size} bytes; the file is broken, link it again")
    if phoff + 32 * count > len(content):
        raise ElfError(f"{path}: the program headers lie beyond the end of the file; get a whole copy of the file")
    headers = tables.read_program_headers(content, order, phoff, count)
    if not any(header.type == tables.PT_LOAD for header in headers):
        raise ElfError(f"{path}: has no loadable segment (PT_LOAD), so nothing to run; link it as a program")
    return headers


def load_bias(e_type: int, headers: tuple[ProgramHeader, ...]) -> int:
    """Return what is added to every link-time address: PIE_BIAS for a program linked near 0, else 0."""
    lowest = min(header.vaddr for header in headers if header.type == tables.PT_LOAD)
    return PIE_BIAS if e_type == ET_DYN and lowest < USER_SPACE_START else 0


def load_segments(path: Path, content: bytes, headers: tuple[ProgramHeader, ...], bias: int) -> tuple[Segment, ...]:
    """Return the loadable segments; refuses what the kernel cannot map."""
    segments = []
    for header in (header for header in headers if header.type == tables.PT_LOAD and header.memsz):
        start = header.vaddr + bias
        where = f"{path}: segment at 0x{start:08x}"
        if header.filesz > header.memsz:
            raise ElfError(f"{where} has more bytes in the file than in memory; the file is broken, link it again")
        if header.filesz and header.offset + header.filesz > len(content):
            raise ElfError(f"{where} lies beyond the end of the file; get a whole copy of the file")
        if start < USER_SPACE_START or start + header.memsz > USER_SPACE_END:
            raise ElfError(
                f"{where} of 0x{header.memsz:x} bytes is outside the addresses a MIPS program can use "
                f"(0x{USER_SPACE_START:x} to 0x{USER_SPACE_END:x}); link it elsewhere"
            )
        if header.filesz and (header.offset - header.vaddr) % PAGE_BYTES:
            raise ElfError(f"{where} is not aligned with its place in the file (0x{header.offset:x}); link it again")
        flags = [bool(header.flags & bit) for bit in (P_FLAGS.PF_R, P_FLAGS.PF_W, P_FLAGS.PF_X)]
        segments.append(Segment(start, header.memsz, header.offset, header.filesz, *flags))
    if sum(segment.filesz for segment in segments) > MAX_LOADED_BYTES:
        raise ElfError(
            f"{path}: its segments take more than {MAX_LOADED_BYTES >> 20} MiB from the file; make the program smaller"
        )
    return tuple(segments)


def check_entry(
    path: Path, e_type: int, entry: int, bias: int, segments: tuple[Segment, ...], warnings: list[str]
) -> int:
    """Return the entry point with bias: odd for MIPS16 code, 0 for a shared library, which has none."""
    if e_type == ET_DYN and entry == 0:
        return 0
    address = entry + bias
    holders = [segment for segment in segments if segment.vaddr <= address < segment.vaddr + segment.memsz]
    if not holders or not may_be_code(address):
        raise ElfError(f"{path}: the entry point 0x{address:08x} is not in a loaded segment; link it again")
    if not any(segment.execute for segment in holders):
        warnings.append(f"the entry point 0x{address:08x} is in a segment that is not executable")
    return address
