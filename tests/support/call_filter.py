"""System call filters (seccomp(2)), which need no privileges and pass to children; a call that is refused gives EPERM.

x86-64 only; elsewhere `available` is false.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from collections.abc import Iterable

available = platform.machine() == "x86_64" and os.uname().sysname == "Linux"

LOAD, EQUAL, ANY_BIT, RETURN = 0x20, 0x15, 0x45, 0x06
ALLOW, REFUSE, _KILL = 0x7FFF0000, 0x00050000 | 1, 0x80000000
PTRACE = 101
_NUMBER, _ARCHITECTURE = 0, 4
_X86_64, _X32 = 0xC000003E, 0x40000000
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP = 38, 22


def step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    """Return an instruction of a filter; `yes` and `no` are how many it passes over."""
    return struct.pack("=HBBI", code, yes, no, value)


def beginning() -> bytes:
    """Return what a filter begins with; then it has the number of the call."""
    program = step(LOAD, _ARCHITECTURE) + step(EQUAL, _X86_64, 1, 0) + step(RETURN, _KILL) + step(LOAD, _NUMBER)
    return program + step(ANY_BIT, _X32, 0, 1) + step(RETURN, REFUSE)


def refusals(numbers: Iterable[int]) -> bytes:
    return b"".join(step(EQUAL, number, 0, 1) + step(RETURN, REFUSE) for number in numbers)


def install(program: bytes) -> None:
    """Have the calling process filtered for the rest of its life."""
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("=HxxxxxxQ", len(program) // 8, ctypes.addressof(buffer))
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(_PR_SET_SECCOMP, 2, header, 0, 0):
        raise OSError(ctypes.get_errno(), "cannot install the system call filter")


def refuse_ptrace() -> None:
    """Have the calling process look into no other one any more."""
    install(beginning() + refusals([PTRACE]) + step(RETURN, ALLOW))
