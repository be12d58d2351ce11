"""TestFloat as a guest: Debian's sources of SoftFloat and TestFloat, which come with qemu's, and testfloat/guest.c.

Enters: MIPSREC_QEMU_SOURCE, a folder with qemu's sources, or a Debian system whose archive has them; they are fetched
with a list of sources of our own and kept in the tests' cache. Leaves: a MIPS program that compares the instructions of
its machine with SoftFloat.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from mipsrec.commands import bench_sources
from tests.support.compiled import ORDERS
from tests.support.paths import SAMPLES, TESTS
from tests.support.tools import missing, need

HERE = TESTS / "testfloat"
FREESTANDING = SAMPLES / "freestanding"
SUPPORT = [FREESTANDING / name for name in ("start.S", "out.c", "memory.c", "arithmetic.c")]
SOFTFLOAT = (
    "s_mul64To128M s_approxRecip_1Ks s_approxRecip32_1 s_approxRecipSqrt_1Ks s_approxRecipSqrt32_1 s_roundToI32 "
    "s_roundToI64 s_roundMToI64 s_shiftRightJamM s_shortShiftRightJamM s_normSubnormalF32Sig s_roundPackToF32 "
    "s_normRoundPackToF32 s_addMagsF32 s_subMagsF32 s_normSubnormalF64Sig s_roundPackToF64 s_normRoundPackToF64 "
    "s_addMagsF64 s_subMagsF64 softfloat_state i32_to_f32 i32_to_f64 i64_to_f32 i64_to_f64 f32_to_i32 f32_to_i64 "
    "f32_to_f64 f32_add f32_sub f32_mul f32_div f32_sqrt f32_eq f32_lt f32_lt_quiet f64_to_i32 f64_to_i64 f64_to_f32 "
    "f64_add f64_sub f64_mul f64_div f64_sqrt f64_eq f64_lt f64_lt_quiet"
).split()
TESTFLOAT = "genCases_common genCases_f32 genCases_f64 genCases_i32 genCases_i64 random".split()


def _run(command: list[str], folder: Path) -> str:
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, f"{' '.join(command)}:\n{result.stdout[-2000:]}{result.stderr[-2000:]}"
    return result.stdout


def _fetch(folder: Path) -> None:
    """Unpack tests/fp of qemu's sources into a folder."""
    need("apt-get")
    sources = bench_sources.source_list(bench_sources.archives())
    if not sources:
        missing("an archive with the sources of qemu", "qemu (sources; or set MIPSREC_QEMU_SOURCE)")
    work = Path(tempfile.mkdtemp(dir=folder.parent))
    (work / "lists" / "partial").mkdir(parents=True)
    (work / "sources.list").write_text(sources)
    settings = {
        "Dir::Etc::SourceList": work / "sources.list",
        "Dir::Etc::SourceParts": "-",
        "Dir::State::Lists": work / "lists",
        "Dir::Cache::pkgcache": "",
        "Dir::Cache::srcpkgcache": "",
        "APT::Sandbox::User": "root",
    }
    options = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
    _run(["apt-get", *options, "update"], work)
    _run(["apt-get", *options, "--download-only", "source", "qemu"], work)
    (archive,) = work.glob("qemu_*.orig.tar.xz")
    _run([need("tar"), "xf", str(archive), "--strip-components=1", "--wildcards", "*/tests/fp/*"], work)
    (work / "tests" / "fp").rename(folder)
    shutil.rmtree(work)


def _sources() -> Path:
    """Return the folder tests/fp of qemu's sources."""
    given = os.environ.get("MIPSREC_QEMU_SOURCE")
    if given:
        return Path(given) / "tests" / "fp"
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mipsrec-tests"
    cache.mkdir(parents=True, exist_ok=True)
    folder = cache / "qemu-tests-fp"
    with (cache / "qemu.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            _fetch(folder)
    return folder


def build(folder: Path, byte_order: str, fp: str) -> Path:
    """Return the program, of FR=0 or FR=1 as `fp` is "fp32" or "fp64"."""
    triple = ORDERS[byte_order]
    compiler = need(f"{triple}-gcc", f"gcc-{triple}")
    sources = _sources()
    softfloat = sources / "berkeley-softfloat-3" / "source"
    testfloat = sources / "berkeley-testfloat-3" / "source"
    both = folder / "softfloat.c"
    both.write_text('#include "platform.h"\n' + "".join(f'#include "{softfloat}/{name}.c"\n' for name in SOFTFLOAT))
    program = folder / f"testfloat-{byte_order}-{fp}"
    includes = [HERE, softfloat / "include", testfloat, FREESTANDING]
    flags = ["-O2", "-w", "-mips32r2", f"-m{fp}", "-mhard-float", "-DFLOAT64", "-DSAMPLE_FREESTANDING"]
    flags += ["-fno-asynchronous-unwind-tables", "-ffunction-sections", "-nostdlib", "-static", "-Wl,--gc-sections"]
    files = [both, HERE / "specialize.c", HERE / "guest.c", *SUPPORT]
    files += [testfloat / f"{name}.c" for name in TESTFLOAT]
    _run([compiler, *flags, *(f"-I{path}" for path in includes), *map(str, files), "-o", str(program)], folder)
    return program
