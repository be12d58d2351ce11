"""What a file says of itself besides being a MIPS program: of which system it is, and which modules its code uses.

Enters: the tables of a file. Leaves: names for people. The host states the same of systems (runtime/linux/marks.c), and
names the module of an instruction that it lacks when that ends a program (runtime/cpu/lacking.c). Sources: binutils'
include/elf/mips.h and readelf, each system's start-up code, and IRIX's sys/elf.h.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from ..architecture import MODULES
from .tables import RawFile

PT_NOTE = 4
_SYSTEMS = {1: "HP-UX", 2: "NetBSD", 6: "Solaris", 8: "IRIX", 9: "FreeBSD", 10: "Tru64", 12: "OpenBSD"}
"""By EI_OSABI; Linux programs have 0 or 3 there."""
_NOTE_OWNERS = (b"NetBSD\0", b"OpenBSD\0", b"FreeBSD\0")
_TAGGED_SYSTEMS = {1: "GNU Hurd", 2: "Solaris", 3: "FreeBSD"}
"""By the first word of NT_GNU_ABI_TAG; 0 is Linux."""
_IRIX_INTERPRETERS = ("/usr/lib/libc.so.1", "/lib/rld")

_OF_MACHINES = {
    0x81: "R3900", 0x82: "R4010", 0x83: "R4100", 0x85: "R4650", 0x87: "R4120", 0x88: "R4111", 0x8A: "SB-1",
    0x8B: "Octeon", 0x8C: "XLR", 0x8D: "Octeon 2", 0x8E: "Octeon 3", 0x91: "R5400", 0x92: "R5900",
    0x93: "interAptiv MR2", 0x98: "R5500", 0x99: "R9000", 0xA0: "Loongson 2E", 0xA1: "Loongson 2F",
    0xA2: "Loongson GS464",
}  # fmt: skip
"""By EF_MIPS_MACH >> 16: processors with instructions of their own."""


def other_system(raw: RawFile, interpreter: str | None) -> str | None:
    """Return the system that a program is of, if it is not Linux."""
    if raw.content[7] in _SYSTEMS:
        return _SYSTEMS[raw.content[7]]
    if interpreter in _IRIX_INTERPRETERS:
        return "IRIX"
    return next(_systems_of_notes(raw), None)


def _systems_of_notes(raw: RawFile) -> Iterator[str]:
    for header in raw.program_headers:
        at, end = header.offset, min(header.offset + header.filesz, len(raw.content))
        while header.type == PT_NOTE and at + 12 <= end:
            owner_bytes, content_bytes, kind = struct.unpack_from(f"{raw.order}3I", raw.content, at)
            content = at + 12 + (owner_bytes + 3 & ~3)
            owner = raw.content[at + 12 : at + 12 + owner_bytes]
            at = content + (content_bytes + 3 & ~3)
            if at > end:
                break
            if kind == 1 and owner in _NOTE_OWNERS:
                yield owner[:-1].decode()
            elif kind == 1 and owner == b"GNU\0" and content_bytes >= 4:
                (number,) = struct.unpack_from(f"{raw.order}I", raw.content, content)
                if number in _TAGGED_SYSTEMS:
                    yield _TAGGED_SYSTEMS[number]


def modules_of(flags: int, ases: int) -> tuple[str, ...]:
    """Return the modules and processors that e_flags and .MIPS.abiflags name, each once."""
    found = [module.name for module in MODULES if module.ase is not None and ases >> module.ase & 1]
    found += [module.name for module in MODULES if flags & module.flag]
    machine = flags >> 16 & 0xFF
    found += [_OF_MACHINES.get(machine, f"machine 0x{machine:02x}")] if machine else []
    return tuple(dict.fromkeys(found))


def lack_of(modules: tuple[str, ...]) -> str:
    """Return what to say of a file that is marked as using these modules, or "" where all of them run."""
    lacking = [name for name in modules if name not in _RUNNING]
    marks = f"is marked as using {', '.join(lacking)}: such instructions are not supported and raise SIGILL"
    return marks if lacking else ""


_RUNNING = frozenset(module.name for module in MODULES if module.runs)
