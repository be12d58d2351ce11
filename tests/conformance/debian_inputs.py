"""The files that the rows of tests/guests/debian/programs.json name below /w."""

from __future__ import annotations

import hashlib
import lzma
import os
import random
import struct
import subprocess
from pathlib import Path

from tests.support.debian import kept_folder, locked
from tests.support.paths import GUESTS

DATA = GUESTS / "debian"
TEXT20_SHA256 = "db7d7dbedb05ca8038b2f6d6485b7067a1e799394f74ee819ef94c0f512d4d1c"
_SYLLABLES = (
    "ba", "ke", "ri", "to", "mu", "sha", "len", "dor", "vi", "qua", "ster", "ing", "ed", "al", "on", "pre", "con", "ti",
)  # fmt: skip


def _text20() -> bytes:
    """Return 20 MB of words, noise and numbers; the sums in programs.json are of these very bytes."""
    chance = random.Random(20261121)
    words = ["".join(chance.choice(_SYLLABLES) for _ in range(chance.randint(1, 4))) for _ in range(6000)]
    weights = [1.0 / (rank + 1) for rank in range(6000)]

    def text(size: int) -> bytes:
        lines, length = [], 0
        while length < size:
            lines.append(" ".join(chance.choices(words, weights, k=chance.randint(5, 18))))
            length += len(lines[-1]) + 1
        return ("\n".join(lines) + "\n").encode()

    text(200_000)  # small.txt of the inputs, which comes first
    parts = []
    for part in range(10):
        parts += [text(1_200_000), chance.randbytes(200_000)]
        parts += [struct.pack("<IHHf", i, i * 7 & 65535, part, i * 0.37) for i in range(50_000)]
    return b"".join(parts)


def _large_input() -> Path:
    """Return the file text20.bin, made once."""
    path = kept_folder() / "text20.bin"
    with locked(path):
        if not path.exists():
            data = _text20()
            assert hashlib.sha256(data).hexdigest() == TEXT20_SHA256
            partial = path.with_suffix(".partial")
            partial.write_bytes(data)
            partial.replace(path)
    return path


def put_inputs(root: Path, large: bool) -> None:
    """Put the inputs into ROOT/w once, text20.bin if it is wanted."""
    folder = root / "w"
    with locked(folder):
        if not (folder / "small.txt").exists():
            command = ["tar", "--extract", "--no-same-owner", "--directory", str(folder)]
            subprocess.run(command, check=True, input=lzma.decompress((DATA / "inputs.tar.xz").read_bytes()))
        if large and not (folder / "text20.bin").exists():
            os.link(_large_input(), folder / "text20.bin")
