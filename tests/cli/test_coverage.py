"""`mipsrec run --coverage` and `mipsrec cfg --coverage`: what is written and shown, and what is refused."""

from __future__ import annotations

import re
import resource
import signal
import struct
import subprocess
from pathlib import Path

import pytest

from mipsrec.elf import load_elf
from tests.support.commandline import assert_one_line, command, environment, heed_interrupts, mipsrec
from tests.support.compiled import ORDERS, compile_guest
from tests.support.dynamic import compile_to, cross_libraries
from tests.support.mounts import in_namespace, small
from tests.support.paths import GUESTS, PREBUILT
from tests.support.tools import need

HELLO = PREBUILT / "mips/hello.elf"
JUMPS = PREBUILT / "mips/jumptable.elf"

each_order = pytest.mark.parametrize("order", ORDERS)


def parsed(path: Path) -> tuple[list[list[str]], list[tuple[int, int, int]]]:
    """Return the rows of the module table and the blocks of a drcov file, read as Lighthouse does."""
    content = path.read_bytes()
    lines = content.split(b"\n", 4)
    assert lines[:2] == [b"DRCOV VERSION: 2", b"DRCOV FLAVOR: drcov"]
    count = int(re.fullmatch(rb"Module Table: version 2, count (\d+)", lines[2])[1])  # type: ignore[index]
    assert lines[3] == b"Columns: id, base, end, entry, path"
    *rows, table, records = lines[4].split(b"\n", count + 1)
    bytes_expected = 8 * int(re.fullmatch(rb"BB Table: (\d+) bbs", table)[1])  # type: ignore[index]
    assert len(records) == bytes_expected
    return [row.decode().split(", ") for row in rows], list(struct.iter_unpack("<IHH", records))


# ---- drcov ----


def test_drcov_file(tmp_path: Path) -> None:
    """Of a program of one block: its entry up to the exit, as `mipsrec disasm` shows it."""
    path = tmp_path / "hello.cov"
    result = mipsrec("run", "--coverage", path, HELLO)
    assert (result.returncode, result.stdout, result.stderr) == (0, "Hello from MIPS.\n", "")
    rows, blocks = parsed(path)
    image = load_elf(HELLO)
    low = min(segment.vaddr for segment in image.segments)
    high = max(segment.vaddr + segment.memsz for segment in image.segments)
    assert [row[0] for row in rows] == ["0"] and rows[0][4] == str(HELLO)
    assert [int(number, 16) for number in rows[0][1:4]] == [low & ~0xFFF, high, image.entry]
    code = [int(line.split(":")[0], 16) for line in mipsrec("disasm", HELLO).stdout.splitlines()
            if re.match(r" +[0-9a-f]{8}:", line)]  # fmt: skip
    covered = [low + at for start, size, _ in blocks for at in range(start, start + size, 4)]
    assert covered and set(covered) <= set(code) and min(covered) == image.entry


@pytest.fixture(scope="module")
def jumps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The drcov file of a run of JUMPS."""
    path = tmp_path_factory.mktemp("jumps") / "jumps.cov"
    assert mipsrec("run", "--coverage", path, JUMPS, "2").returncode == 0
    return path


def test_cfg_is_coloured(jumps: Path, tmp_path: Path) -> None:
    """Blocks that ran are green, which qemu judges (test_marks.py); without the option nothing is coloured."""
    _, blocks = parsed(jumps)
    base = load_elf(JUMPS).segments[0].vaddr & ~0xFFF
    ran = {base + at for start, size, _ in blocks for at in range(start, start + size, 4)}
    dot = mipsrec("cfg", "--coverage", jumps, JUMPS, "0x4000d0").stdout
    found = re.findall(r"^  b(\w{8}) \[label=.*fillcolor=(\w+)\];$", dot, re.MULTILINE)
    plain = mipsrec("cfg", JUMPS, "0x4000d0").stdout
    assert len(found) == len(re.findall(r"^  b\w{8} \[", plain, re.MULTILINE)) > 20 and "fillcolor" not in plain
    for pc, colour in found:
        assert (colour != "white") == (int(pc, 16) in ran)
    assert {colour for _, colour in found} >= {"palegreen", "white"}
    assert ">ran<" in dot and ">did not run<" in dot
    need("dot", "graphviz")
    assert mipsrec("cfg", "--coverage", jumps, JUMPS, "0x4000d0", "-o", tmp_path / "x.svg").returncode == 0
    assert "did not run" in (tmp_path / "x.svg").read_text()


def test_cfg_of_a_block_in_part(tmp_path: Path) -> None:
    """A slot that may be annulled is a block. The load that faults ran, and what is behind it in its block did not."""
    source = (
        "    .set noreorder\n    .globl __start\n__start:\n    li $t0, 1\n    beqzl $t0, 1f\n    nop\n"
        "    lw $t0, 0($zero)\n    li $t1, 1\n1:  b 1b\n    nop\n"
    )
    program = compile_guest(tmp_path, "big", source, "-nostdlib", "-static", "-mno-abicalls", language="assembler")
    assert mipsrec("run", "--coverage", tmp_path / "x.cov", program).returncode == -signal.SIGSEGV
    dot = mipsrec("cfg", "--coverage", tmp_path / "x.cov", program, hex(load_elf(program).entry)).stdout
    assert re.findall(r"fillcolor=(\w+)", dot) == ["palegreen", "white", "khaki", "white"]


# ---- lcov ----


def records_of(path: Path) -> dict[str, str]:
    """Return the record of each source file of a trace file."""
    text = path.read_text()
    assert text.startswith("TN:\n")
    return {re.search("^SF:(.*)$", part, re.MULTILINE)[1]: part  # type: ignore[index]
            for part in text.split("end_of_record\n") if "SF:" in part}  # fmt: skip


def lines_of(record: str) -> dict[int, bool]:
    return {int(line): count != "0" for line, count in re.findall(r"^DA:(\d+),(\d+)$", record, re.MULTILINE)}


def gcov_lines(source: Path, folder: Path, *words: str) -> dict[int, bool]:
    """Return whether each line of a program runs natively, as gcc's own gcov says."""
    compiler, gcov = need("gcc"), need("gcov", "gcc")
    built = folder / "native"
    subprocess.run([compiler, "-O0", "--coverage", source, "-o", built], check=True, cwd=folder)
    subprocess.run([built, *words], check=True, cwd=folder, capture_output=True)
    (notes,) = folder.glob("*.gcda")
    told = subprocess.run([gcov, "-t", notes], check=True, cwd=folder, capture_output=True, text=True).stdout
    fields = (line.split(":", 2) for line in told.splitlines())
    counts = {int(number): count.strip() for count, number, _ in fields if count.strip() != "-"}
    return {line: not count.startswith(("#", "=")) for line, count in counts.items() if line > 0}


@each_order
def test_lines_as_gcov_says(order: str, tmp_path: Path) -> None:
    """The lines that both know ran alike. gcov has a function at its name, and labels; debug information has a function
    at its first brace and its last one."""
    text = (GUESTS / "source_lines.c").read_text()
    program = compile_guest(tmp_path, order, text, "-O0", "-g", "-static")
    path = tmp_path / "x.info"
    result = mipsrec("run", "--coverage", path, program, "a", "b")
    assert (result.returncode, result.stderr) == (0, "")
    source = tmp_path / "guest.c"
    record = records_of(path)[str(source)]
    ours, wanted = lines_of(record), gcov_lines(source, tmp_path, "a", "b")
    both = ours.keys() & wanted.keys()
    assert len(both) > 40 and {line: ours[line] for line in both} == {line: wanted[line] for line in both}
    written = ["", *text.splitlines()]
    assert {written[line].strip() for line in ours.keys() - both} == {"{", "}"}
    for line in wanted.keys() - both:
        assert re.match(r" *(case \d|default|failed):|(static )?\w.*\)$", written[line]), written[line]
        assert written[line].endswith(":") or wanted[line] == ours[line + 1]
    functions = dict(re.findall(r"^FNDA:(\d),(\w+)$", record, re.MULTILINE)[i][::-1] for i in range(6))
    assert functions == {"add": "1", "sum": "1", "name_of": "1", "never": "0", "mean": "1", "main": "1"}
    first = {name: int(line) for line, name in re.findall(r"^FN:(\d+),(\w+)$", record, re.MULTILINE)}
    assert all(re.search(rf"\b{name}\(", written[line]) for name, line in first.items())
    assert f"LF:{len(ours)}\nLH:{sum(ours.values())}\n" in record


@each_order
def test_genhtml_makes_pages(order: str, tmp_path: Path) -> None:
    genhtml = need("genhtml", "lcov")
    program = compile_guest(tmp_path, order, (GUESTS / "source_lines.c").read_text(), "-O0", "-g", "-static")
    assert mipsrec("run", "--coverage", tmp_path / "x.info", program).returncode == 0
    words = [genhtml, str(tmp_path / "x.info"), "-o", str(tmp_path / "pages")]
    result = subprocess.run(words, capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "never" in next((tmp_path / "pages").rglob("guest.c.gcov.html")).read_text()


@pytest.mark.parametrize("version", (2, 3, 4, 5))
def test_versions_of_dwarf(version: int, tmp_path: Path) -> None:
    text = (GUESTS / "source_lines.c").read_text()
    program = compile_guest(tmp_path, "little", text, "-O0", f"-gdwarf-{version}", "-static")
    assert mipsrec("run", "--coverage", tmp_path / "x.info", program, "a", "b").returncode == 0
    found = lines_of(records_of(tmp_path / "x.info")[str(tmp_path / "guest.c")])
    native = gcov_lines(tmp_path / "guest.c", tmp_path, "a", "b")
    assert all(found[line] == native[line] for line in found.keys() & native.keys())


def test_program_without_lines(tmp_path: Path) -> None:
    """It runs, and the file says nothing; that is said."""
    result = mipsrec("run", "--coverage", tmp_path / "x.info", HELLO)
    assert (result.returncode, result.stdout) == (0, "Hello from MIPS.\n")
    assert result.stderr.count("\n") == 1 and f"has nothing of {HELLO}: it has no line information" in result.stderr
    assert (tmp_path / "x.info").read_text() == "TN:\n"


# ---- the end of the program ----


@each_order
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, -15), (signal.SIGUSR1, -9)])
def test_signals_go_on_to_the_program(order: str, number: int, status: int, tmp_path: Path) -> None:
    """One that it catches does not end it; one that ends it ends mipsrec as well, and the file is written."""
    libraries = cross_libraries(order)
    options = ("-g", f"-Wl,--dynamic-linker={libraries}/ld.so.1", f"-Wl,-rpath,{libraries}", "-lpthread")
    program = compile_to(tmp_path / "covered", order, (GUESTS / "covered.c").read_text(), *options)
    words = command("run", "--coverage", tmp_path / "x.cov", program, "wait")
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=environment(), preexec_fn=heed_interrupts) as process:
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        process.send_signal(number)
        if number == signal.SIGUSR1:
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            assert len(children) == 1 and process.poll() is None
            subprocess.run(["kill", "-KILL", *children], check=True)
        assert process.wait(timeout=600) == status
    rows, blocks = parsed(tmp_path / "x.cov")
    assert rows[0][4] == str(program) and blocks


# ---- bad input ----


def test_files_that_cannot_be_written(tmp_path: Path) -> None:
    """The program does not run, and nothing is left."""
    (tmp_path / "program").write_bytes(HELLO.read_bytes())
    (tmp_path / "folder").mkdir()
    cases = {
        "absent/x.cov": "No such file", "folder": "no regular file", "program": "which stays: name another file",
        "program/x.cov": "Not a directory",
    }  # fmt: skip
    before = sorted(tmp_path.rglob("*"))
    for name, reason in cases.items():
        assert_one_line(mipsrec("run", "--coverage", tmp_path / name, HELLO), str(tmp_path / name), reason)
    assert_one_line(mipsrec("run", "--coverage", "/dev/null", HELLO), "/dev/null", "no regular file")
    assert sorted(tmp_path.rglob("*")) == before


def test_full_disk(tmp_path: Path) -> None:
    """What the program says and its end stay; an older file stays whole."""
    folder = tmp_path / "full"
    folder.mkdir()
    (folder / "x.cov").write_text("older")
    words = ["sh", "-c", '"$@"; echo "status $?"; cat "$file"', "sh", *command("run", "--coverage", folder / "x.cov",
             HELLO)]  # fmt: skip
    result = in_namespace(small(folder, 1 << 16, fill=True), words, environment(file=str(folder / "x.cov")))
    assert result.stdout == "Hello from MIPS.\nstatus 1\nolder"
    assert result.stderr.count("\n") == 1 and "x.cov: cannot be written (No space left on device)" in result.stderr


def test_limit_of_file_sizes(tmp_path: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    result = mipsrec("run", "--coverage", tmp_path / "x.cov", HELLO, before=limit)
    assert_one_line(result, "no memory for marks", "ulimit -f unlimited")
    assert not (tmp_path / "x.cov").exists()


def test_program_that_cannot_run(tmp_path: Path) -> None:
    result = mipsrec("run", "--coverage", tmp_path / "x.cov", tmp_path / "absent")
    assert_one_line(result, "absent")
    assert not (tmp_path / "x.cov").exists()


@pytest.mark.parametrize(("words", "reason"), [
    (("--tier", "aot"), "leave --tier aot out"), (("--tier", "auto"), "leave --tier auto out"),
    (("--counters", "map"), "--counters exclude each other"),
    (("--check-memory",), "--check-memory exclude each other"), (("--build",), "--coverage runs no recompiled code"),
])  # fmt: skip
def test_options_that_exclude_it(words: tuple[str, ...], reason: str, tmp_path: Path) -> None:
    result = mipsrec("run", "--coverage", tmp_path / "x.cov", *words, HELLO)
    assert_one_line(result, reason, status=2)
    assert not (tmp_path / "x.cov").exists()


def test_files_that_cfg_refuses(jumps: Path, tmp_path: Path) -> None:
    content = jumps.read_bytes()
    cases = {
        "cut off or broken": content[:-3], "is no drcov file": b"nonsense\n" * 9,
        "has jumptable.elf, and not": content, "of drcov version 3": content.replace(b"VERSION: 2", b"VERSION: 3", 1),
        "a block of module 7": content[:-2] + b"\7\0",
        "of another build": content.replace(b"jumptable.elf", b"hello.elf", 1),
    }  # fmt: skip
    for reason, damaged in cases.items():
        (tmp_path / "x.cov").write_bytes(damaged)
        refused = mipsrec("cfg", "--coverage", tmp_path / "x.cov", HELLO, hex(load_elf(HELLO).entry))
        assert_one_line(refused, str(tmp_path / "x.cov"), reason)
    for path in (tmp_path, tmp_path / "absent", Path("/dev/zero")):
        assert_one_line(mipsrec("cfg", "--coverage", path, HELLO, "main"), str(path), "cannot be read")
