"""What a command writes is whole or absent: when the disk is full, when it is interrupted, and over an older result."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from mipsrec import pipeline
from mipsrec.files.temporary_folder import write_result
from mipsrec.ir_dump import read_dump
from tests.support.commandline import assert_one_line, command, mipsrec, mipsrec_here
from tests.support.mounts import in_namespace, small
from tests.support.paths import PREBUILT

SAMPLE = PREBUILT / "mipsel" / "crc32.elf"
SMALL = PREBUILT / "mipsel" / "hello.elf"


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """A dump, with a file of the user's beside it."""
    folder = tmp_path / "dump"
    pipeline.dump_llvm(pipeline.open_guest(SAMPLE), folder)
    (folder / "notes.ll").write_text("mine")
    return folder


def test_a_dump_over_another(dump: Path) -> None:
    before = set(os.listdir(dump))
    assert pipeline.dump_llvm(pipeline.open_guest(SMALL), dump) == 1
    assert {file.path.name for file in read_dump(dump).files} | {"index.json", "notes.ll"} == set(os.listdir(dump))
    assert len(before) > 4


@pytest.mark.parametrize("index", ["", "[]", '{"functions": [{"file": 3}, {}]}', '{"functions": 7}'])
def test_a_dump_over_a_damaged_one(dump: Path, index: str) -> None:
    (dump / "index.json").write_text(index)
    before = set(os.listdir(dump))
    pipeline.dump_llvm(pipeline.open_guest(SMALL), dump)
    assert before <= set(os.listdir(dump)) and len(read_dump(dump).files) == 1


def test_an_index_names_files_of_dumps_alone(dump: Path, tmp_path: Path) -> None:
    (tmp_path / "00400000_f.ll").write_text("kept")
    records = [{"file": name} for name in ("notes.ll", "../00400000_f.ll", "00400000_f.ll/../notes.ll")]
    (dump / "index.json").write_text(json.dumps({"functions": records}))
    pipeline.dump_llvm(pipeline.open_guest(SMALL), dump)
    assert (dump / "notes.ll").exists() and (tmp_path / "00400000_f.ll").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("name", ["dump", "new", "new/deep/folder"])
def test_a_dump_that_is_interrupted(dump: Path, number: signal.Signals, name: str) -> None:
    """The older one stays as it was, and what was made for the new one goes."""
    before = {path: path.stat().st_mtime_ns for path in dump.iterdir()}
    guest = pipeline.open_guest(SAMPLE)
    left = iter(range(3))

    def interrupt(functions: int, instructions: int) -> None:
        if next(left, None) is None:
            signal.raise_signal(number)

    handlers = {one: signal.signal(one, signal.default_int_handler) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        with pytest.raises(KeyboardInterrupt):
            pipeline.dump_llvm(guest, dump.parent / name, progress=interrupt)
    finally:
        for one, handler in handlers.items():
            signal.signal(one, handler)
    assert before == {path: path.stat().st_mtime_ns for path in dump.iterdir()} and len(before) > 4
    assert os.listdir(dump.parent) == ["dump"]


def test_a_folder_in_place_of_the_file(tmp_path: Path) -> None:
    """It is refused before anything runs."""
    for words in (("profile", "-o", tmp_path, SMALL), ("bench", "--chart", tmp_path), ("build", SMALL, "-o", tmp_path)):
        assert_one_line(mipsrec_here(*words), f"mipsrec: {tmp_path}: is a folder; name a file")
    assert list(tmp_path.iterdir()) == []


def test_full_disks(tmp_path: Path) -> None:
    """Where older results are, too: they stay."""
    disk, start = tmp_path / "disk", f"{pipeline.open_guest(SAMPLE).image.entry:x}"
    disk.mkdir()
    pipeline.dump_llvm(pipeline.open_guest(SMALL), disk / "old")
    (disk / "old.dot").write_text("old")
    show = f"ls -A {disk} {disk}/old; cat {disk}/old.dot; cat {disk}/old/*.ll | wc -c >&2"
    ways: list[tuple[object, ...]] = [
        ("dump-llvm", SAMPLE, "-o", disk / "new/dump"), ("dump-llvm", SAMPLE, "-o", disk / "old"),
        ("cfg", SAMPLE, start, "-o", disk / "new.dot"), ("cfg", SAMPLE, start, "-o", disk / "old.dot"),
    ]  # fmt: skip
    fill = small(disk, 64 << 10, fill=True)
    expected = in_namespace([*fill, show], ["true"])
    assert expected.returncode == 0 and "old.dot" in expected.stdout
    for words in ways:
        run = " ".join(command(*words))
        result = in_namespace([*fill, f"{run} && exit 9", show], ["true"])
        assert (result.returncode, result.stdout) == (0, expected.stdout), result
        assert result.stderr.count("\n") == 2 and "No space left" in result.stderr, result


def test_a_profile_that_cannot_be_written(tmp_path: Path) -> None:
    """The program ended well, but its profile was asked for."""
    disk = tmp_path / "disk"
    disk.mkdir()
    words = command("profile", "--tier", "interp", "-o", disk / "out.prof", SMALL)
    result = in_namespace([*small(disk, 16 << 10, fill=True), f"{' '.join(words)} || echo status $?"], ["ls", disk])
    assert result.stdout.splitlines()[-2:] == ["status 1", "filler"] and "cannot be written" in result.stderr, result


def test_what_a_result_takes_the_place_of(tmp_path: Path) -> None:
    """A link of the user's is followed, and a pipe gets the text."""
    (tmp_path / "old").write_text("old")
    (tmp_path / "link").symlink_to("old")
    write_result(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "old").read_text() == "new"
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_result(tmp_path / "pipe", b"text")
    assert os.read(reader, 100) == b"text" and (tmp_path / "pipe").is_fifo()
    os.close(reader)
    with pytest.raises(OSError):
        write_result(tmp_path / "absent/new", b"")
    assert sorted(os.listdir(tmp_path)) == ["link", "old", "pipe"]


def test_names_of_folders(tmp_path: Path) -> None:
    (tmp_path / "f.dot").mkdir()
    start = f"{pipeline.open_guest(SAMPLE).image.entry:x}"
    assert_one_line(mipsrec_here("cfg", SAMPLE, start, "-o", tmp_path / "f.dot"), "Is a directory")
    assert os.listdir(tmp_path / "f.dot") == []


@pytest.mark.parametrize("way", ["itself", "link", "name"])
def test_a_library_does_not_replace_its_program(tmp_path: Path, way: str) -> None:
    program, output = tmp_path / "program", tmp_path / "output"
    program.write_bytes(SMALL.read_bytes())
    if way == "link":
        output.symlink_to(program)
    elif way == "name":
        output.hardlink_to(program)
    else:
        output = program
    why = f"{output}: is the program that is to be recompiled"
    assert_one_line(mipsrec("build", program, "-o", output), why, "name another file")
    assert program.read_bytes() == SMALL.read_bytes()


def test_a_library_does_not_replace_its_dump(tmp_path: Path) -> None:
    folder = tmp_path / "dump"
    pipeline.dump_llvm(pipeline.open_guest(SMALL), folder)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    for path in before:
        assert_one_line(mipsrec("build", folder, "-o", path), f"{path}: is part of the dump", "name another file")
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    assert mipsrec("build", folder, "-o", folder / "lib.so").returncode == 0
