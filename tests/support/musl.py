"""Static programs with Debian's musl, which its mipsel port has, too. Zig's, for big-endian guests, is compiled first.

Enters: a source, an architecture as Debian names it. Leaves: a program.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.support.debian import unpacked
from tests.support.tools import need

COMPILERS = {"mipsel": "mipsel-linux-gnu-gcc", "amd64": "gcc"}
NAMES = {"mipsel": "mipsel-linux-musl", "amd64": "x86_64-linux-musl"}


def compile_with_musl(
    sources: Sequence[Path | str], output: Path, architecture: str, *flags: str, pie: bool = False
) -> Path:
    """Compile a static program, position-independent or not; what musl-gcc's specs say, for any compiler."""
    compiler = need(COMPILERS[architecture], f"gcc-{NAMES[architecture].replace('musl', 'gnu')}")
    root = unpacked(["musl-dev"], architecture)
    libraries, headers = root / "usr/lib" / NAMES[architecture], root / "usr/include" / NAMES[architecture]
    own = subprocess.run([compiler, "-print-file-name=include"], capture_output=True, text=True, check=True).stdout
    includes = ["-nostdinc", "-isystem", headers, "-isystem", own.strip()]
    kind = ["-fPIE", "-pie", "-Wl,--no-dynamic-linker,-Bstatic"] if pie else ["-static", "-no-pie"]
    start = [libraries / ("rcrt1.o" if pie else "crt1.o"), libraries / "crti.o"]
    end = ["-Wl,--start-group", libraries / "libc.a", "-lgcc", "-Wl,--end-group", libraries / "crtn.o"]
    command = [compiler, *kind, *includes, "-nostdlib", *flags, *start, *sources, *end, "-o", output]
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return output
