"""Runs the host and then writes which instructions ran: `mipsrec run --coverage FILE`.

The host marks memory that this process has, too, so nothing is lost however the program ends.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from ..coverage import drcov, lcov, marks
from ..errors import WriteError, one_line
from ..files import trust
from ..files.temporary_folder import opened_output, write_result
from ..files.trusted_path import check_program
from .attended_run import attended, end_as

TRACE_ENDING = ".info"
"""Of the name of a file that is to be one of lcov."""


def run_covered(host: Sequence[str], guest: Sequence[str], output: Path) -> int:
    """Run a program by the host and its options, and write the file; return the program's exit status.

    Does not return where a signal ended the program. Raises BuildError and WriteError before the program runs; what
    goes wrong behind it is said, and makes status 1 of 0.
    """
    _check_output(output)
    check_program(host[0])
    handle = marks.new_file()
    os.set_inheritable(handle, True)
    is_written = True
    with attended() as run:
        status = run([*host, "--marks", str(handle), *guest])
        try:
            _write(output, marks.read(handle))
        except WriteError as error:
            is_written = False
            _say(str(error))
    return end_as(status) or int(not is_written)


def _say(text: str) -> None:
    print(f"mipsrec: {one_line(text)}", file=sys.stderr)


# ---- the file ----


def _cannot_write(output: Path, reason: str) -> WriteError:
    return WriteError(f"--coverage {output}: cannot be written ({reason})")


def _check_output(output: Path) -> None:
    """Raise WriteError where the file cannot be written: better than when the program is done."""
    try:
        if output.exists() and not output.is_file():
            raise _cannot_write(output, "it is there, and no regular file: name another")
        if output.exists():
            with output.open("rb") as stream:
                if stream.read(4) == b"\x7fELF":
                    raise _cannot_write(output, "it is a program or library, which stays: name another file")
        os.stat(output.parent)  # no folder is made for it
        with opened_output(output.parent) as folder:
            name, trial = trust.new_file(folder, 0o600)
            os.close(trial)
            os.unlink(name, dir_fd=folder)
    except OSError as error:
        raise _cannot_write(output, error.strerror or str(error)) from error


def _write(output: Path, found: marks.Marks) -> None:
    """Write the file of what ran; raises WriteError. Where nothing ran, the host has said why."""
    if not found.files:
        return
    if found.lost:
        _say(f"{output}: lacks {found.lost} mappings of code, for which there was no room")
    data = _trace(output, found.files) if output.suffix == TRACE_ENDING else drcov.written(found.files)
    try:
        write_result(output, data)
    except OSError as error:
        raise _cannot_write(output, error.strerror or str(error)) from error


def _trace(output: Path, files: list[marks.ExecutedFile]) -> bytes:
    """Return lcov's trace file; says so where it has nothing of the program, which is the first file."""
    trace = lcov.trace(files)
    reasons = dict(trace.left_out)
    if files[0].path in reasons:
        _say(f"{output}: has nothing of {files[0].path}: {reasons[files[0].path]}")
    return trace.text.encode(errors="surrogateescape")
