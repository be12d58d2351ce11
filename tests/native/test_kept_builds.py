"""Builds of what earlier builds have kept: what is taken without analysis or lifting, and that it is never stale."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from mipsrec import pipeline, profiles, recompile
from mipsrec.cache import objects
from mipsrec.cache.folders import OBJECTS, RECORDS
from mipsrec.isa import decode
from mipsrec.native import kept_parts, library, shards
from mipsrec.native.build_times import Phase
from mipsrec.native.library import BuildReport
from mipsrec.native.shards import Shard
from mipsrec.options import Options
from tests.support.dying import abort
from tests.support.paths import PREBUILT

SAMPLE = PREBUILT / "mipsel" / "virtual.elf"


def apart(folder: Path, patches: pytest.MonkeyPatch) -> None:
    """Have some shards of a small program, and a cache in the folder."""
    patches.setattr(shards, "LEAST_INSTRUCTIONS", 40)
    patches.setattr(shards, "MOST_INSTRUCTIONS", 120)
    patches.setenv("MIPSREC_CACHE", str(folder / "cache"))
    patches.delenv("MIPSREC_CHECK", raising=False)


@pytest.fixture(autouse=True)
def small_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    apart(tmp_path, monkeypatch)


def build(source: Path, output: Path, **options: Any) -> tuple[BuildReport, bool]:
    """Build at level 0; return the report, and whether the program was analysed."""
    guest = pipeline.open_guest(source)
    report = recompile.build(guest, output, Options(**{"opt": 0, "jobs": 1, **options}))
    return report, "program" in vars(guest)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a library of the sample, and the cache that has its parts."""
    folder = tmp_path_factory.mktemp("built")
    with pytest.MonkeyPatch.context() as patches:
        apart(folder, patches)
        build(SAMPLE, folder / "first.so")
    return folder


@pytest.fixture
def first(built: Path, tmp_path: Path) -> None:
    """Copy them into the test's folder."""
    shutil.copytree(built, tmp_path, dirs_exist_ok=True)


def fresh(source: Path, folder: Path, **options: Any) -> bytes:
    """Return the library that a build makes that takes nothing from earlier ones."""
    build(source, folder / "fresh.so", **options, reuse=False)
    return (folder / "fresh.so").read_bytes()


def kept(folder: Path, kind: str) -> list[Path]:
    return sorted(path for path in (folder / "cache" / kind).rglob("*") if path.is_file())


def with_one_instruction_changed(folder: Path) -> Path:
    """Return a copy of the sample in which one addition has become a subtraction."""
    guest = pipeline.open_guest(SAMPLE)
    content = bytearray(SAMPLE.read_bytes())
    for function in reversed(guest.program.functions.values()):
        for block in function.blocks.values():
            for pc, instruction in zip(block.pcs(), block.body):
                if instruction.row.name == "addu" and instruction.rs and instruction.rt:
                    segment = next(one for one in guest.image.segments if one.vaddr <= pc < one.vaddr + one.filesz)
                    at = pc - segment.vaddr + segment.offset
                    changed = decode(instruction.word ^ 0x21 ^ 0x23)
                    assert changed is not None and changed.row.name == "subu"
                    content[at : at + 4] = changed.word.to_bytes(4, "little")
                    (folder / "changed").mkdir()
                    path = folder / "changed" / SAMPLE.name
                    path.write_bytes(content)
                    return path
    raise AssertionError("the sample adds nothing")


def test_an_unchanged_build_takes_no_analysis(tmp_path: Path) -> None:
    first, analysed = build(SAMPLE, tmp_path / "first.so")
    assert analysed and first.reused == 0 and first.shards > 3
    second, analysed = build(SAMPLE, tmp_path / "second.so")
    assert not analysed and second.reused == second.shards == first.shards
    assert Phase.LIFTING in first.times.phases and Phase.LIFTING not in second.times.phases
    whole = fresh(SAMPLE, tmp_path)
    assert (tmp_path / "first.so").read_bytes() == (tmp_path / "second.so").read_bytes() == whole


@pytest.mark.usefixtures("first")
def test_a_changed_function_is_lifted_alone(tmp_path: Path) -> None:
    changed = with_one_instruction_changed(tmp_path)
    report, analysed = build(changed, tmp_path / "second.so")
    assert analysed and 0 < report.shards - report.reused < report.shards / 2
    assert len(report.times.parts) == report.shards - report.reused
    assert (tmp_path / "second.so").read_bytes() == fresh(changed, tmp_path)
    assert (tmp_path / "second.so").read_bytes() != (tmp_path / "first.so").read_bytes()
    build(SAMPLE, tmp_path / "third.so")
    assert (tmp_path / "third.so").read_bytes() == (tmp_path / "first.so").read_bytes()


WAYS = [
    {"opt": 1}, {"cpu": "generic"}, {"memory": "paged"}, {"calls": "thunked"}, {"without": ("save-merge",)},
]  # fmt: skip


@pytest.mark.usefixtures("first")
@pytest.mark.parametrize("way", WAYS, ids=lambda way: "-".join(way))
def test_each_option_has_a_build_of_its_own(way: dict[str, object], tmp_path: Path) -> None:
    _, analysed = build(SAMPLE, tmp_path / "second.so", **way)
    assert analysed
    assert (tmp_path / "second.so").read_bytes() == fresh(SAMPLE, tmp_path, **way)


@pytest.mark.usefixtures("first")
def test_a_file_of_another_name(tmp_path: Path) -> None:
    """The library says what the file was called, so it is no library of the other file; its parts are the same."""
    other = shutil.copy(SAMPLE, tmp_path / "other.elf")
    report, analysed = build(Path(other), tmp_path / "second.so")
    assert analysed and report.reused == report.shards
    assert (tmp_path / "second.so").read_bytes() == fresh(Path(other), tmp_path)
    moved = tmp_path / "moved" / SAMPLE.name
    moved.parent.mkdir()
    shutil.copy(SAMPLE, moved)
    assert not build(moved, tmp_path / "third.so")[1]
    assert (tmp_path / "third.so").read_bytes() == (tmp_path / "first.so").read_bytes()


def test_a_profile_that_changes(tmp_path: Path) -> None:
    guest = pipeline.open_guest(SAMPLE)
    starts = sorted(guest.starts)
    path = tmp_path / "samples.prof"
    made = []
    for samples in (starts[:1], starts[:4], starts[:1]):
        lines = [f"{pc:08x} 9 lifted" for pc in samples]
        path.write_text("\n".join([f"mipsrec profile {profiles.VERSION} {guest.image.identity}", *lines]) + "\n")
        _, analysed = build(SAMPLE, tmp_path / "lib.so", profile=str(path), opt=1)
        made.append((analysed, (tmp_path / "lib.so").read_bytes()))
        assert made[-1][1] == fresh(SAMPLE, tmp_path, profile=str(path), opt=1)
    assert [analysed for analysed, _ in made] == [True, True, False]
    assert made[0][1] == made[2][1] != made[1][1]


def test_some_functions(tmp_path: Path) -> None:
    """A library of some functions is none of all, nor of others."""
    build(SAMPLE, tmp_path / "all.so")
    made = set()
    for count in (1, 2, 1):
        guest = pipeline.open_guest(SAMPLE)
        chosen = [guest.program.functions[start] for start in sorted(guest.starts)[:count]]
        recompile.build(guest, tmp_path / "some.so", Options(0), functions=chosen)
        made.add((tmp_path / "some.so").read_bytes())
    assert len(made) == 2 and (tmp_path / "all.so").read_bytes() not in made


@pytest.mark.usefixtures("first")
def test_nothing_is_taken_where_plans_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIPSREC_CHECK", "1")
    report, analysed = build(SAMPLE, tmp_path / "second.so")
    assert analysed and Phase.LIFTING in report.times.phases


@pytest.mark.usefixtures("first")
@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "gone", "exchanged", "of another"])
@pytest.mark.parametrize("kind", [RECORDS, OBJECTS])
def test_damaged_entries(kind: str, damage: str, tmp_path: Path) -> None:
    """What is damaged, or has the name of another, or belongs to another user, is made again."""
    if damage == "of another" and os.geteuid():
        pytest.skip("only root can give files away")
    paths = kept(tmp_path, kind)
    contents = [path.read_bytes() for path in paths]
    for path, data, other in zip(paths, contents, contents[1:] + contents[:1], strict=True):
        flipped = data[:10] + bytes([data[10] ^ 1]) + data[11:]
        written = {"cut": data[:-9], "flipped": flipped, "empty": b"", "exchanged": other}.get(damage)
        if written is not None:
            path.write_bytes(written)
        elif damage == "gone":
            path.unlink()
        else:
            os.chown(path, 4711, 4711)
    report, analysed = build(SAMPLE, tmp_path / "second.so")
    assert analysed and report.reused == (report.shards if kind == RECORDS else 0)
    assert (tmp_path / "second.so").read_bytes() == (tmp_path / "first.so").read_bytes()
    assert not build(SAMPLE, tmp_path / "third.so")[1]


def test_records_of_nonsense(tmp_path: Path) -> None:
    """A record that is whole and says nothing of use is a miss."""
    key = "ab" * 20
    for record in (b"", b"[", b"[]", b"{}", b"7", b'{"parts": [7]}', b'{"parts": ["../x"]}', b"[" * 100_000):
        objects.keep(key, record, RECORDS)
        assert kept_parts.find_build(key) is None
        assert kept_parts.find_part(key) is None
    objects.keep(key, b'{"object": "../../x", "entries": [], "functions": 1, "instructions": 1}', RECORDS)
    assert kept_parts.find_part(key) is None


def test_a_build_by_another_version_trims_what_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes all objects, which are found by their IR, and adds records; so versions do not fill the disk."""
    trimmed: list[int] = []
    monkeypatch.setattr(objects, "trim", lambda: trimmed.append(len(kept(tmp_path, RECORDS))))
    first, _ = build(SAMPLE, tmp_path / "first.so")
    for name in ("mipsrec.native.shard_inputs.made_by", "mipsrec.native.kept_parts.made_by"):
        monkeypatch.setattr(name, lambda: "another version")
    second, analysed = build(SAMPLE, tmp_path / "second.so")
    assert analysed and second.reused == second.shards
    build(SAMPLE, tmp_path / "third.so")
    assert trimmed == [first.shards, 2 * first.shards + 1]


def test_a_build_that_takes_nothing_keeps_nothing(tmp_path: Path) -> None:
    fresh(SAMPLE, tmp_path)
    assert kept(tmp_path, RECORDS) == kept(tmp_path, OBJECTS) == []


def test_a_build_without_some_functions_is_not_taken_for_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """What a compiler process died of is tried again: another time there may be memory enough."""
    fatal, compile_shard = max(pipeline.open_guest(SAMPLE).starts), library.compile_shard

    def dies(shard: Shard, *rest: Any, **named: Any) -> Any:
        return abort() if fatal in shard.starts else compile_shard(shard, *rest, **named)

    with monkeypatch.context() as patches:
        patches.setattr(library, "compile_shard", dies)
        build(SAMPLE, tmp_path / "first.so")
    assert "left out" in capfd.readouterr().err
    _, analysed = build(SAMPLE, tmp_path / "second.so")
    assert analysed and (tmp_path / "second.so").read_bytes() == fresh(SAMPLE, tmp_path)
    assert (tmp_path / "first.so").read_bytes() != (tmp_path / "second.so").read_bytes()


def test_a_guest_that_is_built_twice(tmp_path: Path) -> None:
    """Each report has what was spent for it."""
    guest = pipeline.open_guest(SAMPLE)
    first = recompile.build(guest, tmp_path / "first.so", Options(0, reuse=False))
    second = recompile.build(guest, tmp_path / "second.so", Options(0, reuse=False))
    assert Phase.ANALYSIS in first.times.phases and Phase.ANALYSIS not in second.times.phases


@pytest.mark.usefixtures("first")
def test_records_have_a_limit(tmp_path: Path) -> None:
    count = len(kept(tmp_path, OBJECTS))
    objects.trim(records_limit_bytes=0)
    assert kept(tmp_path, RECORDS) == [] and len(kept(tmp_path, OBJECTS)) == count
