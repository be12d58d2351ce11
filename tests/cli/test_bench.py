"""`mipsrec bench`: what it times, what it says of failures, how it judges a run, and that it leaves nothing behind."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import stat
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from mipsrec import cli, timing
from mipsrec.commands import bench, bench_chart, bench_compare, bench_contenders, bench_report
from mipsrec.errors import BuildError, UsageError
from mipsrec.options import Options
from mipsrec.timing import Comparison, Contender, compare
from tests.support.commandline import command, environment, heed_interrupts, mipsrec
from tests.support.paths import PREBUILT
from tests.support.tools import need


def shell(label: str, script: str) -> Contender:
    return Contender(label, ("/bin/sh", "-c", script))


# ---- timing ----


def test_rounds_are_paired_and_turn_around() -> None:
    order: list[str] = []
    result = compare("x", [shell("native", "echo 1"), shell("guest", "echo 1")], 3, running=order.append)
    assert order == ["native", "guest", "guest", "native", "native", "guest"]
    assert {label: len(times) for label, times in result.seconds.items()} == {"native": 3, "guest": 3}
    assert result.wrong == {}


def test_ratios_are_of_the_same_round() -> None:
    result = Comparison("x", {"native": [1.0, 2.0, 4.0], "guest": [2.0, 2.0, 12.0]})
    assert result.ratio("guest") == 2.0 and result.spread("guest") == (1.0, 3.0)
    assert result.ratio("nobody") is None and result.spread("nobody") is None


@pytest.mark.parametrize(
    "script, complaint",
    [
        ("echo 2", "other output"), ("echo 1; exit 3", "ended with exit status 3, native with exit status 0"),
        ("echo 1; kill -SEGV $$", "ended with signal 11, native with exit status 0"),
    ],
)  # fmt: skip
def test_wrong_contenders_are_named_and_run_no_more(script: str, complaint: str) -> None:
    order: list[str] = []
    contenders = [shell("native", "echo 1"), shell("guest", script), shell("other", "echo 1")]
    result = compare("x", contenders, 2, running=order.append)
    assert result.wrong == {"guest": complaint}
    assert order.count("guest") == 1 and len(result.seconds["other"]) == 2
    assert result.ratio("guest") is None


def test_slow_contenders_run_once_beside_a_reference_with_as_little_work() -> None:
    brief = [shell("native", "echo less"), shell("slow", "echo less"), shell("wrong", "echo more")]
    result = compare("x", [shell("native", "echo much"), shell("guest", "echo much")], 2, brief)
    assert len(result.seconds["native"]) == 2 and len(result.seconds["slow"]) == len(result.references["slow"]) == 1
    assert result.wrong == {"wrong": "other output"} and "wrong" not in result.seconds


def test_a_contender_that_does_not_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "LIMIT_SECONDS", 0.3)
    monkeypatch.setattr(timing, "LIMIT_TIMES", 0)
    result = compare("x", [shell("native", "echo 1"), shell("guest", "echo 1; exec sleep infinity")], 1)
    assert result.wrong["guest"].startswith("stopped after")


# ---- judgements ----


def results_of(ratios: dict[str, dict[str, float]], rounds: int = 2, width: float = 0.01) -> bench_report.Results:
    """Results whose rounds lie `width` around these ratios (program -> label -> ratio)."""
    machine: dict[str, object] = {"processor": "p", "processors": 2, "load": 0.0, "tools": {"gcc": "gcc (D 1) 12.2.0"}}
    labels = list(dict.fromkeys(label for row in ratios.values() for label in row))
    results = bench_report.Results(Options(), rounds, machine, labels)
    for name, row in ratios.items():
        seconds = {"native": [1.0] * rounds}
        for label, ratio in row.items():
            seconds[label] = [ratio - width, *[ratio] * (rounds - 2), ratio + width] if rounds > 1 else [ratio]
        results.comparisons.append(Comparison(name, seconds))
        results.groups[name] = "program" if name == "png" else "integer"
    return results


def document_of(*arguments: Any, **settings: Any) -> dict[str, Any]:
    """Their document, as it is read from a file."""
    result: dict[str, Any] = json.loads(json.dumps(bench_report.document(results_of(*arguments, **settings))))
    return result


def test_changes_beyond_the_spread_are_named() -> None:
    old = document_of({"a": {"mipsel": 1.0}, "b": {"mipsel": 1.0}, "c": {"mipsel": 1.0}, "gone": {"mipsel": 1.0}})
    new = document_of({"a": {"mipsel": 1.2}, "b": {"mipsel": 0.8}, "c": {"mipsel": 1.03}, "new": {"mipsel": 1.0}})
    lines = bench_compare.against(old, new)
    assert lines[0].startswith("SLOWER a mipsel: 1.00 -> 1.20") and lines[1].startswith("faster b mipsel: 1.00 -> 0.80")
    assert not any(" c " in line for line in lines) and lines[-1] == "1 of 3 ratios are within the spread"


def test_one_round_has_no_spread_to_go_beyond() -> None:
    old, new = (document_of({"a": {"mips": ratio}}, rounds=1) for ratio in (1.0, 1.08))
    assert not any("SLOWER" in line for line in bench_compare.against(old, new))
    assert "SLOWER a mips" in bench_compare.against(old, document_of({"a": {"mips": 1.2}}, rounds=1))[0]


def test_wrong_programs_have_no_ratio_to_compare() -> None:
    old, new = document_of({"a": {"mipsel": 1.0}}), document_of({"a": {"mipsel": 1.0}})
    new["programs"]["a"]["seconds"].pop("mipsel")
    new["programs"]["a"]["ratio"]["mipsel"] = None
    assert bench_compare.against(old, new) == ["nothing in common"]


def test_earlier_runs_are_read_with_care(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="cannot be read"):
        bench_compare.read(str(tmp_path / "none.json"))
    for text in ("{", "[]", '{"programs": 3}'):
        (tmp_path / "x.json").write_text(text)
        with pytest.raises(BuildError, match="not of `mipsrec bench --json`"):
            bench_compare.read(str(tmp_path / "x.json"))


# ---- what is shown ----


@pytest.mark.parametrize(
    "ratio, drawn",
    [(0.5, "######      |"), (1.0, "############|"), (1.5, "############|######"), (9.0, "############|############>")],
)
def test_bars(ratio: float, drawn: str) -> None:
    assert bench_report.bar(ratio) == drawn


def test_means_are_of_groups_and_of_all() -> None:
    results = results_of({"a": {"mipsel": 1.0}, "b": {"mipsel": 4.0}, "png": {"mipsel": 2.0, "mips": 3.0}}, width=0)
    assert results.mean("mipsel") == pytest.approx(2.0) and results.mean("mipsel", "integer") == pytest.approx(2.0)
    rows = [row.split() for row in bench_report.mean_rows(results)]
    assert rows == [["mean,", "integer", "2.00", "-"], ["mean,", "program", "2.00", "3.00"],
                    ["geometric", "mean", "2.00", "3.00"]]  # fmt: skip
    assert any("gcc 12.2.0" in line and "load 0.0" in line for line in bench_report.heading(results))


def test_the_chart_is_svg_with_a_bar_for_each_ratio() -> None:
    document = document_of({"<a>": {"mipsel": 1.0, "mipsel qemu": 50.0}, "b": {"mipsel": 7.0}})
    root = ElementTree.fromstring(bench_chart.chart(document))
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "<a>" in texts and "7.00 (cut)" in texts and "mipsel qemu" not in texts
    bars = [e for e in root.iter("{http://www.w3.org/2000/svg}rect") if e.get("x") == str(bench_chart.LEFT)]
    assert len(bars) == 3  # two programs and the mean
    assert all(float(e.get("width", 0)) <= bench_chart.PLOT for e in bars)


# ---- who takes part ----


def test_contenders_are_chosen_by_name() -> None:
    assert bench_contenders.chosen([], []) == ("clang", "gcc32", "qemu", "baseline")
    assert bench_contenders.chosen(["relocatable"], []) == ("relocatable",)
    assert bench_contenders.chosen(["qemu,clang"], []) == ("clang", "qemu")
    assert bench_contenders.chosen([], ["qemu", "clang"]) == ("gcc32", "baseline")
    with pytest.raises(UsageError, match="no contender tcc; there are clang, gcc32, qemu, baseline, reloc.*, counters"):
        bench_contenders.chosen([], ["tcc"])


def run_bench(*words: str) -> int:
    return cli.main(["bench", *words])


def test_code_that_may_be_anywhere_is_timed_beside(samples: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_bench(*LITTLE[:-2], "--contender", "relocatable,counters", "--only", "crc32", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert sorted(document["programs"]["crc32"]["ratio"]) == ["mipsel", "mipsel counters", "mipsel reloc"]


@pytest.fixture
def samples(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """The samples with next to nothing to do, and their source packages not there."""
    module = bench.load_samples_module()
    every = module.load_samples()
    little = {name: dataclasses.replace(s, bench=s.bench and ("2",), brief=("1",)) for name, s in every.items()}
    monkeypatch.setattr(module, "load_samples", lambda: little)
    monkeypatch.setattr(bench, "load_samples_module", lambda: module)
    monkeypatch.setenv("MIPSREC_SOURCES", str(tmp_path / "sources"))
    need("mipsel-linux-gnu-gcc", "gcc-mipsel-linux-gnu")
    return module


LITTLE = ("--target", "mipsel", "--rounds", "1", "--opt", "0", "--jobs", "1", "--without", "gcc32,clang")


def test_what_fails_or_is_missing_does_not_cost_the_others(
    samples: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    build_guest = samples.build_guest

    def build(name: str, *rest: Any) -> Path:
        if name == "crc32":
            raise samples.SampleError("the compiler said no")
        if name == "crunch":
            return Path(build_guest("division", *rest))  # prints something else
        if name == "sha256":
            raise AssertionError
        return Path(build_guest(name, *rest))

    monkeypatch.setattr(samples, "build_guest", build)
    file = tmp_path / "out.json"
    status = run_bench("--only", "crc32,crunch,division,lua,sha256", *LITTLE, "--json", str(file), "--goals")
    said = capsys.readouterr()
    document = json.loads(file.read_text())
    assert status == 1
    assert list(document["failed"]) == ["crunch", "sha256", "crc32"]
    assert "other output" in document["failed"]["crunch"][0]
    assert "sha256 failed: mipsel: AssertionError" in said.err and "Traceback" in said.err
    assert "the compiler said no" in said.err and "bench: failed: crunch" in said.err
    assert document["programs"]["division"]["ratio"]["mipsel"] > 0
    assert document["programs"]["crunch"]["wrong"][0] == "mipsel" and "WRONG" in said.out
    assert said.err.count("without lua: no source package lua5.4 here") == 1 and "lua" in document["skipped"]
    assert "goals:" in said.out and "geometric mean" in said.out
    translation = document["programs"]["division"]["translation"]["mipsel"]
    sizes = [translation[f"{what}_bytes"] for what in ("library", "code", "text")]
    assert translation["seconds"] > 0 and sizes == sorted(sizes, reverse=True) and sizes[-1] > 0


def test_missing_contenders_are_named_once_and_skipped(
    samples: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench_contenders, "absence", lambda name, samples: f"{name} is on holiday")
    assert run_bench("--only", "division,crunch", *LITTLE[:-2], "--json") == 0
    said = capsys.readouterr()
    document = json.loads(said.out)
    absent = ["clang", "gcc32", "qemu", "baseline"]
    assert said.err.count("holiday") == len(absent) and list(document["absent"]) == absent
    assert list(document["geometric_mean"]) == ["mipsel"] and list(document["programs"]) == ["crunch", "division"]


def test_only_takes_names_and_groups(samples: ModuleType) -> None:
    def names(*only: str) -> list[str]:
        return [sample.name for sample in bench._chosen(samples, only)]

    assert names("program") == [
        *("coremix", "png", "png_rgba", "lua", "sqlite", "bzip2", "zlib", "zstd"),
        *("xz", "jq", "gawk", "spirv_cross", "gzip", "perl", "python3"),
    ]
    assert names("numeric") == [
        "stencil", "fft", "lu", "mandelbrot", "biquad", "spline", "montecarlo", "roots", "iterate", "spheres",
    ]  # fmt: skip
    assert names("calls") == ["leaf_calls", "tree_walk", "handlers", "value_stack", "bytecode", "may_throw"]
    assert names("dsp") == ["fir_q15", "mixer_q15", "fft_q15", "idct_q15"]
    others = {*names("program"), *names("numeric"), *names("calls"), *names("dsp")}
    assert {*names("kernels")} | others == set(names()) and not {*names("kernels")} & others
    assert names("sqlite,floating", "crc32")[0] == "floats" and "crc32" in names("sqlite,floating", "crc32")
    with pytest.raises(UsageError, match="no kernel nonesuch; there are crunch.*and kernels, integer"):
        bench._chosen(samples, ["nonesuch"])


# ---- a pair of one's own ----


@pytest.fixture
def native(tmp_path: Path) -> Path:
    """A program that prints what the guest sha256 prints."""
    program = tmp_path / "native"
    expected = PREBUILT.parent / "expected" / "sha256.txt"
    program.write_text(f"#!/bin/sh\ncat '{expected}'\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


GUEST = PREBUILT / "mips" / "sha256.elf"
QUICK = ("--without", "qemu", "--rounds", "1", "--opt", "0")


def test_json_goes_to_a_file_or_to_standard_output(native: Path, tmp_path: Path) -> None:
    file, chart = tmp_path / "new.json", tmp_path / "new.svg"
    table = mipsrec("bench", *QUICK, "--json", file, "--chart", chart, GUEST, native)
    assert table.returncode == 0 and "sha256.elf: the native run takes 0.0" in table.stderr
    assert table.stderr.count("\n") == 1 and "geometric mean" in table.stdout
    assert "--opt 0 --memory flat" in table.stdout.splitlines()[0]
    ElementTree.parse(chart)
    printed = mipsrec("bench", *QUICK, "--compare", file, "--json", GUEST, native)
    document = json.loads(printed.stdout)
    assert document.keys() == json.loads(file.read_text()).keys()
    assert document["programs"]["sha256.elf"]["seconds"].keys() == {"native", "recompiled", "recompiled baseline"}
    assert "recompiled" in printed.stderr.splitlines()[-2] and printed.returncode == 0


def test_files_that_cannot_be_written_are_refused_before_the_run(native: Path, tmp_path: Path) -> None:
    result = mipsrec("bench", "--chart", tmp_path / "none" / "x.svg", GUEST, native)
    assert result.returncode == 1 and "x.svg: cannot be written" in result.stderr and result.stdout == ""


def test_ctrl_c_ends_the_run_and_leaves_nothing(native: Path, tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    native.write_text(f"#!/bin/sh\necho $$ > '{tmp_path}/pid'\nexec sleep 100\n")
    words = command("bench", *QUICK, GUEST, native)
    process = subprocess.Popen(
        words, env=environment(TMPDIR=str(temporary)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=heed_interrupts,
    )  # fmt: skip
    pid = tmp_path / "pid"
    for _ in range(600):
        if pid.exists() and pid.read_text().endswith("\n"):
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=600)
    assert process.returncode == 130 and said.splitlines()[-1] == "mipsrec: interrupted"
    assert list(temporary.iterdir()) == []
    with pytest.raises(ProcessLookupError):  # the command has waited for its end
        os.kill(int(pid.read_text()), 0)


def test_ctrl_c_while_a_program_starts_ends_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """The signal comes when the program has started, and before the command knows its process."""
    started: list[subprocess.Popen[bytes]] = []

    class Interrupted(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *words: Any, **options: Any) -> None:
            super().__init__(*words, **options)
            started.append(self)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    try:
        with pytest.raises(KeyboardInterrupt):
            compare("interrupted", [shell("native", "exec sleep 600")], 1)
    finally:
        signal.signal(signal.SIGINT, before)
    assert started[0].returncode == -signal.SIGKILL


def test_what_was_timed_before_ctrl_c_is_printed(
    samples: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    build_native = samples.build_native

    def build(name: str, *rest: Any) -> Path:
        if name == "division":
            raise KeyboardInterrupt
        return Path(build_native(name, *rest))

    monkeypatch.setattr(samples, "build_native", build)
    assert run_bench("--only", "crunch,division", *LITTLE, "--json", str(tmp_path / "x.json")) == 130
    assert "geometric mean" in capsys.readouterr().out
    assert list(json.loads((tmp_path / "x.json").read_text())["programs"]) == ["crunch"]


# ---- the samples ----


def test_every_sample_that_is_timed_has_a_group() -> None:
    module = bench.load_samples_module()
    for sample in module.load_samples().values():
        assert bool(sample.group) == (sample.bench is not None), sample.name
    assert {s.package for s in module.load_samples().values() if s.package} == set(module.load_packages())
    assert sys.modules[module.__name__] is module
