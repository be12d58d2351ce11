"""Objects kept between builds: what is taken again, what is not, and that nothing but time depends on it."""

from __future__ import annotations

import os
import re
import subprocess
import threading
from pathlib import Path

import pytest

from mipsrec.cache import objects
from mipsrec.native import shards
from tests.support.commandline import command, environment, mipsrec
from tests.support.paths import PREBUILT, SAMPLES

SAMPLE = PREBUILT / "mips" / "crc32.elf"
EXPECTED = (SAMPLES / "expected" / "crc32.txt").read_text()


def _build(source: Path, output: Path, cache: Path, *words: str) -> str:
    """Build at level 0; return what is said of parts kept."""
    result = mipsrec("build", source, "-o", output, "--opt", "0", "--jobs", "1", *words, MIPSREC_CACHE=str(cache))
    assert result.returncode == 0, result.stderr
    found = re.search(r"\d+ of \d+", result.stdout)
    return found[0] if found else ""


def _kept(cache: Path) -> list[Path]:
    return [path for path in (cache / "objects").rglob("*") if path.is_file()]


def test_unchanged_code_is_taken_again(tmp_path: Path) -> None:
    cache, first, second = tmp_path / "cache", tmp_path / "first.so", tmp_path / "second.so"
    assert _build(SAMPLE, first, cache) == ""
    assert _build(SAMPLE, second, cache) == "1 of 1"
    assert first.read_bytes() == second.read_bytes()
    assert _build(SAMPLE, second, cache, "--no-reuse") == ""
    for other in (("--opt", "1"), ("--cpu", "generic"), ("--memory", "paged"), ("--calls", "thunked")):
        assert _build(SAMPLE, second, cache, *other) == "", other
    assert len(_kept(cache)) == 5


def test_no_reuse_keeps_nothing(tmp_path: Path) -> None:
    _build(SAMPLE, tmp_path / "lib.so", tmp_path / "cache", "--no-reuse")
    assert _kept(tmp_path / "cache") == []


def test_edited_ir(tmp_path: Path) -> None:
    """An edit shows, and so does taking it back."""
    cache, library = tmp_path / "cache", tmp_path / "lib.so"
    assert mipsrec("dump-llvm", SAMPLE, "-o", tmp_path / "ir").returncode == 0
    assert _build(tmp_path / "ir", library, cache) == ""
    before = library.read_bytes()
    path = next(path for path in sorted((tmp_path / "ir").glob("*.ll")) if "= sub i32 " in path.read_text())
    text = path.read_text()
    path.write_text(text.replace("= sub i32 ", "= mul i32 "))
    assert _build(tmp_path / "ir", library, cache) == ""
    assert library.read_bytes() != before
    path.write_text(text)
    assert _build(tmp_path / "ir", library, cache) == "1 of 1"
    assert library.read_bytes() == before


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty"])
def test_damaged_entry(damage: str, tmp_path: Path) -> None:
    cache, library = tmp_path / "cache", tmp_path / "lib.so"
    _build(SAMPLE, library, cache)
    whole = library.read_bytes()
    (entry,) = _kept(cache)
    data = entry.read_bytes()
    flipped = data[:100] + bytes([data[100] ^ 1]) + data[101:]
    entry.write_bytes({"cut": data[:-40], "flipped": flipped, "empty": b""}[damage])
    assert _build(SAMPLE, library, cache) == ""
    assert library.read_bytes() == whole and entry.read_bytes() == data


def test_cache_that_cannot_be_written(tmp_path: Path) -> None:
    """A build needs no cache."""
    (tmp_path / "file").write_text("")
    assert _build(SAMPLE, tmp_path / "lib.so", tmp_path / "file" / "cache") == ""
    result = mipsrec("run", "--library", tmp_path / "lib.so", SAMPLE)
    assert (result.returncode, result.stdout) == (0, EXPECTED)


def test_builds_side_by_side(tmp_path: Path) -> None:
    changes = environment(MIPSREC_CACHE=str(tmp_path / "cache"))
    outputs = [tmp_path / f"{number}.so" for number in range(3)]
    words = [command("build", SAMPLE, "-o", output, "--opt", "0", "--jobs", "1") for output in outputs]
    running = [subprocess.Popen(line, stdout=subprocess.DEVNULL, env=changes) for line in words]
    assert [process.wait() for process in running] == [0, 0, 0]
    assert len({output.read_bytes() for output in outputs}) == 1
    assert len(_kept(tmp_path / "cache")) == 1


def test_least_recently_used_go_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIPSREC_CACHE", str(tmp_path))
    keys = [f"{number:040x}" for number in range(10)]
    for age, key in enumerate(keys):
        objects.keep(key, bytes(1000))
        (path,) = [path for path in _kept(tmp_path) if path.name == key[2:]]
        os.utime(path, (1_000_000 - age, 1_000_000 - age))
    assert objects.find(keys[9]) == bytes(1000)  # the oldest, but now used
    objects.trim(20_000)
    assert len(_kept(tmp_path)) == 10
    objects.trim(8_000)
    assert [key for key in keys if objects.find(key) is not None] == [*keys[:4], keys[9]]


def test_trimming_beside_builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries that vanish are misses; nobody minds."""
    monkeypatch.setenv("MIPSREC_CACHE", str(tmp_path))
    keys = [f"{number:040x}" for number in range(50)]

    def trim() -> None:
        for _ in range(40):
            objects.trim(0)

    thread = threading.Thread(target=trim)
    thread.start()
    for _ in range(8):
        for key in keys:
            objects.keep(key, key.encode())
            assert objects.find(key) in (None, key.encode())
    thread.join()
    objects.trim(0)
    assert _kept(tmp_path) == []


def test_a_change_stays_where_it_is() -> None:
    """Where shards are cut depends on what is near: a function that grows leaves most shards as they were."""
    sized = [(number, 40 + number * 37 % 200, f"{number:08x}") for number in range(1500)]
    before = shards._cut(sized)
    assert all(weight <= shards.MOST_INSTRUCTIONS for _, weight in before)
    assert sum(weight for _, weight in before) == sum(size for _, size, _ in sized)
    for changed in (100, 700, 1400):
        sized[changed] = (changed, 700, f"{changed:08x}")
        after = shards._cut(sized)
        same = {group for group, _ in before} & {group for group, _ in after}
        assert len(same) >= len(before) - 6
        before = after


def test_an_object_under_the_name_of_another(tmp_path: Path) -> None:
    """Who could once write the folder could exchange them, which no owner or permission tells later."""
    cache, library = tmp_path / "cache", tmp_path / "lib.so"
    made = []
    for sample in (SAMPLE, PREBUILT / "mips" / "sha256.elf"):
        before = set(_kept(cache))
        _build(sample, library, cache)
        made += [(sample, library.read_bytes(), (set(_kept(cache)) - before).pop())]
    one, other = (path for _, _, path in made)
    one.rename(tmp_path / "aside")
    other.rename(one)
    (tmp_path / "aside").rename(other)
    for sample, expected, _ in made:
        assert _build(sample, library, cache) == ""
        assert library.read_bytes() == expected
