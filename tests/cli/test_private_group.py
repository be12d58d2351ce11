"""A group that only its user is in is not others: what it may write is trusted, in Python and in the host alike.

In a mount namespace the lists of users and groups are files of the test. A child with the rights of the user of the
lists asks Python, and runs the host with a library that its group may write.
"""

from __future__ import annotations

import os
import shutil
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from mipsrec.files import private_group
from mipsrec.files.private_group import is_private
from tests.cli.others import open_to_others
from tests.support.mounts import in_namespace
from tests.support.paths import PREBUILT, ROOT

USER = 12345
PASSWD = f"root:x:0:0:root:/root:/bin/sh\nann:x:{USER}:{USER}::/home/ann:/bin/sh\n"
GROUP = f"root:x:0:\nstaff:x:50:ann,bob\nann:x:{USER}:\n"
SWITCH = "# a comment\npasswd: files systemd\ngroup:\tfiles [SUCCESS=merge] systemd\nhosts: files dns\nnetgroup: nis\n"
BOB = "bob:x:12346:"


@dataclass(frozen=True)
class Lists:
    """What /etc says."""

    passwd: str = PASSWD
    group: str = GROUP
    switch: str = SWITCH
    mode: int = 0o644
    owner: int = 0


CASES: dict[str, tuple[Lists, bool]] = {
    "as systems make it": (Lists(), True),
    "the user is named as a member": (Lists(group=GROUP.replace("12345:", "12345:ann")), True),
    "without an end of line": (Lists(PASSWD.rstrip(), GROUP.rstrip()), True),
    "users of files alone": (Lists(switch="passwd: files\ngroup: files\n"), True),
    "another member": (Lists(group=GROUP.replace("12345:", "12345:ann,bob")), False),
    "another user's first group": (Lists(f"{PASSWD}{BOB}{USER}::/:/bin/sh\n"), False),
    "not the first group": (Lists(PASSWD.replace(f":{USER}::", ":50::")), False),
    "another name": (Lists(group=GROUP.replace("ann:", "users:")), False),
    "no such group": (Lists(group="root:x:0:\n"), False),
    "no such user": (Lists("root:x:0:0:root:/root:/bin/sh\n"), False),
    "two users of a number": (Lists(f"{PASSWD}ann2:x:{USER}:50::/:/bin/sh\n"), False),
    "two users of a name": (Lists(f"{PASSWD}ann:x:4:4::/:/bin/sh\n"), False),
    "two groups of a number": (Lists(group=f"{GROUP}users:x:{USER}:bob\n"), False),
    "two groups of a name": (Lists(group=f"{GROUP}ann:x:51:bob\n"), False),
    "a password": (Lists(group=GROUP.replace("ann:x:12", "ann:$1$ab:12")), False),
    "NIS users": (Lists(f"{PASSWD}+::::::\n"), False),
    "NIS groups": (Lists(group=f"{GROUP}+:::\n"), False),
    "a comment": (Lists(group=f"# groups\n{GROUP}"), False),
    "a field too many": (Lists(f"{PASSWD}bob:x:1:1::/:/bin/sh:\n"), False),
    "a line cut off": (Lists(group=f"{GROUP}bob:x"), False),
    "no number": (Lists(group=f"{GROUP}bob:x:-1:\n"), False),
    "a number too large": (Lists(group=f"{GROUP}bob:x:4294967295:\n"), False),
    "a zero byte": (Lists(group=f"{GROUP}\0"), False),
    "too large": (Lists(group=GROUP + "\n" * (1 << 20)), False),
    "users of a directory": (Lists(switch=SWITCH.replace("passwd: files", "passwd: files sss")), False),
    "groups of a directory": (Lists(switch=SWITCH.replace("[SUCCESS=merge]", "ldap")), False),
    "an action": (Lists(switch=SWITCH.replace("[SUCCESS=merge]", "[NOTFOUND=return]")), False),
    "lists that the group may write": (Lists(mode=0o664), False),
    "lists of another user": (Lists(owner=USER), False),
}  # fmt: skip

ASKING = """
import os, subprocess, sys
from pathlib import Path
sys.path.insert(0, {root!r})
from mipsrec.files import trust
from tests.cli.test_private_group import CASES, USER
folder, program = Path({folder!r}), {program!r}
for name, (lists, _) in CASES.items():
    for which, text in (("passwd", lists.passwd), ("group", lists.group), ("nsswitch.conf", lists.switch)):
        path = folder / which
        path.write_text(text)
        path.chmod(lists.mode)
        os.chown(path, lists.owner, 0)
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setresgid(USER, USER, USER)
        os.setresuid(USER, USER, USER)
        for place in {places!r}[: 4 if name == "as systems make it" else 1]:
            command = [folder / "mipsrec-host", "--library", place, program]
            host = subprocess.run(command, capture_output=True, text=True)
            said = "distrusted" if "others can write it" in host.stderr else host.stderr.rpartition(": ")[2].strip()
            print(name, os.path.basename(os.path.dirname(place)), trust.distrust(place), said, sep="|")
        sys.stdout.flush()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""


@pytest.fixture
def shared(host: Path) -> Iterator[Path]:
    """A folder that others may enter, with the host and a folder of the user's that its group may write."""
    with open_to_others() as folder:
        shutil.copy(host, folder / "mipsrec-host")
        shutil.copy(PREBUILT / "mips/hello.elf", folder / "hello.elf")
        for name in ("passwd", "group", "nsswitch.conf"):
            (folder / name).touch()
        for name, mode in (("mine", 0o775), ("list", 0o775), ("open", 0o777), ("root", 0o775)):
            (folder / name).mkdir()
            (folder / name / "lib.so").write_text("no library")
            (folder / name / "lib.so").chmod(0o664)
            for path in (folder / name, folder / name / "lib.so"):
                os.chown(path, USER, 0 if name == "root" else USER)
            (folder / name).chmod(mode)
        yield folder


def add_list(path: Path) -> None:
    """Let a further user write a folder by an access control list; skips where the file system has none."""
    nobody = 0xFFFFFFFF
    entries = ((0x01, 7, nobody), (0x02, 7, 4242), (0x04, 7, nobody), (0x10, 7, nobody), (0x20, 5, nobody))
    value = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)
    try:
        os.setxattr(path, "system.posix_acl_access", value)
    except OSError as error:
        pytest.skip(f"NOT TESTED: {path} has no access control lists ({error.strerror})")


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: only root may give files away")
def test_lists_of_users_and_groups(shared: Path) -> None:
    add_list(shared / "list")
    mounts = [f"mount --bind {shared}/{name} /etc/{name}" for name in ("passwd", "group", "nsswitch.conf")]
    places = [str(shared / name / "lib.so") for name in ("mine", "list", "open", "root")]
    text = ASKING.format(root=str(ROOT), folder=str(shared), program=str(shared / "hello.elf"), places=places)
    result = in_namespace(mounts, [sys.executable, "-c", text])
    assert result.returncode == 0, result.stderr
    others = "others can write it, or a folder above it"
    expected = [
        f"{name}|{place}|None|not an ELF file" if private and place == "mine" else f"{name}|{place}|{others}|distrusted"
        for name, (_, private) in CASES.items()
        for place in (("mine", "list", "open", "root") if name == "as systems make it" else ("mine",))
    ]  # fmt: skip
    assert result.stdout.splitlines() == expected


def test_numbers_that_stand_for_others() -> None:
    assert not is_private(65534)
    assert not is_private(2**32 - 2)


def test_a_process_between_two_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has rights that its user has not, and its user can write what his group can."""
    monkeypatch.setattr(private_group, "_check_sources", lambda: None)
    monkeypatch.setattr(private_group, "_name_of_only_user", lambda user, group: "ann")
    monkeypatch.setattr(private_group, "_check_group", lambda group, name: None)
    monkeypatch.setattr(private_group, "_is_roots", lambda status: True)
    assert is_private(12345)
    for kind, me in (("uid", os.geteuid()), ("gid", os.getegid())):
        with monkeypatch.context() as changed:
            changed.setattr(os, f"get{kind}", lambda me=me: me + 1)
            changed.setattr(os, f"getres{kind}", lambda me=me: (me + 1, me, me))
            assert not is_private(12345)
