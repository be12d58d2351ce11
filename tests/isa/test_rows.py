"""The rows of the instruction set against two other decoders: capstone, and binutils for what capstone lacks."""

from __future__ import annotations

import itertools
import random
import re
import struct
import subprocess
from pathlib import Path

import capstone
import pytest

from mipsrec.isa import NOP, ROWS, Flow, Row, decode
from mipsrec.isa.disassembly import disassemble
from mipsrec.isa.effects import ACCUMULATOR_BITS, DSP_BIT, FCC_BIT, FPR_BIT, HILO_BIT, effects, masks
from mipsrec.isa.row import parse_pattern
from tests.fuzz.unicorn_dsp import DSP_CONTROL
from tests.support.guest_cpu import DATA, DATA_BYTES, STOP, Cpu
from tests.support.interpreter import Interpreter, build
from tests.support.tools import need

PC = 0x10000000
WORDS_PER_ROW = 24
SEED = 20261121

DECODERS = {
    mode: capstone.Cs(capstone.CS_ARCH_MIPS, value | capstone.CS_MODE_BIG_ENDIAN)
    for mode, value in (("mips32", capstone.CS_MODE_MIPS32), ("mips64", capstone.CS_MODE_MIPS64))
}

REFUSED = (
    ("010000 x:26", "coprocessor 0"),
    ("010010 x:26", "coprocessor 2"),
    ("110010 x:26", "coprocessor 2: lwc2"),
    ("111010 x:26", "coprocessor 2: swc2"),
    ("110110 x:26", "coprocessor 2: ldc2"),
    ("111110 x:26", "coprocessor 2: sdc2"),
    ("010011 01000 x:21", "branches of coprocessor 3, which MIPS32 does not have"),
    ("101111 x:26", "cache: privileged"),
    ("011110 x:26", "MSA"),
    ("010001 01011 x:21", "MSA: branches"),
    ("010001 01111 x:21", "MSA: branches"),
    ("010001 11 x:24", "MSA: branches"),
    ("000000 x:15 000 x:2 000101", "MSA: lsa"),
    ("000000 x:15 000 x:2 010101", "MSA: dlsa"),
    ("010001 00001 x:21", "MIPS64: dmfc1"),
    ("010001 00101 x:21", "MIPS64: dmtc1"),
    ("011100 x:20 111111", "sdbbp: for debuggers"),
    ("011111 x:20 010011", "DSP: shifts of bytes and halves by more than they have"),
    ("011111 x:15 00010 010010", "DSP: repl.qb of more than a byte"),
    ("011111 x:15 10000 110001", "DSP: balign with reserved fields"),
    ("011111 x:20 000000", "ext of more bits than there are"),
    ("011111 x:20 000100", "ins of less than one bit"),
    ("000000 x:20 001111", "sync with reserved fields"),
)
"""What capstone decodes in mode MIPS32 and we do not, and why; patterns as in the rows."""

ALIASES = {
    "beqz": ("beq", "0 zero 1"), "bnez": ("bne", "0 zero 1"), "bal": ("bgezal", "zero 0"), "b": ("beq", "zero zero 0"),
    "negu": ("subu", "0 zero 1"), "neg": ("sub", "0 zero 1"), "not": ("nor", "0 1 zero"), "move": ("or", "0 1 zero"),
    "jalr.hb": ("jalr", "0 1"), "jr.hb": ("jr", "0"), "ssnop": ("sll", "zero zero 1"), "ehb": ("sll", "zero zero 3"),
    "pause": ("sll", "zero zero 5"), "ror": ("rotr", "0 1 2"), "rorv": ("rotrv", "0 1 2"),
}  # fmt: skip
"""What other decoders call something else: our mnemonic, and its operands by their places in the other line."""


def words_of(row: Row, count: int = WORDS_PER_ROW) -> list[int]:
    """Return words of a row with random operands, all of them decodable."""
    source = random.Random(f"{SEED} {row.name}")
    found: list[int] = []
    while len(found) < count:
        word = source.getrandbits(32) & ~row.mask | row.value
        if row.name in ("jr", "jalr"):
            word &= ~0x7C0  # the hint; capstone knows hint 0 only
        if row.name in ("rddsp", "wrdsp"):
            word &= ~(0x3C00000 if row.name == "rddsp" else 0x1E0000)  # what stands for nothing; gas sets all or none
        if row.name in ("clz", "clo"):
            word = word & ~0x1F0000 | (word >> 11 & 31) << 16  # rt = rd, as the manual asks
        instruction = decode(word)
        if instruction is not None and instruction.row is row:
            found.append(word)
    return found


def operand(text: str) -> str:
    """Return a register's plain name, or a number modulo 2^32 in decimal."""
    text = text.removeprefix("$")
    if re.fullmatch(r"-?(0x[0-9a-f]+|\d+)", text):
        return str(int(text, 0) & 0xFFFFFFFF)
    return {"s8": "fp"}.get(text, re.sub(r"^f?cc(\d)$", r"cc\1", text))


def canonical(text: str) -> tuple[str, list[str]]:
    """Return mnemonic and operands of a line of any of the disassemblers as ours has them."""
    name, _, rest = text.replace("\t", " ").strip().partition(" ")
    operands = [operand(token) for token in re.findall(r"[$\w.-]+", rest.split("<")[0])]
    if name in ALIASES:
        name, order = ALIASES[name]
        operands = [
            operands[int(item)] if item.isdigit() and int(item) < len(operands) else item for item in order.split()
        ]
    if name == "nop":
        return name, []
    if name in ("div", "divu"):
        operands = operands[-2:]
    if name == "jalr" and len(operands) == 1:
        operands.insert(0, "ra")
    if name == "sync" and not operands:
        operands = ["0"]
    if (re.fullmatch(r"c\.\w+\.[sd]", name) and len(operands) == 2) or (
        re.fullmatch(r"bc1[tf]l?", name) and len(operands) == 1
    ):
        operands.insert(0, "cc0")
    if re.fullmatch(r"t(geu?|ltu?|eq|ne)", name):
        operands = operands[:2]  # the code is not shown here
    if re.fullmatch(r"t(ge|lt|eq|ne)iu?", name):
        operands[1] = str(int(operands[1]) & 0xFFFF)
    if name == "shilo":
        operands[1] = str(int(operands[1]) & 0x3F)
    if name == "repl.ph":
        operands[1] = str(int(operands[1]) & 0x3FF)
    if name == "break":
        high, low = [int(item) for item in operands] + [0] * (2 - len(operands))
        operands = [str(high << 10 | low)] if len(operands) != 1 or high < 1024 else operands
    return name, operands


def by_capstone(word: int, mode: str) -> str | None:
    found = next(DECODERS[mode].disasm(struct.pack(">I", word), PC), None)
    return f"{found.mnemonic} {found.op_str}" if found else None


def by_us(word: int) -> tuple[str, list[str]]:
    return canonical(disassemble(decode(word), PC, word))


def agree(word: int, text: str) -> bool:
    """Return whether another decoder's line says the same as ours."""
    name, operands = by_us(word)
    if (name, operands) == canonical(text):
        return True
    if name == "addu" and operands[2] == "zero":  # capstone writes move for or and for addu
        return canonical(text) == ("or", operands)
    return name == "jalr" and operands[0] == "zero" and canonical(text) == ("jr", operands[1:])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_row_against_capstone(row: Row) -> None:
    """Where capstone decodes a word of the row, in either mode, it says the same."""
    for word in words_of(row):
        found = [text for mode in DECODERS if (text := by_capstone(word, mode)) and not text.startswith("bc3")]
        if found:
            assert any(agree(word, text) for text in found), f"{word:08x}: {by_us(word)} {found}"


def test_all_rows_against_binutils(tmp_path: Path) -> None:
    """Binutils decodes every word of every row, and says the same."""
    objdump = need("mips-linux-gnu-objdump", "binutils-mips-linux-gnu")
    words = [word for row in ROWS for word in words_of(row)]
    (tmp_path / "words").write_bytes(struct.pack(f">{len(words)}I", *words))
    command = [
        objdump,
        "-D",
        "-z",
        "-b",
        "binary",
        "-m",
        "mips:isa32r2",
        "-EB",
        "-M",
        "no-aliases,dsp,gpr-names=32,cp0-names=numeric",
    ]
    command += ["-M", "hwr-names=numeric,cp1-names=numeric", f"--adjust-vma={PC:#x}", str(tmp_path / "words")]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    lines = re.findall(r"^ *([0-9a-f]+):\t([0-9a-f]{8}) \t(.*)$", output, re.MULTILINE)
    assert len(lines) == len(words)
    wrong = []
    for word, (address, _, text) in zip(words, lines):
        expected = canonical(disassemble(decode(word), int(address, 16), word))
        if canonical(text) != expected:
            wrong.append((f"{word:08x}", expected, text))
    assert wrong == []


def test_what_others_decode_and_we_do_not() -> None:
    """Random words: what capstone takes for an instruction and no row matches stands in REFUSED; all of it is used."""
    refused = [(*parse_pattern(pattern)[:2], pattern) for pattern, _ in REFUSED]
    seen, unexplained = set(), []
    source = random.Random(SEED)
    busy = [0, 1, 16, 17, 18, 19, 28, 31, 29, 30]
    for number in range(200_000):
        word = source.getrandbits(32)
        if number % 4:
            word = word & 0x3FFFFFF | busy[number % len(busy)] << 26
        if number % 3 == 0:
            word &= ~(31 << source.choice((6, 11, 16, 21)))
        if number % 50 == 0:
            word &= 0x03E0FFFF & ~0x7C0 & ~0x3F | 0x10 | word & 3
        if decode(word) is None and by_capstone(word, "mips32"):
            reasons = {pattern for mask, value, pattern in refused if word & mask == value}
            seen |= reasons
            if not reasons:
                unexplained.append(f"{word:08x} {by_capstone(word, 'mips32')}")
    assert unexplained == []
    assert {pattern for _, _, pattern in refused} - seen == set()


def test_no_word_belongs_to_two_rows() -> None:
    for a, b in itertools.combinations(ROWS, 2):
        common = a.mask & b.mask
        if a.value & common == b.value & common:
            pytest.fail(f"{a.name} and {b.name}")


def test_a_word_without_row() -> None:
    assert decode(0xFC000000) is None
    assert disassemble(None, PC, 0xFC000000) == ".word 0xfc000000"
    assert NOP.word == 0 and NOP.row.name == "sll"


# ---- registers: capstone's regs_access knows nothing of MIPS; the interpreter shows what depends on what ----


@pytest.fixture(scope="module")
def interpreter(tmp_path_factory: pytest.TempPathFactory) -> Interpreter:
    return Interpreter(build(tmp_path_factory.mktemp("interpreter")), big_endian=True)


def some_cpu(source: random.Random, row: Row, word: int, fr: int) -> Cpu:
    """Return a state of random small values, with an address in the data where the row has one."""
    cpu = Cpu(fr=fr, data=source.randbytes(DATA_BYTES), hilo=source.getrandbits(64))
    cpu.gpr = [0, *(source.choice([source.getrandbits(32), source.getrandbits(5)]) for _ in range(31))]
    cpu.accumulators = [source.getrandbits(64) for _ in range(3)]
    cpu.dsp_control = source.getrandbits(32) & DSP_CONTROL
    singles = [struct.unpack("<I", struct.pack("<f", source.uniform(-9, 9)))[0] for _ in range(64)]
    cpu.fpr = [0 if n & 1 and not fr else singles[2 * n] | singles[2 * n + 1] << 32 for n in range(32)]
    cpu.fcc = [source.getrandbits(1) for _ in range(8)]
    base, index = word >> 21 & 31, word >> 16 & 31
    if " mem" in row.assembly and base:
        cpu.gpr[base] = DATA + 0x80 - ((word & 0x7FFF) - (word & 0x8000)) & 0xFFFFFFFF
    if "xmem" in row.assembly and base and base != index:
        cpu.gpr[base] = DATA + 0x80 - cpu.gpr[index] & 0xFFFFFFFF
    return cpu


def bits_of(cpu: Cpu) -> list[tuple[int, int]]:
    """Return (bit as in isa.effects, value) of every register."""
    found = [(1 << number, value) for number, value in enumerate(cpu.gpr)]
    found += [*zip(ACCUMULATOR_BITS, (cpu.hilo, *cpu.accumulators)), (1 << DSP_BIT, cpu.dsp_control)]
    found += [(1 << FCC_BIT + number, value) for number, value in enumerate(cpu.fcc)]
    for number, value in enumerate(cpu.fpr):
        if cpu.fr:
            found.append((1 << FPR_BIT + number, value))
        elif number % 2 == 0:
            found += [(1 << FPR_BIT + number, value & 0xFFFFFFFF), (2 << FPR_BIT + number, value >> 32)]
    return found


@pytest.mark.parametrize("fr", [0, 1])
def test_registers(interpreter: Interpreter, fr: int) -> None:
    """An instruction changes no register but those it writes, and what it does depends on none but those it reads."""
    for row in ROWS:
        if row.flow is not Flow.NEXT or row.name in ("synci", "rdhwr"):
            continue
        source = random.Random(f"{SEED} {row.name}")
        for word in words_of(row, 12):
            instruction = decode(word)
            assert instruction is not None
            read, written = masks(instruction, fr)
            words = [word, 0x08000000 | STOP >> 2, 0]
            before, other = some_cpu(source, row, word, fr), some_cpu(source, row, word, fr)
            other.data, other.fcsr = before.data, before.fcsr
            partial = written if any(use.kind in ("single", "high") for use in effects(row).writes) else 0
            mixed = mixture(before, other, read | partial)  # FR=1: the rest of the register stays
            first, exception = interpreter.run(before, words)
            for (bit, old), (_, new) in zip(bits_of(before), bits_of(first)):
                assert old == new or bit & written, f"{row.name} {word:08x} writes {bit:x}, not only {written:x}"
            second, same_exception = interpreter.run(mixed, words)
            assert exception == same_exception, f"{row.name} {word:08x}"
            for (bit, one), (_, two) in zip(bits_of(first), bits_of(second)):
                if bit & written and not exception:
                    assert one == two, f"{row.name} {word:08x} reads more than {read:x}"
            assert first.data == second.data, f"{row.name} {word:08x} reads more than {read:x}"


def mixture(first: Cpu, second: Cpu, kept: int) -> Cpu:
    """Return the second state with the registers `kept` of the first."""
    result = second.copy()
    for number in range(32):
        if kept >> number & 1:
            result.gpr[number] = first.gpr[number]
        bit = FPR_BIT + number
        if first.fr and kept >> bit & 1:
            result.fpr[number] = first.fpr[number]
        if not first.fr and kept >> bit & 1:
            mask = 0xFFFFFFFF00000000 if number & 1 else 0xFFFFFFFF
            even = number & ~1
            result.fpr[even] = result.fpr[even] & ~mask | first.fpr[even] & mask
    for number in range(8):
        if kept >> FCC_BIT + number & 1:
            result.fcc[number] = first.fcc[number]
    if kept >> HILO_BIT & 1:
        result.hilo = first.hilo
    for number, bit in enumerate(ACCUMULATOR_BITS[1:]):
        if kept & bit:
            result.accumulators[number] = first.accumulators[number]
    if kept >> DSP_BIT & 1:
        result.dsp_control = first.dsp_control
    return result
