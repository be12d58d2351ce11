"""Sockets: guests that try them beside native builds of the same source, and numbers beside kernel headers."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.runtime.twins import compile_guest, natives_in_empty_folders, output_in_empty_folder
from tests.support.compiled import ORDERS
from tests.support.hosts import sanitized_host
from tests.support.paths import RUNTIME
from tests.support.sampling import ALL
from tests.support.tools import need

pytestmark = pytest.mark.sampled

NAMES = ("sockets", "socket_options", "messages", "netlink")
ALONE = ("unshare", "--user", "--map-root-user", "--net")
"""A network namespace of its own; messages of other programs' sockets do not reach it."""

SOCKETCALL_ANSWERS = """\
call(1, AF_INET, 2, 0, 0, 0, 0) = 3
call(1, AF_INET, 2 | 0x80000, 6, 0, 0, 0) = 4
call(14, server, 0xffff, 4, P(&one), 4, 0) = 0
call(15, server, 0xffff, 4, P(&got), P(&size), 0) = 0
1 4
call(15, server, 0xffff, 0x1008, P(&got), P(&size), 0) = 0
2
call(2, server, P(&address), sizeof address, 0, 0, 0) = 0
call(6, server, P(&address), P(&size), 0, 0, 0) = 0
call(4, server, 3, 0, 0, 0, 0) = 0
call(3, client, P(&address), size, 0, 0, 0) = 0
call(5, server, 0, 0, 0, 0, 0) = 5
call(7, client, P(&address), P(&size), 0, 0, 0) = 0
call(9, client, P("send"), 4, 0, 0, 0) = 4
call(10, end, P(text), 32, 0, 0, 0) = 4
call(11, client, P("sendto"), 6, 0x4000, 0, 0) = 6
call(12, end, P(text), 32, 0, P(&from), P(&size)) = 6
sendto 0
call(16, end, P(&message), 0, 0, 0, 0) = 3
call(17, client, P(&message), 0, 0, 0, 0) = 3
call(13, client, 2, 0, 0, 0, 0) = 0
call(8, AF_UNIX, 1 | 0x80, 0, P(ends), 0, 0) = 0
call(20, ends[0], P(many), 2, 0, 0, 0) = 2
call(19, ends[1], P(many), 2, 0, P(timeout), 0) = 2
3 3 1
call(3, socket(AF_INET, SOCK_STREAM, 0), P(&address), sizeof address, 0, 0, 0) = 0
call(18, server, 0, 0, 0x80080, 0, 0) = 9
80
call(0, 0, 0, 0, 0, 0, 0) = EINVAL
call(21, 0, 0, 0, 0, 0, 0) = EINVAL
syscall(SYS_socketcall, 1, 8) = EFAULT
syscall(SYS_socket, AF_INET, 1 | 0x800, 0) = EINVAL
syscall(SYS_accept4, server, 0, 0, 0x800) = EINVAL
syscall(SYS_setsockopt, server, 0xffff, 2, &one, 4) = ENOPROTOOPT
syscall(SYS_setsockopt, server, 0xffff, 16, &one, 4) = 0
syscall(SYS_setsockopt, server, 1, 2, &one, 4) = ENOPROTOOPT
status 0
"""


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """What a guest of this name prints when it is compiled for this machine; with words before and after its name."""
    return natives_in_empty_folders(tmp_path_factory)


def has_namespaces() -> bool:
    return bool(shutil.which("unshare")) and subprocess.run([*ALONE, "true"], capture_output=True).returncode == 0


@pytest.mark.parametrize("byte_order", ORDERS)
@pytest.mark.parametrize("name", NAMES)
def test_answers_like_native(
    host: Path, tmp_path: Path, native: Callable[..., str], name: str, byte_order: str
) -> None:
    guest = compile_guest(tmp_path, byte_order, name)
    assert output_in_empty_folder(tmp_path / "run", [host, "--engine", "interp", guest]) == native(name)


@pytest.mark.parametrize("byte_order", ORDERS)
@pytest.mark.parametrize("name", NAMES)
def test_under_sanitizers(tmp_path: Path, native: Callable[..., str], name: str, byte_order: str) -> None:
    guest = compile_guest(tmp_path, byte_order, name)
    assert output_in_empty_folder(tmp_path / "run", [sanitized_host(), "--engine", "interp", guest]) == native(name)


@pytest.mark.parametrize("byte_order", ORDERS)
def test_changes_of_the_network(host: Path, tmp_path: Path, native: Callable[..., str], byte_order: str) -> None:
    if not has_namespaces():
        pytest.skip("this machine gives no network namespaces")
    guest = compile_guest(tmp_path, byte_order, "netlink")
    output = output_in_empty_folder(tmp_path / "run", [*ALONE, host, "--engine", "interp", guest, "change"])
    assert settled(output) == settled(native("netlink", ALONE, ("change",)))


def settled(output: str) -> str:
    """Return what was printed without what the kernel changes when it comes to it.

    That are IF_READY of IFLA_INET6_FLAGS and IFA_F_TENTATIVE of an address.
    """
    output = re.sub(r"10:\{ 1:(0|2147483648)\b", "10:{ 1:-", output)
    return re.sub(r"\bflags (c0|80)\b(.*) 8:(192|128)\b", r"flags 80\2 8:128", output)


HOSTILE_ANSWERS = """\
mirror 0
0 different, 0 lost
mirror 9
0 different, 0 lost
mirror 12
0 different, 0 lost
mirror 16
0 different, 0 lost
mirror 6
0 different, 0 lost
options
controls
requests
addresses
status 0
"""


@pytest.mark.parametrize("byte_order", ORDERS)
def test_hostile_calls(host: Path, tmp_path: Path, byte_order: str) -> None:
    """Under sanitizers for guests of one byte order, for those of the other with MIPSREC_TIERS=all alone."""
    if not has_namespaces():
        pytest.skip("this machine gives no network namespaces")
    guest = compile_guest(tmp_path, byte_order, "hostile_sockets")
    judge = sanitized_host() if ALL or byte_order == "big" else host
    output = output_in_empty_folder(tmp_path / "run", [*ALONE, judge, "--engine", "interp", guest])
    assert output == HOSTILE_ANSWERS


@pytest.mark.parametrize("byte_order", ORDERS)
def test_all_calls_in_one(host: Path, tmp_path: Path, byte_order: str) -> None:
    guest = compile_guest(tmp_path, byte_order, "socketcall")
    output = output_in_empty_folder(tmp_path / "run", [host, "--engine", "interp", guest])
    assert output == SOCKETCALL_ANSWERS


@pytest.mark.parametrize("byte_order", ORDERS)
def test_rings_of_packets_need_the_byte_order_of_the_host(
    host: Path, tmp_path: Path, native: Callable[..., str], byte_order: str
) -> None:
    expected = native("packet_ring")
    if byte_order == "big" and "PACKET_RX_RING, &ring, sizeof ring) = 0" in expected:
        first = expected.splitlines()[0]
        expected = f"{first}\nsetsockopt(fd, SOL_PACKET, PACKET_RX_RING, &ring, sizeof ring) = EINVAL\nstatus 1\n"
    guest = compile_guest(tmp_path, byte_order, "packet_ring")
    assert output_in_empty_folder(tmp_path / "run", [host, "--engine", "interp", guest]) == expected


# ---- other programs ----


def echo_once(server: socket.socket) -> None:
    connection, _ = server.accept()
    with connection:
        connection.sendall(b"you said " + connection.recv(100))


def give_file(server: socket.socket, path: Path) -> None:
    connection, _ = server.accept()
    with connection, path.open("wb") as file:
        socket.send_fds(connection, [b"a file"], [file.fileno()])
        connection.recv(4)


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[list[str]]:
    """Two ports, of IPv4 and IPv6, and a path, where each answers once."""
    with (
        socket.create_server(("127.0.0.1", 0)) as four,
        socket.create_server(("::1", 0), family=socket.AF_INET6) as six,
        socket.socket(socket.AF_UNIX) as local,
    ):
        local.bind(str(tmp_path / "server"))
        local.listen()
        threads = [threading.Thread(target=echo_once, args=(server,), daemon=True) for server in (four, six)]
        threads.append(threading.Thread(target=give_file, args=(local, tmp_path / "given"), daemon=True))
        for thread in threads:
            thread.start()
        yield [str(four.getsockname()[1]), str(six.getsockname()[1]), str(tmp_path / "server")]
        for thread in threads:
            thread.join(10)


@pytest.mark.parametrize("byte_order", ORDERS)
def test_other_programs_as_peers(host: Path, tmp_path: Path, servers: list[str], byte_order: str) -> None:
    guest = compile_guest(tmp_path, byte_order, "peers")
    output = output_in_empty_folder(tmp_path / "run", [host, "--engine", "interp", guest, *servers])
    assert output == "you said hello\nyou said hello\na file 1 1\nstatus 0\n"
    assert (tmp_path / "given").read_text() == "written by the guest"


# ---- what --strace shows ----


@pytest.mark.parametrize("byte_order", ORDERS)
def test_strace_names_what_sockets_are_given(host: Path, tmp_path: Path, byte_order: str) -> None:
    def lines(name: str) -> str:
        guest = compile_guest(tmp_path, byte_order, name)
        command = [host, "--engine", "interp", "--strace", guest]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600).stderr

    text = lines("sockets")
    assert "socket(AF_INET, SOCK_STREAM|SOCK_CLOEXEC, 0) = 3\n" in text
    assert "bind(3, {AF_INET, 127.0.0.1:0}, 16) = 0\n" in text
    assert re.search(r"getsockname\(3, \{AF_INET6, \[::1\]:\d+\}, 0x[0-9a-f]+\) = 0\n", text)
    assert re.search(r"accept4\(3, \{AF_INET, 127.0.0.1:\d+\}, 0x[0-9a-f]+, SOCK_NONBLOCK\) = 5\n", text)
    assert 'send(4, "hello, server", 13, MSG_NOSIGNAL) = 13\n' in text
    assert re.search(r'bind\(\d+, \{AF_UNIX, "path"\}, 7\) = 0\n', text)
    assert re.search(r'bind\(\d+, \{AF_UNIX, @"abstract\d+"\}, \d+\) = 0\n', text)
    text = lines("socket_options")
    assert "setsockopt(3, SOL_SOCKET, SO_SNDBUF, [12000], 4) = 0\n" in text
    assert re.search(r"getsockopt\(3, SOL_SOCKET, SO_REUSEADDR, \[1\], 0x[0-9a-f]+\) = 0\n", text)


# ---- numbers ----


def constants(compiler: str, header: str) -> dict[str, int]:
    """Return the macros of a kernel header that are plain numbers."""
    source = f"#include <{header}>\n"
    result = subprocess.run([compiler, "-dM", "-E", "-"], input=source, check=True, capture_output=True, text=True)
    pairs = re.findall(r"^#define (\w+)\s+(0x[0-9a-fA-F]+|\d+)$", result.stdout, re.MULTILINE)
    return {name: int(value, 8 if re.fullmatch("0[0-7]+", value) else 0) for name, value in pairs}


def test_options_have_the_numbers_of_the_kernel_headers() -> None:
    mips = constants(need("mips-linux-gnu-gcc", "gcc-mips-linux-gnu"), "asm/socket.h")
    host = constants(need("gcc"), "asm/socket.h")
    text = (RUNTIME / "linux" / "calls" / "socket_option_table.c").read_text()
    rows = {name: (int(one, 0), int(two)) for one, two, name in re.findall(r'\{(\w+), (\w+), "(SO_\w+)"\}', text)}
    assert len(rows) > 60

    def known(numbers: dict[str, int], name: str) -> int | None:
        return numbers.get(f"{name}_OLD", numbers.get(name))

    for name, (one, two) in rows.items():
        assert (known(mips, name) or one, known(host, name) or two) == (one, two), name
    strays = {"SO_SECURITY_AUTHENTICATION", "SO_SECURITY_ENCRYPTION_TRANSPORT", "SO_SECURITY_ENCRYPTION_NETWORK"}
    names = {name.removesuffix("_OLD") for name in mips if name.startswith("SO_")} - strays
    assert names <= rows.keys()


IOCTL_GUEST = """
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <asm/sockios.h>
#include <linux/sockios.h>
#include <linux/if_tun.h>
#define SHOW(name) printf(#name " %#lx\\n", (unsigned long)(unsigned)name);
int main(void) { NAMES return 0; }
"""


@pytest.mark.parametrize("byte_order", ORDERS)
def test_ioctls_have_the_numbers_of_the_kernel_headers(host: Path, tmp_path: Path, byte_order: str) -> None:
    text = (RUNTIME / "linux" / "calls" / "ioctl_socket.c").read_text()
    rows = {name: (int(one, 16), int(two, 16)) for one, two, name in
            re.findall(r"\{(0x\w+), (0x\w+), .*?\},\s+/\* (\w+)", text)}  # fmt: skip
    assert len(rows) > 12
    names = [*rows, *re.findall(r"\{(SIOC\w+), \1,", text)]
    source = IOCTL_GUEST.replace("NAMES", " ".join(f"SHOW({name})" for name in names))
    (tmp_path / "numbers.c").write_text(source)

    def values(compiler: str, *before: str | Path) -> dict[str, int]:
        command = [compiler, "-static", str(tmp_path / "numbers.c"), "-o", str(tmp_path / "numbers")]
        subprocess.run(command, check=True)
        output = subprocess.run([*before, tmp_path / "numbers"], check=True, capture_output=True, text=True).stdout
        return {name: int(value, 16) for name, value in map(str.split, output.splitlines())}

    triple = ORDERS[byte_order]
    mips = values(need(f"{triple}-gcc", f"gcc-{triple}"), host, "--engine", "interp")
    own = values(need("gcc"))
    for name in names:
        assert rows.get(name, (mips[name], mips[name])) == (mips[name], own[name]), name
