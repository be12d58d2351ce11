"""The passes on the command line: which may be left out, and after which a plan may be looked at."""

from __future__ import annotations

import subprocess
from pathlib import Path

from mipsrec import pipeline
from mipsrec.lift.pipeline import PIPELINE, passes_up_to, passes_without
from mipsrec.options import Options
from tests.support.commandline import assert_one_line, mipsrec
from tests.support.hosts import plain_host
from tests.support.paths import PREBUILT, ROOT

GUEST = PREBUILT / "mips" / "virtual.elf"
OPTIONAL = [one.name for one in PIPELINE if not one.required]


def test_a_program_without_any_optional_pass(tmp_path: Path) -> None:
    """It means the same; and is another library in the cache than with them."""
    library = tmp_path / "lib.so"
    pipeline.build(pipeline.open_guest(GUEST), library, Options(without=tuple(OPTIONAL), jobs=1))
    done = subprocess.run([plain_host(), "--library", library, GUEST], capture_output=True, timeout=600, check=True)
    assert done.stdout == (ROOT / "samples/expected/virtual.txt").read_bytes()


def test_what_cannot_be_left_out(tmp_path: Path) -> None:
    assert len(passes_without(("no-wrap", "vectorize"))) == len(PIPELINE) - 2
    for command in (["build", "-o", tmp_path / "lib.so"], ["run", "--tier", "aot"], ["dump-llvm"], ["dump-plan"]):
        for name, why in (("spin-loads", "keeps what programs mean"), ("nonsense", "there is no pass nonsense")):
            result = mipsrec(*command, "--without-pass", name, GUEST)
            assert_one_line(result, why, "no-wrap", status=2)
    assert list(tmp_path.iterdir()) == []


def test_a_plan_after_a_pass() -> None:
    def text(*words: str) -> str:
        return mipsrec("dump-plan", *words, GUEST).stdout

    first, half, whole = text("--after", "build"), text("--after", "trapping-loads"), text()
    assert "volatile" not in first and "volatile" in half and "no-wrap" not in half and "no-wrap" in whole
    assert text("--after", "switches") == whole
    assert [one.name for one in passes_up_to("fp-pair-forms")] == ["guarded-accesses", "fp-pair-forms"]
    assert_one_line(mipsrec("dump-plan", "--after", "nonsense", GUEST), "no pass nonsense", "build, guarded", status=2)
