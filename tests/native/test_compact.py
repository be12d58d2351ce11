"""The table of places and the line table say of all code what LLVM's own debug information says, read by pyelftools.

An object is linked as LLVM makes it, and as native/compact.py leaves it; for that the host's own readers answer, in C.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import capstone
import pytest
from elftools.dwarf.locationlists import BaseAddressEntry, LocationEntry, LocationParser
from elftools.dwarf.ranges import RangeEntry
from elftools.elf.elffile import ELFFile

from mipsrec import pipeline
from mipsrec.errors import BuildError
from mipsrec.host_build import write_generated_headers
from mipsrec.native import codegen
from mipsrec.native.compact import compact
from mipsrec.native.object_file import UnexpectedObject
from mipsrec.native.place_table import SECTIONS
from mipsrec.options import LIGHT
from mipsrec.target.cpu import chosen_cpu
from tests.support.library_sections import contents_of
from tests.support.paths import PREBUILT, RUNTIME, TESTS
from tests.support.tools import compiled, need

GUESTS = ("mipsel/virtual", "mips/callbacks", "mipsel/recursion", "mips/crc32", "mipsel/floats")
READERS = ("lifted/places_table.c", "lifted/rows.c", "lifted/lines.c", "lifted/libfile.c", "base/inflate.c")
SANITIZERS = "-fsanitize=address,undefined"
STORED, DEPTH_OF_LLVM = 1, 0x8000
REGISTER = re.compile(r"r([0-9]|[1-9][0-9])")


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """places_dump.c as a program."""
    folder = tmp_path_factory.mktemp("dump")
    write_generated_headers(folder)
    options = [
        "-std=c11",
        "-D_GNU_SOURCE=",
        "-O1",
        "-Wall",
        "-Wextra",
        "-Werror",
        SANITIZERS,
        "-fno-sanitize-recover=all",
    ]
    sources = [TESTS / "native" / "places_dump.c", *(RUNTIME / name for name in READERS)]
    program = folder / "dump"
    compiled([need("cc", "gcc"), *options, f"-I{folder}", f"-I{RUNTIME}", *sources, "-o", program])
    return program


def dumped(dump: Path, library: Path, addresses: str) -> str:
    """Return what places_dump.c says of addresses."""
    environment = os.environ | {"ASAN_OPTIONS": "detect_leaks=0"}
    words = [dump, library]
    return subprocess.run(words, input=addresses, env=environment, capture_output=True, text=True, check=True).stdout


# ---- another reader ----


class Places(NamedTuple):
    """Of a function, inlined or not: the start of lists of locations, by register."""

    name: str
    link: int
    frame_base: bytes
    ranges: list[tuple[int, int]]
    registers: dict[int, list[tuple[int, int, bytes]]]


def column_of(column: int) -> int:
    """Return the column that a library has for one of LLVM."""
    if column >= DEPTH_OF_LLVM:
        words = column & 0x3FFF
        return words + 1 if words else 0
    return STORED if column == STORED else 0


class Reader:
    """What pyelftools reads of a library with LLVM's own debug information."""

    def __init__(self, stream: Any) -> None:
        self.elf: Any = ELFFile(stream)
        self.dwarf = self.elf.get_dwarf_info()
        self.lists, self.range_lists = self.dwarf.location_lists(), self.dwarf.range_lists()
        symbols = self.elf.get_section_by_name(".symtab").iter_symbols()
        self.starts = sorted(one["st_value"] for one in symbols if one["st_info"]["type"] == "STT_FUNC")
        self.scopes: list[Places] = []
        self.rows: list[tuple[int, int, int]] = []
        for unit in self.dwarf.iter_CUs():
            top = unit.get_top_DIE()
            self.low = top.attributes["DW_AT_low_pc"].value
            self._walk(top, None)
            self._add_rows(unit)
        self.rows.sort()
        self.spans = sorted(
            (low, -high, number) for number, scope in enumerate(self.scopes) for low, high in scope.ranges
        )

    def _walk(self, die: Any, scope: Places | None) -> None:
        for child in die.iter_children():
            if child.tag in ("DW_TAG_subprogram", "DW_TAG_inlined_subroutine"):
                self._walk(child, self._scope(child, scope))
            elif child.tag == "DW_TAG_lexical_block":
                self._walk(child, scope)
            elif child.tag in ("DW_TAG_variable", "DW_TAG_formal_parameter") and scope is not None:
                found = REGISTER.fullmatch(self._name(child))
                assert found and int(found[1]) not in scope.registers
                scope.registers[int(found[1])] = self._places(child)

    def _name(self, die: Any) -> str:
        while "DW_AT_name" not in die.attributes:
            die = die.get_DIE_from_attribute("DW_AT_abstract_origin")
        return str(die.attributes["DW_AT_name"].value.decode())

    def _scope(self, die: Any, around: Places | None) -> Places | None:
        have = {name.removeprefix("DW_AT_"): attribute.value for name, attribute in die.attributes.items()}
        if "ranges" in have:
            listed = self.range_lists.get_range_list_at_offset(have["ranges"])
            assert all(isinstance(entry, RangeEntry) for entry in listed)
            ranges = [(self.low + entry.begin_offset, self.low + entry.end_offset) for entry in listed]
        elif "low_pc" in have:
            ranges = [(have["low_pc"], have["low_pc"] + have["high_pc"])]
        else:
            return None
        base = bytes(have["frame_base"]) if "frame_base" in have else around.frame_base if around else b""
        column = have.get("call_column", 0)
        if column >= DEPTH_OF_LLVM:
            column = 8 if column & 0x4000 else 0
        link = have["call_line"] + column if column else 0
        self.scopes.append(Places(self._name(die), link, base, ranges, {}))
        return self.scopes[-1]

    def _places(self, die: Any) -> list[tuple[int, int, bytes]]:
        location = die.attributes.get("DW_AT_location")
        if location is None:
            constant = die.attributes.get("DW_AT_const_value")
            if constant is None:
                return []
            value, encoded = constant.value & 0xFFFFFFFF, b"\x10"
            while value > 0x7F:
                encoded += bytes((value & 0x7F | 0x80,))
                value >>= 7
            return [(0, 1 << 64, encoded + bytes((value, 0x9F)))]
        if not LocationParser.attribute_has_location(location, 4) or location.form == "DW_FORM_exprloc":
            return [(0, 1 << 64, bytes(location.value))]
        found, base = [], self.low
        for entry in self.lists.get_location_list_at_offset(location.value, die):
            if isinstance(entry, BaseAddressEntry):
                base = entry.base_address
            elif isinstance(entry, LocationEntry) and entry.begin_offset < entry.end_offset:
                found.append((base + entry.begin_offset, base + entry.end_offset, bytes(entry.loc_expr)))
        return found

    def _add_rows(self, unit: Any) -> None:
        """Add (address, line, column), of columns those that the host looks at."""
        found: dict[int, tuple[int, int]] = {}
        for entry in self.dwarf.line_program_for_CU(unit).get_entries():
            state = entry.state
            if state is None:
                continue
            if state.end_sequence:
                found[state.address] = (-1, 0)
                self.rows += [(address, line, column) for address, (line, column) in found.items()]
                found = {}
            elif state.line or state.address not in found:
                found[state.address] = (state.line, column_of(state.column))

    def registers(self, address: int) -> str:
        """Return the end of a line of places_dump.c."""
        around = [(low, high, number) for low, high, number in self._spans_before(address) if -high > address]
        text = ""
        for _, _, number in reversed(around):
            scope = self.scopes[number]
            held = {number: [what for low, high, what in places if low <= address < high]
                    for number, places in scope.registers.items()}  # fmt: skip
            assert all(len(expressions) <= 1 for expressions in held.values())
            parts = [f" {number}={expressions[0].hex()}" for number, expressions in sorted(held.items()) if expressions]
            text += f" ({scope.link:x} {scope.frame_base.hex()}{''.join(parts)})"
        return text

    def _spans_before(self, address: int) -> list[tuple[int, int, int]]:
        """Return the spans that begin at an address or before, from the last function on that is not inlined."""
        end = bisect_right(self.spans, (address + 1,))
        begin = bisect_right(self.starts, address)
        start = self.starts[begin - 1] if begin else 0
        return self.spans[bisect_right(self.spans, (start,)) : end]

    def pcs(self, address: int) -> str:
        """Return the middle of a line of places_dump.c."""
        at = bisect_right(self.rows, (address, 1 << 32)) - 1
        before = at
        while before >= 0 and self.rows[before][1] == 0:
            before -= 1
        line, column = self.rows[before][1:] if before >= 0 else (0, 0)
        near = line = max(line, 0)
        if at >= 0 and self.rows[at][1] == 0:
            after = next((row for row in self.rows[at:] if row[1]), None)
            start = bisect_right(self.starts, address)
            if after and after[1] > 0 and (start == len(self.starts) or self.starts[start] > after[0]):
                near = after[1]
        return f"{line:x} {near:x} {column}"


def instructions(elf: Any) -> Iterator[int]:
    """Yield the addresses of the instructions of a library's code."""
    text = elf.get_section_by_name(".text")
    decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    for address, *_ in decoder.disasm_lite(text.data(), text["sh_addr"]):
        yield address


def linked(data: bytes, path: Path) -> Path:
    """Return a library of one object, at a path; what it calls may be missing."""
    path.with_suffix(".o").write_bytes(data)
    words = [need("nm", "binutils"), "-u", path.with_suffix(".o")]
    missing = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()[1::2]
    options = ["-shared", "-nostdlib", "-Wl,--compress-debug-sections=zlib"]
    options += [f"-Wl,--defsym={name}=0" for name in missing]
    compiled([need("cc", "gcc"), *options, path.with_suffix(".o"), "-o", path])
    return path


@pytest.mark.parametrize("level", ["2", LIGHT])
@pytest.mark.parametrize("guest", GUESTS)
def test_same(guest: str, level: str, dump: Path, tmp_path: Path) -> None:
    """Of each instruction: functions, the pcs that their calls return to, registers, pcs, and the column of its row."""
    text = "".join(pipeline.llvm_module(pipeline.open_guest(PREBUILT / f"{guest}.elf")))
    made = codegen._llvm_object([(guest, text)], level, chosen_cpu("generic"), codegen.BuildTimes())
    whole, small = linked(made, tmp_path / "whole.so"), linked(compact(made), tmp_path / "small.so")
    assert contents_of(small)[".text"] == contents_of(whole)[".text"]
    assert set(SECTIONS) <= set(contents_of(small)) and ".debug_loc" not in contents_of(small)
    with whole.open("rb") as stream:
        reader = Reader(stream)
        addresses = list(instructions(reader.elf))
        expected = [f"{address:x} {reader.pcs(address)}{reader.registers(address)}" for address in addresses]
    said = dumped(dump, small, "".join(f"{address:x}\n" for address in addresses)).splitlines()
    assert len(addresses) > 1000
    assert said == expected


# ---- objects of another form ----

FUNCTION = """
target triple = "x86_64-unknown-linux-gnu"
define i32 @f(i32 %a) !dbg !4 {{
  #dbg_value(i32 %a, !5, !DIExpression(), !DILocation(line: 8, scope: !4))
  %b = mul i32 %a, 3, !dbg !DILocation(line: 4, scope: !4)
  ret i32 %b, !dbg !DILocation(line: 8, scope: !4)
}}
!llvm.dbg.cu = !{{!0}}
!llvm.module.flags = !{{!2, !3}}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, producer: "test", emissionKind: {kind})
!1 = !DIFile(filename: "guest", directory: "/")
!2 = !{{i32 2, !"Debug Info Version", i32 3}}
!3 = !{{i32 7, !"Dwarf Version", i32 {version}}}
!4 = distinct !DISubprogram(name: "f", file: !1, line: 4, type: !6, unit: !0, spFlags: DISPFlagDefinition)
!5 = !DILocalVariable(name: "{name}", scope: !4, file: !1, type: !7)
!6 = !DISubroutineType(types: !{{}})
!7 = !DIBasicType(name: "word", size: 32, encoding: DW_ATE_unsigned)
"""


def llvm_object(kind: str = "FullDebug", version: int = 4, name: str = "r4") -> bytes:
    """Return an object as LLVM makes it."""
    text = FUNCTION.format(kind=kind, version=version, name=name)
    if kind != "FullDebug":
        text = re.sub("#dbg_value.*", "", text)
    return codegen._llvm_object([("text", text)], "2", chosen_cpu("generic"), codegen.BuildTimes())


def test_other_version() -> None:
    text = FUNCTION.format(kind="FullDebug", version=5, name="r4")
    with pytest.raises(BuildError, match=r"^text: the object.*version.* of DWARF"):
        codegen.compile_texts([("text", text)], "2", chosen_cpu("generic"))


def test_nothing_to_say() -> None:
    """Without debug information an object stays as it is; without variables there are lines alone."""
    plain = codegen.compile_text("define i32 @f(i32 %a) { ret i32 %a }", "2", chosen_cpu("generic"))
    assert compact(plain) == plain
    assert b".debug_places" in compact(llvm_object("LineTablesOnly")) and compact(llvm_object(name="local"))


def test_sections_of_code(dump: Path, tmp_path: Path) -> None:
    """Functions may lie in sections of their own."""
    text = FUNCTION.format(kind="FullDebug", version=4, name="r4").replace(" !dbg !4 {", ' section ".text.f" !dbg !4 {')
    text += "define i32 @g(i32 %a) { ret i32 %a }"
    library = linked(codegen.compile_text(text, "2", chosen_cpu("generic")), tmp_path / "made.so")
    listing = subprocess.run([need("nm", "binutils"), library], check=True, capture_output=True, text=True).stdout
    (start,) = re.findall(r"^(\w+) T f$", listing, re.MULTILINE)
    said = dumped(dump, library, start)
    assert re.fullmatch(rf"{int(start, 16):x} 4 4 0 \(0 57 4=55\)\n", said)


@pytest.mark.parametrize("kind", ["FullDebug", "LineTablesOnly"])
def test_damaged(kind: str) -> None:
    """A damaged object is refused by name, or becomes another one; of other errors there are none."""
    data = llvm_object(kind)
    rng = random.Random(kind)
    refused = 0
    for at in range(len(data)):
        damaged = data[:at] + bytes((rng.choice((0, 1, 0x7F, 0x80, 0xFF)),)) + data[at + 1 :]
        try:
            compact(damaged)
        except UnexpectedObject:
            refused += 1
    for end in range(len(data)):
        with pytest.raises(UnexpectedObject):
            compact(data[:end])
    assert refused > 100
