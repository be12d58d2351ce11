"""Whatever is wrong outside of mipsrec is one line on standard error, status 1 (usage: 2), and no file left behind."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import struct
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mipsrec import stencils
from mipsrec.files.checksum import FOOTER_BYTES, footer
from mipsrec.files.temporary_folder import temporary_folder
from tests.elf.refused import REFUSED
from tests.support.commandline import assert_one_line, command, environment, heed_interrupts, mipsrec, mipsrec_here
from tests.support.compiled import HELLO, compile_guest
from tests.support.paths import PREBUILT, SAMPLES
from tests.support.powers import may
from tests.support.tiny_elf import TinyElf, symbol_table
from tests.support.tools import need

SAMPLE = PREBUILT / "mipsel" / "crc32.elf"
OTHER = PREBUILT / "mips" / "crc32.elf"

# ---- programs ----

PROGRAMS = {
    "not ELF": (b"#!/bin/sh\nexit 0\n", "not an ELF file"),
    "empty": (b"", "not an ELF file"),
    "cut off": (TinyElf().build()[:60], ""),
    **{
        name: (REFUSED[name][0].build(), "")
        for name in (
            "x86-64", "n64", "n32", "r6", "many program headers",
            "program headers cut off", "no PT_LOAD", "around the clock", "into the kernel",
        )
    },
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str, tmp_path: Path) -> None:
    content, word = PROGRAMS[name]
    (tmp_path / "prog").write_bytes(content)
    assert_one_line(mipsrec("run", "--tier", "interp", tmp_path / "prog"), str(tmp_path / "prog"), word)
    assert_one_line(mipsrec_here("build", tmp_path / "prog", "-o", tmp_path / "lib.so"), f"{tmp_path / 'prog'}: ", word)
    assert os.listdir(tmp_path) == ["prog"]


@pytest.mark.parametrize(
    "words",
    [
        ["build", "LONG/x"], ["build", SAMPLE, "-o", "LONG"], ["run", "-L", "LONG", SAMPLE], ["info", "LONG"],
        ["build", "-L", "LONG", SAMPLE], ["run", "--build", "LONG"], ["cfg", SAMPLE, "fn_004000d0", "-o", "LONG.dot"],
        ["dump-llvm", SAMPLE, "-o", "LONG"],
    ],
    ids=str,
)  # fmt: skip
def test_a_name_that_no_file_can_have(words: list[object], tmp_path: Path) -> None:
    """Nor can anybody look at it, which is so of a path through another user's private folder, too."""
    long = "n" * 300
    result = mipsrec_here(*(str(word).replace("LONG", str(tmp_path / long)) for word in words))
    assert result.returncode in (1, 2)
    assert_one_line(result, long, status=result.returncode)
    assert os.listdir(tmp_path) == []


def test_a_working_folder_that_is_no_more(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    result = mipsrec("build", "-L", ".", "/x", cwd=tmp_path / "gone", before=(tmp_path / "gone").rmdir)
    assert_one_line(result, "the working folder is no more")


@pytest.mark.parametrize("words", [["info"], ["disasm"], ["run"], ["call", "--tier", "interp"], ["dump-llvm"]])
def test_every_command_refuses_alike(words: list[str], tmp_path: Path) -> None:
    more = ["main"] if words[0] == "call" else ["-o", str(tmp_path / "out")] if words[0] == "dump-llvm" else []
    (tmp_path / "prog").write_bytes(REFUSED["n64"][0].build())
    assert_one_line(mipsrec(*words, tmp_path / "prog", *more), "n64")
    assert os.listdir(tmp_path) == ["prog"]


@pytest.mark.parametrize("words", [["info"], ["run"], ["run", "--tier", "interp"], ["build"]])
def test_files_that_cannot_be_read(words: list[str], tmp_path: Path) -> None:
    assert_one_line(mipsrec(*words, tmp_path / "absent"), "absent", "No such file")
    assert_one_line(mipsrec(*words, "/proc/self/mem"), "/proc/self/mem")
    if words != ["build"]:  # where a folder is one of dump-llvm
        assert_one_line(mipsrec(*words, tmp_path), str(tmp_path))


def test_a_symbol_table_that_names_itself(tmp_path: Path) -> None:
    """Its strings are the table itself, and it claims a thousand times the file: analysis does without."""
    table, _ = symbol_table("<", [("f", 0x00400200, 8, 2)] * 100)
    elf = TinyElf(order="<", sections=[(".symtab", 2, 0, 0, table, 1)])
    content = bytearray(elf.build())
    (tmp_path / "cyclic").write_bytes(content)
    struct.pack_into("<I", content, struct.unpack_from("<I", content, 32)[0] + 40 + 20, len(content) * 1000)
    (tmp_path / "huge").write_bytes(content)
    for name in ("cyclic", "huge"):
        result = mipsrec_here("info", tmp_path / name)
        assert result.returncode == 0 and result.stderr == ""
        assert ("warning" in result.stdout) == (name == "huge")


def test_dynamic_programs_without_an_interpreter(tmp_path: Path) -> None:
    guest = compile_guest(tmp_path, "little", HELLO, "-Wl,--dynamic-linker=/nowhere/ld.so.1")
    assert_one_line(mipsrec("run", "--tier", "interp", guest), "interpreter /nowhere/ld.so.1", "--sysroot")


def test_a_library_is_no_program(tmp_path: Path) -> None:
    guest = compile_guest(tmp_path, "little", "int f(void) { return 1; }", "-shared", "-fPIC")
    assert_one_line(mipsrec("run", "--tier", "interp", guest), "shared library", "the program that uses it")


# ---- libraries ----


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need("cc", "gcc")
    path = tmp_path_factory.mktemp("library") / "lib.so"
    result = mipsrec("build", SAMPLE, "-o", path, "--opt", "0")
    assert result.returncode == 0, result.stderr
    return path


def _sealed(content: bytes) -> bytes:
    return content + footer(content)


def _header_changed(content: bytes, field: int, value: int) -> bytes:
    """Return a library, sealed anew, whose 32-bit header field of that number is another."""
    changed = bytearray(content[:-FOOTER_BYTES])
    struct.pack_into("<I", changed, changed.index(b"MIRC") + 4 * field, value)
    return _sealed(bytes(changed))


LIBRARIES = {
    "absent": lambda whole: None,
    "empty": lambda whole: b"",
    "text": lambda whole: b"no library\n" * 100,
    "a program": lambda whole: SAMPLE.read_bytes(),
    "cut off": lambda whole: whole[: len(whole) // 2],
    "without its last byte": lambda whole: whole[:-1],
    "one bit": lambda whole: whole[:2000] + bytes([whole[2000] ^ 4]) + whole[2001:],
    "another version": lambda whole: _header_changed(whole, 1, 77),
    "another layout": lambda whole: _header_changed(whole, 2, 0x12345678),
}


@pytest.mark.parametrize("name", LIBRARIES)
def test_libraries(name: str, library: Path, tmp_path: Path) -> None:
    content = LIBRARIES[name](library.read_bytes())
    if content is not None:
        (tmp_path / "lib.so").write_bytes(content)
    assert_one_line(mipsrec("run", "--library", tmp_path / "lib.so", SAMPLE), str(tmp_path / "lib.so"))


def test_library_of_another_guest(library: Path) -> None:
    assert_one_line(mipsrec("run", "--library", library, OTHER), str(library), "another program")


@pytest.mark.parametrize("flipped", [False, True])
def test_damaged_library_in_the_cache_is_built_again(tmp_path: Path, flipped: bool) -> None:
    """A disk that lost power may hold a name and no content."""
    cache = {"MIPSREC_CACHE": str(tmp_path)}
    hosts = Path(os.environ.get("MIPSREC_CACHE") or Path.home() / ".cache" / "mipsrec") / "host"
    if hosts.exists():
        (tmp_path / "host").symlink_to(hosts)
    expected = (SAMPLES / "expected" / "crc32.txt").read_text()
    assert mipsrec("run", "--opt", "0", SAMPLE, **cache).stdout == expected
    (kept,) = tmp_path.glob("code/*/*/*/*.so")
    content = kept.read_bytes()
    kept.write_bytes(content[:9000] + bytes([content[9000] ^ 4]) + content[9001:] if flipped else b"")
    result = mipsrec("run", "--opt", "0", SAMPLE, **cache)
    assert (result.returncode, result.stdout, result.stderr) == (0, expected, "")


# ---- the machine ----


@pytest.mark.parametrize("words", [["run"], ["run", "--tier", "interp"], ["build", "-o", "lib.so"]])
def test_no_compiler(words: list[str], tmp_path: Path) -> None:
    changes = {"PATH": str(tmp_path), "CC": None, "MIPSREC_CACHE": str(tmp_path / "cache")}
    assert_one_line(mipsrec(*words, SAMPLE, cwd=tmp_path, **changes), "no C compiler found", "apt install gcc")
    assert not (tmp_path / "lib.so").exists()


def test_a_compiler_that_fails(tmp_path: Path) -> None:
    changes = {"CC": "false", "MIPSREC_CACHE": str(tmp_path / "cache")}
    (tmp_path / "cache/host").mkdir(parents=True)
    (tmp_path / "cache/host" / stencils.cached_name()).write_text(stencils.headers()[stencils.TABLES])  # they take long
    assert_one_line(mipsrec("run", "--tier", "interp", SAMPLE, **changes), "building the host failed")
    assert_one_line(mipsrec("build", SAMPLE, "-o", tmp_path / "lib.so", "--opt", "0", **changes), "could not link")
    assert sorted(os.listdir(tmp_path)) == ["cache"]


@pytest.mark.parametrize("kilobytes", [1, 12, 24])
def test_files_that_may_not_grow(kilobytes: int, tmp_path: Path) -> None:
    """As with a full disk, the first write that fails is an object's, the linker's, or the footer's."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (kilobytes << 10, kilobytes << 10))

    result = mipsrec("build", SAMPLE, "-o", tmp_path / "lib.so", "--opt", "0", before=limit)
    assert_one_line(result)
    assert os.listdir(tmp_path) == []


@contextlib.contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[Path]:
    """Mount a file system of a few kilobytes; skips where that is not allowed."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(folder)]
    if not may("mount file systems") or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("mounting a small file system is not allowed here; test_files_that_may_not_grow has its place")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.parametrize("kilobytes", [8, 32, 64])
def test_full_disk(kilobytes: int, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", kilobytes) as disk:
        result = mipsrec("build", SAMPLE, "-o", disk / "lib.so", "--opt", "0")
        if result.returncode != 0:
            assert_one_line(result)
            assert os.listdir(disk) == []
        else:
            assert kilobytes == 64
        assert_one_line(mipsrec("dump-llvm", OTHER, "-o", disk / "dump"), str(disk), "No space left")


@pytest.mark.parametrize("output", ["none/lib.so", "/dev/null/lib.so", ".", "/proc/lib.so"])
def test_outputs_that_cannot_be_written(output: str, tmp_path: Path) -> None:
    assert_one_line(mipsrec("build", SAMPLE, "-o", output, "--opt", "0", cwd=tmp_path), output)
    assert os.listdir(tmp_path) == []


def test_other_outputs_that_cannot_be_written(tmp_path: Path) -> None:
    assert_one_line(mipsrec_here("dump-llvm", SAMPLE, "-o", "/dev/null"), "/dev/null")
    assert_one_line(mipsrec_here("dump-llvm", SAMPLE, "-o", "/proc/dump"), "/proc/dump")
    start = json.loads(mipsrec_here("info", "--json", SAMPLE).stdout)["entry"]
    assert_one_line(mipsrec_here("cfg", SAMPLE, f"{start:x}", "-o", tmp_path / "none" / "f.dot"), "No such file")
    assert_one_line(mipsrec("cfg", SAMPLE, f"{start:x}", "-o", tmp_path / "f.svg", PATH=""), "Graphviz", "apt install")
    assert os.listdir(tmp_path) == []


# ---- dumps ----


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    assert mipsrec_here("dump-llvm", SAMPLE, "-o", tmp_path / "dump").returncode == 0
    return tmp_path / "dump"


def _refused_dump(dump: Path, *words: str) -> None:
    assert_one_line(mipsrec_here("build", dump, "-o", dump.parent / "lib.so", "--opt", "0"), *words)
    assert os.listdir(dump.parent) == ["dump"]


def test_damaged_dumps(dump: Path) -> None:
    index = dump / "index.json"
    whole = index.read_text()
    index.write_text(whole[:-100])
    _refused_dump(dump, "index.json", "damaged", "dump the program again")
    for name, value in (("functions", 3), ("functions", [{}]), ("guest", {"identity": "x"}), ("memory", "far")):
        index.write_text(json.dumps(json.loads(whole) | {name: value}))
        _refused_dump(dump, "index.json", "damaged")
    index.write_text(json.dumps(json.loads(whole) | {"mipsrec": "0.0.0"}))
    _refused_dump(dump, "made by mipsrec 0.0.0")
    index.unlink()
    _refused_dump(dump, "dump-llvm")


def test_damaged_ir(dump: Path) -> None:
    first, second = sorted(dump.glob("*.ll"))[:2]
    whole = first.read_text()
    first.write_text(whole.replace("br label", "br to", 1))
    _refused_dump(dump, "LLVM refuses the IR", first.name)
    first.write_bytes(b"\xff\xfe")
    _refused_dump(dump, first.name)
    first.write_text(second.read_text())
    _refused_dump(dump)  # defined twice
    first.write_text("")
    _refused_dump(dump)  # missing when linked
    first.unlink()
    _refused_dump(dump, first.name, "is missing")


# ---- names ----


def test_names_that_are_not_there(tmp_path: Path) -> None:
    for words in (["disasm", SAMPLE, "--function", "nonesuch"], ["cfg", SAMPLE, "nonesuch"],
                  ["call", SAMPLE, "nonesuch"], ["dump-llvm", SAMPLE, "--function", "nonesuch"]):  # fmt: skip
        assert_one_line(mipsrec_here(*words), "no function nonesuch", "disasm")
    assert_one_line(mipsrec_here("bench", SAMPLE, tmp_path / "absent"), "absent")
    (tmp_path / "text").write_text("no program\n")
    assert_one_line(mipsrec_here("bench", SAMPLE, tmp_path / "text"), "text", "Permission denied")


def test_places_that_are_none(tmp_path: Path) -> None:
    """A number is a port, and what stands where a library is to be made is not taken away if it is no file."""
    os.mkfifo(tmp_path / "pipe")
    assert_one_line(mipsrec_here("build", SAMPLE, "-o", tmp_path / "pipe"), "pipe", "no regular file")
    assert (tmp_path / "pipe").is_fifo()
    for number in ("65536", "-1"):
        result = mipsrec("run", f"--gdb={number}", SAMPLE, cwd=tmp_path)
        assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1), result
        assert f"{number} is no port" in result.stderr


# ---- Ctrl-C ----


def test_interrupted_build(tmp_path: Path) -> None:
    """The whole program of a static libc takes a while; worker processes must end with it, and files go away."""
    guest = compile_guest(tmp_path, "little", HELLO, "-static")
    output = tmp_path / "out"
    output.mkdir()
    words = command("build", guest, "-o", output / "lib.so", "--jobs", "2")
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True, env=environment(), preexec_fn=heed_interrupts)  # fmt: skip
    deadline = time.monotonic() + 600
    while not list(output.glob(".mipsrec-*/*.o")):  # until workers are at it
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=600)
    assert (process.returncode, errors) == (130, "mipsrec: interrupted\n")
    assert os.listdir(output) == []
    assert_nothing_at_work_on(output)


def assert_nothing_at_work_on(path: Path) -> None:
    """No process that runs has `path` in its arguments. Ended ones that nobody has waited for yet have none."""
    for arguments in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            assert str(path).encode() not in arguments.read_bytes(), arguments


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_link(number: signal.Signals, tmp_path: Path) -> None:
    """What the compiler has started ends too; a signal to mipsrec alone, or to its whole group as from a terminal."""
    output = tmp_path / "out"
    output.mkdir()
    compiler = tmp_path / "cc"
    linker = f"sh -c 'sleep 60; true' {output} & touch {tmp_path / 'started'}; wait"
    compiler.write_text(f'#!/bin/sh\ncase "$*" in *-shared*) {linker} ;; *) exec cc "$@" ;; esac\n')
    compiler.chmod(0o755)
    words = command("build", SAMPLE, "-o", output / "lib.so")
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
                               env=environment(CC=str(compiler)), preexec_fn=heed_interrupts)  # fmt: skip
    deadline = time.monotonic() + 600
    while not (tmp_path / "started").exists():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
    _, errors = process.communicate(timeout=600)
    said = "mipsrec: interrupted\n" if number == signal.SIGINT else ""
    assert (process.returncode, errors) == (128 + number, said)
    assert os.listdir(output) == []
    assert_nothing_at_work_on(output)


def test_temporary_folder_interrupted_as_it_goes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Ctrl-C while files on the way are removed leaves none of them."""
    remove, calls = os.unlink, []

    def interrupted(path: object, **options: int) -> None:
        calls.append(path)
        if len(calls) == 2:
            signal.raise_signal(signal.SIGINT)
        remove(path, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(os, "unlink", interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with pytest.raises(KeyboardInterrupt), temporary_folder(".way-", tmp_path) as folder:
        for name in "abc":
            (folder / name).touch()
    signal.signal(signal.SIGINT, before)
    assert len(calls) == 3
    assert os.listdir(tmp_path) == []
