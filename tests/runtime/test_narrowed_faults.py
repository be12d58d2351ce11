"""Of an access of which LLVM makes one of fewer bytes, the handler of its fault gets the address of the guest's."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import capstone
import capstone.x86
import pytest
from elftools.elf.elffile import ELFFile

from mipsrec import pipeline
from mipsrec.host_build import runtime_folder, write_generated_headers
from mipsrec.target import this_target
from tests.support.compiled import ORDERS, QEMU, compile_guest, library_at, printed
from tests.support.paths import GUESTS
from tests.support.tools import need

SOURCE = GUESTS / "narrowed.c"
FUNCTIONS = (
    "lowest", "second", "third", "highest", "upper_half", "lower_half", "of_half", "bit", "sets_a_byte",
)  # fmt: skip


@pytest.mark.parametrize("order", ORDERS)
def test_addresses(host: Path, order: str, tmp_path: Path) -> None:
    program = compile_guest(tmp_path, order, SOURCE.read_text(), "-static")
    said = printed(need(QEMU[order], "qemu-user"), program)
    assert said.count("signal 11 code 2 at 20\n") == len(FUNCTIONS) - 1 and "of_half: signal 11 code 2 at 10\n" in said
    assert printed(host, "--engine", "interp", program) == said
    for level in ("light", "2"):
        library = library_at(pipeline.open_guest(program), tmp_path, level, *FUNCTIONS)
        assert printed(host, "--library", library, program) == said


SURELY_KNOWN = {"mov", "movzx", "movsx", "movsxd", "movbe", "add", "sub", "and", "or", "xor", "cmp", "test"}


@pytest.mark.skipif(this_target().machine != "x86_64", reason="each host has its own instructions")
def test_bytes_of_instructions(host: Path, tmp_path: Path) -> None:
    """capstone says the same of the instructions of the host itself that have general-purpose registers."""
    source = runtime_folder() / "host" / this_target().machine / "accessed.c"
    write_generated_headers(tmp_path)
    library = tmp_path / "accessed.so"
    options = ["-std=c11", "-D_GNU_SOURCE", "-shared", "-fPIC", f"-I{tmp_path}", f"-I{runtime_folder()}"]
    subprocess.run([need("cc", "gcc"), *options, source, "-o", library], check=True)
    accessed = ctypes.CDLL(str(library)).mr_accessed_bytes
    accessed.argtypes = (ctypes.c_char_p,)
    decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    decoder.detail = True
    with host.open("rb") as file:
        text = ELFFile(file).get_section_by_name(".text").data()[:200_000]
    known = 0
    for found in decoder.disasm(text, 0):
        sizes = [operand.size for operand in found.operands if operand.type == capstone.x86.X86_OP_MEM]
        if len(sizes) != 1 or found.group(capstone.x86.X86_GRP_CALL) or found.group(capstone.x86.X86_GRP_JUMP):
            continue
        said = accessed(bytes(found.bytes))
        if found.mnemonic not in ("lea", "nop"):
            assert said in ((sizes[0],) if found.mnemonic in SURELY_KNOWN else (0, sizes[0])), found
        known += found.mnemonic in SURELY_KNOWN
    assert known > 2000
