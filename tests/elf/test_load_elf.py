"""What `load_elf` says about real programs, held against what binutils says."""

from __future__ import annotations

import re
import struct
import subprocess
from pathlib import Path

import pytest

from mipsrec.elf import PIE_BIAS, Image, load_elf
from mipsrec.elf.tables import RawFile, absolute_symbol
from tests.support.compiled import CATCHES, FREESTANDING, HELLO, ORDERS, binutils, compile_guest, readelf_symbols
from tests.support.tiny_elf import CODE, TinyElf, symbol_table
from tests.support.tools import need

PIE_OPTIONS = ("-static-pie", "-nostdlib", "-nostartfiles", "-Wl,--no-dynamic-linker")
CXX_RUNTIME = (
    "__cxa_begin_catch __cxa_end_catch __cxa_throw __cxa_allocate_exception __cxa_rethrow __cxa_end_cleanup "
    "__gxx_personality_v0 _Unwind_Resume _ZTIi _ZTIl _ZTIc"
).split()
both_orders = pytest.mark.parametrize("byte_order", list(ORDERS))


def remove_section_headers(program: Path) -> None:
    """Make a file say that it has no sections, as sstrip does."""
    content = bytearray(program.read_bytes())
    content[32:36], content[48:52] = bytes(4), bytes(4)
    program.write_bytes(content)


def readelf_segments(byte_order: str, program: Path) -> list[tuple[int, int, int, int, str]]:
    """Return (vaddr, memsz, offset, filesz, flags) of each PT_LOAD."""
    found = []
    for line in binutils(byte_order, "readelf", "-lW", program).splitlines():
        match = re.match(r"\s+LOAD\s+(\S+) (\S+) \S+ (\S+) (\S+) (.{3})", line)
        if match:
            offset, vaddr, filesz, memsz = (int(text, 16) for text in match.groups()[:4])
            found.append((vaddr, memsz, offset, filesz, match[5]))
    return found


def readelf_sections(byte_order: str, program: Path) -> dict[str, tuple[int, int, str]]:
    """Return name -> (address, size, flags)."""
    text = binutils(byte_order, "readelf", "-SW", program)
    rows = re.findall(r"\] (\S+)\s+\S+\s+([0-9a-f]{8}) [0-9a-f]+ ([0-9a-f]+) \d\d\s+(\w*)\s+\d+\s+\d+\s+\d+\n", text)
    return {name: (int(address, 16), int(size, 16), flags) for name, address, size, flags in rows}


def check_against_readelf(image: Image, byte_order: str, program: Path) -> None:
    """Compare everything that readelf prints, with the bias taken off."""
    header = binutils(byte_order, "readelf", "-h", program)
    entry = re.search(r"Entry point address:\s+0x(\w+)", header)
    assert entry and image.entry - image.bias == int(entry[1], 16)
    assert image.byte_order == byte_order
    segments = [
        (
            segment.vaddr - image.bias,
            segment.memsz,
            segment.offset,
            segment.filesz,
            "".join(
                letter if bit else " "
                for letter, bit in zip("RWE", (segment.read, segment.write, segment.execute), strict=True)
            ),
        )
        for segment in image.segments
    ]
    assert segments == readelf_segments(byte_order, program)
    symbols = {(s.name, s.address - image.bias, s.size, s.type, s.binding) for s in image.symbols}
    assert {key[:2] for key in symbols} == {key[:2] for key in readelf_symbols(byte_order, program)}
    assert symbols <= readelf_symbols(byte_order, program)
    assert [symbol.address for symbol in image.symbols] == sorted(symbol.address for symbol in image.symbols)
    sections = readelf_sections(byte_order, program)
    if ".got" in sections:
        start, size, _ = sections[".got"]
        assert image.got == (start + image.bias, start + size + image.bias)
        gp = re.search(r"Canonical gp value: (\w+)", binutils(byte_order, "readelf", "-AW", program))
        assert gp and image.gp == int(gp[1], 16) + image.bias
    code = [(address, address + size) for address, size, flags in sections.values() if "AX" in flags]
    for start, end in code:
        assert any(low <= start + image.bias and end + image.bias <= high for low, high in image.executable_ranges)


@both_orders
def test_a_static_program_is_what_readelf_says(byte_order: str, tmp_path: Path) -> None:
    program = compile_guest(tmp_path, byte_order, HELLO, "-static")
    image = load_elf(program)
    check_against_readelf(image, byte_order, program)
    assert image.bias == 0 and image.relocations == () and image.warnings == ()
    assert image.fr == 0 and not image.soft_float and image.e_flags.arch == "mips32r2" and image.e_flags.cpic
    assert image.abi_flags is not None and (image.abi_flags.isa_level, image.abi_flags.isa_rev) == (32, 2)


@both_orders
def test_unwind_entries_are_what_readelf_says(byte_order: str, tmp_path: Path) -> None:
    program = compile_guest(tmp_path, byte_order, CATCHES, "-static", language="c++")
    image = load_elf(program)
    frames = binutils(byte_order, "readelf", "--debug-dump=frames", program)
    wanted = {(int(low, 16), int(high, 16)) for low, high in re.findall(r"FDE .*pc=(\w+)\.\.(\w+)", frames)}
    assert {(function.start, function.end) for function in image.eh_functions} == wanted
    start, size, _ = readelf_sections(byte_order, program)[".eh_frame"]
    assert image.eh_frame == (start, start + size)
    assert image.warnings == ()


@both_orders
@pytest.mark.parametrize("options", [("-static",), (*PIE_OPTIONS, "-fPIE", "-Wl,-e,main")])
def test_landing_pads_are_the_labels_the_compiler_wrote(
    byte_order: str, options: tuple[str, ...], tmp_path: Path
) -> None:
    flags = [option for option in options if option == "-fPIE"]
    compile_guest(tmp_path, byte_order, CATCHES, *flags, "-dA", "-S", language="c++")
    text = (tmp_path / "guest").read_text()
    labels = sorted(set(re.findall(r"\.uleb128 (\$?\.?L\d+)-\S+\s+\S+ landing pad", text)))
    assert len(labels) >= 5
    text += "".join(f"\n\t.globl landing_pad_{i}\n\tlanding_pad_{i} = {label}" for i, label in enumerate(labels)) + "\n"
    if flags:  # there is no position-independent C++ runtime to link with: its names stand for data
        text += "\t.data\n" + "".join(f"\t.globl {name}\n{name}:\t.word 0\n" for name in CXX_RUNTIME)
    image = load_elf(compile_guest(tmp_path, byte_order, text, *options, language="assembler"))
    wanted = {symbol.address for symbol in image.symbols if symbol.name.startswith("landing_pad_")}
    ours = {symbol.address for symbol in image.symbols if symbol.name in ("work", "_Z3twoi", "_Z6nestedi", "main")}
    found = {pad for function in image.eh_functions if function.start in ours for pad in function.landing_pads}
    assert len(wanted) == len(labels) and found == wanted


@both_orders
def test_unwind_entries_without_section_headers(byte_order: str, tmp_path: Path) -> None:
    program = compile_guest(tmp_path, byte_order, CATCHES, "-static", "-Wl,--eh-frame-hdr", language="c++")
    whole = load_elf(program)
    remove_section_headers(program)
    bare = load_elf(program)
    assert bare.eh_functions == whole.eh_functions and len(bare.eh_functions) > 100
    assert bare.eh_frame and whole.eh_frame and bare.eh_frame[0] == whole.eh_frame[0]
    assert bare.got is None and bare.gp == whole.gp


@both_orders
def test_a_position_independent_program_gets_its_bias(byte_order: str, tmp_path: Path) -> None:
    program = compile_guest(tmp_path, byte_order, FREESTANDING, *PIE_OPTIONS)
    image = load_elf(program)
    check_against_readelf(image, byte_order, program)
    assert image.bias == PIE_BIAS and image.entry > PIE_BIAS
    address = {symbol.name: symbol.address for symbol in image.symbols}
    targets = {relocation.address: relocation.target for relocation in image.relocations if relocation.kind == "REL32"}
    listed = re.findall(r"^(\w{8})  \w+ R_MIPS_REL32", binutils(byte_order, "readelf", "-rW", program), re.M)
    assert sorted(targets) == sorted(int(text, 16) + PIE_BIAS for text in listed)
    assert targets[address["table"]] == address["one"] and targets[address["table"] + 4] == address["two"]
    got = {relocation.address: relocation.target for relocation in image.relocations if relocation.kind == "GOT"}
    assert image.got is not None and set(got) == set(range(image.got[0] + 8, image.got[1], 4))
    assert address["counter"] in got.values()


@both_orders
def test_without_section_headers_the_dynamic_section_tells(byte_order: str, tmp_path: Path) -> None:
    program = compile_guest(tmp_path, byte_order, FREESTANDING, *PIE_OPTIONS)
    whole = load_elf(program)
    remove_section_headers(program)
    bare = load_elf(program)
    assert (bare.got, bare.gp, bare.relocations) == (whole.got, whole.gp, whole.relocations)
    assert "table" in {symbol.name for symbol in bare.symbols}
    assert bare.executable_ranges == tuple((s.vaddr, s.vaddr + s.filesz) for s in bare.segments if s.execute)
    assert bare.identity != whole.identity and bare.warnings == ()


@both_orders
def test_a_stripped_program_keeps_what_it_runs_with(byte_order: str, tmp_path: Path) -> None:
    program = compile_guest(tmp_path, byte_order, HELLO, "-static")
    whole = load_elf(program)
    strip = need(f"{ORDERS[byte_order]}-strip", f"binutils-{ORDERS[byte_order]}")
    subprocess.run([strip, program], check=True)
    bare = load_elf(program)
    assert bare.symbols == () and bare.warnings == ()
    for name in ("segments", "entry", "got", "gp", "executable_ranges", "eh_functions", "e_flags"):
        assert getattr(bare, name) == getattr(whole, name)


@both_orders
def test_a_program_without_abicalls(byte_order: str, tmp_path: Path) -> None:
    options = ("-static", "-nostdlib", "-fno-pic", "-mno-abicalls", "-no-pie")
    program = compile_guest(tmp_path, byte_order, FREESTANDING, *options)
    image = load_elf(program)
    check_against_readelf(image, byte_order, program)
    assert image.got is None and not image.e_flags.pic and not image.e_flags.cpic


@pytest.mark.parametrize(
    ("options", "fr", "soft_float", "nan2008"),
    [
        (("-mfp32",), 0, False, False),
        (("-mfpxx",), 0, False, False),
        (("-mfp64",), 1, False, False),
        (("-mfp64", "-mno-odd-spreg"), 1, False, False),
        (("-msoft-float",), 0, True, False),
        (("-mnan=2008",), 0, False, True),
    ],
)
def test_the_float_abi_is_recognised(
    options: tuple[str, ...], fr: int, soft_float: bool, nan2008: bool, tmp_path: Path
) -> None:
    program = compile_guest(tmp_path, "little", FREESTANDING, "-static", "-nostdlib", *options)
    image = load_elf(program)
    assert (image.fr, image.soft_float, image.e_flags.nan2008) == (fr, soft_float, nan2008)


@pytest.mark.parametrize("architecture", ["mips1", "mips2", "mips32", "mips32r2", "mips3", "mips64r2"])
def test_the_architecture_is_recognised(architecture: str, tmp_path: Path) -> None:
    program = compile_guest(tmp_path, "big", FREESTANDING, "-static", "-nostdlib", f"-march={architecture}", "-mfp32")
    image = load_elf(program)
    assert image.e_flags.arch == architecture and image.e_flags.abi == "o32"
    assert bool(image.warnings) == (architecture in ("mips3", "mips64r2"))


def test_the_loader_of_glibc_loads(tmp_path: Path) -> None:
    folder = Path("/usr/mips-linux-gnu/lib")
    if not (folder / "ld.so.1").exists():
        need("mips-linux-gnu-ld.so.1", "libc6-mips-cross")
    program = folder / "ld.so.1"
    image = load_elf(program)
    check_against_readelf(image, "big", program)
    assert image.bias == PIE_BIAS and len(image.relocations) > 100


def test_thirty_megabytes_with_200000_symbols(tmp_path: Path) -> None:
    symbols = [(f"_ZN5space6Class{i}6methodEv", CODE + 0x200 + 8 * i, 8, 2) for i in range(200_000)]
    table, strings = symbol_table(">", symbols)
    code = bytes(30 << 20)
    elf = TinyElf(segments=[(1, CODE, code, len(code), 5)])
    elf.sections = [(".symtab", 2, 0, 0, table, 2), (".strtab", 3, 0, 0, strings, 0)]
    program = tmp_path / "large"
    program.write_bytes(elf.build())
    image = load_elf(program)
    assert len(image.symbols) == 200_000 and image.symbols[1][:3] == ("_ZN5space6Class1" + "6methodEv", CODE + 0x208, 8)


def test_gp_from_the_symbol_when_nothing_else_tells(tmp_path: Path) -> None:
    table, strings = symbol_table("<", [("_gp", 0x00418000, 0, 0)])
    absolute = table[:30] + struct.pack("<H", 0xFFF1)
    elf = TinyElf(order="<", sections=[(".symtab", 2, 0, 0, absolute, 2), (".strtab", 3, 0, 0, strings, 0)])
    program = tmp_path / "gp"
    program.write_bytes(elf.build())
    image = load_elf(program)
    assert image.gp == 0x00418000 and image.symbols == () and image.byte_order == "little"


def test_symbol_whose_name_is_the_end_of_another() -> None:
    """Linkers keep the text of `_gp` inside that of `__gnu_local_gp`."""
    strings = b"\0__gnu_local_gp\0"
    symbols = [struct.pack("<IIIBBH", offset, value, 0, 0, 0, 1) for offset, value in ((1, 16), (12, 32))]
    content = strings + b"".join(symbols)
    raw = RawFile(content, "<", (), ())
    assert absolute_symbol(raw, (len(strings), 32), (0, len(strings)), "_gp") == 32
    assert absolute_symbol(raw, (len(strings), 32), (0, len(strings)), "_gq") is None
