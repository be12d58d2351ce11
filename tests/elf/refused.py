"""Programs that are refused, and how the message begins."""

from __future__ import annotations

import struct

from tests.support.tiny_elf import CODE, PT_LOAD, TinyElf

TEXT = struct.pack(">2I", 0x03E00008, 0)


def load_segment(vaddr: int, memsz: int = 8, data: bytes = TEXT) -> tuple[int, int, bytes, int, int]:
    return PT_LOAD, vaddr, data, memsz, 5


def with_segment(kind: int, content: bytes) -> TinyElf:
    return TinyElf(segments=[load_segment(CODE + 0x200), (kind, 0, content, len(content), 4)])


def note(owner: bytes, word: int) -> bytes:
    """Return a note of type 1, with one word."""
    return struct.pack(">3I", len(owner), 4, 1) + owner.ljust(len(owner) + 3 & ~3, b"\0") + struct.pack(">I", word)


ABIFLAGS = struct.pack(">H6B4I", 0, 32, 6, 1, 1, 0, 1, 0, 0, 0, 0)
"""Of MIPS32 release 6."""

REFUSED = {
    "x86-64": (TinyElf(machine=62), "is a program for x86-64, not for MIPS"),
    "i386": (TinyElf(machine=3), "is a program for i386,"),
    "arm": (TinyElf(machine=40), "is a program for ARM,"),
    "unheard-of machine": (TinyElf(machine=0xBEEF), "is a program for machine 48879,"),
    "n64": (TinyElf(ident=b"\x7fELF\x02\x02\x01"), "is a 64-bit (n64) program"),
    "n32": (TinyElf(flags=0x80000020), "is an n32 program"),
    "o64": (TinyElf(flags=0x30002000), "uses ABI o64"),
    "eabi": (TinyElf(flags=0x70003000), "uses ABI eabi32"),
    "r6": (TinyElf(flags=0x90001000), "is a MIPS R6 program"),
    "r6 of 64 bits": (TinyElf(flags=0xA0001000), "is a MIPS R6 program"),
    "unheard-of architecture": (TinyElf(flags=0xF0001000), "has an unknown architecture"),
    "microMIPS": (TinyElf(flags=0x72001000), "holds microMIPS code"),
    "NetBSD": (TinyElf(ident=b"\x7fELF\x01\x02\x01\x02"), "is a program for NetBSD; give a MIPS Linux program"),
    "IRIX": (TinyElf(ident=b"\x7fELF\x01\x02\x01\x08"), "is a program for IRIX;"),
    "IRIX by its interpreter": (with_segment(3, b"/usr/lib/libc.so.1\0"), "is a program for IRIX;"),
    "OpenBSD by its note": (with_segment(4, note(b"OpenBSD\0", 0)), "is a program for OpenBSD;"),
    "the Hurd by its note": (with_segment(4, note(b"Oth\0", 9) + note(b"GNU\0", 1)), "is a program for GNU Hurd;"),
    "r6 by .MIPS.abiflags": (with_segment(0x70000003, ABIFLAGS), "is a MIPS R6 program"),
    "object file": (TinyElf(e_type=1), "is an object file; link it first"),
    "core dump": (TinyElf(e_type=4), "is a core dump; give the program itself"),
    "no type": (TinyElf(e_type=0xFE00), "is no program (e_type 65024)"),
    "byte order 3": (TinyElf(ident=b"\x7fELF\x01\x03\x01"), "the ELF header is cut off or broken"),
    "entry outside": (TinyElf(entry=CODE + 0x1000), "the entry point 0x00401000 is not in a loaded segment"),
    "entry not aligned": (TinyElf(entry=CODE + 0x202), "the entry point 0x00400202 is not in a loaded segment"),
    "no program headers": (TinyElf(program_count=0), "has no program headers"),
    "many program headers": (TinyElf(program_count=0xFFFF), "has 65535 program headers of 32 bytes"),
    "wide program headers": (TinyElf(program_entry_size=56), "has 1 program headers of 56 bytes"),
    "program headers cut off": (TinyElf(program_count=100), "the program headers lie beyond the end of the file"),
    "no PT_LOAD": (TinyElf(segments=[(6, CODE, TEXT, 8, 5)]), "has no loadable segment"),
    "memsz too small": (TinyElf(segments=[load_segment(CODE, 4)]), "segment at 0x00400000 has more bytes in the file"),
    "above user space": (TinyElf(segments=[load_segment(0x80001000)]), "segment at 0x80001000 of 0x8 bytes is outside"),
    "into the kernel": (TinyElf(segments=[load_segment(0x7FFFF000, 0x2000)]), "segment at 0x7ffff000"),
    "around the clock": (TinyElf(segments=[load_segment(0xFFFFF000, 0x2000)]), "segment at 0xfffff000"),
    "too low": (TinyElf(segments=[load_segment(0x1000)]), "segment at 0x00001000 of 0x8 bytes is outside"),
}
