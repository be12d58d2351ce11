"""binfmt: let the kernel start the host for MIPS programs (binfmt_misc).

Enters: the command line. Leaves: lines for /proc/sys/fs/binfmt_misc/register or for a file in /etc/binfmt.d, printed or
registered. The rules are those of Documentation/admin-guide/binfmt-misc.rst; how the host finds out that the kernel
started it is in runtime/command_line.c. Not done here: mounting binfmt_misc.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..cache.folders import is_private
from ..cache.layers import check_trust, refusal
from ..errors import BuildError, MipsrecError, UsageError, one_line
from ..files.temporary_folder import write_in
from ..files.trust import Distrusted, opened_folder, resolve
from ..host_build import host_executable

DESCRIPTION = """\
Registers the host with Linux's binfmt_misc, so that MIPS programs run wherever a program may be named: in a shell, by
`make`, in a chroot, in a container. Without --install, it prints what to register.

  sudo mipsrec binfmt --host /usr/local/lib/mipsrec-host --install     until the machine is started again
  sudo mipsrec binfmt --uninstall
  mipsrec binfmt --host /usr/local/lib/mipsrec-host --format binfmt.d > /etc/binfmt.d/mipsrec.conf   at every start
  mipsrec binfmt                       prints lines for /proc/sys/fs/binfmt_misc/register, to be written one by one

Registered are programs of ABI o32 in both byte orders, never those of n32, n64 or MIPS release 6. Others that are
registered for the same files, such as qemu's, are asked after this one.

Flags, any of them:
  F  the kernel opens the host now and keeps it: it need not be reachable in chroots and containers
  P  programs get the argv[0] they were called with, not their path; needs Linux 5.12
  O  the kernel hands the program over opened: the host can run files that it may not read
  C  setuid and setgid programs get their rights, as natively (implies O). Without it they run with those of the caller.
     Variables MIPSREC_* count for nothing in such a program

Programs that are started so take no options of the host, but heed MIPSREC_SYSROOT in the environment.
"""

FOLDER = Path("/proc/sys/fs/binfmt_misc")
FLAGS = "POCF"
_MOST_PATH_BYTES = 127  # of an interpreter
_CONSEQUENCE = "it would run for all users"
_TELLS_OF_ARGV0 = (5, 12)  # the kernel from which on an interpreter learns that flag P was set

_EF_ABI2 = 0x20  # n32
_EF_ABI_OTHERS = 0xE000  # of the field EF_MIPS_ABI, which is 0 or 0x1000 for o32
_EF_ARCH = 0xF0000000
_ARCH_64R2 = 0x80000000  # the highest there is before R6, which are 9 and 10 in this field


def add_arguments(parser: argparse.ArgumentParser) -> None:
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--install", action="store_true", help="register now, in the place of an earlier registration")
    action.add_argument("--uninstall", action="store_true", help="take the registration back")
    action.add_argument("--format", choices=("register", "binfmt.d"), default="register",
                        help="what to print: lines for the file `register`, or a file for /etc/binfmt.d")  # fmt: skip
    parser.add_argument("--host", metavar="PATH", help="the host to register; if it is not there, it is copied there "
                        "(default: the one that was installed, else that in the cache, whose path changes with every "
                        "version)")  # fmt: skip
    parser.add_argument("--flags", metavar="FLAGS", help="letters of POCF (default: PF, before Linux 5.12 F)")
    parser.add_argument("--name", metavar="NAME", default="mipsrec",
                        help="what the names of the entries begin with (default mipsrec)")  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """A kind of file: its bytes under the mask are the magic ones. An entry of binfmt_misc knows no alternatives."""

    name: str
    magic: bytes
    mask: bytes

    def matches(self, header: bytes) -> bool:
        """Return whether the kernel would take a file that begins so for one of this kind."""
        start = header[: len(self.mask)].ljust(len(self.mask), b"\0")
        return bytes(byte & mask for byte, mask in zip(start, self.mask, strict=True)) == self.magic


def _kind(name: str, byte_order: int, arch: int, arch_mask: int) -> Kind:
    """Return the kind of o32 programs (ET_EXEC and ET_DYN) of a byte order and of some architectures."""
    endian: Literal["big", "little"] = "big" if byte_order == 2 else "little"
    fields = (  # value and mask
        (b"\x7fELF", b"\xff" * 4),
        (bytes([1, byte_order, 1]), b"\xff" * 3),  # 32 bits, order, version
        (bytes(9), bytes(9)),  # ABI of the system, and what is not used
        ((2).to_bytes(2, endian), (0xFFFE).to_bytes(2, endian)),  # e_type
        ((8).to_bytes(2, endian), b"\xff" * 2),  # e_machine
        (bytes(16), bytes(16)),  # e_version, e_entry, e_phoff, e_shoff
        (arch.to_bytes(4, endian), (arch_mask | _EF_ABI2 | _EF_ABI_OTHERS).to_bytes(4, endian)),  # e_flags
    )
    return Kind(name, b"".join(value for value, _ in fields), b"".join(mask for _, mask in fields))


def kinds(prefix: str) -> list[Kind]:
    """Return all kinds of programs that mipsrec runs: MIPS I to MIPS32r2, and MIPS64r2 code of ABI o32."""
    return [
        _kind(f"{prefix}-{name}{suffix}", byte_order, arch, arch_mask)
        for name, byte_order in (("mips", 2), ("mipsel", 1))
        for suffix, arch, arch_mask in (("", 0, _ARCH_64R2), ("-64r2", _ARCH_64R2, _EF_ARCH))
    ]


def _escaped(data: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in data)


def registration(kind: Kind, host: Path, flags: str) -> str:
    """Return the line that registers a kind of file for this host."""
    return f":{kind.name}:M:0:{_escaped(kind.magic)}:{_escaped(kind.mask)}:{host}:{flags}"


# ---- the host ----


def _default_flags() -> str:
    """Return F, and P where the kernel tells an interpreter of it."""
    version = tuple(int(part) for part in platform.release().split("-")[0].split(".")[:2])
    return "PF" if version >= _TELLS_OF_ARGV0 else "F"


def _host(given: str | None) -> Path:
    """Return the absolute path of the host to register; copies it to where the caller wants it and it is not.

    The kernel executes it for all users: no other user than root and this one may choose what it is.
    Nothing is made where it is refused.
    """
    path = Path(given).absolute() if given is not None else host_executable()
    if len(os.fsencode(path)) > _MOST_PATH_BYTES or ":" in str(path) or "\n" in str(path):
        raise BuildError(f"{path}: the kernel takes at most {_MOST_PATH_BYTES} bytes without colons; say --host PATH")
    if is_private(path):
        raise BuildError(f"{path}: goes at the end of this command, since there is no cache; say --host PATH")
    if given is not None and not os.path.lexists(path):
        _copy_host(path)
    if not path.exists():
        raise BuildError(f"{path}: leads to no file; name the host itself, or a file to be made")
    check_trust(path, _CONSEQUENCE)
    if not path.is_file() or not os.access(path, os.X_OK):
        raise BuildError(
            f"{path}: cannot be executed; give the path of mipsrec-host, or of a file to be made with --host"
        )
    return path


def _copy_host(path: Path) -> None:
    """Make a copy of the host that all users may execute, in a folder that is made for it if need be."""
    data = host_executable().read_bytes()
    try:
        with opened_folder(resolve(path.parent, make=True, mode=0o755)) as folder:
            write_in(folder, path.name, data, mode=0o755)
        print(f"mipsrec: binfmt: {one_line(str(path))}: was not there; made, as a copy of the host", file=sys.stderr)
    except Distrusted as reason:
        raise refusal(path, str(reason), _CONSEQUENCE) from reason
    except OSError as error:
        raise BuildError(f"{path}: cannot be written ({error.strerror or error})") from error


# ---- the kernel ----


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text)
    except FileNotFoundError:
        raise MipsrecError(f"{path}: is not there; mount -t binfmt_misc binfmt_misc {FOLDER}") from None
    except OSError as error:
        hint = "; only root may" if error.errno in (1, 13) else ""
        raise MipsrecError(f"{path}: {error.strerror or error}{hint}") from error


def _unregister(kind: Kind) -> bool:
    """Take an entry away; return whether there was one."""
    entry = FOLDER / kind.name
    there = entry.exists()
    if there:
        _write(entry, "-1")
    return there


def _install(prefix: str, host: Path, flags: str) -> int:
    for kind in kinds(prefix):
        _unregister(kind)
        _write(FOLDER / "register", registration(kind, host, flags))
        print(one_line(f"{kind.name}: registered for {host}, flags {flags}"))
    return 0


def _uninstall(prefix: str) -> int:
    gone = [kind.name for kind in kinds(prefix) if _unregister(kind)]
    said = f"no longer registered: {', '.join(gone)}" if gone else f"{prefix}: nothing of that name is registered"
    print(one_line(said))
    return 0


def main(arguments: argparse.Namespace) -> int:
    flags = arguments.flags if arguments.flags is not None else _default_flags()
    if set(flags) - set(FLAGS):
        raise UsageError(f"--flags {flags}: are letters of {FLAGS}")
    if not arguments.name or set(arguments.name) & set("/:\n"):
        raise UsageError(f"--name {arguments.name}: cannot be part of a file name and of a registration")
    if arguments.uninstall:
        return _uninstall(arguments.name)
    host = _host(arguments.host)
    if arguments.install:
        return _install(arguments.name, host, flags)
    if arguments.format == "binfmt.d":
        print("# 32-bit MIPS programs (o32) for mipsrec; made by mipsrec binfmt")
    for kind in kinds(arguments.name):
        print(registration(kind, host, flags))
    return 0
