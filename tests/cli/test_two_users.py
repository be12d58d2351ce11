"""A process whose real and effective user or group differ trusts root alone, in Python and in the host."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.others import open_to_others
from tests.support.paths import PREBUILT, ROOT
from tests.support.powers import need_to

USER = 12345
TRUSTED = {
    (0, 0, 1, 1): {"of-root"}, (USER, USER, 1, 1): {"of-root", "of-user"}, (USER, 0, 1, 1): {"of-root"},
    (0, USER, 1, 1): {"of-root"}, (USER, USER + 1, 1, 1): {"of-root"}, (USER, USER, 1, 2): {"of-root"},
}  # fmt: skip
"""By real and effective user and group: whose files are taken."""

ASKING = """
import os, subprocess, sys
from pathlib import Path
sys.path.insert(0, {root!r})
from mipsrec import trust
folder = Path({folder!r})
os.chdir("/")
for ids in {users!r}:
    real, effective, group, effective_group = ids
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setresgid(group, effective_group, effective_group)
        os.setresuid(real, effective, effective)
        for name in ("of-root", "of-user"):
            library = folder / name / "lib.so"
            words = [folder / "mipsrec-host", "--library", library, folder / "hello.elf"]
            said = subprocess.run(words, capture_output=True, text=True).stderr
            print(*ids, name, trust.distrust(library), said.partition("lib.so: ")[2].strip(), sep="|")
        sys.stdout.flush()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""


@pytest.fixture
def shared(host: Path) -> Iterator[Path]:
    """A folder that others may enter, with the host, and what is no library in a folder of root and one of the user."""
    need_to("become another user")
    need_to("give files away")
    with open_to_others() as folder:
        shutil.copy(host, folder / "mipsrec-host")
        shutil.copy(PREBUILT / "mips/hello.elf", folder / "hello.elf")
        for name, owner in (("of-root", 0), ("of-user", USER)):
            (folder / name).mkdir()
            (folder / name / "lib.so").write_text("no library")
            for path in (folder / name, folder / name / "lib.so"):
                os.chown(path, owner, owner)
        yield folder


def test_whose_files_are_trusted(shared: Path) -> None:
    text = ASKING.format(root=str(ROOT), folder=str(shared), users=[*TRUSTED])
    result = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=600, check=False)
    assert result.returncode == 0, result.stderr
    lines = [line.split("|") for line in result.stdout.splitlines()]
    assert len(lines) == 2 * len(TRUSTED)
    for *words, name, distrust, said in lines:
        real, effective, group, effective_group = map(int, words)
        trusted = name in TRUSTED[real, effective, group, effective_group]
        assert (distrust == "None") == trusted, (words, name, distrust)
        assert ("not an ELF file" in said, "another user" in said) == (trusted, not trusted), (words, said)
