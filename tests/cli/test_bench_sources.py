"""`mipsrec bench --fetch`: Debian's source packages, fetched once and prepared."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mipsrec.commands import bench_sources
from mipsrec.errors import BuildError
from tests.support.tools import need


def test_sources_are_fetched_only_when_they_are_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "sources"
    recipes: dict[str, dict[str, Any]] = {
        "here": {"tools": {}, "prepare": []},
        "not": {"tools": {"sh": "dash"}, "prepare": ["touch made", "cp $SAMPLES/ours ours"]},
        "toolless": {"tools": {"no-such-tool": "a-package"}, "prepare": []},
    }
    samples = SimpleNamespace(sources_folder=lambda: folder, load_packages=lambda: recipes, SAMPLES=tmp_path)
    (tmp_path / "ours").write_text("")
    (folder / "here").mkdir(parents=True)

    def download(package: str, into: Path) -> None:
        (into / f"{package}-1.0").mkdir()
        (into / f"{package}-1.0" / "a.c").write_text("")
        words = [need("tar"), "-cf", f"{package}_1.0.orig.tar.gz", f"{package}-1.0"]
        subprocess.run(words, cwd=into, check=True)

    monkeypatch.setattr(bench_sources, "_download", download)
    assert [line.partition(": ")[2] for line in bench_sources.fetch(samples)] == [
        "is there already", "fetched", "not fetched: needs no-such-tool; on Debian: apt-get install a-package",
    ]  # fmt: skip
    assert {path.name for path in (folder / "not").iterdir()} == {"a.c", "made", "ours"}
    assert {path.name for path in folder.iterdir()} == {"here", "not"}
    samples.load_packages = lambda: {"third": {"tools": {}, "prepare": ["false"]}}
    with pytest.raises(BuildError, match="third: false failed"):
        bench_sources.fetch(samples)
    assert {path.name for path in folder.iterdir()} == {"here", "not"}


def test_sources_come_from_where_programs_do() -> None:
    """Archives and parts that are not Debian's own are left out, and suites that keep no files; each stands once."""
    archive = "Debian http://archive/debian/ bookworm"
    found = bench_sources.source_list(f"{archive} main\n{archive} main\n{archive} contrib\nOther http://x/ y main\n")
    assert re.fullmatch(r"deb-src (\[signed-by=\S+\] )?http://archive/debian/ bookworm main\n", found)
    assert bench_sources.source_list("") == ""
    security = "Debian http://a/ bookworm-security main\n"
    assert bench_sources.source_list(f"{security}{archive} main\n") == found
    assert "a/ bookworm-security main\n" in bench_sources.source_list(security)
