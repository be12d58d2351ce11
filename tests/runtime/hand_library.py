"""Makes recompiled libraries by hand, from LLVM IR, to test the host without the recompiler.

Enters: a guest program and the IR of functions, each entered at a guest pc. Leaves: a finished shared object, or one
that is wrong in the way a test asks for.
"""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Mapping
from pathlib import Path

import llvmlite.binding as llvm

from mipsrec.abi import LIBRARY_SEGMENTS
from mipsrec.elf import load_elf
from mipsrec.files.checksum import append_footer
from mipsrec.native.linking import GuestFile
from mipsrec.state import GPR_NAMES, OFFSETS, SLOT_BYTES, layout_id
from tests.support.tools import need

MAGIC, VERSION = 0x4352494D, 8
MODELS = {"flat": 0, "paged": 1, "thunk": 2}
HEADER_BYTES = 4 * (12 + 5 + 3 * LIBRARY_SEGMENTS) + 32 + 3 * 64

PRELUDE = """
@delta = hidden global i32 0
define hidden i32 @enter(ptr %s, ptr %function) {
  %pc = call i32 %function(ptr %s)
  ret i32 %pc
}
define hidden i32 @fallback(ptr %s) {
  ret i32 0
}
declare i32 @mr_call(ptr, i32)
declare i32 @mr_syscall(ptr, i32)
declare i32 @mr_exception(ptr, i32, i32, i32)
declare i32 @mr_load8(ptr, i32)
declare i32 @mr_load32(ptr, i32)
declare i32 @mr_load16(ptr, i32)
declare void @mr_store16(ptr, i32, i32)
declare i64 @mr_load64(ptr, i32)
declare void @mr_store32(ptr, i32, i32)
declare void @mr_store64(ptr, i32, i64)
"""

DEBUG_INFO = """
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, producer: "test", emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "guest", directory: "/")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !{i32 7, !"Dwarf Version", i32 DWARF_VERSION}
!4 = !DISubroutineType(types: !{})
"""


def read(result: str, name: str) -> str:
    """Return IR that puts a general-purpose register into %result."""
    offset = OFFSETS["gpr"] + SLOT_BYTES * GPR_NAMES.index(name)
    return f"  %{result}.at = getelementptr i8, ptr %s, i64 {offset}\n  %{result} = load i32, ptr %{result}.at\n"


def write(name: str, value: str) -> str:
    """Return IR that stores a value into a general-purpose register; once per register and function."""
    offset = OFFSETS["gpr"] + SLOT_BYTES * GPR_NAMES.index(name)
    return f"  %to.{name} = getelementptr i8, ptr %s, i64 {offset}\n  store i32 {value}, ptr %to.{name}\n"


def function(pc: int, body: str, *, lines: int | None = None) -> str:
    """Return the IR of the function entered at `pc`; with `lines`, the body's last instructions may use !dbg !{pc}x."""
    scope = f" !dbg !{pc}" if lines is not None else ""
    text = f"define hidden i32 @f{pc:x}(ptr %s){scope} {{\n{body}}}\n"
    if lines is not None:
        text += f'!{pc} = distinct !DISubprogram(name: "f", scope: !1, file: !1, line: {pc}, type: !4, unit: !0,'
        text += " spFlags: DISPFlagDefinition)\n"
        text += f"!{pc}1 = !DILocation(line: {lines}, scope: !{pc})\n"
    return text


def _constant(
    fields: Mapping[str, int], segments: list[tuple[int, int, int]], identity: bytes, producer: bytes, pcs: list[int]
) -> str:
    def characters(data: bytes, size: int) -> str:
        return 'c"' + "".join(f"\\{byte:02x}" for byte in data.ljust(size, b"\0")) + '"'

    entries = []
    for index, pc in enumerate(pcs):
        at = f"getelementptr (i8, ptr @mr_library, i64 {HEADER_BYTES + 8 * index + 4})"
        difference = f"sub (i64 ptrtoint (ptr @f{pc:x} to i64), i64 ptrtoint (ptr {at} to i64))"
        entries.append(f"{{ i32, i32 }} {{ i32 {pc}, i32 trunc (i64 {difference} to i32) }}")
    count = len(pcs)
    words = [f"i32 {value}" for value in fields.values()]
    for name in ("enter", "fallback", "delta", "delta", "delta"):  # the last two: no pcs to relocate
        at = f"getelementptr (i8, ptr @mr_library, i64 {4 * len(words)})"
        words.append(f"i32 trunc (i64 sub (i64 ptrtoint (ptr @{name} to i64), i64 ptrtoint (ptr {at} to i64)) to i32)")
    words += [f"i32 {word}" for segment in segments for word in segment]
    numbers, kinds = ", ".join(words), ", ".join(["i32"] * len(words))
    return (
        f"@mr_library = constant {{ {kinds}, [32 x i8], [64 x i8], [128 x i8], [{count} x {{ i32, i32 }}] }} "
        f"{{ {numbers}, [32 x i8] {characters(identity, 32)}, [64 x i8] {characters(producer, 64)}, "
        f"[128 x i8] zeroinitializer, [{count} x {{ i32, i32 }}] [{', '.join(entries)}] }}, align 8\n"
    )


def build(
    folder: Path,
    guest: Path,
    functions: Mapping[int, str],
    *,
    model: str = "paged",
    dwarf: int = 5,
    footer: bool = True,
    identity: bytes | None = None,
    compressed: bool = False,
    **changes: int,
) -> Path:
    """Return the path of a library for `guest` with an IR text for each entry; `changes` overrides header fields.

    `compressed` has the linker compress the line table, which it does if that makes it smaller.
    """
    fields = {"magic": MAGIC, "version": VERSION, "layout": layout_id(), "memory_model": MODELS[model], "call_model": 0}
    fields |= {"cpu_level": 1, "bias": 0, "fr": 0, "nan2008": 0, "relocatable": 0, "counts": 0}
    fields["entry_count"] = len(functions)
    assert changes.keys() <= fields.keys()
    fields |= changes
    pcs = sorted(functions)
    identity = identity or hashlib.blake2b(guest.read_bytes(), digest_size=32).digest()
    segments = [*GuestFile.of(load_elf(guest)).segments, *[(0, 0, 0)] * LIBRARY_SEGMENTS][:LIBRARY_SEGMENTS]
    text = PRELUDE + _constant(fields, segments, identity, b"mipsrec 0.0.9", pcs) + "".join(functions.values())
    if any("!dbg" in body for body in functions.values()):
        text += DEBUG_INFO.replace("DWARF_VERSION", str(dwarf))
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(text)
    module.verify()
    machine = llvm.Target.from_default_triple().create_target_machine(opt=1, reloc="pic", codemodel="default")
    (folder / "library.o").write_bytes(machine.emit_object(module))
    library = folder / "library.so"
    command = [need("cc", "gcc"), "-shared", "-nostdlib", "-o", str(library), str(folder / "library.o")]
    if compressed:
        command.append("-Wl,--compress-debug-sections=zlib")
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    if footer:
        append_footer(library)
    return library
