"""Tools on dynamically linked programs: verify, profile, --stats and --report name the file and the function."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mipsrec import profiles
from mipsrec.elf import load_elf
from mipsrec.options import Options
from tests.support.commandline import assert_one_line, environment, mipsrec
from tests.support.compiled import BARE, ORDERS, compile_guest
from tests.support.dynamic_guest import DynamicGuest, dynamic_guest
from tests.support.hosts import cache_with_host, plain_host, sanitized_host
from tests.support.mounts import in_namespace
from tests.support.sampling import sampled

pytestmark = pytest.mark.sampled

AGREES = "mipsrec verify: lifted code and the interpreter agree at "
ALL = "dynamic:*,libone.so:*,libtwo.so:*,libplug.so:*"


@pytest.fixture(scope="module", params=ORDERS)
def guest(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> DynamicGuest:
    return dynamic_guest(request.param, tmp_path_factory.mktemp(request.param))


# ---- verify ----


def verify(guest: DynamicGuest, *words: object, functions: str = ALL) -> subprocess.CompletedProcess[str]:
    options = ("--opt", "1", "--jobs", "1", "--with", guest.plug, "--function", functions)
    return mipsrec("verify", *options, guest.program, *words)


@pytest.mark.parametrize(("way", "output"), [("walk", "1788 36\n"), ("plug", "153\n"), ("child", "1\n")])
def test_verify_agrees(guest: DynamicGuest, way: str, output: str) -> None:
    """Calls across libraries, libraries that come and go, and forked children."""
    if way == "walk":
        output = subprocess.run([plain_host(), guest.program, way], capture_output=True, text=True, check=False).stdout
    result = verify(guest, way, guest.plug)
    assert (result.returncode, result.stdout) == (7, output), result
    assert result.stderr.startswith(AGREES) and result.stderr.count("\n") == 1, result.stderr


def entries_used(result: subprocess.CompletedProcess[str]) -> int:
    found = re.search(r"; ([\d,]+) lifted entries used", result.stderr)
    assert found is not None, result
    return int(found[1])


@pytest.mark.parametrize("guest", sampled(list(ORDERS)), indirect=True)
def test_verify_some_functions(guest: DynamicGuest) -> None:
    """Of named files only; a library that is opened at run time is seen while it is there."""
    assert entries_used(verify(guest, "plug", guest.plug, functions="libplug.so:plug_in")) == 1
    assert entries_used(verify(guest, "walk", functions="own,libone.so:one_mix,lib[t]wo.so:*step")) == 3
    assert entries_used(verify(guest, "walk", functions=f"{guest.two}:two_step")) == 1
    assert_one_line(verify(guest, "walk", functions="libnone.so:f"), "libnone.so:f", "--with", "libone.so")
    assert_one_line(verify(guest, "walk", functions="libone.so:nobody"), "libone.so: no function nobody")


WRONG_ROW = """
import sys
from mipsrec import isa
(row,) = [row for row in isa.ROWS if row.name == "xor"]
object.__setattr__(row, "meaning", lambda m, i: m.set_gpr(i.rd, m.or_(m.gpr(i.rs), m.gpr(i.rt))))
from mipsrec.cli import main
sys.exit(main(sys.argv[1:]))
"""


def verify_wrong(guest: DynamicGuest, cache: Path, functions: str, *words: object) -> subprocess.CompletedProcess[str]:
    """Verify with code in which xor computes or, in a cache of its own but for the host; words: the command line."""
    cache_with_host(cache)
    options = ("--opt", "1", "--jobs", "1", "--with", guest.plug, "--function", functions)
    command = [sys.executable, "-c", WRONG_ROW, "verify", *map(str, options), *map(str, words)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL,
        env=environment(MIPSREC_CACHE=str(cache)),
    )  # fmt: skip


def test_verify_names_file_and_function(guest: DynamicGuest, tmp_path: Path) -> None:
    result = verify_wrong(guest, tmp_path / "cache", "dynamic:own,libone.so:*", guest.program, "walk")
    assert result.returncode == 1 and result.stderr.startswith("mipsrec verify: divergence after "), result
    (symbol,) = (symbol for symbol in load_elf(guest.one).symbols if symbol.name == "one_mix")
    start = f"{symbol.address:08x}"
    assert f"in function one_mix (0x{start}), block 0x{start} of {guest.one}, mapped 0x" in result.stderr
    agreed = r"last agreed at (the call of|control at) 0x77[0-9a-f]{6} <libone.so:one_mix>"
    assert re.search(agreed, result.stderr), result.stderr
    assert re.search(r"control at 0x77[0-9a-f]{6} <libone.so:one_walk\+0x[0-9a-f]+>", result.stderr), result.stderr
    assert re.search(rf"  libone.so:one_mix, block {start}:\n  > {start}: [0-9a-f]{{8}}  xor ", result.stderr)
    assert re.search(r"to see it again: mipsrec verify --function libone.so:one_mix --with ", result.stderr)


@pytest.mark.parametrize("way", ["plug", "child"])
def test_verify_finds_faults_in_what_comes_and_goes(guest: DynamicGuest, way: str, tmp_path: Path) -> None:
    """In a library that is open only for a while, also where only a forked child opens it."""
    result = verify_wrong(guest, tmp_path / "cache", "libplug.so:*", guest.program, way, guest.plug)
    assert result.returncode == 1 and "in function plug_in (0x" in result.stderr, result
    assert f" of {guest.plug}, mapped 0x" in result.stderr


def run_sanitized(options: list[str], guest: DynamicGuest) -> tuple[int, str, dict[str, Any]]:
    """Return status and standard error of a sanitized host that verifies, and its last record."""
    here, there = socket.socketpair()
    with here, there:
        words = [sanitized_host(), "--verify", str(there.fileno()), *options, guest.program, "plug", guest.plug]
        done = subprocess.run(words, capture_output=True, text=True, pass_fds=(there.fileno(),), timeout=600)
        there.shutdown(socket.SHUT_WR)
        records = "".join(iter(lambda: here.recv(1 << 16).decode(), ""))
    return done.returncode, done.stderr, json.loads(records.splitlines()[-1])


@pytest.mark.parametrize("guest", sampled(list(ORDERS)), indirect=True)
def test_verify_under_sanitizers(guest: DynamicGuest, tmp_path: Path) -> None:
    """The host itself, and what it tells of files at a divergence."""
    status, errors, record = run_sanitized(guest.stored(Options(0, "paged", "instrumented", 1)), guest)
    assert (status, errors, record["kind"]) == (7, "", "end")
    cache = tmp_path / "cache"
    verify_wrong(guest, cache, "libplug.so:*", "--memory", "paged", guest.program, "plug", guest.plug)
    (variant,) = cache.glob("code/*/paged-*")
    store = ["--cache", str(cache), "--variant", variant.name, "--memory", "paged"]
    status, errors, record = run_sanitized(store, guest)
    assert (status, errors, record["kind"]) == (1, "", "divergence")
    (plug,) = (file for file in record["files"] if file["path"] == str(guest.plug))
    assert plug["identity"] == load_elf(guest.plug).identity and plug["low"] <= record["agreed"]["pc"] < plug["high"]


# ---- profile ----


@pytest.fixture(scope="module")
def profile(guest: DynamicGuest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A profile of a run in which a forked child opens the plugin; all but the program and the libc is recompiled."""
    output = tmp_path_factory.mktemp("profile") / "out.prof"
    options = guest.stored()
    words = [plain_host(), "--profile", output, *options, guest.program, "spin", guest.plug]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stdout, done.stderr) == (7, "0\n", "")
    return output


def samples_in(file: profiles.FileSamples, function: str, engine: str) -> int:
    """Return the samples of a function, by the symbols of the file."""
    (symbol,) = (symbol for symbol in load_elf(file.path).symbols if symbol.name == function)
    return sum(n for pc, n in file.samples[engine].items() if symbol.address <= pc < symbol.address + symbol.size)


def test_profile_names_files(guest: DynamicGuest, profile: Path) -> None:
    """Samples are of the file, at the pcs of its own; those of a library that only a child has opened, too."""
    found = profiles.read(profile)
    by_path = {file.path: file for file in found.files}
    for path in guest.own_files:
        assert by_path[str(path)].identity == load_elf(path).identity
    assert any(path.endswith("/ld.so.1") for path in by_path) and any("libc.so" in path for path in by_path)
    for path, function in ((guest.program, "own_spin"), (guest.one, "one_spin"), (guest.plug, "plug_spin")):
        assert samples_in(by_path[str(path)], function, "lifted") > 0.1 * found.total, found
    assert found.identity == load_elf(guest.program).identity and 0 < sum(found.counts.values()) < found.total


def test_profile_report(guest: DynamicGuest, profile: Path) -> None:
    words = ("--function", "libplug.so:plug_spin", "--function", "own_spin", guest.program)
    result = mipsrec("profile", "--from", profile, *words)
    assert result.returncode == 0, result
    for name in ("own_spin", "libone.so:one_spin", "libplug.so:plug_spin"):
        assert re.search(rf"^ *\d+\.\d\d +\d+  {re.escape(name)} +lifted", result.stdout, re.MULTILINE), result.stdout
    assert re.search(r"^[0-9a-f]{8} <libplug.so:plug_spin>: \d+\.\d\d %$", result.stdout, re.MULTILINE)
    data = json.loads(mipsrec("profile", "--from", profile, "--json", *words).stdout)
    files = {function["name"]: function["file"] for function in data["functions"]}
    assert (files["own_spin"], files["plug_spin"]) == (None, str(guest.plug))
    result = mipsrec("profile", "--from", profile, "--function", "libno.so:f", guest.program)
    assert_one_line(result, "no library libno.so")


def test_profile_of_a_changed_library(guest: DynamicGuest, profile: Path) -> None:
    """What has changed since is named, and not taken for what it was."""
    kept = guest.plug.read_bytes()
    try:
        guest.plug.write_bytes(kept + b"\0")
        result = mipsrec("profile", "--from", profile, guest.program)
    finally:
        guest.plug.write_bytes(kept)
    assert f"{guest.plug}: is gone or has changed since" in result.stdout
    assert re.search(r"libplug.so:\(no function\) +lifted", result.stdout), result.stdout


def test_build_with_samples_of_a_library(guest: DynamicGuest, profile: Path, tmp_path: Path) -> None:
    """A file takes its own samples; one that the program did not load has none."""
    library = tmp_path / "one.so"
    result = mipsrec("build", "--use-profile", profile, "-o", library, "--jobs", "1", guest.one)
    assert result.returncode == 0 and library.exists(), result
    other = tmp_path / "libother.so"
    shutil.copy(guest.two, other)
    with other.open("ab") as stream:
        stream.write(b"\0")
    result = mipsrec("build", "--use-profile", profile, "-o", tmp_path / "other.so.so", other)
    assert_one_line(result, "is of another program than", "names no such file")


def test_profile_without_proc(guest: DynamicGuest, tmp_path: Path) -> None:
    """Nobody tells how files are named then; their identities say which they are."""
    output = tmp_path / "out.prof"
    words = [plain_host(), "--profile", output, *guest.stored(), guest.program, "spin"]
    result = in_namespace(["umount -l /proc"], words)
    assert (result.returncode, result.stderr) == (7, ""), result
    found = {file.identity: file for file in profiles.read(output).files}
    (symbol,) = (symbol for symbol in load_elf(guest.one).symbols if symbol.name == "one_spin")
    spun = found[load_elf(guest.one).identity].samples["lifted"]
    assert any(symbol.address <= pc < symbol.address + symbol.size for pc in spun)


SPINS = """
__attribute__((used)) int main(void) { for (volatile int i = 0; i < 3000000; i++) ; return 5; }
__asm__(".globl __start; __start: jal main; move $4, $2; li $2, 4001; syscall");
"""


@pytest.fixture(scope="module")
def sysroot(tmp_path_factory: pytest.TempPathFactory, guest: DynamicGuest) -> Path:
    """A sysroot with a static program under a name that this machine has as well."""
    folder = tmp_path_factory.mktemp("root")
    (folder / "bin").mkdir()
    compile_guest(folder, guest.byte_order, SPINS, *BARE).rename(folder / "bin/sh")
    return folder


@pytest.mark.parametrize("command", ["verify --function main", "profile --tier interp"])
def test_absolute_name_in_a_sysroot(sysroot: Path, command: str) -> None:
    """It names the file below the sysroot, for the tool as for the run."""
    result = mipsrec(*command.split(), "--sysroot", sysroot, "/bin/sh")
    assert result.returncode == 5, result
    assert ("agree at" if "verify" in command else "main") in result.stderr, result


def test_profile_of_a_run(guest: DynamicGuest) -> None:
    """All by the command, where nothing of the libc is recompiled."""
    guest.stored()
    result = mipsrec("profile", "--opt", "1", guest.program, "spin")
    assert result.returncode == 7 and re.search(r"libone.so:one_spin +lifted", result.stderr), result


# ---- statistics and reports ----


def test_stats_name_what_was_interpreted(guest: DynamicGuest) -> None:
    words = [plain_host(), "--stats", "--tier", "aot", *guest.stored(), guest.program, "plug", guest.plug]
    result = subprocess.run(words, capture_output=True, text=True, timeout=600)
    assert re.search(rf"^mipsrec-host: recompiled {guest.one}, \d+ entries$", result.stderr, re.MULTILINE), result
    assert re.search(rf"^mipsrec-host: recompiled {guest.plug}, \d+ entries, unmapped since$", result.stderr, re.M)
    line = r"^mipsrec-host: interpreted instructions: (\d+) \((\d+\.\d) %\) in (\S+)(, which has no recompiled code)?$"
    counted = re.findall(line, result.stderr, re.MULTILINE)
    lines, shares = [line[1:] for line in counted], [float(line[1]) for line in counted]
    assert f"mipsrec-host: {sum(int(line[0]) for line in counted)} instructions interpreted, " in result.stderr
    assert shares == sorted(shares, reverse=True) and 99 < sum(shares) < 100.1, result.stderr
    assert shares[0] > 80 and lines[0][1].endswith("/ld.so.1") and lines[0][2] != ""
    assert all(without == "" for _, path, without in lines if Path(path) in guest.own_files), lines


@pytest.mark.parametrize("engine", ["native", "interp"])
@pytest.mark.parametrize("build", ["plain", "sanitized"])
def test_report_names_file_and_function(guest: DynamicGuest, engine: str, build: str) -> None:
    host = plain_host() if build == "plain" else sanitized_host()
    options = guest.stored() if build == "plain" else []
    words = [host, "--report", "--engine", engine, *options, guest.program, "crash"]
    result = subprocess.run(words, capture_output=True, text=True, timeout=600)
    (symbol,) = (symbol for symbol in load_elf(guest.one).symbols if symbol.name == "one_crash")
    assert result.returncode == -11, result
    place = rf"0x{symbol.address:08x} <one_crash> of {guest.one}"
    assert re.search(rf"^mipsrec-host: that pc is {place}$", result.stderr, re.MULTILINE), result.stderr
