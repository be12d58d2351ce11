"""Whether a group is the user's alone, as most systems make one for each user (umask 002 counts on it).

Enters: the number of a group, and the lists of users and groups in /etc. Leaves: whether nobody but this user and root
can have the group. Only these files count; where anything in them, or in how the system uses them, is unusual, the
group is others'. The host has the same rule (runtime/lifted/private_group.c).
"""

from __future__ import annotations

import errno
import os
import stat

from .this_user import OVERFLOW, is_this_user

_MOST_BYTES = 1 << 20
_PASSWD_FIELDS, _GROUP_FIELDS = 7, 4
_SOURCES = {"files", "compat", "systemd", "[SUCCESS=merge]"}
"""Of users and groups in nsswitch.conf: others know users that these files do not have."""
_NO_PASSWORDS = {"", "x", "*", "!"}
"""Of a group: who knows its password may become a member."""
_ACL = "system.posix_acl_access"
_NO_LIST = {errno.ENODATA, errno.ENOTSUP}


class _Unusual(Exception):
    """The lists of users and groups are not as they should be."""


def _trusted_text(path: str) -> str:
    """Return what a file says that only root can have written; raises _Unusual, or OSError."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY)
    with open(handle, "rb") as stream:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or not _is_roots(status):
            raise _Unusual
        data = stream.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES or b"\0" in data:
        raise _Unusual
    return data.decode("latin-1")


def _is_roots(status: os.stat_result) -> bool:
    return status.st_uid == 0 and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _rows(path: str, field_count: int) -> list[list[str]]:
    """Return the fields of all lines of a list."""
    rows = [line.split(":") for line in _trusted_text(path).split("\n") if line]
    if any(len(row) != field_count or not row[0] or row[0][0] in "+-#" for row in rows):
        raise _Unusual
    return rows


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 10 or int(text) >= 2**32 - 1:
        raise _Unusual
    return int(text)


def _check_sources() -> None:
    """Raise _Unusual where users or groups come from elsewhere, too."""
    try:
        text = _trusted_text("/etc/nsswitch.conf")
    except FileNotFoundError:
        return  # these files alone
    for line in text.split("\n"):
        name, _, sources = line.partition("#")[0].partition(":")
        found = {source for source in sources.replace("\t", " ").split(" ") if source}
        if name.strip(" \t") in ("passwd", "group", "initgroups") and not found <= _SOURCES:
            raise _Unusual


def _name_of_only_user(user: int, group: int) -> str:
    """Return the name of a user whose first group that is, and no other user's; raises _Unusual."""
    rows = [(row[0], _number(row[2]), _number(row[3])) for row in _rows("/etc/passwd", _PASSWD_FIELDS)]
    found = [row for row in rows if row[1] == user or row[2] == group]
    if len(found) != 1 or found[0][1:] != (user, group) or [row[0] for row in rows].count(found[0][0]) != 1:
        raise _Unusual
    return found[0][0]


def _check_group(group: int, user_name: str) -> None:
    """Raise _Unusual unless the group has the user's name, and no other member."""
    rows = [(row[0], row[1], _number(row[2]), row[3]) for row in _rows("/etc/group", _GROUP_FIELDS)]
    found = [row for row in rows if row[2] == group or row[0] == user_name]
    if len(found) != 1 or found[0][0] != user_name or found[0][2] != group:
        raise _Unusual
    if found[0][1] not in _NO_PASSWORDS or found[0][3] not in ("", user_name):
        raise _Unusual


def is_private(group: int) -> bool:
    """Return whether a group is the first one of this process's user, has its name, and nobody else is in it."""
    user = os.geteuid()
    if not is_this_user(user) or group == OVERFLOW:
        return False
    try:
        if not _is_roots(os.lstat("/etc")):
            return False
        _check_sources()
        _check_group(group, _name_of_only_user(user, group))
    except (_Unusual, OSError):
        return False
    return True


def has_list(path: str) -> bool:
    """Return whether a file or folder may have an access control list: then the group's rights may be others', too."""
    try:
        os.getxattr(path, _ACL, follow_symlinks=False)
    except OSError as error:
        return error.errno not in _NO_LIST
    return True
