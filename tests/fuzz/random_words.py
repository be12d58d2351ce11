"""Random MIPS instructions and operands for differential tests; the encodings are a list of their own (volume II-A).

Enters: a random generator. Leaves: words, and values worth computing with. Bits that the manual wants zero are zero
here; `any_word` leaves them random.
"""

from __future__ import annotations

from random import Random

_WIDTHS = {"imm": 16, "target": 16, "cc": 3, "code": 10, "code20": 20, "stype": 5, "off": 16}

INTEGER = """
sll    000000 00000 rt rd sa 000000
srl    000000 00000 rt rd sa 000010
rotr   000000 00001 rt rd sa 000010
sra    000000 00000 rt rd sa 000011
sllv   000000 rs rt rd 00000 000100
srlv   000000 rs rt rd 00000 000110
rotrv  000000 rs rt rd 00001 000110
srav   000000 rs rt rd 00000 000111
movz   000000 rs rt rd 00000 001010
movn   000000 rs rt rd 00000 001011
sync   000000 00000 00000 00000 stype 001111
mfhi   000000 00000 00000 rd 00000 010000
mthi   000000 rs 00000 00000 00000 010001
mflo   000000 00000 00000 rd 00000 010010
mtlo   000000 rs 00000 00000 00000 010011
mult   000000 rs rt 00000 00000 011000
multu  000000 rs rt 00000 00000 011001
div    000000 rs rt 00000 00000 011010
divu   000000 rs rt 00000 00000 011011
add    000000 rs rt rd 00000 100000
addu   000000 rs rt rd 00000 100001
sub    000000 rs rt rd 00000 100010
subu   000000 rs rt rd 00000 100011
and    000000 rs rt rd 00000 100100
or     000000 rs rt rd 00000 100101
xor    000000 rs rt rd 00000 100110
nor    000000 rs rt rd 00000 100111
slt    000000 rs rt rd 00000 101010
sltu   000000 rs rt rd 00000 101011
addi   001000 rs rt imm
addiu  001001 rs rt imm
slti   001010 rs rt imm
sltiu  001011 rs rt imm
andi   001100 rs rt imm
ori    001101 rs rt imm
xori   001110 rs rt imm
lui    001111 00000 rt imm
madd   011100 rs rt 00000 00000 000000
maddu  011100 rs rt 00000 00000 000001
mul    011100 rs rt rd 00000 000010
msub   011100 rs rt 00000 00000 000100
msubu  011100 rs rt 00000 00000 000101
clz    011100 rs rt rd 00000 100000
clo    011100 rs rt rd 00000 100001
ext    011111 rs rt rd sa 000000
ins    011111 rs rt rd sa 000100
wsbh   011111 00000 rt rd 00010 100000
seb    011111 00000 rt rd 10000 100000
seh    011111 00000 rt rd 11000 100000
movf   000000 rs cc 00 rd 00000 000001
movt   000000 rs cc 01 rd 00000 000001
"""

TRAPS = """
syscall 000000 code20 001100
break  000000 code20 001101
tge    000000 rs rt code 110000
tgeu   000000 rs rt code 110001
tlt    000000 rs rt code 110010
tltu   000000 rs rt code 110011
teq    000000 rs rt code 110100
tne    000000 rs rt code 110110
tgei   000001 rs 01000 imm
tgeiu  000001 rs 01001 imm
tlti   000001 rs 01010 imm
tltiu  000001 rs 01011 imm
teqi   000001 rs 01100 imm
tnei   000001 rs 01110 imm
"""

MEMORY = """
lb     100000 base rt off
lh     100001 base rt off
lwl    100010 base rt off
lw     100011 base rt off
lbu    100100 base rt off
lhu    100101 base rt off
lwr    100110 base rt off
sb     101000 base rt off
sh     101001 base rt off
swl    101010 base rt off
sw     101011 base rt off
swr    101110 base rt off
ll     110000 base rt off
lwc1   110001 base ft off
pref   110011 base stype off
ldc1   110101 base ft off
sc     111000 base rt off
swc1   111001 base ft off
sdc1   111101 base ft off
lwxc1  010011 base index 00000 fd 000000
ldxc1  010011 base index 00000 fd 000001
luxc1  010011 base index 00000 fd 000101
swxc1  010011 base index fs 00000 001000
sdxc1  010011 base index fs 00000 001001
suxc1  010011 base index fs 00000 001101
prefx  010011 base index stype 00000 001111
lwx    011111 base index rd 00000 001010
lhx    011111 base index rd 00100 001010
lbux   011111 base index rd 00110 001010
"""
ACCESS_BYTES = {"lh": 2, "lhu": 2, "sh": 2, "lw": 4, "sw": 4, "ll": 4, "sc": 4, "lwc1": 4, "swc1": 4, "ldc1": 8,
                "sdc1": 8, "lwxc1": 4, "swxc1": 4, "ldxc1": 8, "sdxc1": 8,
                "lwx": 4, "lhx": 2}  # fmt: skip

BRANCHES = """
beq    000100 rs rt target
bne    000101 rs rt target
blez   000110 rs 00000 target
bgtz   000111 rs 00000 target
beql   010100 rs rt target
bnel   010101 rs rt target
blezl  010110 rs 00000 target
bgtzl  010111 rs 00000 target
bltz   000001 rs 00000 target
bgez   000001 rs 00001 target
bltzl  000001 rs 00010 target
bgezl  000001 rs 00011 target
bltzal 000001 rs 10000 target
bgezal 000001 rs 10001 target
bltzall 000001 rs 10010 target
bgezall 000001 rs 10011 target
bc1f   010001 01000 cc 00 target
bc1t   010001 01000 cc 01 target
bc1fl  010001 01000 cc 10 target
bc1tl  010001 01000 cc 11 target
"""

FLOAT = """
mfc1   010001 00000 rt fs 00000000000
cfc1   010001 00010 rt 11111 00000000000
mfhc1  010001 00011 rt fs 00000000000
mtc1   010001 00100 rt fs 00000000000
mthc1  010001 00111 rt fs 00000000000
add.s  010001 10000 ft fs fd 000000
sub.s  010001 10000 ft fs fd 000001
mul.s  010001 10000 ft fs fd 000010
div.s  010001 10000 ft fs fd 000011
sqrt.s 010001 10000 00000 fs fd 000100
abs.s  010001 10000 00000 fs fd 000101
mov.s  010001 10000 00000 fs fd 000110
neg.s  010001 10000 00000 fs fd 000111
round.l.s 010001 10000 00000 fs fd 001000
trunc.l.s 010001 10000 00000 fs fd 001001
ceil.l.s 010001 10000 00000 fs fd 001010
floor.l.s 010001 10000 00000 fs fd 001011
round.w.s 010001 10000 00000 fs fd 001100
trunc.w.s 010001 10000 00000 fs fd 001101
ceil.w.s 010001 10000 00000 fs fd 001110
floor.w.s 010001 10000 00000 fs fd 001111
movf.s 010001 10000 cc 00 fs fd 010001
movt.s 010001 10000 cc 01 fs fd 010001
movz.s 010001 10000 rt fs fd 010010
movn.s 010001 10000 rt fs fd 010011
recip.s 010001 10000 00000 fs fd 010101
rsqrt.s 010001 10000 00000 fs fd 010110
cvt.d.s 010001 10000 00000 fs fd 100001
cvt.w.s 010001 10000 00000 fs fd 100100
cvt.l.s 010001 10000 00000 fs fd 100101
add.d  010001 10001 ft fs fd 000000
sub.d  010001 10001 ft fs fd 000001
mul.d  010001 10001 ft fs fd 000010
div.d  010001 10001 ft fs fd 000011
sqrt.d 010001 10001 00000 fs fd 000100
abs.d  010001 10001 00000 fs fd 000101
mov.d  010001 10001 00000 fs fd 000110
neg.d  010001 10001 00000 fs fd 000111
round.l.d 010001 10001 00000 fs fd 001000
trunc.l.d 010001 10001 00000 fs fd 001001
ceil.l.d 010001 10001 00000 fs fd 001010
floor.l.d 010001 10001 00000 fs fd 001011
round.w.d 010001 10001 00000 fs fd 001100
trunc.w.d 010001 10001 00000 fs fd 001101
ceil.w.d 010001 10001 00000 fs fd 001110
floor.w.d 010001 10001 00000 fs fd 001111
movf.d 010001 10001 cc 00 fs fd 010001
movt.d 010001 10001 cc 01 fs fd 010001
movz.d 010001 10001 rt fs fd 010010
movn.d 010001 10001 rt fs fd 010011
recip.d 010001 10001 00000 fs fd 010101
rsqrt.d 010001 10001 00000 fs fd 010110
cvt.s.d 010001 10001 00000 fs fd 100000
cvt.w.d 010001 10001 00000 fs fd 100100
cvt.l.d 010001 10001 00000 fs fd 100101
cvt.s.w 010001 10100 00000 fs fd 100000
cvt.d.w 010001 10100 00000 fs fd 100001
cvt.s.l 010001 10101 00000 fs fd 100000
cvt.d.l 010001 10101 00000 fs fd 100001
c.s    010001 10000 ft fs cc 00 11 cond
c.d    010001 10001 ft fs cc 00 11 cond
madd.s 010011 fr ft fs fd 100000
madd.d 010011 fr ft fs fd 100001
msub.s 010011 fr ft fs fd 101000
msub.d 010011 fr ft fs fd 101001
nmadd.s 010011 fr ft fs fd 110000
nmadd.d 010011 fr ft fs fd 110001
nmsub.s 010011 fr ft fs fd 111000
nmsub.d 010011 fr ft fs fd 111001
"""
_WIDTHS["cond"] = 4


def rows(text: str) -> dict[str, list[str]]:
    """Return the patterns of one of the lists above by name."""
    return {line.split()[0]: line.split()[1:] for line in text.strip().splitlines()}


def encode(random: Random, pattern: list[str], **fields: int) -> int:
    """Return a word of the pattern; fields that are not given are random."""
    word = 0
    for token in pattern:
        if set(token) <= {"0", "1"}:
            width, value = len(token), int(token, 2)
        else:
            width = _WIDTHS.get(token, 5)
            value = fields[token] if token in fields else random.getrandbits(width)
        word = word << width | value & (1 << width) - 1
    assert word < 1 << 32, pattern
    return word


_INTEGERS = (0, 1, 2, 3, 31, 32, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0x80000001,
             0xFFFFFFFE, 0xFFFFFFFF)  # fmt: skip
_HALVES = (0, 1, 2, 0x7F, 0x80, 0xFF, 0x100, 0x4000, 0x7F7F, 0x7F80, 0x7F81, 0x7FFF, 0x8000, 0x8001, 0xFF80, 0xFFFF)
_BYTES = (0, 1, 2, 0x40, 0x7F, 0x80, 0x81, 0xFE, 0xFF)
_SINGLES = (0x0, 0x1, 0x7FFFFF, 0x800000, 0x800001, 0x34000000, 0x3F000000, 0x3F7FFFFF, 0x3F800000, 0x3F800001,
            0x3FC00000, 0x40200000, 0x4AFFFFFF, 0x4B000000, 0x4EFFFFFF, 0x4F000000, 0x5EFFFFFF, 0x5F000000, 0x7F7FFFFF,
            0x7F800000, 0x7F800001, 0x7FBFFFFF, 0x7FC00000, 0x7FFFFFFF)  # fmt: skip
_DOUBLES = (0x0, 0x1, 0xFFFFFFFFFFFFF, 0x10000000000000, 0x3FDFFFFFFFFFFFFF, 0x3FE0000000000000, 0x3FF0000000000000,
            0x3FF0000000000001, 0x3FF8000000000000, 0x4004000000000000, 0x41DFFFFFFFC00000, 0x41DFFFFFFFE00000,
            0x41E0000000000000, 0x43DFFFFFFFFFFFFF, 0x43E0000000000000, 0x3690000000000000, 0x380FFFFFFFFFFFFF,
            0x47EFFFFFF0000000, 0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000, 0x7FF0000000000001, 0x7FF0000020000000,
            0x7FF7FFFFFFFFFFFF, 0x7FF8000000000000, 0x7FFFFFFFFFFFFFFF)  # fmt: skip


def integer(random: Random) -> int:
    """Return a 32-bit value: often one at an edge."""
    if random.random() < 0.6:
        return random.choice(_INTEGERS)
    if random.random() < 0.4:
        return packed(random)
    return random.getrandbits(32) >> random.choice((0, 0, 0, 8, 16, 24))


def accumulator(random: Random) -> tuple[int, int]:
    """Return the halves of an accumulator: often those of a word with its sign."""
    low = integer(random)
    return (low >> 31) * 0xFFFFFFFF if random.random() < 0.4 else integer(random), low


def packed(random: Random) -> int:
    """Return two fractions or four, which are often at an edge."""
    if random.random() < 0.5:
        return random.choice(_HALVES) << 16 | random.choice(_HALVES)
    return int.from_bytes([random.choice(_BYTES) for _ in range(4)], "big")


def dsp_control(random: Random) -> int:
    """Return a DSPControl: any pos, scount and flags, of which few are set."""
    flags = random.getrandbits(12) & random.getrandbits(12) & (random.getrandbits(12) | 0xF00)
    pos = random.choice((0, 16, 31, 32, 33, 63, random.getrandbits(6)))
    scount = random.choice((0, 1, 8, 32, 33, 63, random.getrandbits(6)))
    return flags << 16 | random.getrandbits(2) << 13 | scount << 7 | pos


def single(random: Random) -> int:
    """Return the bits of a single: often one at an edge, else near 1."""
    if random.random() < 0.5:
        return random.choice(_SINGLES) | random.getrandbits(1) << 31
    top = random.choice((0x3F, 0x40, 0x4B, 0x5F, 0x00, 0x7F, 0x20)) | random.getrandbits(1) << 7
    return random.getrandbits(24) | top << 24


def double(random: Random) -> int:
    """Return the bits of a double: often one at an edge, else near 1."""
    if random.random() < 0.5:
        return random.choice(_DOUBLES) | random.getrandbits(1) << 63
    exponent = random.choice((0x3FF, 0x400, 0x41E, 0x433, 0x43E, 0x000, 0x001, 0x7FE, 0x36A, 0x381, 0x47E, 0x200))
    return random.getrandbits(52) | exponent << 52 | random.getrandbits(1) << 63


def float_bits(random: Random) -> int:
    """Return a 64-bit value for a floating-point register: a double, two singles or an integer."""
    choice = random.random()
    if choice < 0.5:
        return double(random)
    if choice < 0.85:
        return single(random) << 32 | single(random)
    return integer(random) << 32 | integer(random)


_CLASSES = (0x00, 0x00, 0x00, 0x00, 0x01, 0x11, 0x11, 0x11, 0x13, 0x13, 0x1C, 0x1C, 0x1F, 0x1F)
_CONTROL = (0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x14, 0x15, 0x16, 0x17)
_DSP_FUNCTIONS = (0x0A, 0x0C, 0x10, 0x10, 0x11, 0x11, 0x12, 0x12, 0x13, 0x13, 0x18, 0x30, 0x30, 0x31, 0x38, 0x38)
_PRIVILEGED = (0x10, 0x2F)
BASE, INDEX = 16, 17


def any_word(random: Random) -> int | None:
    """Return a word with anything in reserved fields, or None for one that jumps, is privileged or reads clocks.

    Addresses are made of registers BASE and INDEX, and an offset of 0.
    """
    opcode = random.choice((*_CLASSES, random.randrange(64)))
    word = opcode << 26 | random.getrandbits(26)
    low, rs, rt = word & 63, word >> 21 & 31, word >> 16 & 31
    if opcode in (0x1C, 0x1F) and random.random() < (0.6 if opcode == 0x1C else 0.35):
        low = random.choice((0x00, 0x01, 0x02, 0x04, 0x05, 0x20, 0x21, 0x3B))
        word = word & ~63 | low
    elif opcode == 0x1F and random.random() < 0.7:
        low = random.choice(_DSP_FUNCTIONS)
        word = word & ~63 | low
        for field in random.sample((21, 16, 13, 11), random.choice((0, 1, 2))):
            word &= ~(7 << field if field == 13 else 31 << field)
    if opcode == 0x11 and random.random() < 0.7:
        rs = random.choice((0, 2, 3, 4, 6, 7, 16, 17, 20, 21))
        word = word & ~(31 << 21) | rs << 21
    if (
        opcode in _CONTROL + _PRIVILEGED
        or (opcode == 0x00 and low in (0x08, 0x09))
        or (opcode == 0x01 and (rt & 0x0C == 0 or rt in (0x1C, 0x1F)))
        or (opcode == 0x11 and rs == 0x08)
        or (opcode == 0x1F and low == 0x3B and word >> 11 & 31 in (0, 2, 3, 29))
    ):
        return None
    if opcode == 0x11 and rs in (2, 6):
        return word | 31 << 11
    if (opcode == 0x13 and low < 32) or (opcode == 0x1F and low == 0x0A):
        return word & ~(0x3FF << 16) | BASE << 21 | INDEX << 16
    if opcode >= 0x20:
        return word & ~0x3E0FFFF | BASE << 21
    return word
