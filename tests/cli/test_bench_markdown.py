"""`mipsrec bench --markdown`: the tables as a section of a page, with where they come from."""

from __future__ import annotations

from pathlib import Path

import pytest

from mipsrec import cli
from mipsrec.commands import bench_markdown
from mipsrec.commands.bench_report import Results
from mipsrec.options import Options
from mipsrec.timing import Comparison
from tests.support.paths import PREBUILT, SAMPLES


def results() -> Results:
    machine: dict[str, object] = {"processor": "p", "processors": 2, "load": 0.0, "tools": {"gcc": "gcc (D 1) 12.2.0"}}
    found = Results(Options(), 2, machine, ["mipsel", "mipsel qemu"])
    for name, group, ratio in (("a", "integer", 1.0), ("b", "floating", 4.0)):
        seconds = {"native": [2.0, 2.0], "mipsel": [ratio * 2, ratio * 2 + 1], "mipsel qemu": [6.0]}
        found.comparisons.append(Comparison(name, seconds, references={"mipsel qemu": [1.0]}))
        found.groups[name] = group
    found.comparisons[1].wrong["mipsel qemu"] = "other output"
    facts = {"seconds": 1.26, "shards": 1, "reused": 0, "library_bytes": 30, "text_bytes": 20}
    found.translations["a"] = {"mipsel": facts}
    found.skipped["lua"] = "no source package"
    return found


def test_the_section(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_markdown, "version", lambda: "commit abc")
    lines = bench_markdown.section(results(), "mipsrec bench --rounds 2").splitlines()
    assert lines[0].startswith("## ") and lines[2].startswith("- commit abc, 20")
    assert lines[2].endswith(": `mipsrec bench --rounds 2`") and any("gcc 12.2.0" in line for line in lines)
    assert [line for line in lines if line.startswith("|")] == [
        "| program | native s | mipsel | mipsel qemu |",
        "|---|---:|---:|---:|",
        "| a | 2.000 | 1.25 (1.00-1.50) | 6.00 |",
        "| b | 2.000 | 4.25 (4.00-4.50) | WRONG |",
        "| **mean, integer** |  | **1.25** | **6.00** |",
        "| **mean, floating** |  | **4.25** | **6.00** |",
        "| **geometric mean** |  | **2.30** | **6.00** |",
        "| program | mipsel: s | mipsel: library / code |",
        "|---|---:|---:|",
        "| a | 1.3 | 1.50 |",
    ]
    assert lines[-1] == "- without lua: no source package"


def test_an_installed_package_has_a_version(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "runtime").mkdir()
    monkeypatch.setattr(bench_markdown, "runtime_folder", lambda: tmp_path / "runtime")
    assert bench_markdown.version().startswith("mipsrec ")
    (tmp_path / ".git").mkdir()  # no repository, or one that git refuses
    assert bench_markdown.version().startswith("mipsrec ")


def test_a_pair_of_programs(tmp_path: Path) -> None:
    native, page = tmp_path / "native", tmp_path / "page.md"
    native.write_text(f"#!/bin/sh\ncat '{SAMPLES / 'expected' / 'sha256.txt'}'\n")
    native.chmod(0o755)
    words = ["bench", "--without", "qemu", "--rounds", "1", "--opt", "0", "--jobs", "1", "--markdown", str(page)]
    assert cli.main([*words, str(PREBUILT / "mips" / "sha256.elf"), str(native)]) == 0
    text = page.read_text()
    assert text.startswith(bench_markdown.TITLE) and "`mipsrec bench --without qemu --rounds 1 --opt 0" in text
    assert bench_markdown.version() in text and "\n| sha256.elf | " in text
    assert cli.main(["bench", "--markdown", str(tmp_path / "none" / "page.md"), "a", "b"]) == 1
