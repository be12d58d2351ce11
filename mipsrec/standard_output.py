"""Standard output that says when it cannot be written: one error of its own kind, whichever module prints.

Enters: this process's standard output. Leaves: `sys.stdout` for a while, whose failures are `OutputError`; they are
none of the many other reasons for an OSError. What was printed is written when the while ends. What its encoding has no
letter for is written out, as Python does on standard error.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from .errors import OutputError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class _Descriptor(io.RawIOBase):
    """A file descriptor, or what stands for one that is closed; after a failure it takes all and writes nothing."""

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor
        self._failed = False

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return self._descriptor is not None and os.isatty(self._descriptor)

    def fileno(self) -> int:
        if self._descriptor is None:
            raise io.UnsupportedOperation("fileno")
        return self._descriptor

    def write(self, data: ReadableBuffer, /) -> int:
        if self._failed:
            return memoryview(data).nbytes
        try:
            if self._descriptor is None:
                raise OSError(errno.EBADF, os.strerror(errno.EBADF))
            return os.write(self._descriptor, data)
        except OSError as error:
            self._failed = True
            raise OutputError(error) from error


@contextmanager
def checked_output() -> Iterator[None]:
    """Have failures of standard output raise OutputError. Nothing changes where it is another stream already."""
    before: TextIO | None = sys.stdout
    if before is not sys.__stdout__ or isinstance(getattr(getattr(before, "buffer", None), "raw", None), _Descriptor):
        yield
        return
    if before is None:
        output = io.TextIOWrapper(io.BufferedWriter(_Descriptor(None)), "utf-8", "backslashreplace")
    else:
        lines = before.line_buffering
        buffer = io.BufferedWriter(_Descriptor(before.fileno()))
        output = io.TextIOWrapper(buffer, before.encoding, "backslashreplace", line_buffering=lines)
    sys.stdout = output
    try:
        yield
    finally:
        try:
            output.flush()
        finally:
            sys.stdout = before
