"""The store of recompiled code: one library for each ELF file, found by the file's contents, for all programs.

Enters: the identity of a file. Leaves: the path of its library, or the lock for who builds it. The host finds libraries
by the same names (runtime/lifted/store.c). One appears whole or not at all. Not done here: building (fill_store.py).
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from ..errors import WriteError
from ..files import trust
from ..interrupts import held, let_in
from ..options import Options
from .folders import cache_folder, cannot_write
from .layers import code_paths
from .library_file import Damaged, read_library


def stored_path(identity: str, options: Options) -> Path | None:
    """Return the undamaged library of a file in the cache or in a layer; None when there is none."""
    for path in code_paths(identity, options):
        if trust.is_file(path) and is_sound(path, identity):
            return path
    return None


def is_sound(path: Path, identity: str) -> bool:
    """Return whether a library is as it was made, of the guest's file with this identity; all of it is read."""
    try:
        return read_library(path, whole=True).identity == identity
    except Damaged:
        return False


def root_of(options: Options) -> Path:
    """Return the folder that the options fill: the cache, or the one of --into."""
    return Path(options.into) if options.into is not None else cache_folder()


@contextmanager
def locked(path: Path, root: Path) -> Iterator[None]:
    """Let one process at a time build `path`, below a trusted root; the lock's file goes when it is needed no longer.

    What is in the way of the file or the folders above it goes. Raises WriteError.
    """
    with held():
        try:
            lock = _lock(path.with_suffix(".lock"), root)
        except OSError as error:
            raise WriteError(f"{path.parent}: {cannot_write(error)}") from error
        with lock:
            try:
                with suppress(OSError):
                    trust.clear(path, path.parent)
                with let_in():
                    yield
            finally:
                with suppress(OSError):
                    path.with_suffix(".lock").unlink()


def _lock(path: Path, root: Path) -> IO[bytes]:
    """Return the open file whose lock this process has. What another removed meanwhile is no lock any more."""
    for attempt in range(1000):
        try:
            trust.make_folder(path.parent, root)
            stream = trust.open_lock(path)
        except FileNotFoundError:  # `mipsrec cache prune` has removed the empty folder
            if attempt == 999:
                raise
            continue
        try:
            _wait_for(stream)
            if os.path.samestat(os.fstat(stream.fileno()), os.lstat(path)):
                return stream
        except FileNotFoundError:
            pass
        except BaseException:
            stream.close()
            raise
        stream.close()
    raise OSError(f"{path.name} is removed all the time")


def _wait_for(stream: IO[bytes]) -> None:
    """Take a file's lock. Who is interrupted does not have it."""
    while True:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            with let_in():
                time.sleep(0.05)
