"""The table of ioctl requests beside the kernel's headers: numbers, and sizes of structures, on both sides."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from mipsrec.host_build import runtime_folder, write_generated_headers
from tests.support.compiled import ORDERS, compile_guest
from tests.support.tools import need

HEADERS = re.findall(r"^#include <(.*)>$", (runtime_folder() / "linux/calls/ioctl_rows.c").read_text(), re.MULTILINE)

DUMP = """
#include "linux/calls/ioctl_rows.c"
#include "linux/calls/layout.h"
#include <stdio.h>
int main(void)
{
    for (size_t i = 0; i < mr_ioctl_row_count; i++) {
        const struct mr_ioctl_row *row = &mr_ioctl_rows[i];
        struct mr_layout_size size = {0, 0};
        if (row->layout)
            size = mr_layout_size(row->layout);
        printf("%s %x %x %u %u\\n", row->name, row->number, row->host, size.guest, size.host);
    }
}
"""

STRUCTURES = {
    "EVIOCGID": "struct input_id",
    "FICLONERANGE": "struct file_clone_range",
    "FITRIM": "struct fstrim_range",
    "FS_IOC_FSGETXATTR": "struct fsxattr",
    "HDIO_GETGEO": "struct hd_geometry",
    "KDGKBENT": "struct kbentry",
    "KDKBDREP": "struct kbd_repeat",
    "KDGETKEYCODE": "struct kbkeycode",
    "LOOP_CONFIGURE": "struct loop_config",
    "LOOP_GET_STATUS": "struct loop_info",
    "LOOP_GET_STATUS64": "struct loop_info64",
    "MEMERASE": "struct erase_info_user",
    "MEMERASE64": "struct erase_info_user64",
    "MEMGETINFO": "struct mtd_info_user",
    "RTC_RD_TIME": "struct rtc_time",
    "RTC_WKALM_RD": "struct rtc_wkalrm",
    "TIOCGICOUNT": "struct serial_icounter_struct",
    "TIOCGRS485": "struct serial_rs485",
    "TIOCGSERIAL": "struct serial_struct",
    "VT_GETSTATE": "struct vt_stat",
    "VT_RESIZE": "struct vt_sizes",
    "WDIOC_GETSUPPORT": "struct watchdog_info",
}
"""Requests and what their arguments point to."""


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, int, int, int]]:
    """Name: the guest's number, the host's, and the sizes of the structure for guest and host."""
    folder, runtime = tmp_path_factory.mktemp("rows"), runtime_folder()
    write_generated_headers(folder)
    (folder / "dump.c").write_text(DUMP)
    sources = [folder / "dump.c", runtime / "linux/calls/layout.c"]
    partly_linked = ("-Wl,--unresolved-symbols=ignore-all", "-no-pie")
    command = [need("gcc"), "-D_GNU_SOURCE=", f"-I{runtime}", f"-I{folder}", *sources, *partly_linked]
    command += ["-o", folder / "dump"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    lines = subprocess.run([folder / "dump"], check=True, capture_output=True, text=True).stdout.splitlines()
    words = [line.split() for line in lines]
    return {name: (int(guest, 16), int(host, 16), int(size), int(wide)) for name, guest, host, size, wide in words}


def source(names: list[str]) -> str:
    """A program that prints what the kernel's headers say of each name."""
    headers = ["sys/ioctl.h", *HEADERS, "stdio.h"]
    lines = [*(f"#include <{header}>" for header in headers), "int main(void) {"]
    for name in names:
        lines += [f"#ifdef {name}", f'printf("{name} %x\\n", (unsigned)({name}));', "#endif"]
    lines += [f'printf("size {name} %u\\n", (unsigned)sizeof({kind}));' for name, kind in STRUCTURES.items()]
    return "\n".join([*lines, "return 0; }", ""])


def facts(output: str) -> tuple[dict[str, int], dict[str, int]]:
    numbers = {name: int(value, 16) for name, value in re.findall(r"^(\w+) (\w+)$", output, re.MULTILINE)}
    sizes = {name: int(value) for name, value in re.findall(r"^size (\w+) (\d+)$", output, re.MULTILINE)}
    return numbers, sizes


@pytest.mark.parametrize("byte_order", ORDERS)
def test_guest_numbers_and_sizes(
    host: Path, tmp_path: Path, rows: dict[str, tuple[int, int, int, int]], byte_order: str
) -> None:
    guest = compile_guest(tmp_path, byte_order, source(list(rows)), "-static", "-w")
    result = subprocess.run([host, "--engine", "interp", guest], capture_output=True, text=True, timeout=600)
    numbers, sizes = facts(result.stdout)
    assert len(numbers) > 0.9 * len(rows)
    assert {name: hex(value) for name, value in numbers.items()} == {name: hex(rows[name][0]) for name in numbers}
    assert sizes == {name: rows[name][2] for name in STRUCTURES}


def test_host_numbers_and_sizes(tmp_path: Path, rows: dict[str, tuple[int, int, int, int]]) -> None:
    program = tmp_path / "facts.c"
    program.write_text(source(list(rows)))
    subprocess.run([need("gcc"), "-w", program, "-o", tmp_path / "facts"], check=True)
    numbers, sizes = facts(subprocess.run([tmp_path / "facts"], capture_output=True, text=True).stdout)
    bodies = {"TCGETS", "TCGETA", "TCSETA", "TCSETAW", "TCSETAF"}  # done by the host's TCGETS2 and TCSETS
    assert {n: hex(v) for n, v in numbers.items() if n not in bodies} == {
        n: hex(rows[n][1]) for n in numbers if n not in bodies
    }
    assert sizes == {name: rows[name][3] for name in STRUCTURES}


UNKNOWN = """
#include <stdio.h>
#include <sys/ioctl.h>
int main(void)
{
    printf("%d %d\\n", ioctl(0, 0x5499), ioctl(0, 0x5499));
    printf("%d\\n", ioctl(0, 0x40045499));
}
"""


@pytest.mark.parametrize("byte_order", ORDERS)
def test_unknown_requests_are_counted_and_listed(host: Path, tmp_path: Path, byte_order: str) -> None:
    guest = compile_guest(tmp_path, byte_order, UNKNOWN, "-static")
    command = [host, "--engine", "interp", "--stats", guest]
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)
    assert result.stdout == "-1 -1\n-1\n"
    assert result.stderr.count("ioctl 0x00005499 on fd 0 is unknown") == 1
    assert result.stderr.count("ioctl 0x40045499 on fd 0 is unknown") == 1
    assert "3 ioctls unknown" in result.stderr
