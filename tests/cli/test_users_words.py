"""The three command lines that this project was asked for, as they were typed: they work without a comment."""

from __future__ import annotations

from pathlib import Path

import pytest

from mipsrec.cli import parse
from tests.support.commandline import assert_one_line, mipsrec
from tests.support.paths import PREBUILT, ROOT, SAMPLES

pytestmark = pytest.mark.every_case

SAMPLE = PREBUILT / "mipsel" / "crc32.elf"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with prog.elf, its library lib.so, and another program."""
    found = tmp_path_factory.mktemp("words")
    (found / "prog.elf").write_bytes(SAMPLE.read_bytes())
    (found / "other.elf").write_bytes((PREBUILT / "mipsel" / "hello.elf").read_bytes())
    assert mipsrec("build", "--opt", "0", "prog.elf", "-o", "lib.so", cwd=found).returncode == 0
    return found


def test_dump_llvm(folder: Path) -> None:
    result = mipsrec("dump-llvm", "prog.elf", cwd=folder)
    assert (result.returncode, result.stderr) == (0, "") and "\ndefine " in result.stdout


@pytest.mark.parametrize("option", ["--static-lib", "--library"])
def test_run_with_a_library(folder: Path, option: str) -> None:
    result = mipsrec("run", option, "lib.so", "prog.elf", cwd=folder)
    expected = (SAMPLES / "expected" / "crc32.txt").read_text()
    assert (result.returncode, result.stdout, result.stderr) == (0, expected, "")


def test_bench(capsys: pytest.CaptureFixture[str]) -> None:
    """The command line alone: it takes minutes."""
    parse(["bench"])
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("command", ["run", "verify", "profile"])
def test_the_names_of_the_option(capsys: pytest.CaptureFixture[str], command: str) -> None:
    """Both mean the same, nothing is said of either, and help has the asked one first."""
    found = [parse([command, name, "lib.so", "prog.elf", "--library"]) for name in ("--static-lib", "--library")]
    assert found[0] == found[1] and found[0].library == "lib.so" and found[0].arguments == ["--library"]
    assert capsys.readouterr() == ("", "")
    with pytest.raises(SystemExit, match="0"):
        parse([command, "--help"])
    assert "  --static-lib lib.so, --library lib.so\n" in capsys.readouterr().out


def test_the_library_of_another_program(folder: Path) -> None:
    result = mipsrec("run", "--static-lib", "lib.so", "other.elf", cwd=folder)
    assert_one_line(result, "lib.so", "made for another program than other.elf")
    result = mipsrec("run", "--static-lib", "prog.elf", "other.elf", cwd=folder)
    assert_one_line(result, "prog.elf", "cannot be used as a library")
    result = mipsrec("run", "--static-lib", "absent.so", "prog.elf", cwd=folder)
    assert_one_line(result, "absent.so", "No such file")


def test_the_readme_shows_what_is_printed() -> None:
    """The command in its first screen, and the lines below it."""
    lines = (ROOT / "README.md").read_text().splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("From `mipsrec dump-llvm"))
    command = lines[first].split("`")[1].split()[1:]
    end = next(number for number in range(first + 2, len(lines)) if not lines[number])
    shown = "".join(f"{line[4:]}\n" for line in lines[first + 2 : end])
    assert end < 40 and len(shown.splitlines()) > 8
    assert shown in mipsrec(*command, cwd=ROOT).stdout


def test_a_module_is_not_built(folder: Path) -> None:
    """Who builds what dump-llvm printed is told how."""
    (folder / "prog.ll").write_text(mipsrec("dump-llvm", "prog.elf", cwd=folder).stdout)
    assert_one_line(mipsrec("build", "prog.ll", cwd=folder), "prog.ll", "mipsrec dump-llvm prog.elf -o DIR")
