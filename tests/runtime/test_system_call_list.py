"""The document on system calls says what the sources do, and no call of the kernel's list is simply absent."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.runtime import syscall_status
from tests.support.compiled import compile_guest
from tests.support.paths import RUNTIME
from tests.support.tools import need


@pytest.fixture(scope="module")
def calls() -> dict[int, str]:
    header = need(str(syscall_status.HEADER), "linux-libc-dev-mips-cross")
    return syscall_status.kernel_calls(Path(header))


def test_each_call_has_one_row_with_the_kernels_name(calls: dict[int, str]) -> None:
    rows = syscall_status.source_rows()
    assert len({row.number for row in rows}) == len(rows)
    listed = [row for row in rows if row.number <= max(calls)]  # the others are newer than the list
    assert [row for row in listed if calls.get(row.number) != row.name] == []
    assert {name for number, name in calls.items() if number not in {row.number for row in rows}} == set()


def test_no_row_is_missed() -> None:
    """As many rows are found as the sources begin."""
    sources = [path.read_text() for path in RUNTIME.rglob("*.c")]
    lines = [line for source in sources for line in source.splitlines()]
    begun = sum(line.startswith(("SYSCALL(", "REFUSED")) for line in lines)
    assert begun == len(syscall_status.source_rows()) - len(syscall_status.INDIRECT)


def test_refusals_have_reasons() -> None:
    refused = [row for row in syscall_status.source_rows() if row.state == "refused"]
    assert len(refused) > 50 and all(len(row.note) > 15 for row in refused)


def test_calls_newer_than_the_list_are_in_the_document() -> None:
    rows = [syscall_status.Row(4001, "exit", "done", ""), syscall_status.Row(4003, "newest", "done", "")]
    text = syscall_status.document(rows, {4001: "exit", 4002: "fork"})
    assert text.splitlines()[-3:] == [
        "| 4001 | exit | done |  |",
        "| 4002 | fork | not there |  |",
        "| 4003 | newest | done |  |",
    ]


def test_document_is_current(calls: dict[int, str]) -> None:
    text = syscall_status.document(syscall_status.source_rows(), calls)
    assert syscall_status.DOCUMENT.read_text() == text, (
        f"write it with: {Path(sys.executable).name} -m tests.runtime.syscall_status --write"
    )


REFUSED_CALLS = """
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void)
{
    const struct { const char *name; int number; } calls[] = {
        {"bpf", SYS_bpf}, {"io_setup", SYS_io_setup}, {"seccomp", SYS_seccomp}, {"init_module", SYS_init_module},
        {"restart_syscall", SYS_restart_syscall}, {"rseq", SYS_rseq}, {"bpf", SYS_bpf}};
    for (int i = 0; i < 7; i++)
        printf("%s %s\\n", calls[i].name, syscall(calls[i].number, 0, 0, 0, 0, 0) < 0 ? strerrorname_np(errno) : "0");
}
"""


@pytest.mark.parametrize("byte_order", ["big", "little"])
def test_refused_calls_answer_their_error_and_are_named(host: Path, tmp_path: Path, byte_order: str) -> None:
    guest = compile_guest(tmp_path, byte_order, REFUSED_CALLS, "-static", "-D_GNU_SOURCE")
    result = subprocess.run([host, "--engine", "interp", "--stats", guest], capture_output=True, text=True)
    answers = dict(line.split() for line in result.stdout.splitlines())
    assert answers == {
        "bpf": "EPERM",
        "io_setup": "ENOSYS",
        "seccomp": "ENOSYS",
        "init_module": "EPERM",
        "restart_syscall": "EINTR",
        "rseq": "ENOSYS",
    }
    assert result.stderr.count("system call bpf is refused (EPERM): ") == 1
    assert "system call seccomp is refused (ENOSYS): a filter is written for MIPS numbers" in result.stderr
