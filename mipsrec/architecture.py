"""The parts of the MIPS architecture: their names, how files are marked as using them, and what programs can use here.

Enters: nothing. Leaves: `Module` values for rows, marks and refusals, their names for the host (`mr_modules.h`), the
table of docs/usage/programs.md, and where instructions can be. Sources: the manual's volumes, include/elf/mips.h of
binutils.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

INSTRUCTION_BYTES = 4
"""The size of an instruction of ISAS, of which its address is a multiple."""
HALF_BYTES = 2
"""The size of a half of MIPS16e code: an instruction has one or two."""


def is_aligned(pc: int) -> bool:
    """Return whether an instruction of ISAS can be at an address."""
    return pc % INSTRUCTION_BYTES == 0


def may_be_code(pc: int) -> bool:
    """Return whether a jump can lead to an address: an odd one is of MIPS16 code."""
    return is_aligned(pc) or is_mips16(pc)


def is_mips16(pc: int) -> bool:
    """Return whether a pc is one of MIPS16e code: bit 0 is set."""
    return pc % 2 == 1


def whole_instructions(start: int, end: int) -> tuple[int, int]:
    """Return the part of [start, end) that whole instructions can be in."""
    return start + -start % INSTRUCTION_BYTES, end - end % INSTRUCTION_BYTES


@dataclass(frozen=True)
class Module:
    """An instruction set, or what a processor may have besides, under the name that people are told.

    `archs` names the instruction set by EF_MIPS_ARCH >> 28. `ase` is the bit of `ases` in .MIPS.abiflags (AFL_ASE),
    `flag` the bit of e_flags (EF_MIPS_ARCH_ASE). `happens` and `told_by` are columns of the table of
    docs/usage/programs.md. `runs`: programs can use its instructions.
    """

    name: str
    ase: int | None = None
    happens: str = "its instructions raise SIGILL"
    told_by: str = ""
    archs: tuple[tuple[int, str], ...] = ()
    flag: int = 0
    runs: bool = False


def _isa(name: str, *archs: tuple[int, str], happens: str = "it runs") -> Module:
    return Module(name, None, happens, "e_flags (`EF_MIPS_ARCH`)", archs, runs=True)


def _wide(name: str, *archs: tuple[int, str]) -> Module:
    return _isa(name, *archs, happens="it runs; 64-bit instructions raise SIGILL")


MIPS1, MIPS2 = _isa("MIPS I", (0, "mips1")), _isa("MIPS II", (1, "mips2"))
MIPS32, MIPS32R2 = _isa("MIPS32", (5, "mips32")), _isa("MIPS32r2", (7, "mips32r2"))
ISAS = (MIPS1, MIPS2, MIPS32, MIPS32R2)
"""What programs can use as a whole; each has the instructions of those before it."""
WIDE = (
    _wide("MIPS III", (2, "mips3")), _wide("MIPS IV", (3, "mips4")), _wide("MIPS V", (4, "mips5")),
    _wide("MIPS64", (6, "mips64"), (8, "mips64r2")),
)  # fmt: skip
R6 = Module(
    "MIPS R6", None, "refused: `is a MIPS R6 program`", "e_flags (`EF_MIPS_ARCH`), `.MIPS.abiflags` (`isa_rev`)",
    ((9, "mips32r6"), (10, "mips64r6")),
)  # fmt: skip
MICROMIPS = Module(
    "microMIPS", 11, "refused: `holds microMIPS code`, also where only parts of the program are microMIPS", "e_flags"
)
MIPS16 = Module(
    "MIPS16", 10, "it runs",
    "an odd entry point, e_flags, `.MIPS.abiflags`, symbols; `jalx`, a jump to an odd address",
    flag=0x04000000, runs=True,
)  # fmt: skip
SMARTMIPS = Module("SmartMIPS", 7)
DSP, DSP2 = (
    Module(name, bit, "it runs, also where the file is not marked", runs=True)
    for bit, name in ((0, "DSP"), (1, "DSP release 2"))
)

MODULES = (
    *ISAS, *WIDE, R6, MICROMIPS, MIPS16, DSP, DSP2, Module("EVA", 2), Module("MCU", 3),
    Module("MDMX", 4, flag=0x08000000), Module("MIPS-3D", 5), Module("MT", 6), SMARTMIPS, Module("VZ", 8),
    Module("MSA", 9), Module("XPA", 12), Module("DSP release 3", 13),
    Module("MIPS16e2", 14, "its instructions raise SIGILL, or run as those of MIPS16 whose unused bits they set"),
    Module("CRC", 15),
    Module("GINV", 17), Module("Loongson MMI", 18), Module("Loongson CAM", 19), Module("Loongson EXT", 20),
    Module("Loongson EXT2", 21), Module("paired-single floating point"), Module("coprocessor 2"),
    Module("instructions of other makers"),
)  # fmt: skip
"""All; XPA has nothing for programs."""


def needed(modules: Iterable[Module]) -> list[Module]:
    """Return the ISA that has the instructions of all these ISAs, then the other modules."""
    found = set(modules)
    isa = next((isa for isa in reversed(ISAS) if isa in found), MIPS1)
    return [isa, *(module for module in MODULES if module in found.difference(ISAS))]


def c_names() -> str:
    """Return the text of `mr_modules.h`."""
    names = ((re.sub(r"\W", "_", module.name).upper(), module.name) for module in MODULES)
    return "".join(f'#define MR_MODULE_{word} "{name}"\n' for word, name in names)


def _marks(module: Module) -> str:
    """Return what tells of a module of which only its instructions matter."""
    marks = ["`.MIPS.abiflags`"] if module.ase is not None else []
    marks += ["e_flags"] if module.flag else []
    return ", ".join([*marks, "its instructions"])


def _in_info(module: Module) -> str:
    """Return what `mipsrec info` calls a module."""
    if module in (R6, MICROMIPS):
        return "the refusal"
    names = [f"`isa {arch}`" for _, arch in module.archs]
    names += [f"`modules {module.name}`"] if module.ase is not None or module.flag else []
    names += [f"`needs {module.name}`"] if module.runs and module not in WIDE else []
    return ", ".join(names) or "nothing"


def modules_table() -> Iterator[str]:
    """Yield the rows of the table in docs/usage/programs.md."""
    for module in MODULES:
        yield f"| {module.name} | {module.told_by or _marks(module)} | {_in_info(module)} | {module.happens} |"
