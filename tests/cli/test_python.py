"""`import mipsrec`: the page of examples works as printed, and wrong options are errors of one line."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import mipsrec
from mipsrec import pipeline
from tests.support.commandline import environment
from tests.support.paths import PREBUILT, ROOT, SAMPLES

SAMPLE = PREBUILT / "mipsel" / "crc32.elf"
EXAMPLES = re.findall(r"```python\n(.*?)```", (ROOT / "docs/usage/python.md").read_text(), re.DOTALL)


def run(text: str, folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run an example with this environment's `mipsrec` in PATH."""
    (folder / "example.py").write_text(text)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    words = [sys.executable, folder / "example.py", *arguments]
    return subprocess.run(words, capture_output=True, text=True, env=environment(PATH=path), cwd=folder)


def test_there_are_three_examples() -> None:
    assert len(EXAMPLES) == 3


def test_functions_of_a_program(tmp_path: Path) -> None:
    result = run(EXAMPLES[0], tmp_path, SAMPLE)
    sizes = [int(line.split()[1]) for line in result.stdout.splitlines()]
    assert (result.returncode, result.stderr, len(sizes)) == (0, "", 5) and sizes == sorted(sizes, reverse=True)
    assert run(EXAMPLES[0], tmp_path, tmp_path / "absent").stderr.startswith(f"{tmp_path / 'absent'}: ")


def test_calls_of_the_ir(tmp_path: Path) -> None:
    result = run(EXAMPLES[1], tmp_path, SAMPLE)
    assert (result.returncode, result.stderr) == (0, "") and len(result.stdout.splitlines()) == 5
    assert re.search(r"^\d+ fn_[0-9a-f]{8}$", result.stdout, re.MULTILINE), result.stdout


def test_a_dump_that_is_built_and_run(tmp_path: Path) -> None:
    result = run(EXAMPLES[2], tmp_path, SAMPLE, tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    assert (SAMPLES / "expected/crc32.txt").read_text() in result.stdout


def test_the_package_shows_the_pipeline() -> None:
    for name in mipsrec.__all__:
        assert name == "MipsrecError" or getattr(mipsrec, name) is getattr(pipeline, name)
    with pytest.raises(AttributeError, match="absent"):
        _ = mipsrec.absent  # type: ignore[attr-defined]


def test_what_the_package_shows_is_imported_when_it_is_asked_for() -> None:
    code = "import mipsrec, sys; print(sorted(name for name in sys.modules if name.startswith('mipsrec.')))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT).stdout == "[]\n"


@pytest.mark.parametrize(
    "wrong",
    [
        {"opt": "4"}, {"opt": True}, {"opt": None}, {"memory": "huge"}, {"calls": 1}, {"cpu": "z80"}, {"jobs": -1},
        {"jobs": "2"}, {"jobs": 1.5}, {"jobs": True}, {"profile": 7}, {"into": b"x"},
    ],
    ids=str,
)  # fmt: skip
def test_wrong_options(wrong: dict[str, object]) -> None:
    with pytest.raises(mipsrec.MipsrecError, match=f"Options: {next(iter(wrong))} is "):
        mipsrec.Options(**wrong)  # type: ignore[arg-type]


def test_wrong_files_and_functions(tmp_path: Path) -> None:
    guest, other = mipsrec.open_guest(SAMPLE), mipsrec.open_guest(PREBUILT / "mipsel" / "virtual.elf")
    function = next(f for f in other.program.functions.values() if f.start not in guest.starts)
    with pytest.raises(mipsrec.MipsrecError, match="cannot be chosen"):
        mipsrec.build(guest, tmp_path / "lib.so", functions=[function])
    for output in (tmp_path, tmp_path / "absent/lib.so"):
        with pytest.raises(mipsrec.MipsrecError, match=str(output)):
            mipsrec.build(guest, output, mipsrec.Options(opt="0", jobs=1))
    with pytest.raises(mipsrec.MipsrecError, match="absent"):
        mipsrec.build(guest, tmp_path / "lib.so", mipsrec.Options(profile=str(tmp_path / "absent")))
    with pytest.raises(mipsrec.MipsrecError, match="no function nothing"):
        guest.function("nothing")
    assert list(tmp_path.iterdir()) == []
