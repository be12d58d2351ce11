"""What the host settled at its start is not used where its paths may name other files: no server, no note.

A path names the same file only while the root, the mounts and the user namespace of the process are those of its start,
and no other process can change its root.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from mipsrec import pipeline
from mipsrec.cache import layers
from mipsrec.cache.folders import source_digest
from mipsrec.cache.notes import name_of
from tests.cli.others import GIVES_AWAY, open_to_others
from tests.runtime.twins import compile_guest
from tests.server.starting import Script
from tests.support.paths import PREBUILT
from tests.support.powers import need_to

FILE = PREBUILT / "mipsel/hello.elf"
"""The guest maps it when all is done; it is old enough for a note."""
ROOT, MOUNTS, USERS = "chroot", "mount file systems", "make user namespaces"
DEEDS = {
    "chroot": ROOT, "mount": MOUNTS, "umount": MOUNTS, "move_mount": MOUNTS, "mount_setattr": MOUNTS,
    "unshare mounts": MOUNTS, "unshare users": USERS, "child with mounts": MOUNTS, "child with users": USERS,
    "child with the same root": ROOT, "root changed by child": ROOT,
}  # fmt: skip
COVERS = "file covered by child"
IN_MOUNTS = 'mount -t tmpfs tmpfs "$0" && exec "$@"'


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_guest(tmp_path_factory.mktemp("guest"), "little", "changed_roots")


def change(script: Script, guest: Path, folder: Path, deed: str, *more: str, what: str = "mounted") -> bool:
    """Have the guest do a deed, and compute for longer than a server waits; return whether the file has a note then."""
    (script.cache / "code" / source_digest() / layers.variants_to_run(pipeline.Options())[-1]).mkdir(parents=True)
    (folder / "mounted").mkdir()
    mounts = deed == COVERS or DEEDS.get(deed) == MOUNTS
    apart = ["unshare", "-m", "sh", "-ec", IN_MOUNTS, folder / "mounted"] if mounts else []
    words = [*apart, script.host, "--stats", *script.words(), guest, deed, folder / what, FILE, *more]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    samples = re.findall(r"(\d+) samples, ", done.stderr)  # of processor time, wherever it was spent
    assert more or max(map(int, samples)) > 15, done.stderr
    return (script.cache / "identities" / name_of(FILE.stat())).exists()


def test_where_nothing_changes(script: Script, guest: Path, tmp_path: Path) -> None:
    assert change(script, guest, tmp_path, "nothing")
    assert len(script.starts()) == 1 and script.fifo.read_text() != ""


@pytest.mark.parametrize("deed", DEEDS)
def test_no_server_and_no_note_after(deed: str, script: Script, guest: Path, tmp_path: Path) -> None:
    need_to(DEEDS[deed])
    assert not change(script, guest, tmp_path, deed)
    assert script.starts() == []


@pytest.mark.parametrize("deed", ["unshare mounts", "child with users", "child with the same root"])
def test_no_server_for_what_it_executes(deed: str, script: Script, guest: Path, tmp_path: Path) -> None:
    """That begins anew, but for a root that it shares: the other process can change it at any time."""
    need_to(DEEDS[deed])
    noted = change(script, guest, tmp_path, deed, "execute")
    assert noted <= ("root" not in deed)
    assert script.starts() == []


@pytest.mark.parametrize("more", [(), ("execute",)])
def test_no_server_that_a_child_has_covered(
    more: tuple[str, ...], script: Script, guest: Path, tmp_path: Path
) -> None:
    """As mount(8) does it for a shell: the server's file is another one now, also for what is executed later."""
    need_to(MOUNTS)
    change(script, guest, tmp_path, COVERS, *more, what=str(script.cache.with_name("script")))
    assert script.starts() == []


@GIVES_AWAY
def test_a_cache_that_another_user_has_made_anew(host: Path, guest: Path) -> None:
    """In a sticky folder that is possible once the cache was removed; what was judged at the start is not there."""
    with open_to_others() as folder:
        folder.chmod(0o1777)
        script = Script(host, folder / "cache")
        script.cache.mkdir(mode=0o700)
        script.prepare()
        assert not change(script, guest, folder, "exchange", what="cache")
        assert script.starts() == [] and os.listdir(script.cache) == ["identities"]
