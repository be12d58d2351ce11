"""`mipsrec binfmt`: which files the registration matches, and programs that the kernel starts by it.

The kernel's part is tried in a user namespace, which has a binfmt_misc of its own since Linux 6.7: nothing of it can
stay behind, and other tests do not meet it.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mipsrec.commands.binfmt import FOLDER, Kind, kinds, registration
from tests.cli.others import open_to_others
from tests.support.commandline import assert_one_line, command, mipsrec
from tests.support.compiled import ORDERS, compile_guest
from tests.support.paths import ROOT
from tests.support.powers import need_to
from tests.support.tools import need

KINDS = kinds("x")
SHOW = """
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>
extern char **environ;
int main(int count, char **words)
{
    for (int i = 0; i < count; i++)
        printf("[%s] ", words[i]);
    printf("%s %d %d\\n", (char *)getauxval(AT_EXECFN), (int)geteuid(), (int)getauxval(AT_SECURE));
    for (char **variable = environ; (int)getauxval(AT_SECURE) && *variable; variable++)
        if (strncmp(*variable, "MIPSREC_", 8) == 0)
            puts(*variable); /* a program that this one starts would heed it */
    fflush(stdout);
    if (count > 2 && strcmp(words[1], "again") == 0)
        execv(words[2], words + 3);
    return 42;
}
"""


def header(
    byte_order: str, flags: int, elf_class: int = 1, machine: int = 8, elf_type: int = 2, osabi: int = 0
) -> bytes:
    """The beginning of an ELF file."""
    number = 1 if byte_order == "little" else 2
    fields = [(elf_type, 2), (machine, 2), (1, 4), (0x400000, 4), (52, 4), (0x5000, 4), (flags, 4), (52, 2)]
    rest = b"".join(value.to_bytes(size, byte_order) for value, size in fields)  # type: ignore[arg-type]
    return b"\x7fELF" + bytes([elf_class, number, 1, osabi]) + bytes(8) + rest


def matching(data: bytes) -> list[str]:
    return [kind.name for kind in KINDS if kind.matches(data)]


O32, PIC, NOREORDER, NAN2008, FP64, MODE_32 = 0x1000, 0x6, 0x1, 0x400, 0x200, 0x100


@pytest.mark.parametrize("byte_order", ORDERS)
@pytest.mark.parametrize("architecture", range(9))
def test_o32_programs_match(byte_order: str, architecture: int) -> None:
    name = "x-mips" if byte_order == "big" else "x-mipsel"
    expected = [name if architecture < 8 else f"{name}-64r2"]
    for more in (O32, O32 | PIC, O32 | NOREORDER | NAN2008, O32 | FP64 | MODE_32, 0, PIC):
        for elf_type in (2, 3):
            for osabi in (0, 3):
                data = header(byte_order, architecture << 28 | more, elf_type=elf_type, osabi=osabi)
                assert matching(data) == expected


@pytest.mark.parametrize("byte_order", ORDERS)
def test_others_do_not_match(byte_order: str) -> None:
    r2 = 0x70000000
    for flags in (r2 | 0x20, 0x80000020, 0x20, 0x60000020, 0x90000000 | O32, 0xA0000000 | O32, 0x90000020, 0xB0000000,
                  r2 | 0x2000, r2 | 0x3000, r2 | 0x4000, 0xF0000000):  # fmt: skip
        assert matching(header(byte_order, flags)) == []
    assert matching(header(byte_order, 0x80000000, elf_class=2)) == []
    assert matching(header(byte_order, r2 | O32, elf_class=2)) == []
    assert matching(header(byte_order, r2 | O32, machine=10)) == []
    assert matching(header(byte_order, r2 | O32, machine=0x0800)) == []
    for elf_type in (0, 1, 4):
        assert matching(header(byte_order, r2 | O32, elf_type=elf_type)) == []
    assert matching(b"\x7fELF\1\1\1") == [] and matching(b"#!/bin/sh\n") == []


@pytest.mark.parametrize("byte_order", ORDERS)
def test_what_compilers_make(tmp_path: Path, byte_order: str) -> None:
    bare = ("-nostdlib", "-ffreestanding", "-mno-abicalls", "-fno-pic", "-G0", "-static")
    source = "void __start(void) { for (;;); }"
    for options, expected in (
        (("-march=mips1", "-mfp32"), True), (("-march=mips32r2",), True), (("-march=mips32r6",), False),
        (("-march=mips64r2", "-mabi=32"), True), (("-march=mips64r2", "-mabi=n32"), False),
        (("-march=mips64r2", "-mabi=64"), False),
    ):  # fmt: skip
        linker = () if "-mabi=n32" not in options and "-mabi=64" not in options else ("-r",)
        program = compile_guest(tmp_path, byte_order, source, *bare, *options, *linker)
        data = bytearray(program.read_bytes())
        data[16:18] = (2).to_bytes(2, "little" if byte_order == "little" else "big")  # -r: cross linkers know o32 only
        assert len(matching(bytes(data))) == expected, options


def test_lines_and_file(host: Path) -> None:
    result = mipsrec("binfmt", "--host", host, "--flags", "OC", "--name", "mine")
    lines = result.stdout.splitlines()
    assert result.returncode == 0 and len(lines) == 4
    for line, kind in zip(lines, kinds("mine"), strict=True):
        assert line == registration(kind, host, "OC") and len(line) < 1920
        fields = line.split(":")
        assert fields[:4] == ["", kind.name, "M", "0"] and fields[6:] == [str(host), "OC"]
        assert [bytes.fromhex(field.replace("\\x", "")) for field in fields[4:6]] == [kind.magic, kind.mask]
        assert len(kind.magic) == len(kind.mask) == 40
    result = mipsrec("binfmt", "--host", host, "--flags", "OC", "--name", "mine", "--format", "binfmt.d")
    assert result.stdout.splitlines()[0].startswith("#") and result.stdout.splitlines()[1:] == lines
    default = mipsrec("binfmt", "--host", host).stdout.splitlines()[0]
    assert re.fullmatch(rf":mipsrec-mips:M:0:.*:{host}:P?F", default)


def test_the_host_is_copied_where_it_is_wanted(host: Path, tmp_path: Path) -> None:
    wanted = tmp_path / "new/mipsrec-host"
    result = mipsrec("binfmt", "--host", wanted)
    assert (result.returncode, result.stderr.count("\n")) == (0, 1)
    assert result.stderr == f"mipsrec: binfmt: {wanted}: was not there; made, as a copy of the host\n"
    assert mipsrec("binfmt", "--host", wanted).stderr == ""
    assert subprocess.run([wanted, "--version"], capture_output=True, text=True).stdout.startswith("mipsrec-host (")


def test_refusals(tmp_path: Path, host: Path) -> None:
    assert_one_line(mipsrec("binfmt", "--host", host, "--flags", "FX"), "FX", "POCF", status=2)
    assert_one_line(mipsrec("binfmt", "--host", tmp_path), str(tmp_path), "cannot be executed")
    assert_one_line(mipsrec("binfmt", "--host", host, "--name", "a/b"), "a/b", status=2)
    long = tmp_path / ("x" * 100) / ("y" * 30)
    assert_one_line(mipsrec("binfmt", "--host", long), "127 bytes")
    assert "credentials" not in mipsrec("binfmt", "--help").stdout


@pytest.mark.parametrize("source", [".", "..", "/"])
def test_build_of_a_folder_without_a_name(tmp_path: Path, source: str) -> None:
    assert_one_line(mipsrec("build", source, cwd=tmp_path), "-o")


# ---- with the kernel ----


def in_namespace(script: str, folder: Path) -> str:
    """Return what a shell prints that is root of a namespace with a binfmt_misc of its own."""
    mount = f"mount -t binfmt_misc none {FOLDER}"
    words = [need("unshare", "util-linux"), "--user", "--map-root-user", "--mount", "sh", "-ec"]
    if subprocess.run([*words, f"{mount} && test -w {FOLDER}/register"], capture_output=True).returncode != 0:
        pytest.skip("NOT TESTED: no binfmt_misc in a user namespace (Linux before 6.7, or not allowed)")
    result = subprocess.run([*words, f"{mount}\n{script}"], capture_output=True, text=True, timeout=600, cwd=folder,
                            env={**os.environ, "PYTHONPATH": str(ROOT)})  # fmt: skip
    assert result.returncode == 0, result
    return result.stdout


def shell(*words: object) -> str:
    return shlex.join(command(*words))


@pytest.fixture(scope="module", params=list(ORDERS))
def guest(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_guest(tmp_path_factory.mktemp("guest"), request.param, SHOW, "-static")


@pytest.mark.parametrize("flags", ["F", "PF", "OF", "POC", "POCF", ""])
def test_programs_run(host: Path, tmp_path: Path, guest: Path, flags: str) -> None:
    argv0 = "-login" if "P" in flags else guest
    output = in_namespace(
        f"""{shell("binfmt", "--host", host, "--flags", flags, "--install")} > /dev/null
        perl -e 'exec {{$ARGV[0]}} "-login", "--stats", "two words"' {guest} || echo $?
        {guest} again {guest} -other again {guest} third || echo $?
        ls {FOLDER}
        {shell("binfmt", "--uninstall")}
        {shell("binfmt", "--uninstall")}
        {guest} 2> /dev/null || echo $?
        """, tmp_path)  # fmt: skip
    assert output == (
        f"[{argv0}] [--stats] [two words] {guest} 0 0\n42\n"
        f"[{guest}] [again] [{guest}] [-other] [again] [{guest}] [third] {guest} 0 0\n"
        f"[-other] [again] [{guest}] [third] {guest} 0 0\n[third] {guest} 0 0\n42\n"
        "mipsrec-mips\nmipsrec-mips-64r2\nmipsrec-mipsel\nmipsrec-mipsel-64r2\nregister\nstatus\n"
        "no longer registered: mipsrec-mips, mipsrec-mips-64r2, mipsrec-mipsel, mipsrec-mipsel-64r2\n"
        "mipsrec: nothing of that name is registered\n126\n"
    )


CONTAINER = ROOT / "docs/usage/container"


def test_what_the_image_does(host: Path, tmp_path: Path, guest: Path) -> None:
    """It mounts binfmt_misc where it is not, and registers; programs run in a root that has no host."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/mipsrec").write_text(f'#!/bin/sh\nexec {shell()} "$@"\n')
    (tmp_path / "bin/mipsrec").chmod(0o755)
    shutil.copy(guest, tmp_path / "guest")
    register = CONTAINER / "register"
    output = in_namespace(
        f"""umount {FOLDER}
        export PATH=$PWD/bin:$PATH MIPSREC_HOST={host}
        {register} | tail -1
        chroot . /guest || echo $?
        {register} --uninstall
        """, tmp_path)  # fmt: skip
    lines = output.splitlines()
    assert lines[0] == f"mipsrec-mipsel-64r2: registered for {host}, flags PF"
    assert lines[1:3] == ["[/guest] /guest 0 0", "42"] and lines[3].startswith("no longer registered: mipsrec-mips,")


def test_what_the_image_is_made_of() -> None:
    """Files that the recipe copies are there, and its command."""
    words = [line.split() for line in (CONTAINER / "Dockerfile").read_text().splitlines()]
    copied = [line[1] for line in words if line[:1] == ["COPY"] and not line[1].startswith("--from")]
    assert copied == [".", str((CONTAINER / "register").relative_to(ROOT))] and (ROOT / copied[1]).is_file()
    for script in ("register", "build-image"):
        assert os.access(CONTAINER / script, os.X_OK)
        subprocess.run(["sh", "-n", CONTAINER / script], check=True)


def test_a_name_that_looks_like_an_option(host: Path, tmp_path: Path, guest: Path) -> None:
    shutil.copy(guest, tmp_path / "--stats")
    output = in_namespace(
        f"""{shell("binfmt", "--host", host, "--flags", "PF", "--install")} > /dev/null
        {sys.executable} -c 'import os; os.execv("--stats", ["name"])' || echo $?
        """, tmp_path)  # fmt: skip
    assert output == "[name] --stats 0 0\n42\n"


def test_the_host_may_be_gone(host: Path, tmp_path: Path, guest: Path) -> None:
    """With flag F; also when the guest executes another program."""
    copy = tmp_path / "copy"
    output = in_namespace(
        f"""cp {host} {copy}
        {shell("binfmt", "--host", copy, "--flags", "PF", "--install")} > /dev/null
        rm {copy}
        {guest} again {guest} next || echo $?
        """, tmp_path)  # fmt: skip
    assert output == f"[{guest}] [again] [{guest}] [next] {guest} 0 0\n[next] {guest} 0 0\n42\n"


def test_programs_that_nobody_may_read(host: Path, tmp_path: Path, guest: Path) -> None:
    """Flag O: the kernel opens it for the host."""
    program = tmp_path / "program"
    shutil.copy(guest, program)
    script = f"""{shell("binfmt", "--host", host, "--flags", "POF", "--install")} > /dev/null
        chmod 711 {program}
        setpriv --bounding-set -all --inh-caps -all --securebits +noroot,+noroot_locked {program} || echo $?
        """
    assert in_namespace(script, tmp_path).splitlines()[-1] == "42"


def as_root_of_many(script: str, folder: Path) -> str:
    """As in_namespace, where all users of this machine are; for root."""
    text = f"read -r go; mount -t binfmt_misc none {FOLDER}; {script}"
    words = [need("unshare", "util-linux"), "--user", "--mount", "sh", "-ec", text]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder,
                          env={**os.environ, "PYTHONPATH": str(ROOT)}) as process:  # fmt: skip
        deadline = time.monotonic() + 600
        while os.readlink(f"/proc/{process.pid}/ns/user") == os.readlink("/proc/self/ns/user"):
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.02)
        for name in ("uid_map", "gid_map"):
            Path(f"/proc/{process.pid}/{name}").write_text("0 0 65536\n")
        output, _ = process.communicate("go\n", timeout=600)
    assert process.returncode == 0
    return output


def test_setuid_programs_heed_no_variables(host: Path, tmp_path: Path, guest: Path) -> None:
    """Flag C. MIPSREC_SYSROOT of the caller would let it choose the program's files. Without C there are no rights."""
    need_to("become another user")
    with open_to_others() as folder:
        program, copy = folder / "program", folder / "host"
        shutil.copy(guest, program)
        shutil.copy(host, copy)
        program.chmod(0o4755)
        script = f"""{shell("binfmt", "--host", copy, "--flags", "POF", "--install")} > /dev/null
            setpriv --reuid 1 --clear-groups {program} || echo $?
            {shell("binfmt", "--uninstall")} > /dev/null
            {shell("binfmt", "--host", copy, "--flags", "POCF", "--install")} > /dev/null
            export MIPSREC_CACHE=/none MIPSREC_CACHE_PATH=/none MIPSREC_SERVER=none MIPSREC_LATER=1
            MIPSREC_SYSROOT=/none setpriv --reuid 1 --clear-groups {program} || echo $?
            unset MIPSREC_CACHE MIPSREC_CACHE_PATH MIPSREC_SERVER MIPSREC_LATER
            cp {guest} plain
            setpriv --reuid 1 --clear-groups {folder}/plain again {program} own || echo $?
            """
        output = as_root_of_many(script, folder)
        plain = folder / "plain"
        assert output == (
            f"[{program}] {program} 1 0\n42\n"
            f"[{program}] {program} 0 1\n42\n"
            f"[{plain}] [again] [{program}] [own] {plain} 1 0\n[own] {program} 0 1\n42\n"
        )


def test_the_host_asks_for_no_variable_but_by_one_rule() -> None:
    """Each question is secure_getenv's, or stands behind the same condition; the launcher is never registered."""
    asked = [
        line.strip()
        for path in (ROOT / "runtime").rglob("*.c") if path.parent.name != "launcher"
        for line in path.read_text().splitlines() if re.search(r"\bgetenv\(", line)
    ]  # fmt: skip
    assert asked and all(line.count("getenv(") == line.count("trusting ? getenv(") for line in asked)


def test_one_entry_matches_a_kind_like_the_kernel(tmp_path: Path) -> None:
    """The rule of Kind.matches is the kernel's: missing bytes are zero."""
    kind = Kind("x", b"\x01\x00", b"\xff\xff")
    assert kind.matches(b"\x01") and kind.matches(b"\x01\x00\x05") and not kind.matches(b"\x01\x01")
