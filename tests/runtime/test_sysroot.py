"""Paths of guests under --sysroot: what is below it is taken from there, links are resolved inside.

For what is below the sysroot, the host's kernel is the judge: the same program, compiled for this machine, does the
same in a chroot. That needs root; without it these tests skip, and those with written answers stay.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.runtime.twins import compile_guest, compile_native
from tests.support.compiled import ORDERS
from tests.support.hosts import sanitized_host
from tests.support.powers import need_to
from tests.support.tools import need

HOST_ONLY = "/usr/bin"  # some folder that this machine has

LOOKS = """
 open /etc/motd stat /etc/motd lstat /etc/motd access /etc/motd readlink /etc/motd
 open /etc/absolute stat /etc/absolute lstat /etc/absolute readlink /etc/absolute open-no-follow /etc/absolute
 open /etc/relative stat /etc/relative access /etc/relative
 open /etc/above stat /etc/above
 open /lib/libx.so stat /lib/libx.so lstat /lib stat /lib lstat /lib/ readlink /lib
 open /bin/tool stat /bin/tool readlink /bin/tool
 open /../../etc/motd open /etc/../etc/./motd open //etc//motd stat /etc/motd/ stat /etc/motd/x open /etc/
 stat /loop open /loop lstat /loop stat /loop/x
 stat /etc/absolute/ open /usr/bin/tool
 statfs /etc/motd statfs /lib list /usr/lib list /lib times /etc/absolute chmod /etc/relative chown /etc/absolute
 write-old /etc/changed text open /etc/changed truncate /etc/linked open /etc/changed
 chdir /usr/bin cwd open tool stat tool lstat tool readlink tool stat ../../etc/motd open ../lib/libx.so
 stat ../../../../etc/motd open ../../../../etc/motd open ../../etc/absolute
 rename /etc/one /etc/other open /etc/other link /etc/absolute /etc/absolute.new readlink /etc/absolute.new
 chdir .. cwd chdir ../../.. cwd stat etc/motd open lib/libx.so
 folder /usr/bin open @tool stat @tool lstat @tool readlink @tool access @tool open @../../etc/absolute
 open @../../../etc/motd fchdir . cwd chdir /lib cwd open libx.so
 mkdir /usr/bin rmdir /etc unlink /usr open-new /etc/motd mkdir /usr/bin/ rmdir /loop
""".split()

CHANGES = """
 chdir /usr/bin mkdir here write here/new inside open here/new rename here/new here/newer lstat here/newer
 symlink /etc/motd here/link open here/link link here/newer here/other unlink here/newer mknod here/pipe lstat here/pipe
 folder /usr/lib mkdir @sub write @sub/file text rename @sub/file @sub/file2 open @sub/file2 unlink @sub/file2
 rmdir @sub
 rename /etc/one two open two rename two /etc/motd open /etc/motd link /etc/motd three unlink /etc/absolute
 lstat /etc/absolute write ../../etc/changed again open /etc/changed unlink ../lib/libx.so open /lib/libx.so
 write dangling made open /usr/share/made lstat dangling
""".split()


def make_root(folder: Path) -> Path:
    """A small tree with links of all kinds."""
    root = folder / "root"
    for name in ("etc/alternatives", "usr/bin", "usr/lib", "usr/share", "tmp", "proc", "dev"):
        (root / name).mkdir(parents=True)
    for name, text in {
        "etc/motd": "welcome", "etc/one": "one", "etc/changed": "as it was", "usr/bin/real": "the tool",
        "usr/lib/libx.so": "library",
    }.items():  # fmt: skip
        (root / name).write_text(text + "\n")
    for name, target in {
        "etc/absolute": "/etc/motd", "etc/relative": "../etc/motd", "etc/above": "../../../../../etc/motd",
        "etc/linked": "/etc/changed", "lib": "usr/lib", "bin": "/usr/bin", "etc/alternatives/tool": "/usr/bin/real",
        "usr/bin/tool": "/etc/alternatives/tool", "loop": "loop", "usr/bin/dangling": "/usr/share/made",
        "etc/mounts": "/proc/self/mounts", "etc/relative-mounts": "../proc/self/mounts", "etc/null": "/dev/null",
        "etc/hosts-own": HOST_ONLY,
    }.items():  # fmt: skip
        (root / name).symlink_to(target)
    return root


def run(command: list[str | Path], folder: Path, **more: str) -> list[str]:
    environment = {**os.environ, **more}
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, env=environment)
    assert (result.returncode, result.stderr) == (0, ""), result
    return result.stdout.splitlines()


@pytest.fixture(scope="module", params=list(ORDERS))
def guest(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_guest(tmp_path_factory.mktemp("guest"), request.param, "paths")


def in_chroot(folder: Path, commands: list[str]) -> list[str]:
    need_to("chroot")
    root = make_root(folder)
    compile_native(root, "paths", "-static")
    return run([need("chroot"), root, "/paths", *commands], folder)


@pytest.mark.parametrize("commands", [LOOKS, CHANGES], ids=["looks", "changes"])
@pytest.mark.parametrize("threads", [False, True], ids=["alone", "threads"])
def test_answers_like_a_chroot(host: Path, tmp_path: Path, guest: Path, commands: list[str], threads: bool) -> None:
    (tmp_path / "native").mkdir()
    expected = in_chroot(tmp_path / "native", commands)
    root = make_root(tmp_path)
    before = ["thread"] if threads else []
    words = [host, "--engine", "interp", "--sysroot", root, guest, *before, *commands]
    assert run(words, tmp_path)[len(before) :] == expected


@pytest.mark.parametrize("threads", [False, True], ids=["alone", "threads"])
def test_the_rest_is_the_hosts(host: Path, tmp_path: Path, guest: Path, threads: bool) -> None:
    root, outside = make_root(tmp_path), tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("the host's\n")
    (root / "etc/out").symlink_to(outside / "file")
    commands = ["thread"] if threads else []
    commands += ["open", f"{outside}/file", "write", f"{outside}/new", "text", "mkdir", f"{outside}/folder", "rename",
                 f"{outside}/new", f"{outside}/folder/new", "chdir", str(outside), "cwd", "open", "folder/new", "open",
                 "file", "open", "/etc/out", "open", "/no/such", "stat", "/no/such"]  # fmt: skip
    lines = run([host, "--engine", "interp", "-L", root, guest, *commands], tmp_path)
    assert lines[threads:] == [
        f"open {outside}/file: ok [the host's]", f"write {outside}/new: ok", f"mkdir {outside}/folder: ok",
        f"rename {outside}/new: ok {outside}/folder/new", f"chdir {outside}: ok", f"cwd {outside}",
        "open folder/new: ok [text]", "open file: ok [the host's]", "open /etc/out: ok [the host's]",
        "open /no/such: ENOENT", "stat /no/such: ENOENT",
    ]  # fmt: skip


@pytest.mark.parametrize("threads", [False, True], ids=["alone", "threads"])
def test_a_link_to_nothing_hides_nothing(host: Path, tmp_path: Path, guest: Path, threads: bool) -> None:
    """As where /tmp of a firmware is a link to a folder that only a running one has."""
    root, hidden, target = make_root(tmp_path), tmp_path / "hidden", tmp_path / "target"
    for folder, names in ((hidden, ["file", "both"]), (target, ["both"])):
        folder.mkdir()
        for name in names:
            (folder / name).write_text(f"of {folder.name}\n")
    (root / tmp_path.relative_to("/")).mkdir(parents=True)
    linked = root / hidden.relative_to("/")
    linked.symlink_to("/var/no/such/folder")
    commands = ["open", f"{hidden}/file", "stat", f"{hidden}/none", "write", f"{hidden}/new", "text", "open",
                f"{hidden}/new", "write", f"{hidden}/file", "again", "mkdir", f"{hidden}/made", "unlink",
                f"{hidden}/both", "chdir", f"{hidden}", "open", "file", "lstat", f"{hidden}"]  # fmt: skip
    words = [host, "--engine", "interp", "-L", root, guest, *(["thread"] if threads else [])]
    lines = run([*words, *commands], tmp_path)[threads:]
    assert lines[:9] == [
        f"open {hidden}/file: ok [of hidden]", f"stat {hidden}/none: ENOENT", f"write {hidden}/new: ok",
        f"open {hidden}/new: ok [text]", f"write {hidden}/file: ok", f"mkdir {hidden}/made: ok",
        f"unlink {hidden}/both: ok", f"chdir {hidden}: ok", "open file: ok [again]",
    ]  # fmt: skip
    assert lines[9].startswith(f"lstat {hidden}: ok 120000")
    assert sorted(path.name for path in hidden.iterdir()) == ["file", "made", "new"]
    (hidden / "both").write_text("of hidden\n")
    linked.unlink()
    linked.symlink_to(target)  # the name that it leads to comes first
    commands = ["open", f"{hidden}/both", "open", f"{hidden}/file", "write", f"{hidden}/one", "more"]
    lines = run([*words, *commands], tmp_path)
    assert lines[threads:] == [f"open {hidden}/both: ok [of target]", f"open {hidden}/file: ok [again]",
                               f"write {hidden}/one: ok"]  # fmt: skip
    assert (target / "one").read_text() == "more\n"


def test_linux_itself_is_always_the_hosts(host: Path, tmp_path: Path, guest: Path) -> None:
    root = make_root(tmp_path)
    (root / "dev/null").write_text("a file\n")
    commands = ["stat", "/dev/null", "stat", "/etc/null", "access", "/etc/mounts", "access", "/etc/relative-mounts",
                "chdir", "/", "stat", "dev/null", "access", "proc/self/stat", "folder", "/", "stat",
                "@dev/null"]  # fmt: skip
    lines = run([host, "--engine", "interp", "-L", root, guest, "thread", *commands], tmp_path)
    assert lines[1:] == [
        "stat /dev/null: ok 20000 0", "stat /etc/null: ok 20000 0", "access /etc/mounts: ok",
        "access /etc/relative-mounts: ok", "chdir /: ok", "stat dev/null: ok 20000 0", "access proc/self/stat: ok",
        "folder /: ok", "stat @dev/null: ok 20000 0",
    ]  # fmt: skip


def test_names_are_created_where_the_host_has_the_folder(host: Path, tmp_path: Path, guest: Path) -> None:
    root = make_root(tmp_path)
    shared = tmp_path / "shared"
    (root / shared.relative_to("/")).mkdir(parents=True)
    shared.mkdir()
    (root / "only-here").mkdir()
    commands = ["write", f"{shared}/new", "text", "mkdir", "/only-here/new", "write", "/only-here/new/file", "text",
                "open", "/only-here/new/file", "open", f"{shared}/new", "symlink", "x", f"{shared}/link",
                "chdir", str(shared), "write", "relative", "text"]  # fmt: skip
    run([host, "--engine", "interp", "-L", root, guest, *commands], tmp_path)
    assert sorted(path.name for path in shared.iterdir()) == ["link", "new"]
    assert (root / "only-here/new/file").read_text() == "text\n"
    assert [path.name for path in (root / shared.relative_to("/")).iterdir()] == ["relative"]


def test_proc_links_lose_the_sysroot(host: Path, tmp_path: Path, guest: Path) -> None:
    root = make_root(tmp_path)
    program = root / "usr/bin/program"
    program.write_bytes(guest.read_bytes())
    program.chmod(0o755)
    commands = ["chdir", "/usr/lib", "readlink", "/proc/self/cwd", "folder", "/usr/bin", "readlink", "/proc/self/fd/3",
                "readlink", "/proc/self/exe", "open", "/proc/self/cwd/libx.so"]  # fmt: skip
    for name in ("/usr/bin/program", str(program), "/bin/program"):
        assert run([host, "--engine", "interp", "-L", root, name, *commands], tmp_path) == [
            "chdir /usr/lib: ok", "readlink /proc/self/cwd: ok /usr/lib", "folder /usr/bin: ok",
            "readlink /proc/self/fd/3: ok /usr/bin", "readlink /proc/self/exe: ok /usr/bin/program",
            "open /proc/self/cwd/libx.so: ok [library]",
        ]  # fmt: skip


def test_a_start_below_the_sysroot(host: Path, tmp_path: Path, guest: Path) -> None:
    root = make_root(tmp_path)
    lines = run([host, "--engine", "interp", "-L", root, guest, "cwd", "open", "tool"], root / "usr/bin")
    assert lines == ["cwd /usr/bin", "open tool: ok [the tool]"]


def test_the_program_may_be_a_link(host: Path, tmp_path: Path, guest: Path) -> None:
    """A path below the sysroot leads where the guest's does: by absolute links to its files, or to this machine's."""
    root = make_root(tmp_path)
    (root / "usr/bin/guest").write_bytes(guest.read_bytes())
    (root / "usr/bin/guest").chmod(0o755)
    (root / "usr/bin/link").symlink_to("/usr/bin/guest")
    (root / "usr/bin/outside").symlink_to(guest)
    expected = run([host, "--sysroot", root, root / "usr/bin/guest", "stat", "/etc/motd"], tmp_path)
    programs = root / "usr/bin/link", "root/usr/bin/link", "root/bin/link", "root/../root/usr/bin/guest"
    for program in (*programs, "/usr/bin/guest", root / "usr/bin/outside"):
        assert run([host, "--sysroot", root, program, "stat", "/etc/motd"], tmp_path) == expected
    assert run([host, "--sysroot", root, "link", "stat", "/etc/motd"], root / "usr/bin") == expected


def test_descriptors_are_not_used_up(host: Path, tmp_path: Path, guest: Path) -> None:
    """Paths are found also when the guest may open no more files, and no look leaves one open."""
    root = make_root(tmp_path)
    looks = ["stat", "/lib/libx.so", "access", "/bin/tool", "stat", "/no/such", "readlink", "/bin/tool"] * 20
    lines = run(
        [host, "--engine", "interp", "-L", root, guest, *looks, "folder", "/etc", "readlink", "/proc/self/fd/3"],
        tmp_path,
    )
    assert lines[-1] == "readlink /proc/self/fd/3: ok /etc"
    limited = ["sh", "-c", 'ulimit -n 12; exec "$@"', "sh"]
    full = ["folder", "/etc"] * 12
    lines = run([*limited, host, "--engine", "interp", "-L", root, guest, *full, *looks[:8]], tmp_path)
    assert "folder /etc: EMFILE" in lines
    assert lines[12:] == ["stat /lib/libx.so: ok 100000 8", "access /bin/tool: ok", "stat /no/such: ENOENT",
                          "readlink /bin/tool: ok /etc/alternatives/tool"]  # fmt: skip


def test_attributes(host: Path, tmp_path: Path, guest: Path) -> None:
    root = make_root(tmp_path)
    try:
        os.setxattr(root / "etc/motd", "user.try", b"x")
    except OSError:
        pytest.skip(f"the file system of {tmp_path} keeps no attributes of users")
    lines = run([host, "--engine", "interp", "-L", root, guest, "xattr", "/etc/absolute"], tmp_path)
    assert lines == ["xattr /etc/absolute: ok 5 value 0"]


def test_environment_names_the_sysroot(host: Path, tmp_path: Path, guest: Path) -> None:
    root = make_root(tmp_path)
    command = [host, "--engine", "interp", guest, "open", "/etc/absolute"]
    assert run(command, tmp_path, MIPSREC_SYSROOT=str(root)) == ["open /etc/absolute: ok [welcome]"]
    other = [*command[:1], "-L", "/", *command[1:]]
    assert run(other, tmp_path, MIPSREC_SYSROOT=str(root)) != ["open /etc/absolute: ok [welcome]"]


@pytest.mark.parametrize("folder", ["none", "file"])
def test_what_is_no_folder_is_refused(host: Path, tmp_path: Path, guest: Path, folder: str) -> None:
    (tmp_path / "file").write_text("")
    result = subprocess.run([host, "-L", tmp_path / folder, guest], capture_output=True, text=True)
    assert result.returncode == 1 and re.fullmatch(r"mipsrec-host: --sysroot \S+: .*\n", result.stderr)


def test_chroot_leaves_the_sysroot(host: Path, tmp_path: Path, guest: Path) -> None:
    need_to("chroot")
    root = make_root(tmp_path)
    (root / "jail/etc").mkdir(parents=True)
    (root / "jail/etc/motd").write_text("jail\n")
    (root / "jail/bin").mkdir()
    program = root / "jail/bin/program"
    program.write_bytes(guest.read_bytes())
    program.chmod(0o755)
    outside = ["open", f"{root}/etc/motd", "open", "/jail/etc/motd"]
    commands = ["chroot", "/", *outside, "open", "/etc/motd", "chroot", "/jail", "chdir", "/", *outside, "cwd", "open",
                "/etc/motd"]  # fmt: skip
    lines = run([host, "--engine", "interp", "-L", root, guest, *commands], tmp_path)
    assert lines == [
        "chroot /: ok", f"open {root}/etc/motd: ok [welcome]", "open /jail/etc/motd: ok [jail]",
        "open /etc/motd: ok [welcome]", "chroot /jail: ok", "chdir /: ok", f"open {root}/etc/motd: ENOENT",
        "open /jail/etc/motd: ENOENT", "cwd /", "open /etc/motd: ok [jail]",
    ]  # fmt: skip
    if "INTERP" in subprocess.run([need("readelf", "binutils"), "-lW", host], capture_output=True, text=True).stdout:
        pytest.skip("the host is linked dynamically, so that it does not start where its libraries are not")
    lines = run([host, "--engine", "interp", "-L", root, guest, *commands, "exec", "/bin/program"], tmp_path)
    assert lines[len(lines) - 2 :] == ["cwd /", "readlink /proc/self/exe: ok /bin/program"]


def host_calls(command: list[str | Path], folder: Path) -> int:
    """How many system calls with a path, and closes, the host makes."""
    trace = folder / "trace"
    calls = "open,openat,openat2,stat,newfstatat,statx,access,faccessat,faccessat2,readlink,readlinkat,close,getcwd"
    subprocess.run(
        [need("strace"), "-f", "-qq", "-o", trace, "-e", f"trace={calls}", *command], check=True, capture_output=True
    )
    return len(trace.read_text().splitlines())


@pytest.mark.parametrize(("path", "most"), [("/lib/libx.so", 2), ("/etc/motd", 2), ("/no/such", 2)])
def test_a_look_costs_few_host_calls(host: Path, tmp_path: Path, guest: Path, path: str, most: int) -> None:
    root, count = make_root(tmp_path), 50
    for look, own in (("stat", 1), ("access", 1), ("readlink", 1)):
        few = [guest, look, path]
        many = [*few, *([look, path] * count)]
        command = [host, "--engine", "interp"]
        without = host_calls([*command, *many], tmp_path) - host_calls([*command, *few], tmp_path)
        assert without == own * count
        with_root = [*command, "-L", root]
        cost = host_calls([*with_root, *many], tmp_path) - host_calls([*with_root, *few], tmp_path)
        assert cost <= (own + most) * count


@pytest.mark.parametrize("commands", [LOOKS, CHANGES], ids=["looks", "changes"])
def test_under_sanitizers(tmp_path: Path, commands: list[str]) -> None:
    for order in ORDERS:
        folder = tmp_path / order
        folder.mkdir()
        guest = compile_guest(folder, order, "paths")
        root = make_root(folder)
        lines = run([sanitized_host(), "--engine", "interp", "-L", root, guest, *commands], folder)
        assert len(lines) > 30
