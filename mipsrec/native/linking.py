"""From objects to the finished library: its table of entries, the link, the footer.

Enters: objects, and which symbol serves which guest pcs. Leaves: one library file with struct mr_library
(abi.py), which the host checks before anything in it runs. The file appears whole or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .. import __version__, abi
from ..elf import Image
from ..emit.calls import HOST_EDGES, declaration
from ..emit.doors import DOORS
from ..emit.writer import DELTA, MODULE_METADATA, POOL_SECTION
from ..errors import BuildError
from ..state import layout_id
from ..target.cpu import Cpu
from .compiler import run_compiler


@dataclass(frozen=True)
class GuestFile:
    """What a library says of the file it was made of.

    `name` is what it was called, for people. `identity` is the hexadecimal hash of the contents, `bias` the load bias
    in all guest addresses here. The code of a `relocatable` file serves every other bias as well. `segments` are (guest
    address, offset in the file, bytes) of what is executable.
    """

    name: str
    identity: str
    bias: int
    fr: int
    nan2008: bool
    relocatable: bool
    segments: tuple[tuple[int, int, int], ...]

    @classmethod
    def of(cls, image: Image) -> GuestFile:
        """Return what is to be said of a guest's file."""
        found = [segment for segment in image.segments if segment.execute and segment.filesz]
        segments = tuple((segment.vaddr, segment.offset, segment.filesz) for segment in found[: abi.LIBRARY_SEGMENTS])
        nan2008 = image.e_flags.nan2008
        return cls(image.path.name, image.identity, image.bias, image.fr, nan2008, image.is_relocatable, segments)


@dataclass(frozen=True)
class LibraryIdentity:
    """What the finished library says of itself; the host refuses to load it for anything else."""

    guest: GuestFile
    memory: str
    calls: str
    opt: str
    cpu: Cpu
    counts: bool = False

    @property
    def options(self) -> str:
        """The options that it was made with."""
        counts = " --cover" if self.counts else ""
        return f"--opt {self.opt} --cpu {self.cpu.name} --memory {self.memory} --calls {self.calls}{counts}"


def _quoted(path: Path) -> str:
    """Return a path as one word of a response file, whatever its name is (GCC's manual, `@file`)."""
    text = str(path.absolute()).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


def link(compiler: str, objects: Sequence[Path], output: Path, folder: Path) -> None:
    """Link objects into a shared library, which has no footer yet; `folder` is for files on the way."""
    arguments = folder / "link.args"
    arguments.write_text("\n".join(map(_quoted, objects)), errors="surrogateescape")
    command = [
        compiler, "-shared", "-nostartfiles", "-o", str(output.absolute()), f"@{arguments}", "-lm",
        "-Wl,--build-id=none", "-Wl,-z,noexecstack", "-Wl,-z,now", "-Wl,--compress-debug-sections=zlib",
    ]  # fmt: skip
    result = run_compiler(command)
    if result.returncode != 0:
        reason = (result.stderr.strip() or "no message").splitlines()[-1]
        raise BuildError(f"{compiler} could not link the library: {reason}")


def _bytes_constant(data: bytes) -> tuple[str, str]:
    """Return type and value."""
    return f"[{len(data)} x i8]", 'c"' + "".join(f"\\{byte:02X}" for byte in data) + '"'


def _displacement(symbol: str, offset: int) -> str:
    """Return the i32 constant that leads from the field at an offset of `mr_library` to a function."""
    field = f"i8, ptr @mr_library, i64 {offset}"
    difference = f"sub (i64 ptrtoint (ptr @{symbol} to i64), i64 ptrtoint (ptr getelementptr ({field}) to i64))"
    return f"trunc (i64 {difference} to i32)"


_POOL = f"""\
{DELTA} = hidden externally_initialized global i32 0, align 4
@mr_pcs_first = hidden externally_initialized global i32 0, section "{POOL_SECTION}", align 4
@__start_{POOL_SECTION} = external hidden global i32
@__stop_{POOL_SECTION} = external hidden global i32
"""
"""What relocatable code takes guest pcs from (emit/writer.py). One word is there for the linker's symbols."""


def _name_field(name: str) -> bytes:
    """Return a file's name as a library has it: in printable ASCII, as much as there is room for."""
    return _field(ascii(name)[1:-1][: abi.LIBRARY_TEXT_BYTES])


def _field(text: str) -> bytes:
    """Return a text as a library has it; the longest names of all options fill the field."""
    assert len(text) <= abi.LIBRARY_TEXT_BYTES, text
    return text.encode().ljust(abi.LIBRARY_TEXT_BYTES, b"\0")


def table_text(found: list[tuple[int, str]], identity: LibraryIdentity, triple: str) -> str:
    """Return the IR of `mr_library`; what was found are (guest pc, symbol).

    A block that two functions have is an entry of both. Both lifted it from the same words, so either will do.
    """
    guest = identity.guest
    entries = sorted(dict(sorted(found, reverse=True)).items())
    words: dict[str, int | str] = {
        "magic": abi.LIBRARY_MAGIC, "version": abi.LIBRARY_VERSION, "layout": layout_id(),
        "memory_model": abi.MEMORY_MODELS[identity.memory], "call_model": abi.CALL_MODELS[identity.calls],
        "cpu_level": identity.cpu.level, "bias": guest.bias, "fr": guest.fr,
        "nan2008": int(guest.nan2008), "relocatable": int(guest.relocatable), "counts": int(identity.counts),
        "entry_count": len(entries),
        "enter": "mr_enter", "fallback": "call_unlifted", "delta": DELTA[1:],
        "pcs": f"__start_{POOL_SECTION}", "pcs_end": f"__stop_{POOL_SECTION}",
    }  # fmt: skip
    fields = []
    for position, (name, _, _) in enumerate(abi.LIBRARY_WORDS):
        word = words[name]
        fields.append(("i32", _displacement(word, 4 * position) if isinstance(word, str) else str(word)))
    unused = [(0, 0, 0)] * (abi.LIBRARY_SEGMENTS - len(guest.segments))
    for segment in [*guest.segments[: abi.LIBRARY_SEGMENTS], *unused]:
        fields += [("i32", str(word)) for word in segment]
    texts = (_field(f"mipsrec {__version__}"), _field(identity.options), _name_field(guest.name))
    fields += map(_bytes_constant, (bytes.fromhex(guest.identity), *texts))
    for index, (pc, symbol) in enumerate(entries):
        fields += [("i32", str(pc)), ("i32", _displacement(symbol, abi.LIBRARY_HEADER_BYTES + 8 * index + 4))]
    types = ", ".join(type_ for type_, _ in fields)
    values = ", ".join(f"{type_} {value}" for type_, value in fields)
    symbols = sorted({symbol for _, symbol in entries})
    declarations = "".join(declaration(symbol) + "\n" for symbol in symbols)
    return (
        f'target triple = "{triple}"\n{declarations}{HOST_EDGES}{DOORS}{MODULE_METADATA}{_POOL}'
        f"@mr_library = constant <{{ {types} }}> <{{ {values} }}>, align 8\n"
    )
