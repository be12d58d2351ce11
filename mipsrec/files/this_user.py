"""Which user this process is, and is alone: with a saved one, it could become another again.

In a user namespace, one number stands for all users who have none there: the process itself may have that number, and
so has what anybody owns outside. The host has the same rule (runtime/lifted/this_user.c).
"""

from __future__ import annotations

import os

OVERFLOW = 65534
"""Stands for all users, or groups, that have no number here."""


def is_this_user(user: int) -> bool:
    """Return whether this process is that user's, and nobody else's."""
    if set(os.getresuid()) != {user} or len(set(os.getresgid())) != 1:
        return False
    return user != OVERFLOW or _has_all_users()


def _has_all_users() -> bool:
    """Return whether each number stands for a user of its own."""
    try:
        with open("/proc/self/uid_map", "rb") as stream:
            return stream.read().split() == [b"0", b"0", b"4294967295"]
    except OSError:
        return False
