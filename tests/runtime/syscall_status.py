"""What is done about each system call of o32: makes docs/system-calls.md from the C sources and the kernel's list.

Enters: the rows SYSCALL and REFUSED of runtime/, and asm/unistd_o32.h of the MIPS kernel headers. Leaves: the document,
with `python -m tests.runtime.syscall_status --write`; without it, exit status 1 when the document is not current.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.support.paths import ROOT, RUNTIME

DOCUMENT = ROOT / "docs" / "system-calls.md"
HEADER = Path("/usr/mips-linux-gnu/include/asm/unistd_o32.h")
FIRST_NUMBER = 4000

INDIRECT = {4000: "takes the number of another call as its first argument"}
"""Calls without a row: syscall.c makes them itself."""

HEAD = """\
# System calls

What the host does about each system call of the o32 ABI. `python -m tests.runtime.syscall_status --write` makes this
table from the rows in `runtime/` and the kernel's list, `asm/unistd_o32.h`.

- **done**: numbers, structures and flags are converted between the guest and the host's kernel.
- **passed through**: the host's call gets the arguments as they are. Its kernel checks them, and the rights.
- **refused**: the call fails with the error that is named, for the reason that is given. `--stats` names it.
- **not there**: ENOSYS; `--stats` names the number.

"""


@dataclass(frozen=True)
class Row:
    """A system call as the sources have it."""

    number: int
    name: str
    state: str
    note: str


def _texts(source: str) -> dict[str, str]:
    """Return the macros of a file that stand for one string."""
    return dict(re.findall(r'^#define (\w+) "([^"]*)"$', source, re.MULTILINE))


def _refused(source: str) -> list[Row]:
    texts = _texts(source)
    found = re.findall(r'^REFUSED(?:_SILENTLY)?\((\d+), (\w+), (E\w+), (?:"([^"]*)"|(\w+))\)$', source, re.MULTILINE)
    return [
        Row(int(number), name, "refused", f"{error}: {reason or texts[macro]}")
        for number, name, error, reason, macro in found
    ]


_PLAIN = "mr_result|mr_wait_call|get[a-z]+|setfs[ug]id|umask|alarm|-posix_fadvise"
"""What hands a call on: functions of the runtime that do nothing else, and those of the libc."""


def _passes_through(body: str) -> bool:
    """Whether the host's call, with the arguments as they are, is all there is."""
    statements = [part.strip() for part in body.split(";") if part.strip()]
    if len(statements) != 1 or "?" in body:
        return False
    return bool(re.match(rf"return ({_PLAIN})\(", statements[0]))


def _rows(source: str) -> list[Row]:
    one_line = re.findall(r'^SYSCALL\((\d+), (\w+), "[^"]*"\) \{ (.*) \}', source, re.MULTILINE)
    longer = re.findall(r'^SYSCALL\((\d+), (\w+), "[^"]*"\)[^{;]*\n\{\n(.*?)^\}', source, re.MULTILINE | re.DOTALL)
    return [
        Row(int(number), name, "passed through" if _passes_through(body) else "done", "")
        for number, name, body in (*one_line, *longer)
    ]


def source_rows(folder: Path = RUNTIME) -> list[Row]:
    """Return all rows of the C sources, by number."""
    rows = [Row(number, "syscall", "done", note) for number, note in INDIRECT.items()]
    for path in sorted(folder.rglob("*.c")):
        source = path.read_text()
        rows += [*_rows(source), *_refused(source)]
    return sorted(rows, key=lambda row: row.number)


def kernel_calls(header: Path = HEADER) -> dict[int, str]:
    """Return the kernel's calls: number and name."""
    found = re.findall(r"#define __NR_(\w+)\s+\(\S+ \+ (\d+)\)", header.read_text())
    return {FIRST_NUMBER + int(number): name for name, number in found}


def document(rows: list[Row], calls: dict[int, str]) -> str:
    """Return the text of the document. Rows may be of calls that are newer than the kernel's list."""
    by_number = {number: Row(number, name, "not there", "") for number, name in calls.items()}
    by_number |= {row.number: row for row in rows}
    all_rows = [row for _, row in sorted(by_number.items())]
    counts = {
        state: sum(row.state == state for row in all_rows)
        for state in ("done", "passed through", "refused", "not there")
    }
    summary = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    lines = [f"| {row.number} | {row.name} | {row.state} | {row.note} |" for row in all_rows]
    head = [f"{HEAD}Of {len(all_rows)} calls: {summary}.\n", "| number | call | state | |", "|---|---|---|---|"]
    return "\n".join([*head, *lines, ""])


def main(words: list[str]) -> int:
    """Write the document, or say whether it is current."""
    text = document(source_rows(), kernel_calls())
    if words == ["--write"]:
        DOCUMENT.parent.mkdir(exist_ok=True)
        DOCUMENT.write_text(text)
        return 0
    if DOCUMENT.exists() and DOCUMENT.read_text() == text:
        return 0
    command = "python -m tests.runtime.syscall_status --write"
    print(f"{DOCUMENT} is not current; write it with: {command}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
