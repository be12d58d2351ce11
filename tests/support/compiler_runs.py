"""Runs compilers, and takes again what one made of the same words and files in this run of the tests.

Many tests have the same guest compiled, or sources that all samples share.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.support.paths import GUESTS, ROOT, SAMPLES

KEPT = "MIPSREC_TESTS_COMPILED"
"""The variable that names the folder for this; tests/conftest.py makes one for a run."""


def run_compiler(command: Sequence[str | Path], output: Path) -> None:
    """Have a compiler make `output`, which is one of its words; fails with the compiler's message."""
    words = [str(word) for word in command]

    def compile_now() -> None:
        result = subprocess.run(words, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr

    made_once_of(words, output, Path.cwd(), compile_now)


def made_once_of(words: list[str], output: Path, cwd: Path, make: Callable[[], None]) -> None:
    """Have `output` made by `make`, or copy what it was when the same words and files made it."""
    key, folder = _key(words, output, cwd), os.environ.get(KEPT)
    if key is None or folder is None:
        return make()
    kept = Path(folder) / key
    if not kept.is_file():
        make()
        handle, name = tempfile.mkstemp(dir=folder)
        os.close(handle)
        shutil.copy(output, name)
        os.replace(name, kept)
        return None
    shutil.copy(kept, output)


def _key(words: list[str], output: Path, cwd: Path) -> str | None:
    """Return what names a compilation; None where its result says in which folder it was made, or depends on more."""
    digest = hashlib.blake2b(_headers(), digest_size=16)
    debugged = any(re.match(r"-g(\d|dwarf|$)", word) for word in words)  # then the result has the sources' folder
    for word in words:
        if word == str(output):
            text = b"output"
        elif os.path.isfile(cwd / word):
            name = str(cwd / word) if debugged else os.path.basename(word)
            text = name.encode() + b"\0" + (cwd / word).read_bytes()
        elif tempfile.gettempdir() in word.replace(str(ROOT), ""):
            return None
        else:
            text = word.encode()
        digest.update(b"%d %s" % (len(text), text))
    return digest.hexdigest()


@functools.cache
def _headers() -> bytes:
    """Return a digest of all sources that a guest may include."""
    digest = hashlib.blake2b()
    for folder in (GUESTS, SAMPLES):
        for path in sorted(path for path in folder.rglob("*") if path.suffix in (".h", ".c", ".cc", ".S")):
            digest.update(str(path).encode() + path.read_bytes())
    return digest.digest()
