"""Only the folders of hosts name processors, their registers, instructions and relocations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.support.paths import ROOT

HOSTS = ("mipsrec/target/", "runtime/host/")
ALLOWED = {
    "mipsrec/elf/header.py": "the machines that ELF numbers",
    "runtime/linux/marks.c": "the machines that ELF numbers",
    "runtime/linux/calls/refused.c": "system calls that only one processor has",
    "mipsrec/commands/bench_contenders.py": "compilers for other processors are contenders",
}
"""Files that name processors which nothing is made for, and why."""

_PROCESSORS = r"(?i:x86|amd64|\bi[3-6]86|aarch64|arm64|__arm|powerpc|risc-?v|loongarch|s390)"
_REGISTERS = (
    r"\b(?:[re](?:[abcd]x|[sd]i|[sb]p|ip)|r(?:[89]|1[0-5])[bdw]?|[xyz]mm\d*|gregs|REG_R[A-Z0-9]+|REG_CR2|fpcr|fpsr)\b"
    r"|(?i:mxcsr)"
)
_INSTRUCTIONS = r"\b(?:__asm__|_mm_\w+|\w*mmintrin|cpuid|__builtin_cpu_\w+|s?sse\d|avx\d*|AVX\S*|SSE\d?|vzeroupper)\b"
_CONVENTIONS = r"regcall|win64cc|vectorcall"
NAMES = re.compile("|".join((_PROCESSORS, _REGISTERS, _INSTRUCTIONS, _CONVENTIONS)))


def findings(root: Path) -> Iterator[str]:
    """Yield each place that names a processor, and what to do."""
    for path in sorted((*root.glob("mipsrec/**/*.py"), *root.glob("runtime/**/*.[ch]"))):
        name = path.relative_to(root).as_posix()
        if name.startswith(HOSTS) or name in ALLOWED:
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            found = NAMES.search(line)
            if found:
                yield f"{name}:{number} names {found[0]}: move what depends on it to {' or '.join(HOSTS)}"


def test_only_hosts_name_processors() -> None:
    assert list(findings(ROOT)) == []


def test_allowed_files_need_it() -> None:
    assert [name for name in ALLOWED if not NAMES.search((ROOT / name).read_text())] == []


def test_the_search_finds_names(tmp_path: Path) -> None:
    found = (
        "#if defined(__x86_64__)", "context->gregs[REG_RIP]", "movq %rdi, %r11", "R_AARCH64_ABS64", "_mm_getcsr()",
        "x86_regcallcc", '"x86-64-v3"', "={r10}", "xmm0", "MXCSR_FLAGS", "<immintrin.h>", "__asm__ volatile",
    )  # fmt: skip
    other = ("assert(x)", "asm/errno.h", "EM_MIPS", "MR_PASSED", "GPR(s, MR_REG_RA)", "REG_COUNT", "warm", "r2", "ripe")
    (tmp_path / "runtime/host").mkdir(parents=True)
    (tmp_path / "runtime/host/it.c").write_text(found[0])
    (tmp_path / "runtime/main.c").write_text("\n".join((*found, *other)))
    assert [line.split(" ")[0] for line in findings(tmp_path)] == [
        f"runtime/main.c:{number}" for number in range(1, len(found) + 1)
    ]
