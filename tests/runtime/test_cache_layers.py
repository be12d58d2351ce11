"""The host and layers behind the cache: in which order it asks them, which it does not trust, that it writes none."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mipsrec import pipeline
from mipsrec.cache import layers
from mipsrec.cache.folders import code_path, source_digest, variant_of
from mipsrec.elf import load_elf
from mipsrec.files.private_group import is_private
from mipsrec.fill_store import store
from tests.support.compiled import ORDERS
from tests.support.dynamic import checked, recompiled_files, summing_guests, used
from tests.support.mounts import in_namespace
from tests.support.powers import may, only_who_may
from tests.support.settled import settle
from tests.support.tools import need

OPTIONS = pipeline.Options(opt=0, jobs=1)
GIVES_AWAY = only_who_may("give files away")
NOBODY = 65534


@dataclass
class Layered:
    """A guest `sum` with its library libfill.so, an empty cache, and folders to be layers."""

    host: Path
    guest: Path
    folder: Path
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def cache(self) -> Path:
        return self.folder / "cache"

    def code(self, name: str, file: str) -> Path:
        """Return where a layer has the code of a file."""
        return code_path(load_elf(self.guest.with_name(file)).identity, OPTIONS, root=self.folder / name)

    def fill(self, name: str, *files: str) -> Path:
        """Put code into a layer; return its folder."""
        for file in files:
            path = self.code(name, file)
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(store(load_elf(self.guest.with_name(file)), OPTIONS), path)
        return self.folder / name

    def command(self, *layers_named: Path | str, words: tuple[object, ...] = ()) -> list[object]:
        named = ["--layers", ":".join(map(str, layers_named))] if layers_named else []
        options = ["--tier", "aot", "--cache", self.cache, *named, "--variant", variant_of(OPTIONS)]
        return [self.host, "--stats", *options, *(words or (self.guest,))]

    def run(self, *layers_named: Path | str, words: tuple[object, ...] = ()) -> str:
        """Run the guest, which must do what it does; return what --stats says."""
        environment = {"HOME": "/nonexistent", **self.environment}
        return checked(subprocess.run(self.command(*layers_named, words=words), capture_output=True, text=True,
                                      timeout=600, cwd=self.folder, env=environment))  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Path, Path]]:
    """A guest of a byte order with its library."""
    return summing_guests(tmp_path_factory)


@pytest.fixture(params=ORDERS)
def layered(
    request: pytest.FixtureRequest, tmp_path: Path, host: Path, made: Callable[[str], tuple[Path, Path]]
) -> Layered:
    (tmp_path / "cache").mkdir()
    return Layered(host, made(request.param)[0], tmp_path)


# ---- order ----


def test_code_is_found_in_all_layers(layered: Layered) -> None:
    one, two = layered.fill("one", "sum"), layered.fill("two", "libfill.so")
    assert used(layered.run()) == set()
    assert used(layered.run(one)) == {"sum"}
    assert used(layered.run(one, two)) == used(layered.run(two, one)) == {"sum", "libfill.so"}
    assert used(layered.run("two", "absent", "", "/", "one")) == {"sum", "libfill.so"}


def test_the_variable_names_layers(layered: Layered) -> None:
    one, two = layered.fill("one", "sum"), layered.fill("two", "libfill.so")
    layered.environment["MIPSREC_CACHE_PATH"] = f"/absent:{one}::{two}"
    assert used(layered.run()) == {"sum", "libfill.so"}
    assert used(layered.run("/absent")) == set(), "the option comes before the variable"


def damage(path: Path) -> None:
    path.write_bytes(b"nonsense")


def test_the_cache_comes_first_then_layers_in_order(layered: Layered) -> None:
    """What is damaged tells that it was asked; code that is found before it hides it."""
    order = ("cache", "one", "two")
    for name in order:
        layered.fill(name, "sum")
    for number, name in enumerate(order):
        damage(layered.code(name, "sum"))
        statistics = layered.run(*(layered.folder / name for name in order[1:]))
        assert statistics.count("sum is not used") == number + 1
        assert used(statistics) == (set() if name == "two" else {"sum"})
    shutil.copy(store(load_elf(layered.guest), OPTIONS), layered.code("cache", "sum"))
    assert "is not used" not in layered.run(layered.folder / "one", layered.folder / "two")


def test_system_layers_come_last(layered: Layered) -> None:
    """Both of them, also for a user without a cache, but not where no cache is wanted."""
    root = layered.folder / "root"
    for name, file, place in (("one", "sum", "var/cache/mipsrec"), ("two", "libfill.so", "usr/lib/mipsrec/cache")):
        shutil.copytree(layered.fill(name, file), root / place)
    shutil.copytree(layered.fill("named", "sum"), root / "named")
    shutil.copytree(layered.guest.parent, root / str(layered.guest.parent)[1:])
    shutil.copy(layered.host, root / "host")
    for name in ("proc", "cache"):
        (root / name).mkdir()

    def run(*words: str, **variables: str) -> str:
        homeless = {"MIPSREC_CACHE": "", "XDG_CACHE_HOME": "", "HOME": "/nonexistent", **variables}
        command = ["chroot", root, "/host", "--stats", "--tier", "aot", "--variant", variant_of(OPTIONS), *words]
        return checked(in_namespace([f"mount -t proc proc {root}/proc"], [*command, layered.guest], homeless))

    assert used(run()) == used(run("--cache", "/cache")) == {"sum", "libfill.so"}
    assert used(run(MIPSREC_CACHE="/none")) == used(run("--cache", "")) == set()
    damage(root / "var/cache/mipsrec" / layered.code("one", "sum").relative_to(layered.folder / "one"))
    assert used(run("--cache", "/cache")) == {"libfill.so"}
    statistics = run("--cache", "/cache", "--layers", "/named")
    assert used(statistics) == {"sum", "libfill.so"} and "is not used" not in statistics


def test_code_for_a_lesser_processor_is_used(layered: Layered) -> None:
    """Without --variant, where there is none for this one."""
    one = layered.fill("one", "sum")
    variants = one / "code" / source_digest()
    command = [word for word in layered.command(one) if word not in ("--variant", variant_of(OPTIONS))]
    (variants / variant_of(OPTIONS)).rename(variants / layers.variants_to_run(pipeline.Options())[-1])
    result = subprocess.run(command, capture_output=True, text=True, env={"HOME": "/nonexistent"})
    assert used(checked(result)) == {"sum"}


# ---- trust ----


def open_to(mode: int, part: str) -> Callable[[Layered], None]:
    def change(layered: Layered) -> None:
        path = layered.code("one", "sum")
        parts = {"file": path, "group": path.parent, "variant": path.parents[1], "version": path.parents[2],
                 "layer": layered.folder / "one", "above": layered.folder}  # fmt: skip
        if not mode & 0o002:
            give_to_others_group(parts[part])
        parts[part].chmod(mode)

    return change


def give_to_others_group(path: Path) -> None:
    """Let a group own it that is no user's alone (tests/cli/test_private_group.py)."""
    try:
        os.chown(path, -1, NOBODY)
    except PermissionError:
        if is_private(path.stat().st_gid):
            pytest.skip("NOT TESTED: this user's files belong to a group of nobody else")


UNTRUSTED: dict[str, Callable[[Layered], None]] = {
    f"{part} {mode:o}": open_to(mode, part)
    for part, mode in (
        ("file", 0o666), ("file", 0o664), ("group", 0o777), ("group", 0o1777), ("variant", 0o775), ("version", 0o777),
        ("layer", 0o775), ("layer", 0o777), ("above", 0o777),
    )
}  # fmt: skip


@pytest.mark.parametrize("how", UNTRUSTED)
def test_code_that_others_can_write_is_not_used(layered: Layered, how: str) -> None:
    """In a folder that others may enter: those of pytest are closed."""
    layered.folder = elsewhere()
    try:
        layered.cache.mkdir()
        one = layered.fill("one", "sum")
        assert used(layered.run(one)) == {"sum"} and layers.distrust(layered.code("one", "sum")) is None
        UNTRUSTED[how](layered)
        statistics = layered.run(one)
        assert used(statistics) == set() and re.search(r"sum is not used: others can write it, or a folder", statistics)
        assert "others can write it" in (layers.distrust(layered.code("one", "sum")) or "")
    finally:
        shutil.rmtree(layered.folder)


def elsewhere() -> Path:
    """Return a new folder that others may enter, in one that others may write, as /tmp is."""
    folder = Path(tempfile.mkdtemp(prefix="mipsrec-layers-"))
    folder.chmod(0o755)
    return folder


@GIVES_AWAY
@pytest.mark.parametrize("part", ["file", "group", "layer", "above"])
def test_code_of_another_user_is_not_used(layered: Layered, part: str) -> None:
    one = layered.fill("one", "sum")
    path = layered.code("one", "sum")
    os.chown({"file": path, "group": path.parent, "layer": one, "above": layered.folder}[part], NOBODY, NOBODY)
    statistics = layered.run(one)
    assert used(statistics) == set() and "sum is not used: it, or a folder above it, belongs to another" in statistics
    assert "another user" in (layers.distrust(path) or "")


@GIVES_AWAY
def test_a_link_of_another_user_leads_to_no_layer(layered: Layered, monkeypatch: pytest.MonkeyPatch) -> None:
    one, link = layered.fill("one", "sum"), layered.folder / "link"
    link.symlink_to(one)
    monkeypatch.setenv("MIPSREC_CACHE_PATH", str(link))
    assert used(layered.run(link)) == {"sum"} and layers.layer_folders()[0] == one
    os.lchown(link, NOBODY, NOBODY)
    statistics = layered.run(link)
    assert used(statistics) == set() and "belongs to another" in statistics
    assert layers.layer_folders()[0] == link and "another user" in (layers.distrust(link) or "")


@GIVES_AWAY
def test_a_user_trusts_root_and_himself_only(layered: Layered) -> None:
    folder, layered.folder = layered.folder, elsewhere()
    try:
        layered.cache.mkdir()
        for path in (layered.host, layered.guest, *layered.guest.parent.glob("*.so*")):
            shutil.copy(path, layered.folder)
        host, layered.host = layered.host, layered.folder / layered.host.name
        loader = (layered.folder / "ld.so.1", "--library-path", layered.folder, layered.folder / "sum")
        one = layered.fill("one", "sum")

        def run(user: int) -> set[str]:
            command = layered.command(one, words=loader)
            return used(checked(subprocess.run(command, capture_output=True, text=True, user=user, group=user, cwd="/",
                                               extra_groups=[], env={"HOME": "/nonexistent"})))  # fmt: skip

        assert run(NOBODY) == {"sum"}, "it is root's"
        for path in (one, *one.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
        assert run(NOBODY) == {"sum"}, "it is his own"
        assert run(NOBODY - 1) == set() and run(0) == set()
    finally:
        shutil.rmtree(layered.folder)
        layered.folder, layered.host = folder, host


@GIVES_AWAY
def test_the_cache_itself_must_be_trusted(layered: Layered) -> None:
    """Neither its code nor its notes count; a layer behind it is used."""
    one = layered.fill("one", "sum")
    layered.fill("cache", "sum")
    os.chown(layered.cache, NOBODY, NOBODY)
    settle(layered.folder, layered.guest.parent)
    statistics = layered.run(one)
    assert used(statistics) == {"sum"} and "the cache is not used: it, or a folder above it, belongs" in statistics
    assert not (layered.cache / "identities").exists()


def test_notes_that_others_can_write_do_not_count(layered: Layered) -> None:
    one = layered.fill("one", "sum")
    settle(layered.folder, layered.guest.parent)
    assert used(layered.run(one)) == {"sum"}
    identity = load_elf(layered.guest).identity
    notes = [path for path in (layered.cache / "identities").iterdir() if identity in path.read_text()]
    for path in notes:
        path.write_text(path.read_text().replace(identity, "f" * 64))
    assert len(notes) == 1 and used(layered.run(one)) == set(), "a trusted note is believed"
    notes[0].chmod(0o666)
    assert used(layered.run(one)) == {"sum"}


def test_links_into_a_layer_count_by_what_they_name(layered: Layered) -> None:
    one = layered.fill("one", "sum")
    link = layered.folder / "link"
    link.symlink_to(one)
    assert used(layered.run(link)) == {"sum"}
    path = layered.code("one", "sum")
    path.rename(layered.folder / "elsewhere.so")
    path.symlink_to(layered.folder / "elsewhere.so")
    assert used(layered.run(link)) == {"sum"}
    if may("give files away"):
        os.chown(layered.folder / "elsewhere.so", NOBODY, NOBODY)
        assert used(layered.run(link)) == set()


# ---- what is out of reach, and what is written ----


def contents(folder: Path) -> dict[Path, tuple[int, int]]:
    return {path: (path.stat().st_size, path.stat().st_mtime_ns) for path in folder.rglob("*")}


def test_nothing_is_written_into_a_layer(layered: Layered) -> None:
    one = layered.fill("one", "sum", "libfill.so")
    before = contents(one)
    settle(layered.folder, layered.guest.parent)
    layered.run(one)
    assert contents(one) == before and len(list((layered.cache / "identities").iterdir())) == 6


CHROOTS = """
#include <stdio.h>
#include <unistd.h>
int main(int count, char **words)
{
    (void)count;
    if (words[1][0] != '-' && (chroot(words[1]) != 0 || chdir("/") != 0))
        return 1;
    execv(words[2], words + 2);
    perror(words[2]);
    return 2;
}
"""


@GIVES_AWAY
def test_children_and_chroots(layered: Layered) -> None:
    """A child asks the layers of its parent; one that a chroot does not have is left out quietly."""
    order = str(load_elf(layered.guest).byte_order)
    compiler = need(f"{ORDERS['big' if order == 'big' else 'little']}-gcc")
    (layered.folder / "chroots.c").write_text(CHROOTS)
    subprocess.run([compiler, "-static", layered.folder / "chroots.c", "-o", layered.folder / "chroots"], check=True)
    one = layered.fill("one", "sum", "libfill.so")
    root = layered.folder / "root"
    shutil.copytree(layered.guest.parent, root / str(layered.guest.parent)[1:])

    layered.environment["MIPSREC_CACHE_PATH"] = str(one)

    def count(new_root: Path | str) -> int:
        """Without /proc the host knows no names."""
        return len(recompiled_files(layered.run(words=(layered.folder / "chroots", new_root, layered.guest))))

    assert (count("-"), count(root)) == (2, 0)
    shutil.copytree(one, root / str(one)[1:])
    assert count(root) == 2
    os.chown(root / str(one)[1:], NOBODY, NOBODY)
    assert count(root) == 0
