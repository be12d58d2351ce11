"""Assembles small programs from the isa's rows: tests that look at plans need no cross assembler.

Enters: assembly with `.set noreorder`, as the GNU assembler takes it. Leaves: a static program. It knows the mnemonics
of the rows, the few macros below, labels and numeric labels, `%hi` and `%lo`, and the directives of `_DIRECTIVES`.
tests/isa/test_assembler.py compares it with the GNU assembler. Whatever it does not know is an AssemblyError.
"""

from __future__ import annotations

import re
import struct
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from mipsrec import pipeline
from mipsrec.isa import ROWS, Row
from mipsrec.state import GPR_NAMES
from tests.support.tiny_elf import PT_LOAD, TinyElf, symbol_table

SECTIONS = {".text": (0x00401000, 6, 5), ".rodata": (0x00410000, 2, 4), ".data": (0x00420000, 3, 6)}
"""Address, flags of the section, flags of the segment."""
_IGNORED = (".set", ".globl", ".type", ".ent", ".frame", ".mask")
_MACROS: dict[str, Callable[[list[str]], tuple[str, list[str]]]] = {
    "nop": lambda words: ("sll", ["$0", "$0", "0"]),
    "move": lambda words: ("or", [*words, "$0"]),
    "li": lambda words: ("addiu", [words[0], "$0", words[1]]),
    "b": lambda words: ("beq", ["$0", "$0", *words]),
    "bal": lambda words: ("bgezal", ["$0", *words]),
    "beqz": lambda words: ("beq", [words[0], "$0", words[1]]),
    "bnez": lambda words: ("bne", [words[0], "$0", words[1]]),
    "beqzl": lambda words: ("beql", [words[0], "$0", words[1]]),
    "bnezl": lambda words: ("bnel", [words[0], "$0", words[1]]),
}
_SHIFTS = {
    "rs": 21, "rt": 16, "rd": 11, "fr": 21, "ft": 16, "fs": 11, "fd": 6, "sa": 6, "cc": 18, "fcc": 8, "hint": 16,
    "hwr": 11, "fcr": 11, "code": 6, "simm": 0, "uimm": 0,
}  # fmt: skip
"""Where the operand of a name in Row.assembly stands in a word."""
_OPTIONAL = ("code", "sa")
"""Operands at the end that are 0 where they are left out: of teq and sync."""
_REGISTERS = {name: number for number, name in enumerate(GPR_NAMES)}
_ROWS: dict[str, list[Row]] = {}
for _row in ROWS:
    _ROWS.setdefault(_row.name, []).append(_row)


class AssemblyError(Exception):
    """A line that the assembler does not know."""


@dataclass(frozen=True)
class _Place:
    """The number of a statement in the text, and the guest pc of what it says."""

    statement: int
    pc: int


@dataclass
class _Section:
    base: int
    items: list[tuple[_Place, str, list[str]]] = field(default_factory=list)
    """Each with its mnemonic, or .word, and operands."""
    size_bytes: int = 0

    @property
    def here(self) -> int:
        return self.base + self.size_bytes


class _Program:
    def __init__(self) -> None:
        self.sections = {name: _Section(base) for name, (base, _, _) in SECTIONS.items()}
        self.current = self.sections[".text"]
        self.labels: dict[str, int] = {}
        self.numbered: dict[str, list[_Place]] = {}
        self.sizes: dict[str, int] = {}
        self.statement = 0

    @property
    def here(self) -> _Place:
        return _Place(self.statement, self.current.here)

    def add(self, line: str) -> None:
        """Put what a line says into its section."""
        self.statement += 1
        while match := re.match(r"\s*([A-Za-z_.$][\w.$]*|\d+):", line):
            if match[1].isdigit():
                self.numbered.setdefault(match[1], []).append(self.here)
            else:
                self.labels[match[1]] = self.current.here
            line = line[match.end() :]
        name, _, rest = line.strip().partition(" ")
        operands = [word.strip() for word in rest.split(",")] if rest.strip() else []
        if name.startswith("."):
            self._directive(name, operands)
        elif name:
            self.current.items.append((self.here, name, operands))
            self.current.size_bytes += 4

    def _directive(self, name: str, operands: list[str]) -> None:
        if name in self.sections or name == ".section":
            wanted = operands[0] if name == ".section" else name
            if wanted not in self.sections:
                raise AssemblyError(f"no section {wanted}; there are {', '.join(self.sections)}")
            self.current = self.sections[wanted]
        elif name == ".word":
            for word in operands:
                self.current.items.append((self.here, name, [word]))
                self.current.size_bytes += 4
        elif name in (".size", ".end"):
            self.sizes[operands[0]] = self.sections[".text"].here - self.labels[operands[0]]
        elif name == ".align":
            self.current.size_bytes += -self.current.size_bytes % (1 << int(operands[0]))
        elif name not in _IGNORED:
            raise AssemblyError(f"no directive {name}")

    def value(self, text: str, at: _Place) -> int:
        """Return the value of an expression in a line."""
        if match := re.fullmatch(r"%(hi|lo)\((.*)\)", text):
            value = self.value(match[2], at)
            low = ((value & 0xFFFF) ^ 0x8000) - 0x8000
            return (value - low) >> 16 if match[1] == "hi" else low
        if match := re.fullmatch(r"(\d+)([bf])", text):
            places = self.numbered.get(match[1], [])
            found = [one.pc for one in places if (one.statement <= at.statement) == (match[2] == "b")]
            if not found:
                raise AssemblyError(f"no label {text}")
            return found[-1 if match[2] == "b" else 0]
        if text in self.labels:
            return self.labels[text]
        try:
            return int(text, 0)
        except ValueError:
            raise AssemblyError(f"{text} is no number and no label") from None

    def word(self, at: _Place, name: str, operands: list[str]) -> int:
        """Return the word of a line."""
        if name == ".word":
            return self.value(operands[0], at) & 0xFFFFFFFF
        if name in _MACROS:
            name, operands = _MACROS[name](operands)
        if name == "jalr" and len(operands) == 1:
            operands = ["$31", *operands]
        for row in _ROWS.get(name, ()):
            names = row.assembly.partition(" ")[2].replace(",", "").split()
            if len(operands) <= len(names) and all(one in _OPTIONAL for one in names[len(operands) :]):
                return self._encoded(row, names, operands, at)
        raise AssemblyError(f"{name} {', '.join(operands)}: no row is written so")

    def _encoded(self, row: Row, names: list[str], operands: list[str], at: _Place) -> int:
        word = row.value
        for name, text in zip(names, operands):
            if name == "mem":
                offset, _, base = text.removesuffix(")").rpartition("(")
                word |= _register(base) << 21 | self.value(offset or "0", at) & 0xFFFF
            elif name == "offset":
                word |= (self.value(text, at) - at.pc - 4) >> 2 & 0xFFFF
            elif name == "target":
                word |= self.value(text, at) >> 2 & 0x3FFFFFF
            elif name in ("simm", "uimm"):
                word |= self.value(text, at) & 0xFFFF
            elif name in _SHIFTS:
                word |= (_register(text) if text.startswith("$") else self.value(text, at)) << _SHIFTS[name]
            else:
                raise AssemblyError(f"{row.name}: operands as {name} are not known here")
        return word


def _register(text: str) -> int:
    name = text.removeprefix("$")
    if name in _REGISTERS:
        return _REGISTERS[name]
    number = re.sub(r"^f(cc)?", "", name)
    if not number.isdigit() or int(number) > 31:
        raise AssemblyError(f"{text} is no register")
    return int(number)


def assembled(text: str, order: str) -> bytes:
    """Return the program of an assembly text; control enters at `__start`. Raises AssemblyError."""
    program = _Program()
    for line in text.splitlines():
        for statement in line.partition("#")[0].split(";"):
            program.add(statement.rstrip())
    tiny = TinyElf("<" if order == "little" else ">", entry=program.labels["__start"])
    for name, section in program.sections.items():
        base, flags, segment_flags = SECTIONS[name]
        content = bytearray(section.size_bytes)
        for at, mnemonic, operands in section.items:
            word = program.word(at, mnemonic, operands)
            struct.pack_into(f"{tiny.order}I", content, at.pc - base, word)
        if content:
            tiny.segments.append((PT_LOAD, base, bytes(content), len(content), segment_flags))
            tiny.sections.append((name, 1, flags, base, bytes(content), 0))
    symbols = [(name, program.labels[name], size, 2) for name, size in program.sizes.items()]
    table, strings = symbol_table(tiny.order, symbols)
    link = len(tiny.sections) + 2
    tiny.sections += [(".symtab", 2, 0, 0, table, link), (".strtab", 3, 0, 0, strings, 0)]
    return tiny.build()


def assembled_guest(text: str, order: str) -> pipeline.Guest:
    """Return the same as a guest, whose file is gone."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "guest"
        path.write_bytes(assembled(text, order))
        return pipeline.open_guest(path)
