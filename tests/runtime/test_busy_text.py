"""ETXTBSY: a program that runs is not written, and a file that is open for writing is not executed."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.runtime.twins import compile_guest, compile_native, output
from tests.support.compiled import ORDERS
from tests.support.compiled import compile_guest as build_guest


def answers(folder: Path, program: Path, *before: str | Path) -> str:
    """Return what a copy of the program says, which is alone in the folder."""
    folder.mkdir()
    shutil.copy(program, folder / "busy_text")
    return output(*before, "./busy_text", cwd=folder)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> str:
    program = compile_native(tmp_path_factory.mktemp("program"), "busy_text", "-static")
    text = answers(tmp_path_factory.mktemp("native") / "run", program)
    assert text.count("ETXTBSY") == 20, text
    return text


@pytest.mark.parametrize("byte_order", ORDERS)
def test_answers_like_native(host: Path, tmp_path: Path, byte_order: str, expected: str) -> None:
    guest = compile_guest(tmp_path, byte_order, "busy_text")
    command = [host, "--engine", "interp"]
    assert answers(tmp_path / "run", guest, *command) == expected
    root = tmp_path / "root"
    root.mkdir()
    assert answers(root / "run", guest, *command, "-L", root) == expected


def test_a_script_that_is_written_is_refused(host: Path, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(f"#!{compile_guest(tmp_path, 'big', 'busy_text')} look\n")
    script.chmod(0o755)
    with script.open("a"):
        result = subprocess.run([host, script, "look"], capture_output=True, text=True)
    assert (result.returncode, result.stderr.count("\n")) == (1, 1) and "Text file busy" in result.stderr
    assert subprocess.run([host, script, "look"]).returncode == 0


def test_a_lock_of_another_program_is_no_mark(host: Path, tmp_path: Path) -> None:
    """A reader of a file can lock all of it, or the byte that hosts lock of programs: natively it is written."""
    source = "#include <fcntl.h>\nint main(int n, char **w) { return open(w[n - 1], O_WRONLY | O_TRUNC) < 0; }\n"
    guest = build_guest(tmp_path, "little", source, "-static")
    script = tmp_path / "script"
    script.touch(0o755)
    for length, start in ((0, 0), (1, 0x7FFFFFFFFFFFFFF0)):
        script.write_text("text")
        with script.open() as stream:
            fcntl.lockf(stream, fcntl.LOCK_SH, length, start)
            assert subprocess.run([host, guest, script]).returncode == 0
        assert script.read_text() == ""
