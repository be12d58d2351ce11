"""The host and recompiled libraries: those it runs, those it refuses, and faults in their code."""

from __future__ import annotations

import re
import signal
import struct
import subprocess
from pathlib import Path

import pytest

from mipsrec.files.checksum import FOOTER_BYTES, append_footer, footer, is_whole
from mipsrec.state import OFFSETS
from tests.runtime import hand_library
from tests.runtime.hand_library import function, read, write
from tests.runtime.host_guest import FAULTS, Guest, assert_refused, compiled_guest, run
from tests.support.commandline import wait_for_processor_time
from tests.support.compiled import readelf_symbols
from tests.support.hosts import plain_host, sanitized_host
from tests.support.library_sections import sections_of
from tests.support.sampling import ALL

pytestmark = pytest.mark.sampled


@pytest.fixture(scope="module", params=["plain", "sanitized"])
def host(request: pytest.FixtureRequest) -> Path:
    return plain_host() if request.param == "plain" else sanitized_host()


@pytest.fixture(scope="module", params=["little", "big"])
def guest(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Guest:
    return Guest(tmp_path_factory.mktemp("guest"), request.param)


@pytest.fixture(scope="module")
def little(tmp_path_factory: pytest.TempPathFactory) -> Guest:
    return Guest(tmp_path_factory.mktemp("little"), "little")


@pytest.fixture
def identity(host: Path) -> None:
    """Ends the test where the guest's memory cannot be at host address 0, as under AddressSanitizer."""
    if "cannot reserve" in run(host, "--window", "identity", "/dev/null").stderr:
        pytest.skip("the low 4 GiB of host addresses are taken")


def lifted_add(guest: Guest) -> dict[int, str]:
    """A library function for `add` that adds 1000 more, to tell it from the interpreted one."""
    body = read("a", "a0") + read("b", "a1") + read("ra", "ra")
    body += "  %sum = add i32 %a, %b\n  %more = add i32 %sum, 1000\n" + write("v0", "%more") + "  ret i32 %ra\n"
    return {guest.at["add"]: function(guest.at["add"], body)}


# ---- libraries that fit ----


@pytest.mark.parametrize("model", ["paged", "thunk"])
def test_lifted_function_runs(host: Path, guest: Guest, tmp_path: Path, model: str) -> None:
    library = hand_library.build(tmp_path, guest.path, lifted_add(guest), model=model)
    assert run(host, "--library", library, guest.path).returncode == (1042 & 0xFF)
    assert run(host, "--engine", "interp", "--library", library, guest.path).returncode == 42


@pytest.mark.usefixtures("identity")
@pytest.mark.parametrize("model", ["flat", "paged", "thunk"])
def test_windows(host: Path, guest: Guest, tmp_path: Path, model: str) -> None:
    library = hand_library.build(tmp_path, guest.path, lifted_add(guest), model=model)
    for window in ("auto", "identity"):
        assert run(host, "--window", window, "--library", library, guest.path).returncode == (1042 & 0xFF)
    result = run(host, "--window", "any", "--library", library, guest.path)
    if model == "flat":
        assert_refused(result, "flat", "paged")
    else:
        assert result.returncode == (1042 & 0xFF)


def test_library_without_a_slash(host: Path, little: Guest, tmp_path: Path) -> None:
    library = hand_library.build(tmp_path, little.path, lifted_add(little))
    result = subprocess.run([host, "--library", library.name, little.path], cwd=tmp_path)
    assert result.returncode == (1042 & 0xFF)


def calls(guest: Guest, caller: str, callee: str) -> dict[int, str]:
    """A lifted function that calls an unlifted one and adds 100 to its result when it comes back as it should."""
    pc, returns_at = guest.at[caller], guest.at[caller] + 4
    body = read("ra", "ra") + write("ra", str(returns_at))
    body += f"""  %next = call i32 @mr_call(ptr %s, i32 {guest.at[callee]})
  store i32 %ra, ptr %to.ra
  %back = icmp eq i32 %next, {returns_at}
  br i1 %back, label %on, label %away
away:
  ret i32 %next
on:
"""
    body += read("v", "v0") + "  %more = add i32 %v, 100\n" + write("v0", "%more") + "  ret i32 %ra\n"
    return {pc: function(pc, body)}


def test_call_of_unlifted_function_returns(host: Path, guest: Guest, tmp_path: Path) -> None:
    library = hand_library.build(tmp_path, guest.path, calls(guest, "load", "add"))
    result = run(host, "--library", library, "--call", hex(guest.at["load"]), 1, 2, guest.path)
    assert "v0 = 0x00000067 (103)" in result.stdout


def test_unlifted_function_that_unwinds(host: Path, guest: Guest, tmp_path: Path) -> None:
    library = hand_library.build(tmp_path, guest.path, calls(guest, "add", "escape"))
    assert run(host, "--library", library, guest.path).returncode == 7


# ---- libraries that do not ----


def test_not_a_library(host: Path, little: Guest, tmp_path: Path) -> None:
    text = tmp_path / "text.so"
    text.write_text("#!/bin/sh\n" * 100)
    assert_refused(run(host, "--library", text, little.path), "not an ELF file")
    text.write_text("")
    assert_refused(run(host, "--library", text, little.path), "empty")
    assert_refused(run(host, "--library", tmp_path, little.path), "not a regular file")
    assert_refused(run(host, "--library", tmp_path / "absent.so", little.path), "absent.so", "No such file")
    assert_refused(run(host, "--library", little.path, little.path), "not made for this machine")
    (tmp_path / "other.c").write_text("int other(void) { return 1; }\n")
    other = tmp_path / "other.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", other, tmp_path / "other.c"], check=True)
    assert_refused(run(host, "--library", other, little.path), "not a library that mipsrec made")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"magic": 1}, ("not a library that mipsrec made",)),
        ({"version": 99}, ("format version 99", "rebuild")),
        ({"layout": 1}, ("mipsrec 0.0.9", "rebuild")),
        ({"memory_model": 7}, ("memory model 7",)),
        ({"call_model": 3}, ("call model 3", "rebuild")),
        ({"bias": 0x10000}, ("0x00010000",)),
        ({"fr": 1}, ("FR=1",)),
        ({"cpu_level": 9}, ("x86-64-v9",)),
        ({"entry_count": 1000}, ("damaged", "1000 entries")),
        ({"identity": b"x" * 32}, ("another program",)),
        ({"footer": False}, ("footer",)),
    ],
)
def test_library_that_does_not_fit(
    host: Path, little: Guest, tmp_path: Path, changes: dict[str, int], words: tuple[str, ...]
) -> None:
    library = hand_library.build(tmp_path, little.path, lifted_add(little), **changes)
    assert_refused(run(host, "--library", library, little.path), *words)


def test_unsorted_and_misaligned_entries(host: Path, little: Guest, tmp_path: Path) -> None:
    library = hand_library.build(tmp_path, little.path, {0x400002: function(0x400002, "  ret i32 0\n")})
    assert_refused(run(host, "--library", library, little.path), "damaged", "0x00400002")
    library = hand_library.build(tmp_path, little.path, {0x80000000: function(0x80000000, "  ret i32 0\n")})
    assert_refused(run(host, "--library", library, little.path), "damaged", "0x80000000")


def test_truncated_library(host: Path, little: Guest, tmp_path: Path) -> None:
    data = hand_library.build(tmp_path, little.path, lifted_add(little)).read_bytes()
    short = tmp_path / "short.so"
    for size in [3, 4, 40, 63, 64, 100, 500, len(data) // 2, len(data) - 17, len(data) - 16, len(data) - 1]:
        short.write_bytes(data[:size])
        assert_refused(run(host, "--library", short, little.path))


def test_damaged_library(host: Path, little: Guest, tmp_path: Path) -> None:
    data = hand_library.build(tmp_path, little.path, lifted_add(little)).read_bytes()
    damaged = tmp_path / "damaged.so"
    for at in [*range(0, 64, 3), *range(64, len(data), len(data) // 60), len(data) - 10, len(data) - 1]:
        damaged.write_bytes(data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :])
        assert_refused(run(host, "--library", damaged, little.path))


@pytest.mark.parametrize("size", [0, 1, 7, 8, 63, 64, 65, 1000])
def test_footer(size: int, tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(bytes(range(256))[:size] * 3)
    append_footer(path)
    assert is_whole(path.read_bytes()) and not is_whole(path.read_bytes()[1:])


# ---- faults ----


def fault(guest: Guest, pc_of_fault: int, access: str) -> dict[int, str]:
    """A lifted `load` whose access is attributed to guest pc `pc_of_fault`."""
    pc = guest.at["load"]
    body = read("a", "a0") + read("b", "a1") + access.format(dbg=f", !dbg !{pc}1") + "  ret i32 0\n"
    return {pc: function(pc, body, lines=pc_of_fault)}


PLAIN_LOAD = """  %base.at = getelementptr i8, ptr %s, i64 {BASE}
  %base = load ptr, ptr %base.at
  %wide = zext i32 %a to i64
  %p = getelementptr i8, ptr %base, i64 %wide
  %v = load volatile i32, ptr %p, align 1{dbg}
""".replace("{BASE}", str(OFFSETS["base"]))
PLAIN_STORE = """  %base.at = getelementptr i8, ptr %s, i64 {BASE}
  %base = load ptr, ptr %base.at
  %wide = zext i32 %a to i64
  %p = getelementptr i8, ptr %base, i64 %wide
  store volatile i32 %b, ptr %p, align 1{dbg}
""".replace("{BASE}", str(OFFSETS["base"]))
THUNK_LOAD = "  %v = call i32 @mr_load32(ptr %s, i32 %a){dbg}\n"
THUNK_STORE = "  call void @mr_store32(ptr %s, i32 %a, i32 %b){dbg}\n"


@pytest.mark.parametrize("dwarf", [4, 5])
@pytest.mark.parametrize(("model", "access"), [("paged", PLAIN_LOAD), ("thunk", THUNK_LOAD), ("paged", THUNK_STORE)])
def test_fault_in_lifted_code(host: Path, little: Guest, tmp_path: Path, dwarf: int, model: str, access: str) -> None:
    for pc in (little.at["trap"], 0x7FFEFFF0):
        library = hand_library.build(tmp_path, little.path, fault(little, pc, access), model=model, dwarf=dwarf)
        result = run(host, "--report", "--library", library, "--call", hex(little.at["load"]), 0x123, little.path)
        assert result.returncode == -signal.SIGSEGV
        assert f"at pc 0x{pc:08x}, address 0x00000123" in result.stderr
        assert "(as far as recompiled code has them" in result.stderr


def with_many_lines(guest: Guest) -> dict[int, str]:
    """A lifted `load` that faults, beside other functions, with which the line table is worth compressing."""
    functions = fault(guest, guest.at["trap"], PLAIN_LOAD)
    for pc in range(guest.at["trap"] + 0x1000, guest.at["trap"] + 0x1100, 4):
        body = read("a", "a0") + PLAIN_LOAD.format(dbg=f", !dbg !{pc}1") + "  ret i32 0\n"
        functions[pc] = function(pc, body, lines=pc)
    return functions


VALUES = (0, 0x7F, 0xFF)
DIES = r"mipsrec-host: the function dies of signal 11 \(SIGSEGV\)"


@pytest.mark.parametrize("compressed", [False, True])
def test_damaged_line_table(host: Path, little: Guest, tmp_path: Path, compressed: bool) -> None:
    """Each byte has one of three other values, with MIPSREC_TIERS=all each of them."""
    functions = with_many_lines(little) if compressed else fault(little, little.at["trap"], PLAIN_LOAD)
    library = hand_library.build(tmp_path, little.path, functions, compressed=compressed)
    result = run(host, "--report", "--library", library, "--call", hex(little.at["load"]), 0x123, little.path)
    assert f"at pc 0x{little.at['trap']:08x}, address 0x00000123" in result.stderr
    data = library.read_bytes()[:-FOOTER_BYTES]
    places, is_compressed = sections_of(library)[".debug_line"]
    assert is_compressed is compressed
    for number, at in enumerate(places):
        for value in VALUES if ALL else VALUES[number % 3 :][:1]:
            damaged = data[:at] + bytes([value]) + data[at + 1 :]
            library.write_bytes(damaged + footer(damaged))
            result = run(host, "--library", library, "--call", hex(little.at["load"]), 0x123, little.path)
            assert result.returncode == -signal.SIGSEGV, (at - places.start, value)
            assert re.fullmatch(rf"{DIES} at pc 0x[0-9a-f]{{8}}, address 0x00000123\n", result.stderr), result


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_thunks_across_pages(host: Path, guest: Guest, tmp_path: Path, bits: int) -> None:
    pc, kind = guest.at["load"], "i64" if bits == 64 else "i32"
    wide = "  %low = trunc i64 %v to i32\n" if bits == 64 else "  %low = add i32 %v, 0\n"
    body = read("a", "a0") + f"  %v = call {kind} @mr_load{bits}(ptr %s, i32 %a)\n{wide}" + write("v0", "%low")
    body += f"  %b = add i32 %a, 2\n  call void @mr_store{bits}(ptr %s, i32 %b, {kind} %v)\n"
    body += "  %w = call i32 @mr_load16(ptr %s, i32 %b)\n" + write("v1", "%w") + read("ra", "ra") + "  ret i32 %ra\n"
    library = hand_library.build(tmp_path, guest.path, {pc: function(pc, body)}, model="thunk")
    at = guest.at["across"] + (1 if bits == 16 else 0)
    result = run(host, "--library", library, "--call", hex(pc), at, guest.path)
    order = "<" if guest.byte_order == "little" else ">"
    data = bytes([0x11, 0x22, 0x33, 0x44]) + bytes(4)
    code = {16: "H", 32: "I", 64: "Q"}[bits]
    value = struct.unpack_from(order + code, data, 1 if bits == 16 else 0)[0]
    half = struct.unpack_from(order + "H", struct.pack(order + code, value))[0]
    assert f"v0 = 0x{value & 0xFFFFFFFF:08x}" in result.stdout and f"v1 = 0x{half:08x}" in result.stdout


@pytest.mark.parametrize("access", [PLAIN_STORE, THUNK_STORE])
def test_handler_returns_into_lifted_code(host: Path, tmp_path: Path, access: str) -> None:
    """The registers in the state are wrong while the access waits, as they are between two flushes."""
    guest = compiled_guest(tmp_path, "little", "faults")
    pc = {name: value for name, value, *_ in readelf_symbols("little", guest)}["poke"]
    body = read("a", "a0") + read("b", "a1") + read("ra", "ra") + write("a1", "5")
    body += access.format(dbg=f", !dbg !{pc}1") + "  %more = add i32 %b, 1\n" + write("v0", "%more") + "  ret i32 %ra\n"
    library = hand_library.build(tmp_path, guest, {pc: function(pc, body, lines=pc)})
    result = run(host, "--library", library, guest)
    assert (result.returncode, result.stdout, result.stderr) == (-signal.SIGSEGV, FAULTS, "")


def test_sent_fault_signal_without_handler(host: Path, little: Guest, tmp_path: Path) -> None:
    pc = little.at["add"]
    library = hand_library.build(tmp_path, little.path, {pc: function(pc, "  br label %on\non:\n  br label %on\n")})
    with subprocess.Popen([host, "--library", library, little.path]) as endless:
        wait_for_processor_time(endless.pid, 0.3)
        endless.send_signal(signal.SIGSEGV)
        assert endless.wait(600) == -signal.SIGSEGV


def test_host_stack_overflow_is_the_guests_fault(host: Path, little: Guest, tmp_path: Path) -> None:
    pc = little.at["load"]
    body = '  %room = alloca [1000 x i8]\n  call void asm sideeffect "", "r"(ptr %room)\n'
    body += f"  %next = call i32 @f{pc:x}(ptr %s)\n  %more = add i32 %next, 1\n  ret i32 %more\n"
    library = hand_library.build(tmp_path, little.path, {pc: function(pc, body)})
    result = run(host, "--report", "--library", library, "--call", hex(pc), little.path)
    assert result.returncode == -signal.SIGSEGV and "SIGSEGV" in result.stderr and "internal" not in result.stderr


def test_host_fault_elsewhere_is_an_internal_error(host: Path, little: Guest, tmp_path: Path) -> None:
    pc = little.at["load"]
    body = "  %p = inttoptr i64 123456789012345 to ptr\n  store volatile i32 1, ptr %p\n  ret i32 0\n"
    library = hand_library.build(tmp_path, little.path, {pc: function(pc, body)})
    result = run(host, "--library", library, "--call", hex(pc), little.path)
    assert result.returncode == -signal.SIGSEGV
    assert result.stderr.startswith("mipsrec-host: internal error: host signal 11") and result.stderr.count("\n") == 1
