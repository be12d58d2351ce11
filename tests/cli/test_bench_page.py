"""`mipsrec bench --page`: tables between the marks of a page that people wrote."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mipsrec import cli
from mipsrec.commands import bench_markdown, bench_page
from mipsrec.commands.bench_report import Results
from mipsrec.errors import BuildError
from mipsrec.options import Options
from mipsrec.timing import Comparison
from tests.support.paths import PREBUILT, ROOT, SAMPLES

PAGE = """# Title

Words.

<!-- bench kernels -->
<!-- end -->

More words.

<!-- bench programs -->
old table
<!-- end -->
<!-- bench calls -->
no run yet
<!-- end -->
<!-- bench numeric -->
kept
<!-- end -->
<!-- bench goals -->
<!-- end -->
The end.
"""


def results() -> Results:
    machine: dict[str, object] = {"processor": "p", "processors": 2, "load": 0.0, "tools": {"gcc": "gcc (D 1) 12.2.0"}}
    found = Results(Options(), 1, machine, ["mipsel", "mipsel baseline", "mipsel qemu"])
    for name, group, ratio in (
        ("a", "integer", 1.0), ("b", "floating", 4.0), ("bytecode", "calls", 3.0), ("lua", "program", 2.0),
    ):  # fmt: skip
        seconds = {"native": [2.0], "mipsel": [ratio * 2], "mipsel baseline": [ratio * 4], "mipsel qemu": [6.0]}
        found.comparisons.append(Comparison(name, seconds, references={"mipsel qemu": [1.0]}))
        found.groups[name] = group
    found.comparisons[0].seconds.pop("mipsel qemu")
    return found


def test_regions_get_their_tables_and_other_text_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_markdown, "version", lambda: "commit abc")
    page = bench_page.updated(PAGE, results(), "mipsrec bench")
    kernels, programs = page.split("<!-- bench programs -->")
    assert kernels.startswith("# Title\n\nWords.\n\n<!-- bench kernels -->\ncommit abc, 20")
    assert [line for line in kernels.splitlines() if line.startswith("|")] == [
        "| program | native s | LE | first LE | qemu LE |",
        "|---|---:|---:|---:|---:|",
        "| a | 2.00 | 1.00 | 2.00 | - |",
        "| b | 2.00 | 4.00 | 8.00 | 6.00 |",
        "| geometric mean of 2 |  | 2.00 | 4.00 | 6.00 |",
    ]
    assert "\n\nMore words.\n\n" in kernels and "| lua | 2.00 | 2.00 | 4.00 | 6.00 |" in programs
    calls = page.split("<!-- bench calls -->")[1].split("<!-- end -->")[0]
    assert "| bytecode | 2.00 | 3.00 | 6.00 | 6.00 |\n| geometric mean of 1 |  | 3.00 | 6.00 | 6.00 |\n" in calls
    assert "old table" not in page and "no run yet" not in page
    assert "kept\n<!-- end -->\n" in page and page.endswith("<!-- end -->\nThe end.\n")
    assert bench_page.updated(page, results(), "mipsrec bench") == page


def test_a_run_of_some_programs_leaves_what_it_cannot_say() -> None:
    """Nothing of a table is lost to a run that lacks one of its programs; the goals are of all programs."""
    page = bench_page.updated(PAGE, results(), "first")
    assert bench_page.stays(PAGE, results()) == {"numeric": [], "goals": []}
    assert "<!-- bench goals -->\n<!-- end -->\n" in page
    whole = PAGE.replace("<!-- bench numeric -->\nkept\n<!-- end -->\n", "")
    page = bench_page.updated(whole, results(), "first")
    assert "- FAILS little-endian kernels, geometric mean of 2: 2.00, at most 1.12\n" in page
    some = results()
    some.comparisons = [comparison for comparison in some.comparisons if comparison.name != "b"]
    later = bench_page.updated(page, some, "later")
    assert bench_page.complaints(page, some) == [
        "the region kernels stays: this run lacks b", "the region goals stays: this run lacks b",
    ]  # fmt: skip
    assert [text.count("`first`") for text in (page, later)] == [4, 2]


def test_pages_are_read_with_care(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    with pytest.raises(BuildError, match="cannot be read"):
        bench_page.read(str(page))
    for text, complaint in (("words\n", "no marks"), ("<!-- bench speed -->\n<!-- end -->\n", "unknown region speed")):
        page.write_text(text)
        with pytest.raises(BuildError, match=f"{complaint}; a table goes between <!-- bench kernels|"):
            bench_page.read(str(page))
    assert cli.main(["bench", "--page", str(page), "a", "b"]) == 1


def test_our_own_page_has_all_regions() -> None:
    page = bench_page.read(str(ROOT / "docs" / "performance.md"))
    assert all(page.count(f"<!-- bench {region} -->\n") == 1 for region in bench_page.REGIONS)


def test_a_run_writes_into_the_page(tmp_path: Path) -> None:
    native, page = tmp_path / "native", tmp_path / "page.md"
    native.write_text(f"#!/bin/sh\ncat '{SAMPLES / 'expected' / 'sha256.txt'}'\n")
    native.chmod(0o755)
    page.write_text("Words.\n<!-- bench goals -->\n<!-- end -->\n")
    words = ["bench", "--without", "qemu", "--rounds", "1", "--opt", "0", "--jobs", "1", "--page", str(page)]
    assert cli.main([*words, str(PREBUILT / "mips" / "sha256.elf"), str(native)]) == 0
    assert page.read_text().startswith(f"Words.\n<!-- bench goals -->\n{bench_markdown.version()}, 20")
    assert "\n- no goal is about these programs\n<!-- end -->\n" in page.read_text()


def test_the_first_table_of_our_page_has_the_means_of_the_others() -> None:
    page = (ROOT / "docs/performance.md").read_text()
    summary = re.findall(r"^\| (\d+) [^|]*\| ([^|]*) \| ([^|]*) \| ([^|]*) \|$", page, re.MULTILINE)
    means = re.findall(r"^\| geometric mean of (\d+) \|  \| (.*) \|$", page, re.MULTILINE)
    assert [(count, ", ".join(cells).split(", ")) for count, *cells in summary] == [
        (count, cells.split(" | ")) for count, cells in means
    ]
