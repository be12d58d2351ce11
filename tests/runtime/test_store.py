"""The host and the store: code is used where it is fit, and nothing in a cache makes a result wrong.

The guest is a dynamic program with a library; both have code in the store, the C library has none. Whatever becomes of
the cache, the program must print the same, and --stats must say why code was not used.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import capstone
import pytest

from mipsrec import pipeline
from mipsrec.cache.folders import code_path, source_digest, variant_of
from mipsrec.elf import load_elf
from mipsrec.fill_store import store
from tests.support.compiled import ORDERS
from tests.support.dynamic import SUM_PRINTS, checked, compile_to, library, summing_guests, used
from tests.support.hosts import sanitized_host
from tests.support.mounts import in_namespace, read_only, small
from tests.support.paths import ROOT
from tests.support.powers import need_to
from tests.support.settled import settle
from tests.support.tools import need

OPTIONS = pipeline.Options(opt=0, jobs=1)
SANITIZED_OPTIONS = pipeline.Options(opt=0, jobs=1, memory="thunk")
"""The address sanitizer has its own memory where flat code wants the guest's."""
"""What is younger has no notes (runtime/lifted/notes.c)."""


@dataclass
class Stored:
    """A guest and its library, and a cache with the code of both."""

    guest: Path
    fill: Path
    cache: Path
    host: Path
    options: pipeline.Options = OPTIONS

    def sanitize(self) -> None:
        """Run under the sanitizers from now on."""
        self.host, self.options = sanitized_host(), SANITIZED_OPTIONS

    def code(self, path: Path) -> Path:
        """Return where this cache has the code of a file."""
        return self.cache / code_path(load_elf(path).identity, self.options).relative_to(os.environ["MIPSREC_CACHE"])

    def take(self, path: Path) -> None:
        """Copy the code of a file, which is built if need be, into this cache."""
        for self.options in (SANITIZED_OPTIONS, OPTIONS):
            self.code(path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(store(load_elf(path), self.options), self.code(path))

    def command(self, *words: object) -> list[object]:
        store = ["--cache", self.cache, "--variant", variant_of(self.options), "--memory", self.options.memory]
        return [self.host, "--stats", "--tier", "aot", *store, *words]

    def run(self) -> str:
        """Run the guest, which must do what it does; return what --stats says."""
        environment = {"HOME": "/nonexistent"}  # no other cache is found
        command = self.command(self.guest)
        return checked(subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment))

    def settle(self) -> None:
        """Return when all files are old enough for notes."""
        settle(self.cache, self.guest, self.fill)

    def notes(self) -> list[Path]:
        return sorted((self.cache / "identities").glob("*"))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Path, Path]]:
    """A guest of a byte order with its library."""
    return summing_guests(tmp_path_factory)


@pytest.fixture(params=ORDERS)
def stored(
    request: pytest.FixtureRequest, tmp_path: Path, host: Path, made: Callable[[str], tuple[Path, Path]]
) -> Stored:
    guest, fill = made(request.param)
    result = Stored(guest, fill, tmp_path / "cache", host)
    for path in (guest, fill):
        result.take(path)
    return result


def test_code_is_used(stored: Stored) -> None:
    statistics = stored.run()
    assert used(statistics) == {"sum", "libfill.so"}
    assert re.search(r"there is no code of \S+/libc.so.6 \([0-9a-f]{64}\)", statistics)
    assert "interpreted for want of code: 2 files; 0 times code was not fit" in statistics


def test_notes_are_used(stored: Stored) -> None:
    stored.settle()
    stored.run()
    texts = sorted(path.read_text().split(" ")[-1] for path in stored.notes())
    assert texts.count("whole\n") == 2 and len(texts) == 6
    assert used(stored.run()) == {"sum", "libfill.so"}


# ---- damage ----


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


OTHER_LIBRARY = next(Path(capstone.__file__).parent.rglob("libcapstone*.so*"))
"""A shared object, as programs need not be: Debian's Python is none."""
DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "flipped": (flip, "its checksum is wrong"),
    "truncated": (lambda path: os.truncate(path, path.stat().st_size - 100), "truncated"),
    "footer": (lambda path: os.truncate(path, path.stat().st_size - 16), "its footer is missing"),
    "half": (lambda path: os.truncate(path, path.stat().st_size // 2), "truncated"),
    "header": (lambda path: os.truncate(path, 40), "its ELF header is incomplete"),
    "empty": (lambda path: path.write_bytes(b""), "empty"),
    "text": (lambda path: path.write_text("hello\n" * 100), "not an ELF file"),
    "guest": (lambda path: shutil.copy(OTHER_LIBRARY, path), "not a library that mipsrec made"),
    "fifo": (fifo, "not a regular file"),
    "folder": (folder, "not a regular file"),
}


@pytest.mark.sampled
@pytest.mark.parametrize("how", DAMAGE)
@pytest.mark.parametrize("sanitized", [False, True], ids=["plain", "sanitized"])
def test_damaged_code_is_not_used(stored: Stored, how: str, sanitized: bool) -> None:
    damage, reason = DAMAGE[how]
    if sanitized:
        stored.sanitize()
    damage(stored.code(stored.fill))
    statistics = stored.run()
    assert used(statistics) == {"sum"}
    line = re.search(r"the code of \S+/libfill.so is not used: (.*)", statistics)
    assert line is not None and reason in line[1]
    assert "1 times code was not fit" in statistics


def test_code_of_another_file_is_not_used(stored: Stored) -> None:
    shutil.copy(stored.code(stored.guest), stored.code(stored.fill))
    statistics = stored.run()
    assert used(statistics) == {"sum"} and "it was made of another file" in statistics


def test_damage_after_it_was_found_whole_is_seen(stored: Stored) -> None:
    """The modification time is put back; the time of the status change tells."""
    stored.settle()
    stored.run()
    path = stored.code(stored.fill)
    times = path.stat()
    flip(path)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    statistics = stored.run()
    assert used(statistics) == {"sum"} and "its checksum is wrong" in statistics


NOTES: dict[str, Callable[[Path, bytes], object]] = {
    "empty": lambda path, text: path.write_bytes(b""),
    "noise": lambda path, text: path.write_bytes(random.Random(1).randbytes(300)),
    "zeros": lambda path, text: path.write_bytes(bytes(400)),
    "long": lambda path, text: path.write_bytes(text[:-1] * 50),
    "cut": lambda path, text: path.write_bytes(text[:-9]),
    "no end": lambda path, text: path.write_bytes(text[:-1]),
    "path": lambda path, text: path.write_bytes(text[: text.rindex(b" ") + 1] + b"../" * 21 + b"a\n"),
    "all whole": lambda path, text: path.write_bytes(text[: text.rindex(b" ") + 1] + b"whole\n"),
    "unknown": lambda path, text: path.write_bytes(text[: text.rindex(b" ") + 1] + b"f" * 64 + b"\n"),
    "fifo": lambda path, text: fifo(path),
    "folder": lambda path, text: folder(path),
}


@pytest.mark.sampled
@pytest.mark.parametrize("sanitized", [False, True], ids=["plain", "sanitized"])
def test_nonsense_in_notes(stored: Stored, sanitized: bool) -> None:
    if sanitized:
        stored.sanitize()
    stored.settle()
    for how, damage_note in NOTES.items():
        shutil.rmtree(stored.cache / "identities", ignore_errors=True)
        stored.run()
        assert len(stored.notes()) == 6, how
        for path in stored.notes():
            damage_note(path, path.read_bytes())
        statistics = stored.run()
        if how != "unknown":  # such a note is believed: it names contents that the store has no code of
            assert used(statistics) == {"sum", "libfill.so"}, how


# ---- where there is no store, or it cannot be written ----


def test_code_of_another_version_is_not_used(stored: Stored) -> None:
    (stored.cache / "code" / source_digest()).rename(stored.cache / "code" / ("0" * 32))
    statistics = stored.run()
    assert used(statistics) == set()
    assert f"no recompiled code is used: there is no folder {stored.cache}/code/{source_digest()}" in statistics


def test_cache_that_is_not_there(stored: Stored, tmp_path: Path) -> None:
    stored.cache = tmp_path / "none"
    assert used(stored.run()) == set() and not stored.cache.exists()


@pytest.mark.parametrize("named", ["", "/none"])
def test_children_look_where_their_parent_did(stored: Stored, tmp_path: Path, named: str) -> None:
    """What is executed takes no code where MIPSREC_CACHE names nothing, though the system has a cache."""
    source = tmp_path / "executes.c"
    source.write_text("#include <unistd.h>\nint main(int n, char **words) { return execv(words[1], words + 1); }\n")
    big = load_elf(stored.guest).byte_order == "big"
    subprocess.run([need(f"{ORDERS['big' if big else 'little']}-gcc"), "-static", source, "-o", tmp_path / "executes"],
                   check=True)  # fmt: skip
    variants = stored.cache / "code" / source_digest()
    for cpu in ("generic", "x86-64", "x86-64-v2", "x86-64-v3"):
        if not (variants / f"flat-direct-auto-{cpu}").exists():
            (variants / f"flat-direct-auto-{cpu}").symlink_to(variant_of(stored.options))
    mounts = ["mount -t tmpfs tmpfs /var/cache", f"cp -a {stored.cache} /var/cache/mipsrec"]
    command = [stored.host, "--stats", tmp_path / "executes", stored.guest]
    result = in_namespace(mounts, command, {"MIPSREC_CACHE": named, "XDG_CACHE_HOME": "", "HOME": "/nonexistent"})
    assert used(checked(result)) == (set() if named else {"sum", "libfill.so"})


def test_read_only_cache(stored: Stored) -> None:
    stored.settle()
    statistics = checked(in_namespace(read_only(stored.cache), stored.command(stored.guest)))
    assert used(statistics) == {"sum", "libfill.so"} and stored.notes() == []


def test_cache_of_another_user(stored: Stored) -> None:
    """It is read, where it may be read; nothing is written."""
    need_to("become another user")
    stored.settle()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        for path in (stored.cache, stored.guest.parent):
            shutil.copytree(path, folder / path.name)
        (folder / stored.guest.parent.name).chmod(0o755)
        shutil.copy(stored.host, folder / "host")
        stored.cache, stored.host = folder / stored.cache.name, folder / "host"
        guest = folder / stored.guest.parent.name / stored.guest.name
        for mode, codes in ((0o755, {"sum"}), (0o700, set[str]())):
            stored.cache.chmod(mode)
            environment = {"LD_LIBRARY_PATH": str(guest.parent)}
            loader = [guest.parent / "ld.so.1", "--library-path", guest.parent, guest]
            result = subprocess.run(
                stored.command(*loader), capture_output=True, text=True, user=65534, cwd="/", env=environment
            )
            assert used(checked(result)) - {"libfill.so"} == codes and stored.notes() == []


def test_full_cache(stored: Stored) -> None:
    """Notes cannot be written, or are empty; what is there is used."""
    stored.settle()
    command = stored.command(stored.guest)
    mounts = small(stored.cache, 1 << 20, fill=True)
    wait = f"(cd {ROOT}; {sys.executable} -m tests.support.settled {stored.cache})"
    for before in ([], [f"{wait}; {' '.join(map(str, command))} >/dev/null 2>&1"]):
        assert used(checked(in_namespace([*mounts, *before], command))) == {"sum", "libfill.so"}


def test_many_at_once(stored: Stored) -> None:
    stored.settle()
    running = [
        subprocess.Popen(stored.command(stored.guest), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(8)
    ]
    for process in running:
        output, errors = process.communicate(timeout=600)
        assert (process.returncode, output) == (0, SUM_PRINTS) and used(errors) == {"sum", "libfill.so"}
    assert len(stored.notes()) == 6 and all("." not in path.name for path in stored.notes())


# ---- the time of last use ----


def test_use_is_noted(stored: Stored) -> None:
    path = stored.code(stored.fill)
    before = time.time()
    os.utime(path, (before - 3 * 86400, before - 4 * 86400))
    stored.run()
    assert path.stat().st_atime >= before - 1
    assert abs(path.stat().st_mtime - (before - 4 * 86400)) < 1


def test_use_is_noted_where_the_file_system_does_not(stored: Stored) -> None:
    path = stored.code(stored.fill)
    mounts = [*small(stored.cache, 4 << 20, options="noatime"), f"touch -a -d '3 days ago' {path}"]
    command = " ".join(map(str, stored.command(stored.guest)))
    script = ["sh", "-c", f"{command} && stat -c %X {path} >&2"]
    statistics = checked(in_namespace(mounts, script))
    assert int(statistics.splitlines()[-1]) > time.time() - 3600


# ---- files that change ----

REPLACED = """
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <fcntl.h>
static char bytes[1 << 20];
static void copy(const char *from, const char *to)
{
    int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0755);
    int size = read(in, bytes, sizeof bytes);
    if (write(out, bytes, size) != size)
        puts("short write");
    close(in);
    close(out);
}
int main(int count, char **words)
{
    for (int i = 0; i < 40; i++) {
        copy(words[1 + i % 2], words[3]);
        void *library = dlopen(words[3], RTLD_NOW);
        if (library == NULL) {
            puts(dlerror());
            return 1;
        }
        int (*which)(void) = (int (*)(void))dlsym(library, "which");
        printf("%d", which());
        dlclose(library);
    }
    puts("");
    return 0;
}
"""


@pytest.mark.parametrize("sanitized", [False, True], ids=["plain", "sanitized"])
def test_file_written_anew_between_two_mappings(stored: Stored, tmp_path: Path, sanitized: bool) -> None:
    """As large as before and in the same tick of the clock: its times may be the same. Code of both is in the store."""
    order = load_elf(stored.guest).byte_order
    libraries = stored.guest.parent
    guest = compile_to(
        tmp_path / "replaced", order, REPLACED, f"-Wl,-rpath,{libraries}", f"-Wl,--dynamic-linker={libraries}/ld.so.1"
    )
    variants = []
    for number in (1, 2):
        source = f"int which(void) {{ return {number}; }}"
        (tmp_path / str(number)).mkdir()
        variants.append(library(tmp_path / str(number) / "which.so", order, source=source))
        stored.take(variants[-1])
    assert len({path.stat().st_size for path in variants}) == 1
    if sanitized:
        stored.sanitize()
    words = stored.command(guest, *variants, tmp_path / "now.so")
    result = subprocess.run(words, capture_output=True, text=True, timeout=600)
    assert (result.returncode, result.stdout) == (0, "12" * 20 + "\n"), result.stderr
    assert "now.so" in used(result.stderr)
