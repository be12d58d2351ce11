"""`mipsrec cache`: what it lists, finds damaged and removes. Libraries are tiny; each test has a cache of its own."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from mipsrec.cache import limit
from mipsrec.cache.folders import source_digest
from mipsrec.cache.library_file import Damaged, read_library
from tests.cli.storing import OTHER, libraries
from tests.support.commandline import assert_one_line, mipsrec
from tests.support.dynamic import library
from tests.support.mounts import in_namespace, read_only

DAY = 86400


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a sysroot of three libraries, and a cache with their code in two variants."""
    folder = tmp_path_factory.mktemp("prepared")
    for number, order in enumerate(("big", "little", "little")):
        source = f"int f(int x) {{ return x * {number + 3}; }}"
        library(folder / f"root/lib{number}.so", order, source=source)
    for level in ("0", "1"):
        result = mipsrec("build", "--opt", level, "--sysroot", folder / "root", MIPSREC_CACHE=str(folder / "cache"))
        assert result.stdout.startswith("3 files recompiled"), result
    return folder


@pytest.fixture
def cache(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of that cache, which MIPSREC_CACHE names."""
    shutil.copytree(prepared / "cache", tmp_path / "cache")
    monkeypatch.setenv("MIPSREC_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def listed() -> dict[str, Any]:
    result = mipsrec("cache", "list", "--json")
    assert (result.returncode, result.stderr) == (0, ""), result
    facts: dict[str, Any] = json.loads(result.stdout)
    return facts


def as_other_version(cache: Path) -> None:
    shutil.copytree(cache / "code" / source_digest(), cache / "code" / OTHER)


def age(path: Path, days: float) -> None:
    then = time.time() - days * DAY
    os.utime(path, (then, then))


# ---- list ----


def test_list_names_files_versions_and_variants(prepared: Path, cache: Path) -> None:
    as_other_version(cache)
    output = mipsrec("cache", "list").stdout
    assert output.startswith(f"{cache}: ") and "the limit for libraries is 16.0 GiB" in output
    assert output.count("made by this mipsrec") == 2 and output.count("made by another version") == 2
    assert output.count(str(prepared / "root/lib1.so")) == 4 and output.count("3 libraries, ") == 4
    assert output.index("made by this") < output.index("made by another")
    assert "flat-direct-0-" in output and "flat-direct-1-" in output


def test_list_for_machines(prepared: Path, cache: Path) -> None:
    facts = listed()
    assert facts["folder"] == str(cache) and facts["limit"] == 16 << 30 and facts["version"] == source_digest()
    found = facts["libraries"]
    assert len(found) == 6 == facts["totals"]["code"]["count"]
    assert {one["soname"] for one in found} == {"lib0.so", "lib1.so", "lib2.so"}
    assert {one["source"] for one in found} == {str(prepared / f"root/lib{n}.so") for n in range(3)}
    for one in found:
        path = Path(one["path"])
        assert path.stem == one["identity"] and path.stat().st_size == one["bytes"] and one["current"]
        assert one["entries"] >= 1 and one["producer"].startswith("mipsrec ") and "--opt " in one["options"]
        assert abs(one["used"] - time.time()) < 1000
    assert facts["total_bytes"] == sum(total["bytes"] for total in facts["totals"].values())


def test_list_knows_the_other_folders(cache: Path) -> None:
    for name, size in (("libraries/a.so", 100), ("host/abc/mipsrec-host", 200), ("objects/ab/cdef", 300)):
        (cache / name).parent.mkdir(parents=True, exist_ok=True)
        (cache / name).write_bytes(bytes(size))
    totals = listed()["totals"]
    assert (totals["libraries"], totals["host"]) == ({"count": 1, "bytes": 100}, {"count": 1, "bytes": 200})
    assert totals["objects"]["bytes"] >= 300
    assert "1 hosts, 200 bytes" in mipsrec("cache", "list").stdout


def test_list_of_damaged_and_unnamed_libraries(cache: Path) -> None:
    for path in libraries(cache):
        path.write_bytes(b"nonsense")
    for path in cache.glob("code/*/*/*/*.json"):
        path.write_text("[1, ")
    assert all(one["entries"] is None and one["source"] == "" for one in listed()["libraries"])
    assert mipsrec("cache", "list").stdout.count("unreadable") == 6


def test_list_of_nothing(tmp_path: Path) -> None:
    result = mipsrec("cache", "list", MIPSREC_CACHE=str(tmp_path / "new"))
    assert result.returncode == 0 and "0 recompiled libraries in the store" in result.stdout


def test_path(tmp_path: Path) -> None:
    assert mipsrec("cache", "path", MIPSREC_CACHE=str(tmp_path / "x")).stdout == f"{tmp_path}/x\n"
    assert mipsrec("cache", "path", MIPSREC_CACHE=None, XDG_CACHE_HOME=str(tmp_path)).stdout == f"{tmp_path}/mipsrec\n"


def test_looking_is_no_use(cache: Path) -> None:
    """Neither listing nor checking makes a library seem used."""
    for path in libraries(cache):
        age(path, 10)
    before = [path.stat().st_atime_ns for path in libraries(cache)]
    mipsrec("cache", "list")
    mipsrec("cache", "verify")
    assert [path.stat().st_atime_ns for path in libraries(cache)] == before


def test_build_describes_its_library_of_some_functions(prepared: Path, cache: Path) -> None:
    """Such a library has a name of its own; what it is of stands beside it."""
    from mipsrec import pipeline

    guest = pipeline.open_guest(prepared / "root/lib1.so")
    path = pipeline.cached_library(guest, pipeline.Options(opt=0), functions=guest.functions_like(["f"]))
    (found,) = [one for one in listed()["libraries"] if one["kind"] == "libraries"]
    assert found["path"] == str(path) and found["current"] and found["soname"] == "lib1.so"
    assert found["identity"] == guest.image.identity


# ---- verify ----

DAMAGE: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "flipped": (lambda data: data[:5000] + bytes([data[5000] ^ 1]) + data[5001:], "its checksum is wrong"),
    "cut": (lambda data: data[:-1], "truncated or was never finished"),
    "short": (lambda data: data[:10], "truncated or was never finished"),
    "empty": (lambda data: b"", "it is empty"),
    "longer": (lambda data: data + b"x", "truncated or was never finished"),
}


def test_whole_libraries(cache: Path) -> None:
    as_other_version(cache)
    result = mipsrec("cache", "verify")
    assert (result.returncode, result.stdout, result.stderr) == (0, "12 libraries checked, 0 damaged\n", "")


@pytest.mark.parametrize("how", DAMAGE)
def test_damaged_library_is_named_and_removed(cache: Path, how: str) -> None:
    damage, reason = DAMAGE[how]
    path = libraries(cache)[2]
    path.write_bytes(damage(path.read_bytes()))
    result = mipsrec("cache", "verify")
    assert result.returncode == 1 and result.stdout.startswith("6 libraries checked, 1 damaged; with --remove")
    assert result.stderr.startswith(f"mipsrec: {path} (of ") and reason in result.stderr
    assert result.stderr.count("\n") == 1 and path.exists()
    result = mipsrec("cache", "verify", "--remove")
    assert result.returncode == 1 and result.stderr.endswith(": removed\n")
    assert not path.exists() and not path.with_suffix(".json").exists() and not list(path.parent.glob("*.json"))
    assert mipsrec("cache", "verify").returncode == 0


def test_library_under_a_wrong_name_is_damaged(cache: Path) -> None:
    one, two = libraries(cache)[:2]
    shutil.copy(one, two)
    assert "it is of another file than its name says" in mipsrec("cache", "verify").stderr


def test_damage_of_other_versions_is_found(cache: Path) -> None:
    as_other_version(cache)
    path = next(path for path in libraries(cache) if OTHER in str(path))
    path.write_bytes(DAMAGE["flipped"][0](path.read_bytes()))
    assert str(path) in mipsrec("cache", "verify").stderr


def test_damaged_library_that_cannot_be_removed(cache: Path) -> None:
    path = libraries(cache)[0]
    path.write_bytes(b"")
    from tests.support.commandline import command, environment

    result = in_namespace(read_only(cache), command("cache", "verify", "--remove"), environment())
    assert result.returncode == 1 and result.stderr.endswith(": cannot be removed\n")


def test_headers_that_lead_astray(cache: Path, tmp_path: Path) -> None:
    """Whatever word of the headers is nonsense, a library is damaged or not, and nothing else happens."""
    good = libraries(cache)[0].read_bytes()
    identity = libraries(cache)[0].stem
    path = tmp_path / "library.so"
    for at in [*range(0, 64, 4), *range(len(good) - 600, len(good), 8)]:
        path.write_bytes(good[:at] + b"\xf0\xff\xff\x7f" + good[at + 4 :])
        with suppress(Damaged):
            assert read_library(path).identity == identity


# ---- prune ----


def test_nothing_to_prune(cache: Path) -> None:
    before = sorted(cache.rglob("*"))
    result = mipsrec("cache", "prune")
    assert (result.returncode, result.stdout) == (0, "0 removed, 0 bytes\n"), result
    assert sorted(cache.rglob("*")) == before


def test_other_versions_go(cache: Path) -> None:
    as_other_version(cache)
    (cache / "libraries").mkdir()
    for name, version in (("old", None), ("mine", source_digest())):
        shutil.copy(libraries(cache)[0], cache / f"libraries/{name}.so")
        if version:
            (cache / f"libraries/{name}.json").write_text(json.dumps({"path": "/x", "version": version}))
        (cache / f"host/{name}").mkdir(parents=True)
        (cache / f"host/{name}/mipsrec-host").write_text("host")
        (cache / f"host/{name}/version").write_text((version or OTHER) + "\n")
    mine = [path for path in libraries(cache) if OTHER not in str(path)]
    output = mipsrec("cache", "prune", "--other-versions", "--dry-run").stdout
    assert output.splitlines()[-1].startswith("8 would be removed") and (cache / "code" / OTHER).exists()
    output = mipsrec("cache", "prune", "--other-versions").stdout
    assert output.splitlines()[-1].startswith("8 removed, ") and str(cache / "code" / OTHER) in output
    assert libraries(cache) == mine and not (cache / "code" / OTHER).exists()
    assert sorted(path.name for path in (cache / "libraries").iterdir()) == ["mine.json", "mine.so"]
    assert [path.name for path in (cache / "host").iterdir()] == ["mine"]


def test_old_ones_go(cache: Path) -> None:
    """The time of use counts: access or modification, whichever is later."""
    one, two, three = libraries(cache)[:3]
    age(one, 40)
    os.utime(two, (time.time() - 3 * DAY, time.time() - 50 * DAY))
    os.utime(three, (time.time() - 50 * DAY, time.time() - 3 * DAY))
    for path in cache.glob("objects/*/*"):
        age(path, 40)
    output = mipsrec("cache", "prune", "--older-than", "30d").stdout
    assert not one.exists() and two.exists() and three.exists() and str(one) in output
    assert not list(cache.glob("objects/*"))
    mipsrec("cache", "prune", "--older-than", "2d")
    assert not two.exists() and not three.exists() and len(libraries(cache)) == 3


def test_size_is_bounded(cache: Path) -> None:
    shutil.rmtree(cache / "objects")
    paths = libraries(cache)
    for days, path in enumerate(paths):
        age(path, 6 - days)
    size = sum(path.stat().st_size for path in paths[4:]) + paths[3].stat().st_size // 2
    output = mipsrec("cache", "prune", "--max-size", str(size + 2000)).stdout
    assert not any(path.exists() for path in paths[:4]) and all(path.exists() for path in paths[4:]), output
    assert mipsrec("cache", "prune", "--max-size", "0").returncode == 0 and libraries(cache) == []
    assert not (cache / "code").exists()


def test_limit_holds_for_prune(cache: Path) -> None:
    mipsrec("cache", "prune", MIPSREC_CACHE_LIMIT="40K")
    assert 1 <= len(libraries(cache)) <= 2
    assert_one_line(mipsrec("cache", "prune", MIPSREC_CACHE_LIMIT="x"), "MIPSREC_CACHE_LIMIT", status=2)
    assert mipsrec("cache", "prune", MIPSREC_CACHE_LIMIT="none").returncode == 0
    assert "no limit" in mipsrec("cache", "list", MIPSREC_CACHE_LIMIT="none").stdout


def test_leftovers_go_but_not_those_in_use(cache: Path) -> None:
    folder = libraries(cache)[0].parent
    (folder / "ff.lock").touch()
    (folder / "ff.json").write_text("{}")
    for name, days in ((".mipsrec-old", 1), (".mipsrec-new", 0)):
        (folder / name).mkdir()
        (folder / name / "1.o").write_bytes(bytes(1000))
        for path in (folder / name / "1.o", folder / name):
            age(path, days)
    held = libraries(cache)[-1].parent
    (held / "ee.lock").touch()
    (held / ".mipsrec-held").mkdir()
    age(held / ".mipsrec-held", 1)
    with (held / "ee.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        output = mipsrec("cache", "prune").stdout
    assert output.splitlines()[-1].startswith("3 removed") and "1 leftovers: unfinished build, " in output
    assert sorted(path.name for path in folder.iterdir() if path.suffix not in (".so", ".json")) == [".mipsrec-new"]
    assert (held / "ee.lock").exists() and (held / ".mipsrec-held").exists()
    assert not (folder / "ff.json").exists() and len(libraries(cache)) == 6


def test_stale_notes_go(cache: Path) -> None:
    notes = cache / "identities"
    notes.mkdir()
    status = libraries(cache)[0].stat()
    head = "1 100 1700000000.000000001 1700000000.000000002 "
    texts = {
        f"{status.st_dev:x}-{status.st_ino:x}": f"{head}whole\n",
        "1-aa": f"{head}{'ab' * 32}\n",
        "1-ab": f"{head}{'ab' * 32}\n",
        "1-ac": f"{head}whole\n",
        "1-ad": f"{head}{'ab' * 31}\n",
        "1-ae": "",
        "1-aa.77": head,
    }
    for name, text in texts.items():
        (notes / name).write_text(text)
    os.mkfifo(notes / "1-af")
    age(notes / "1-ab", 31)
    age(notes / "1-aa.77", 1)
    assert mipsrec("cache", "prune").stdout.splitlines()[-1].startswith("6 removed")
    assert sorted(path.name for path in notes.iterdir()) == sorted([*texts][:2])


def test_pruning_while_builds_run(prepared: Path, tmp_path: Path) -> None:
    """Folders vanish under builds; these make them again."""
    from tests.support.commandline import command, environment

    variables = environment(MIPSREC_CACHE=str(tmp_path / "cache"))
    words = command("build", "--opt", "0", "--jobs", "1", "--no-reuse", "--sysroot", prepared / "root")
    for _ in range(2):
        building = subprocess.Popen(words, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while building.poll() is None:
            mipsrec("cache", "prune", "--max-size", "0", MIPSREC_CACHE=str(tmp_path / "cache"))
        output, errors = building.communicate()
        assert (building.returncode, errors) == (0, "") and output.startswith("3 files recompiled")
        mipsrec("cache", "prune", "--max-size", "0", MIPSREC_CACHE=str(tmp_path / "cache"))


# ---- usage ----


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "list|verify|prune|path|warm"), (("prune", "--max-size", "4X"), "no size"),
        (("prune", "--older-than", "30"), "no time"), (("prune", "--older-than", "d"), "no time"),
        (("empty",), "empty"),
    ],
)  # fmt: skip
def test_usage(words: tuple[str, ...], said: str) -> None:
    assert_one_line(mipsrec("cache", *words), said, status=2)


def test_help_teaches() -> None:
    output = mipsrec("cache", "--help").stdout
    for word in ("--other-versions", "--older-than 30d", "MIPSREC_CACHE_LIMIT", "--remove"):
        assert word in output


@pytest.mark.parametrize(
    ("text", "size"), [("4G", 4 << 30), ("1.5k", 1536), ("10", 10), ("2 GiB", None), ("3MiB", 3 << 20), ("1t", 1 << 40)]
)
def test_sizes(text: str, size: int | None) -> None:
    if size is None:
        with pytest.raises(ValueError, match="no size"):
            limit.parse_size(text)
    else:
        assert limit.parse_size(text) == size
    for size, shown in ((1536, "1.5 KiB"), (3 << 40, "3.0 TiB"), (5, "5 bytes")):
        assert limit.size_text(size) == shown
