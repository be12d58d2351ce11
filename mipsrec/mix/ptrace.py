"""Stops a thread of another process, and has it perform single instructions (ptrace(2), Linux from 3.4 on).

Enters: the number of a thread. Leaves: its registers at each step. A thread that is looked at gets all signals that
come to it, and goes on as if nothing had been when the look ends. What ends meanwhile is left to its parent to be
waited for.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import ProfileError
from ..target import this_target

_CONTINUE_BY_STEP, _DETACH, _GET_REGISTERS, _SEIZE, _INTERRUPT, _GET_SIGNAL = 9, 17, 0x4204, 0x4206, 0x4207, 0x4202
_TELL_OF_EXIT = 1 << 6
_EVENT_STOP = 128
_ALL_CHILDREN = 0x40000000
_GENERAL_REGISTERS = 1  # NT_PRSTATUS
_SIGNAL_BYTES = 128  # siginfo_t: signal, errno and code come first
_STEP_CODES = (1, 2)  # TRAP_BRKPT, behind a system call; TRAP_TRACE
_REFUSED = (errno.EPERM, errno.EACCES, errno.ENOSYS)

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long


def _ptrace(request: int, thread: int, address: int = 0, data: int = 0) -> None:
    """Raise ProcessLookupError where the thread has ended, and other kinds of OSError."""
    if _libc.ptrace(request, thread, address, data) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


class _Buffer:
    """What PTRACE_GETREGSET fills: a buffer, and the iovec that leads to it."""

    def __init__(self, size_bytes: int) -> None:
        self._bytes = ctypes.create_string_buffer(size_bytes)
        self._vector = (ctypes.c_size_t * 2)(ctypes.addressof(self._bytes), size_bytes)
        self._words = struct.Struct(f"{size_bytes // 8}Q")

    def words(self, thread: int) -> tuple[int, ...]:
        _ptrace(_GET_REGISTERS, thread, _GENERAL_REGISTERS, ctypes.addressof(self._vector))
        return self._words.unpack(self._bytes)


class Stopped:
    """A thread that is stopped before an instruction."""

    def __init__(self, process: int, thread: int) -> None:
        self._process, self._thread = process, thread
        self._buffer = _Buffer(8 * len(this_target().running_code().registers))
        self._said = ctypes.create_string_buffer(_SIGNAL_BYTES)
        self._signal = 0  # that it is to get when it goes on
        self.is_there = True

    def registers(self) -> tuple[int, ...]:
        """Return what is in the host registers, as RunningCode.registers names them."""
        return self._buffer.words(self._thread)

    def step(self) -> bool:
        """Have it perform an instruction; return whether it is stopped before another one.

        It is not where it ends, or is stopped by a signal for longer.
        """
        while True:
            _ptrace(_CONTINUE_BY_STEP, self._thread, 0, self._signal)
            self._signal = 0
            stop = self.wait()
            if stop is not None:
                return stop

    def wait(self) -> bool | None:
        """Wait until it is stopped: True behind a step, None for a signal or another short stop, else False."""
        said = os.waitid(os.P_PID, self._thread, os.WEXITED | os.WSTOPPED | os.WNOWAIT | _ALL_CHILDREN)
        if said is None or said.si_code != os.CLD_TRAPPED:
            self.is_there = False
            if self._thread != self._process:  # the process itself is waited for by who has started it
                os.waitpid(self._thread, _ALL_CHILDREN)
            return False
        event, number = said.si_status >> 8, said.si_status & 0x7F
        if event != 0:
            return None if event == _EVENT_STOP and number == signal.SIGTRAP else False
        if number == signal.SIGTRAP and self._has_stepped():
            return True
        self._signal = number
        return None

    def _has_stepped(self) -> bool:
        """Return whether the trap is that of a step, and no signal that another process sent."""
        _ptrace(_GET_SIGNAL, self._thread, 0, ctypes.addressof(self._said))
        code: int = struct.unpack_from("3i", self._said)[2]
        return code in _STEP_CODES

    def leave(self) -> None:
        """Let it go on by itself."""
        if self.is_there:
            with suppress(ProcessLookupError):  # SIGKILL ends it at any time
                _ptrace(_DETACH, self._thread, 0, self._signal)


def stat_fields(process: int, thread: int) -> list[str]:
    """Return what the kernel says of a thread, from its state on (proc_pid_stat(5)); OSError where it has ended."""
    return Path(f"/proc/{process}/task/{thread}/stat").read_text().rpartition(")")[2].split()


def _has_ended(process: int, thread: int) -> bool:
    """Return whether a thread is no more; of what only waits to be waited for, the kernel says that it is refused."""
    try:
        return stat_fields(process, thread)[0] in ("Z", "X")
    except OSError:
        return True


@contextmanager
def stopped(process: int, thread: int) -> Iterator[Stopped | None]:
    """Yield a thread of a process as long as it is stopped; None where it has ended. Raises ProfileError."""
    try:
        _ptrace(_SEIZE, thread, 0, _TELL_OF_EXIT)
    except OSError as error:
        if not _has_ended(process, thread):
            raise refused(error) from error
        yield None
        return
    held = Stopped(process, thread)
    try:
        _ptrace(_INTERRUPT, thread)
        yield held if held.wait() is None else None
    except ProcessLookupError:
        held.wait()  # SIGKILL ends it
    finally:
        held.leave()


def refused(error: OSError) -> ProfileError:
    """Return what to say where a process may not be looked into."""
    if error.errno not in _REFUSED:
        return ProfileError(f"the program cannot be looked into ({error.strerror})")
    return ProfileError(
        f"--mix needs ptrace, which is refused here ({error.strerror}): see kernel.yama.ptrace_scope, and in a "
        "container allow it, as docker run --cap-add SYS_PTRACE does"
    )


def check_allowed() -> None:
    """Raise ProfileError where ptrace is refused, before any program is run: try it on a child."""
    child = os.fork()
    if child == 0:
        while True:
            signal.pause()
    try:
        _ptrace(_SEIZE, child)
    except OSError as error:
        raise refused(error) from error
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
