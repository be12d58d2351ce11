"""The messages of the compile server, and where its socket is (runtime/growth/request.c finds it as well).

abi.py says how a message begins. It is one packet on a connection of its own. A host sends what is hot, with the
descriptor of the file, and gets no answer. All other messages have one: how things are.
"""

from __future__ import annotations

import array
import errno
import hashlib
import json
import os
import socket
import struct
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from ..abi import MOST_PCS, REQUEST_KINDS, REQUEST_MAGIC, REQUEST_VERSION, request_head
from ..cache.folders import own_folder, source_digest, variant_of
from ..errors import BuildError
from ..files import trust
from ..files.this_user import is_this_user
from ..options import CALL_MODELS, LEVELS, MEMORY_MODELS, Options
from ..target.cpu import CHOICES

HOT, STATUS, STOP, FINISH = (REQUEST_KINDS[kind] for kind in ("hot", "status", "stop", "finish"))
"""What is hot; how are things?; end; compile all that was ever asked for, and make groups of functions one."""
_HEAD = request_head()
_PC = struct.Struct("<II")
PACKET_BYTES = _HEAD.size + MOST_PCS * _PC.size
_SUN_PATH_BYTES = 108


class Refused(Exception):
    """A message is none of this protocol, or not for this server; `str()` says why."""


@dataclass(frozen=True)
class Message:
    """What a client said. `pcs` are guest pcs with their samples, `path` is what the client calls its file.

    A pc without samples is of code that is executed often.
    """

    kind: int
    variant: str
    path: str
    pcs: tuple[tuple[int, int], ...]


def pack(message: Message) -> bytes:
    fields = (source_digest().encode(), message.variant.encode(), os.fsencode(message.path)[:1023])
    head = _HEAD.pack(REQUEST_MAGIC, REQUEST_VERSION, message.kind, len(message.pcs), *fields)
    return head + b"".join(_PC.pack(*pair) for pair in message.pcs)


def unpack(packet: bytes) -> Message:
    """Return what a packet says; raises Refused."""
    if len(packet) < _HEAD.size:
        raise Refused("it is too short")
    magic, version, kind, count, key, variant, path = _HEAD.unpack_from(packet)
    if magic != REQUEST_MAGIC or version != REQUEST_VERSION:
        raise Refused("it is of another protocol")
    if key.rstrip(b"\0") != source_digest().encode():
        raise Refused("it is of another version of mipsrec")
    if kind not in (HOT, STATUS, STOP, FINISH) or count > MOST_PCS or len(packet) != _HEAD.size + count * _PC.size:
        raise Refused("it says what it cannot mean")
    pcs = tuple(_PC.unpack_from(packet, _HEAD.size + n * _PC.size) for n in range(count))
    name = os.fsdecode(path.split(b"\0")[0])
    return Message(kind, variant.rstrip(b"\0").decode("ascii", "replace"), name, pcs)


@cache
def _variants() -> Mapping[str, Options]:
    """Return the variants of the store that the server adds to, by name: those of whole programs, for this machine."""
    found = {}
    for memory, calls, opt, cpu in product(MEMORY_MODELS, CALL_MODELS, LEVELS, CHOICES):
        with suppress(BuildError):
            options = Options(opt=opt, memory=memory, calls=calls, cpu=cpu)
            found[variant_of(options)] = options
    return found


def options_of(variant: str) -> Options:
    """Return how to translate for a variant of the store; raises Refused."""
    if variant not in _variants():
        raise Refused(f"there is no variant {variant!r}")
    return _variants()[variant]


# ---- the socket ----


def socket_path() -> Path:
    """Return where the server of this user, cache and version listens; raises NoCacheError."""
    path = own_folder() / "server" / f"{source_digest()[:16]}.sock"
    if len(os.fsencode(path)) < _SUN_PATH_BYTES:
        return path
    digest = hashlib.blake2b(os.fsencode(path), digest_size=32).hexdigest()[:16]
    return Path(f"/tmp/mipsrec-{os.geteuid()}/{digest}.sock")


def private_folder(path: Path) -> None:
    """Make a folder that only this user may enter; raises BuildError where another one has a hand in it.

    One in the cache that others could write is set aside (trust.make_folder).
    """
    try:
        if path.is_relative_to(own_folder()):
            trust.make_folder(path, own_folder())
        else:
            trust.resolve(path, make=True)
        if path.is_symlink():  # the host follows none
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        path.chmod(0o700)
    except trust.Distrusted as reason:
        raise BuildError(f"{path}: {reason}, so no compile server listens there") from reason
    except OSError as error:
        raise BuildError(f"{path}: cannot be made ({error.strerror or error})") from error


def receive(connection: socket.socket) -> tuple[Message, list[int]]:
    """Return a message and the descriptors with it, which the caller closes; raises Refused, or OSError."""
    room = socket.CMSG_SPACE(4 * array.array("i").itemsize)
    packet, ancillary, flags, _ = connection.recvmsg(PACKET_BYTES + 1, room, socket.MSG_CMSG_CLOEXEC)
    handles = array.array("i")
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            handles.frombytes(data[: len(data) - len(data) % handles.itemsize])
    try:
        if flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC):
            raise Refused("it is too long")
        return unpack(packet), list(handles)
    except BaseException:
        close_all(list(handles))
        raise


def close_all(handles: list[int]) -> None:
    for handle in handles:
        os.close(handle)


def peer_of(connection: socket.socket) -> int:
    """Return the user at the other end."""
    size = struct.calcsize("3i")
    _, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return int(user)


def ask(kind: int, seconds: float) -> dict[str, Any] | None:
    """Return what the server answers, None where there is none or it is of another user or does not answer."""
    path = socket_path()
    if trust.distrust(path.parent) is not None:
        return None  # the socket might be a link to that of another program
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        try:
            connection.settimeout(seconds)
            connection.connect(os.fspath(path))
            if not is_this_user(peer_of(connection)):
                return None
            connection.send(pack(Message(kind, "", "", ())))
            answer = json.loads(connection.recv(1 << 16))
        except (OSError, ValueError):
            return None
    return answer if isinstance(answer, dict) else None
