"""The host unpacks what Python's zlib has packed, and refuses what is damaged."""

from __future__ import annotations

import ctypes
import random
import subprocess
import zlib

import pytest

from mipsrec.host_build import runtime_folder
from tests.support.tools import need

DATA = random.Random(1).randbytes(70_000)
REPEATED = b"".join(DATA[at : at + 40] * 3 for at in range(0, 9000, 10))
CASES = {"empty": b"", "one": b"a", "random": DATA, "repeated": REPEATED, "zeros": bytes(300_000)}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    path = tmp_path_factory.mktemp("inflate") / "inflate.so"
    source = runtime_folder() / "base" / "inflate.c"
    options = ["-std=c11", "-shared", "-fPIC", "-fsanitize=undefined", "-fno-sanitize-recover", f"-I{runtime_folder()}"]
    subprocess.run([need("cc", "gcc"), *options, source, "-o", path], check=True)
    found = ctypes.CDLL(str(path))
    found.mr_inflate.argtypes = ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t
    found.mr_inflate.restype = ctypes.c_bool
    return found


def unpacked(library: ctypes.CDLL, packed: bytes, size_bytes: int) -> bytes | None:
    """Return what the host makes of a stream that should unpack to some bytes; None where it refuses."""
    found = ctypes.create_string_buffer(size_bytes + 1)
    fits = library.mr_inflate(packed, len(packed), found, size_bytes)
    assert found.raw[size_bytes:] == b"\0"  # nothing was written beyond
    return found.raw[:size_bytes] if fits else None


@pytest.mark.parametrize("strategy", [zlib.Z_DEFAULT_STRATEGY, zlib.Z_FIXED])
@pytest.mark.parametrize("level", [0, 1, 6, 9])
@pytest.mark.parametrize("name", CASES)
def test_same_bytes(library: ctypes.CDLL, name: str, level: int, strategy: int) -> None:
    data = CASES[name]
    packer = zlib.compressobj(level, zlib.DEFLATED, 15, 9, strategy)
    packed = packer.compress(data) + packer.flush()
    assert unpacked(library, packed, len(data)) == data
    assert unpacked(library, packed, len(data) + 1) is None
    assert data == b"" or unpacked(library, packed, len(data) - 1) is None


def test_damaged(library: ctypes.CDLL) -> None:
    chosen = random.Random(2)
    packed = zlib.compress(REPEATED[:3000])
    for size in range(len(packed) - 4):  # the checksum is not needed
        assert unpacked(library, packed[:size], 3000) is None
    for _ in range(3000):
        damaged = bytearray(packed)
        for _ in range(chosen.randint(1, 4)):
            damaged[chosen.randrange(len(damaged))] = chosen.randrange(256)
        unpacked(library, bytes(damaged), 3000)
