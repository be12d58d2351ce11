"""`make conformance`: programs recompiled and interpreted, in the full matrices, beside what is known of them.

make conformance ARGS='gcc'                  gcc's own tests (under 40 minutes on two cores)
make conformance ARGS='gcc --suite ieee'     some of them; ARGS='gcc --help' tells the choices
make conformance ARGS='targets'              qemu's tests of the DSP module, gcc's of MIPS alone; --help
make conformance ARGS='floats'               floating point against SoftFloat, on TestFloat's operands
make conformance ARGS='tiers'                vectors, switches of tiers, threads, unwinding, the server, gdb: all
make conformance ARGS='programs'             samples and programs beside native builds and qemu-user (hours)
make conformance ARGS='debian --build'        84 commands on Debian's packages, three ways (building takes hours)
make conformance ARGS='chroot'               Debian for mipsel after chroot: apt, gcc, a package from its source; --help
make conformance ARGS='generated'            luajit and nodejs, which generate code, beside qemu-user
make conformance ARGS='firmware'             busybox, dropbear, Lua and more in each kind of code; --help
make conformance ARGS='programs -k test_cxx' what follows goes to pytest
make conformance                             all
"""

from __future__ import annotations

import os
import subprocess
import sys

from tests.support.paths import ROOT, TESTS
from tests.support.tools import outside_pytest

OTHERS = {"programs", "testfloat"}
"""Folders of tests that have parts of their own here."""
ALL = {"MIPSREC_PROGRAMS": "all", "MIPSREC_SAMPLES": "all", "MIPSREC_TESTFLOAT": "all", "MIPSREC_TIERS": "all"}


def _pytest(files: tuple[str, ...], words: list[str]) -> int:
    command = [sys.executable, "-m", "pytest", "--verbose", "--durations=20", *(str(TESTS / name) for name in files)]
    return subprocess.run([*command, *words], cwd=ROOT, env=os.environ | ALL, check=False).returncode


def programs(words: list[str]) -> int:
    """Run pytest on the full matrices; return its exit status."""
    return _pytest(("programs", "cli/test_verify_agreement.py"), words)


def floats(words: list[str]) -> int:
    """Run TestFloat's level 1; return pytest's exit status."""
    return _pytest(("testfloat",), words)


def tiers(words: list[str]) -> int:
    """Run the tests of which `make test` runs a sample (support/sampling.py); return pytest's exit status."""
    folders = {path.parent.name for path in TESTS.glob("*/test_*.py")}
    return _pytest(tuple(sorted(folders - OTHERS)), words)


def gcc(words: list[str]) -> int:
    """Run gcc's tests; return the exit status."""
    from tests.conformance import gcc as gcc_conformance

    return outside_pytest(lambda: gcc_conformance.main(words))


def debian(words: list[str]) -> int:
    """Run Debian's programs; return the exit status."""
    from tests.conformance import debian_programs as debian_conformance

    return outside_pytest(lambda: debian_conformance.main(words))


def generated(words: list[str]) -> int:
    """Run programs that generate code; return the exit status."""
    from tests.conformance import generated_code as generated_conformance

    return outside_pytest(lambda: generated_conformance.main(words))


def chroot(words: list[str]) -> int:
    """Run Debian for mipsel after chroot; return the exit status."""
    from tests.conformance import chroot as chroot_conformance

    return outside_pytest(lambda: chroot_conformance.main(words))


def firmware(words: list[str]) -> int:
    """Run firmwares made from Debian's sources; return the exit status."""
    from tests.conformance import firmware as firmware_conformance

    return outside_pytest(lambda: firmware_conformance.main(words))


def targets(words: list[str]) -> int:
    """Run tests that others have for MIPS alone; return the exit status."""
    from tests.conformance import target_programs as target_conformance

    return outside_pytest(lambda: target_conformance.main(words))


PARTS = {
    "gcc": gcc, "targets": targets, "floats": floats, "tiers": tiers, "programs": programs,
    "debian": debian, "generated": generated, "chroot": chroot, "firmware": firmware,
}  # fmt: skip


def main(words: list[str]) -> int:
    """Run what the words say; return the exit status."""
    if not words:
        return max(part(["--build"] if name == "debian" else []) for name, part in PARTS.items())
    if words[0] in PARTS:
        return PARTS[words[0]](words[1:])
    print(__doc__)
    return 0 if words[0] in ("--help", "-h") else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
