"""`dump-llvm` and `build`: from ELF to IR, from edited IR to a library, and of some functions only."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.support.commandline import assert_one_line, mipsrec
from tests.support.hosts import plain_host
from tests.support.paths import PREBUILT, SAMPLES

SAMPLE = PREBUILT / "mips" / "crc32.elf"
EXPECTED = (SAMPLES / "expected" / "crc32.txt").read_text()


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dump") / "ir"
    result = mipsrec("dump-llvm", SAMPLE, "-o", folder)
    assert result.returncode == 0 and re.fullmatch(r".*ir: \d+ functions\n", result.stdout)
    return folder


def test_dump_build_run(dump: Path, tmp_path: Path) -> None:
    """The library of the dumped IR does what the program's own does."""
    index = json.loads((dump / "index.json").read_text())
    assert {record["file"] for record in index["functions"]} == {path.name for path in dump.glob("*.ll")}
    for source in (dump, SAMPLE):
        library = tmp_path / f"{source.name}.so"
        assert mipsrec("build", source, "-o", library, "--opt", "1").returncode == 0
        result = mipsrec("run", "--library", library, SAMPLE)
        assert f"\nguest name         {SAMPLE.name}\n" in mipsrec("info", library).stdout
        assert (result.returncode, result.stdout, result.stderr) == (0, EXPECTED, "")


def test_edited_ir_takes_effect(guest: Path, tmp_path: Path) -> None:
    assert mipsrec("dump-llvm", guest, "-o", tmp_path / "ir").returncode == 0
    (path,) = (tmp_path / "ir").glob("*_mix.ll")
    text = path.read_text()
    assert len(re.findall(r"= sub i32 ", text)) == 1
    path.write_text(text.replace("= sub i32 ", "= mul i32 "))
    assert mipsrec("build", tmp_path / "ir", "-o", tmp_path / "lib.so").returncode == 0
    host = plain_host()
    at = next(pc for pc, name in _entries(tmp_path / "ir") if name == "mix")
    words = [host, "--library", tmp_path / "lib.so", "--call", f"{at:x}", "6", "7", "0", "0", guest]
    output = subprocess.run(words, capture_output=True, text=True).stdout
    assert output.splitlines()[0] == "v0 = 0x0000002a (42)"


@pytest.mark.parametrize("wanted, says", [("call double @exp(double %0)", "exp"), ("frem double %0, 3.0", "fmod")])
def test_functions_that_the_host_has_not(guest: Path, tmp_path: Path, wanted: str, says: str) -> None:
    """IR that calls one, or that LLVM makes such a call of, is refused when it is built, with the name."""
    assert mipsrec("dump-llvm", guest, "-o", tmp_path / "ir").returncode == 0
    (path,) = (tmp_path / "ir").glob("*_mix.ll")
    added = (
        "define void @added(ptr %p) {\n  load double, ptr %p\n"
        f"  %x = {wanted.replace('%0', '%1')}\n  store double %x, ptr %p\n  ret void\n}}\n"
    )
    path.write_text(f"{path.read_text()}{added}declare double @exp(double)\n")
    result = mipsrec("build", tmp_path / "ir", "-o", tmp_path / "lib.so")
    assert_one_line(result, str(path) if says == "exp" else "LLVM", f"refers to {says},")
    assert not (tmp_path / "lib.so").exists()


def _entries(folder: Path) -> list[tuple[int, str]]:
    return [
        (record["start"], record["name"]) for record in json.loads((folder / "index.json").read_text())["functions"]
    ]


def test_optimized_ir(tmp_path: Path) -> None:
    """Shorter, without the allocas of unoptimised IR, and with the same output once built."""
    plain = mipsrec("dump-llvm", SAMPLE, "--function", "main").stdout
    optimized = mipsrec("dump-llvm", SAMPLE, "--function", "main", "--optimize").stdout
    if not plain:  # stripped: take any function by its address
        at = mipsrec("disasm", SAMPLE).stdout.split()[0]
        plain = mipsrec("dump-llvm", SAMPLE, "--function", at).stdout
        optimized = mipsrec("dump-llvm", SAMPLE, "--function", at, "--optimize").stdout
    assert "alloca" in plain and "alloca" not in optimized and "define" in optimized
    assert "; 0" in plain  # disassembly beside the IR
    assert mipsrec("dump-llvm", SAMPLE, "-o", tmp_path / "ir", "--optimize").returncode == 0
    assert mipsrec("build", tmp_path / "ir", "-o", tmp_path / "lib.so", "--opt", "0").returncode == 0
    assert mipsrec("run", "--library", tmp_path / "lib.so", SAMPLE).stdout == EXPECTED


def test_a_dump_of_some_functions(guest: Path, tmp_path: Path) -> None:
    """One .ll per named function; a library of them runs, the interpreter doing the rest."""
    result = mipsrec("dump-llvm", guest, "-o", tmp_path / "ir", "--function", "mix", "--function", "length")
    assert result.returncode == 0 and len(list((tmp_path / "ir").glob("*.ll"))) == 2


def test_only_some_functions(guest: Path, tmp_path: Path) -> None:
    """The library has entries of the chosen functions and no others; the rest of the program is interpreted."""
    library = tmp_path / "lib.so"
    words = [plain_host(), "--stats", "--library", library, guest, "one", "two"]
    interpreted = []
    for chosen in (("--function", "mi[wxy]"), ("--function", "length", "--function", "mix"), ("--function", "*")):
        assert mipsrec("build", guest, "-o", library, *chosen).returncode == 0
        result = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        assert (result.returncode, result.stdout) == (7, "one\ntwo\n"), result
        (counts,) = re.findall(r"(\d+) instructions interpreted, (\d+) runs of the interpreter", result.stderr)
        assert (counts[0] == "0") == (counts[1] == "0")
        interpreted.append(int(counts[0]))
    assert interpreted[0] > interpreted[1] > interpreted[2]
    assert_one_line(mipsrec("build", guest, "-o", library, "--function", "nothing*"), str(guest), "nothing*")


def test_only_is_for_programs(dump: Path, tmp_path: Path) -> None:
    result = mipsrec("build", dump, "-o", tmp_path / "lib.so", "--function", "mix")
    assert_one_line(result, str(dump), "--function", status=2)
