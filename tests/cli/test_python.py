"""`import mipsrec`: the page of examples works as printed, and wrong options are errors of one line."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

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


def test_wrong_arguments(tmp_path: Path) -> None:
    """Each says which argument is wrong, before anything is done; a generator does not wait for its first value."""
    guest: Any = mipsrec.open_guest(SAMPLE)
    api: Any = mipsrec
    options, text = mipsrec.Options(), str(SAMPLE)
    calls: list[tuple[str, Callable[[], object]]] = [
        ("open_guest: path is None", lambda: api.open_guest(None)),
        ("open_guest: path is ''", lambda: api.open_guest("")),
        ("llvm_module: guest is .*open_guest", lambda: api.llvm_module(text)),
        ("llvm_module: options is '2'; give Options", lambda: api.llvm_module(guest, "2")),
        ("dump_llvm: guest is", lambda: api.dump_llvm(SAMPLE, tmp_path)),
        ("dump_llvm: folder is 3", lambda: api.dump_llvm(guest, folder=3)),
        ("dump_llvm: functions is 'main'", lambda: api.dump_llvm(guest, tmp_path / "ir", functions="main")),
        ("dump_llvm: functions is .'main'.", lambda: api.dump_llvm(guest, tmp_path / "ir", functions=["main"])),
        ("cached_library: guest is", lambda: api.cached_library(text)),
        ("build: options is '2'", lambda: api.build(guest, tmp_path / "x.so", "2")),
        ("build: output is None", lambda: api.build(guest, None)),
        ("build: source is None", lambda: api.build(None, tmp_path / "x.so")),
        ("no folder of a dump; of a program, give open_guest", lambda: api.build(text, tmp_path / "x.so")),
        ("plans: options is 2; give Options", lambda: api.plans(guest, 2)),
        ("lifted_modules: functions is 'main'", lambda: api.lifted_modules(guest, options, "main")),
        ("optimized_modules: guest is", lambda: api.optimized_modules(text, options, [])),
        ("function: name is 4194304", lambda: guest.function(0x400000)),
        ("functions_named: patterns is 'main'", lambda: guest.functions_named("main")),
    ]
    for said, call in calls:
        with pytest.raises(mipsrec.MipsrecError, match=said):
            call()
    assert list(tmp_path.iterdir()) == []


def test_all_functions_unless_some_are_chosen() -> None:
    """Of each function that takes a choice; an empty one is none of all."""
    guest = mipsrec.open_guest(SAMPLE)
    some = [guest.program.functions[start] for start in sorted(guest.starts)[:2]]
    for modules in (mipsrec.lifted_modules, mipsrec.optimized_modules):
        assert [function for function, _, _ in modules(guest, functions=some)] == some
        assert list(modules(guest, functions=[])) == []
    assert [function.start for function, _, _ in mipsrec.lifted_modules(guest)] == sorted(guest.starts)
    assert len(list(mipsrec.plans(guest))) >= len(guest.starts) > 2
    assert list(mipsrec.plans(guest, functions=[])) == []


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
