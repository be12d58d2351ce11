"""Whom a process trusts that is between two users or groups, or whose user has no number: in Python and in the host."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.others import open_to_others
from tests.support.paths import PREBUILT, ROOT
from tests.support.powers import need_to

pytestmark = pytest.mark.every_case

USER = 12345
TRUSTED = {
    (0, 0, 1, 1): {"of-root"}, (USER, USER, 1, 1): {"of-root", "of-user"}, (USER, 0, 1, 1): {"of-root"},
    (0, USER, 1, 1): {"of-root"}, (USER, USER + 1, 1, 1): {"of-root"}, (USER, USER, 1, 2): {"of-root"},
}  # fmt: skip
"""By real and effective user and group: whose files are taken."""

ASKING = """
import os, subprocess, sys
from pathlib import Path
from typing import Any
sys.path.insert(0, {root!r})
from mipsrec.files import trust
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


# ---- users without a number ----

OVERFLOW = 65534
JUDGES = "import sys; sys.path.insert(0, {root!r}); from mipsrec.files import trust; print(trust.distrust({library!r}))"
ASKS = """
import os, sys
sys.path.insert(0, {root!r})
from mipsrec.files import trust
os.chdir("/")
os.setgroups([])
os.setresgid(*{groups})
os.setresuid(*{users})
print(trust.distrust({library!r}))
"""


def asks(library: Path, users: tuple[int, int, int], groups: tuple[int, int, int]) -> list[str]:
    """Return the command in which Python judges a library, as real, effective and saved users and groups."""
    return [sys.executable, "-c", ASKS.format(root=str(ROOT), library=str(library), users=users, groups=groups)]


def library_of(owner: int, shared: Path) -> Path:
    library = shared / "of-user/lib.so"
    for path in (library.parent, library):
        os.chown(path, owner, owner)
    return library


@pytest.mark.parametrize("owner", [USER, OVERFLOW])
@pytest.mark.parametrize("options", [(), ("--map-user=65534", "--map-group=65534")])
def test_where_users_have_no_numbers(shared: Path, owner: int, options: tuple[str, ...]) -> None:
    """All of them seem to be one, which this process seems to be, too."""
    need_to("make user namespaces")
    library = library_of(owner, shared)
    runs = [shared / "mipsrec-host", "--library", library, shared / "hello.elf"]
    in_python = [sys.executable, "-c", JUDGES.format(root=str(ROOT), library=str(library))]
    for words in (in_python, runs):
        done = subprocess.run(["unshare", "-U", *options, *words], capture_output=True, text=True, check=False)
        assert "belongs to another user" in done.stdout + done.stderr


def test_the_user_of_that_number(shared: Path) -> None:
    """Where all users have numbers, it is as good as others."""
    if Path("/proc/self/uid_map").read_text().split() != ["0", "0", str(2**32 - 1)]:
        pytest.skip("NOT TESTED: not all users have numbers here")
    library = library_of(OVERFLOW, shared)
    words = [shared / "mipsrec-host", "--library", library, shared / "hello.elf"]
    ids: dict[str, Any] = {"user": OVERFLOW, "group": OVERFLOW, "extra_groups": []}
    done = subprocess.run(words, capture_output=True, text=True, cwd="/", **ids)
    assert "not an ELF file" in done.stderr
    words = asks(library, (OVERFLOW,) * 3, (OVERFLOW,) * 3)
    assert subprocess.run(words, capture_output=True, text=True).stdout == "None\n"


@pytest.mark.parametrize("users, groups, trusted", [((USER,) * 3, (1, 1, 1), True), ((USER, USER, 0), (1, 1, 1), False),
                                                    ((USER,) * 3, (1, 1, 0), False)])  # fmt: skip
def test_saved_ones_count(
    shared: Path, users: tuple[int, int, int], groups: tuple[int, int, int], trusted: bool
) -> None:
    """The process can become that user again. Of the host, tests/server/test_given_up_rights.py asks the same."""
    said = subprocess.run(asks(library_of(USER, shared), users, groups), capture_output=True, text=True).stdout
    assert (said == "None\n", "another user" in said) == (trusted, not trusted)
