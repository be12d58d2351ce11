"""Takes from a process what a broken guest could do to the machine: signals to others, changed files, new processes.

A system call filter (seccomp(2)) that needs no privileges and passes to children. A guest sees EPERM. Reading stays,
and so does writing to what is open. Where filters are not `available`, such guests must not be run.
"""

from __future__ import annotations

import os

from tests.support.call_filter import (
    ALLOW,
    ANY_BIT,
    EQUAL,
    LOAD,
    REFUSE,
    RETURN,
    available,
    beginning,
    install,
    refusals,
    step,
)

__all__ = ["available", "renounce"]

_ARGUMENTS = 16  # where the system call's arguments are in what a filter reads

_TO_ONESELF = (62, 129, 234, 297, 302)  # kill, rt_sigqueueinfo, tgkill, rt_tgsigqueueinfo; prlimit64 (own, or 0)
_OPEN = {2: 1, 257: 2}  # open, openat: which argument the flags are
_MAY_WRITE = 0o1 | 0o2 | 0o100 | 0o1000  # O_WRONLY, O_RDWR, O_CREAT, O_TRUNC
_REFUSED = (
    29, 41, 64, 68, 240,  # shmget, socket, semget, msgget, mq_open
    56, 57, 58, 435, 200,  # clone, fork, vfork, clone3, tkill
    76, 82, 83, 84, 85, 86, 87, 88, 90, 91, 92, 93, 94,  # truncate to lchown
    101, 133, 132, 235, 261, 280, 310, 311, 424, 434, 438, 440,  # ptrace, mknod, times, other processes
    141, 142, 144, 203, 251, 314, 149, 151, 325,  # priorities, locked memory
    153, 154, 155, 156, 159, 161, 162, 163, 164, 165, 166, 167, 168, 169, 170, 171, 172, 173, 175, 176, 179, 180,
    188, 189, 190, 197, 198, 199, 227, 305, 246, 320, 248, 249, 250, 256, 279, 306, 103,
    258, 259, 260, 263, 264, 265, 266, 268, 316, 452,  # the same by folder
    272, 308, 298, 300, 304, 313, 321, 323, 425, 426, 427, 428, 429, 430, 431, 432, 433, 437, 442,
)  # fmt: skip


def _filter(own: int) -> bytes:
    """Return the program for the process `own`, which keeps its number when it executes another file."""
    program = beginning() + refusals(_REFUSED)
    for number in _TO_ONESELF:
        program += step(EQUAL, number, 0, 5) + step(LOAD, _ARGUMENTS)
        program += step(EQUAL, own, 1, 0) + step(EQUAL, 0, 0 if number == 302 else 1, 1)
        program += step(RETURN, ALLOW) + step(RETURN, REFUSE)
    for number, argument in _OPEN.items():
        program += step(EQUAL, number, 0, 4) + step(LOAD, _ARGUMENTS + 8 * argument)
        program += step(ANY_BIT, _MAY_WRITE, 0, 1) + step(RETURN, REFUSE) + step(RETURN, ALLOW)
    return program + step(RETURN, ALLOW)


def renounce() -> None:
    """Make the calling process harmless for the rest of its life."""
    install(_filter(os.getpid()))
