/* Decodes MIPS16e instructions. Most are MIPS32 instructions with smaller fields, and have their word as a result.
 *
 * Source: the manual's volume IV-a (encodings, extended forms, save and restore). Numbers are as the manual prints them.
 */
#include "cpu/mips16.h"

enum { T8 = 24, SP = 29, RA = 31 };
#define JAL 0x0c000000u

static uint32_t field(uint32_t value, unsigned low, unsigned bits)
{
    return value >> low & ((1u << bits) - 1);
}

static uint32_t with_sign(uint32_t value, unsigned bits)
{
    uint32_t sign = 1u << (bits - 1);
    return (value ^ sign) - sign;
}

/* The eight registers that three bits name. */
static uint32_t small(uint32_t number)
{
    return number < 2 ? 16 + number : number;
}

static uint32_t of_registers(uint32_t rs, uint32_t rt, uint32_t rd, uint32_t sa, uint32_t function)
{
    return rs << 21 | rt << 16 | rd << 11 | sa << 6 | function;
}

static uint32_t of_immediate(uint32_t opcode, uint32_t rs, uint32_t rt, uint32_t immediate)
{
    return opcode << 26 | rs << 21 | rt << 16 | (immediate & 0xffff);
}

enum { ADDIU = 0x09, SLTI = 0x0a, SLTIU = 0x0b, ANDI = 0x0c, ORI = 0x0d, XORI = 0x0e, BEQ = 0x04, BNE = 0x05, LW = 0x23, SW = 0x2b };
enum { SLL = 0x00, SRL = 0x02, SRA = 0x03, SLLV = 0x04, SRLV = 0x06, SRAV = 0x07, JR = 0x08, JALR = 0x09, BREAK = 0x0d,
       MFHI = 0x10, MFLO = 0x12, MULT = 0x18, DIVU = 0x1b, ADDU = 0x21, SUBU = 0x23, AND = 0x24, OR = 0x25, XOR = 0x26,
       NOR = 0x27, SLT = 0x2a, SLTU = 0x2b };

static struct mr_mips16 plain(unsigned size_bytes, uint32_t word)
{
    return (struct mr_mips16){.kind = MR16_PLAIN, .size_bytes = (uint8_t)size_bytes, .word = word};
}

static struct mr_mips16 reserved(unsigned size_bytes)
{
    return (struct mr_mips16){.kind = MR16_RESERVED, .size_bytes = (uint8_t)size_bytes};
}

/* Offsets count instructions' halves, from the one behind. */
static struct mr_mips16 branch(unsigned size_bytes, uint32_t word, uint32_t halves)
{
    return (struct mr_mips16){.kind = MR16_BRANCH, .size_bytes = (uint8_t)size_bytes, .word = word, .value = halves << 1};
}

static struct mr_mips16 relative(enum mr_mips16_kind kind, unsigned size_bytes, uint32_t number, uint32_t value)
{
    return (struct mr_mips16){.kind = kind, .size_bytes = (uint8_t)size_bytes, .number = (uint8_t)number, .value = value};
}

/* ---- save and restore: what the bits of struct mr_mips16 say ---- */

unsigned mr_mips16_saved(uint32_t bits, uint8_t numbers[MR16_MOST_SAVED])
{
    static const uint8_t further[] = {18, 19, 20, 21, 22, 23, 30};
    static const uint8_t statics[16] = {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 4, 0, 1, 0, 0}; /* of a3 down */
    unsigned count = 0;
    if (bits & 0x40)
        numbers[count++] = RA;
    for (unsigned left = bits >> 24 & 7; left > 0; left--)
        numbers[count++] = further[left - 1];
    if (bits & 0x10)
        numbers[count++] = 17;
    if (bits & 0x20)
        numbers[count++] = 16;
    for (unsigned i = 0; i < statics[bits >> 16 & 15]; i++)
        numbers[count++] = (uint8_t)(7 - i);
    return count;
}

unsigned mr_mips16_arguments(uint32_t bits)
{
    static const uint8_t stored_arguments[16] = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 0, 3, 3, 4, 0};
    return stored_arguments[bits >> 16 & 15];
}

bool mr_mips16_accesses_frame(struct mr_mips16 found)
{
    uint8_t numbers[MR16_MOST_SAVED];
    if (found.kind != MR16_SAVE && found.kind != MR16_RESTORE)
        return false;
    return mr_mips16_saved(found.value, numbers) > 0 || (found.kind == MR16_SAVE && mr_mips16_arguments(found.value) > 0);
}

uint32_t mr_mips16_frame_bytes(struct mr_mips16 found)
{
    uint32_t low = found.value & 15, high = found.value >> 20 & 15;
    return found.size_bytes == 2 && low == 0 ? 128 : (high << 4 | low) << 3;
}

/* ---- instructions of two bytes ---- */

static struct mr_mips16 jump_to_register(uint32_t half)
{
    uint32_t rx = small(field(half, 8, 3)), way = field(half, 5, 3);
    bool to_ra = way & 1, links = way & 2, is_compact = way & 4;
    if (way == 3 || way == 7 || (to_ra && field(half, 8, 3) != 0))
        return reserved(2);
    uint32_t target = to_ra ? RA : rx, word = of_registers(target, 0, links ? RA : 0, 0, links ? JALR : JR);
    return (struct mr_mips16){
        .kind = is_compact ? MR16_JUMP_COMPACT : MR16_JUMP_REGISTER, .size_bytes = 2, .number = (uint8_t)target, .word = word};
}

static uint32_t converted(uint32_t rx, uint32_t way)
{
    enum { SEB = 0x7c000420, SEH = 0x7c000620 };
    switch (way) {
    case 0: return of_immediate(ANDI, rx, rx, 0xff);
    case 1: return of_immediate(ANDI, rx, rx, 0xffff);
    case 4: return SEB | rx << 16 | rx << 11;
    case 5: return SEH | rx << 16 | rx << 11;
    default: return 0;
    }
}

static struct mr_mips16 of_two_registers(uint32_t half)
{
    uint32_t rx = small(field(half, 8, 3)), ry = small(field(half, 5, 3)), function = field(half, 0, 5);
    switch (function) {
    case 0x00: return jump_to_register(half);
    case 0x02: return plain(2, of_registers(rx, ry, T8, 0, SLT));
    case 0x03: return plain(2, of_registers(rx, ry, T8, 0, SLTU));
    case 0x04: return plain(2, of_registers(rx, ry, ry, 0, SLLV));
    case 0x05: return plain(2, field(half, 5, 6) << 6 | BREAK);
    case 0x06: return plain(2, of_registers(rx, ry, ry, 0, SRLV));
    case 0x07: return plain(2, of_registers(rx, ry, ry, 0, SRAV));
    case 0x0a: return plain(2, of_registers(rx, ry, T8, 0, XOR));
    case 0x0b: return plain(2, of_registers(0, ry, rx, 0, SUBU));
    case 0x0c: return plain(2, of_registers(rx, ry, rx, 0, AND));
    case 0x0d: return plain(2, of_registers(rx, ry, rx, 0, OR));
    case 0x0e: return plain(2, of_registers(rx, ry, rx, 0, XOR));
    case 0x0f: return plain(2, of_registers(ry, 0, rx, 0, NOR));
    case 0x10: return field(half, 5, 3) ? reserved(2) : plain(2, of_registers(0, 0, rx, 0, MFHI));
    case 0x12: return field(half, 5, 3) ? reserved(2) : plain(2, of_registers(0, 0, rx, 0, MFLO));
    case 0x11: {
        uint32_t word = converted(rx, field(half, 5, 3));
        return word ? plain(2, word) : reserved(2);
    }
    case 0x18: case 0x19: case 0x1a: case 0x1b: return plain(2, of_registers(rx, ry, 0, 0, function));
    default: return reserved(2); /* 64 bits, and sdbbp */
    }
}

static struct mr_mips16 save_or_restore(unsigned size_bytes, uint32_t first, uint32_t second)
{
    bool saves = second & 0x80;
    uint32_t extension = size_bytes == 4 ? first : 0;
    return (struct mr_mips16){.kind = saves ? MR16_SAVE : MR16_RESTORE, .size_bytes = (uint8_t)size_bytes,
                              .value = extension << 16 | second};
}

/* The instructions of opcode 01100; `offset`: their immediate with its sign. */
static struct mr_mips16 of_eight_bits(uint32_t half)
{
    uint32_t immediate = field(half, 0, 8), offset = with_sign(immediate, 8);
    switch (field(half, 8, 3)) {
    case 0: return branch(2, of_immediate(BEQ, T8, 0, 0), offset);
    case 1: return branch(2, of_immediate(BNE, T8, 0, 0), offset);
    case 2: return plain(2, of_immediate(SW, SP, RA, immediate << 2));
    case 3: return plain(2, of_immediate(ADDIU, SP, SP, offset << 3));
    case 4: return save_or_restore(2, 0, half);
    case 5: return plain(2, of_registers(small(field(half, 0, 3)), 0, field(half, 3, 2) << 3 | field(half, 5, 3), 0, OR));
    case 7: return plain(2, of_registers(field(half, 0, 5), 0, small(field(half, 5, 3)), 0, OR));
    default: return reserved(2);
    }
}

/* Loads and stores: the opcode of MIPS32 has another bit in front, and offsets count what is accessed. */
static const uint8_t access_shifts[16] = {0, 1, 2, 2, 0, 1, 2, 0, 0, 1, 2, 2, 0, 0, 0, 0};
static const uint8_t access_opcodes[16] = {0x20, 0x21, LW, LW, 0x24, 0x25, 0, 0, 0x28, 0x29, SW, SW};

static struct mr_mips16 shift(unsigned size_bytes, uint32_t half, uint32_t amount)
{
    static const uint8_t functions[] = {SLL, 0xff, SRL, SRA};
    uint32_t function = functions[field(half, 0, 2)];
    if (function == 0xff)
        return reserved(size_bytes);
    return plain(size_bytes, of_registers(0, small(field(half, 5, 3)), small(field(half, 8, 3)), amount, function));
}

static struct mr_mips16 decode_short(uint32_t half)
{
    uint32_t opcode = half >> 11, rx = small(field(half, 8, 3)), ry = small(field(half, 5, 3));
    uint32_t eight = field(half, 0, 8), five = field(half, 0, 5);
    switch (opcode) {
    case 0x00: return plain(2, of_immediate(ADDIU, SP, rx, eight << 2));
    case 0x01: return relative(MR16_PC_ADD, 2, rx, eight << 2);
    case 0x02: return branch(2, of_immediate(BEQ, 0, 0, 0), with_sign(field(half, 0, 11), 11));
    case 0x04: return branch(2, of_immediate(BEQ, rx, 0, 0), with_sign(eight, 8));
    case 0x05: return branch(2, of_immediate(BNE, rx, 0, 0), with_sign(eight, 8));
    case 0x06: return shift(2, half, field(half, 2, 3) ? field(half, 2, 3) : 8);
    case 0x08: return five & 0x10 ? reserved(2) : plain(2, of_immediate(ADDIU, rx, ry, with_sign(five, 4)));
    case 0x09: return plain(2, of_immediate(ADDIU, rx, rx, with_sign(eight, 8)));
    case 0x0a: return plain(2, of_immediate(SLTI, rx, T8, eight));
    case 0x0b: return plain(2, of_immediate(SLTIU, rx, T8, eight));
    case 0x0c: return of_eight_bits(half);
    case 0x0d: return plain(2, of_immediate(ORI, 0, rx, eight));
    case 0x0e: return plain(2, of_immediate(XORI, rx, T8, eight));
    case 0x12: return plain(2, of_immediate(LW, SP, rx, eight << 2));
    case 0x1a: return plain(2, of_immediate(SW, SP, rx, eight << 2));
    case 0x16: return relative(MR16_PC_LOAD, 2, rx, eight << 2);
    case 0x10: case 0x11: case 0x13: case 0x14: case 0x15: case 0x18: case 0x19: case 0x1b:
        return plain(2, of_immediate(access_opcodes[opcode & 15], rx, ry, five << access_shifts[opcode & 15]));
    case 0x1c: {
        uint32_t rz = small(field(half, 2, 3)), way = field(half, 0, 2);
        return way & 1 ? plain(2, of_registers(rx, ry, rz, 0, way == 1 ? ADDU : SUBU)) : reserved(2);
    }
    case 0x1d: return of_two_registers(half);
    default: return reserved(2);
    }
}

/* ---- extended instructions ---- */

static struct mr_mips16 extended_eight_bits(uint32_t extend, uint32_t half, uint32_t immediate)
{
    switch (field(half, 8, 3)) {
    case 0: return branch(4, of_immediate(BEQ, T8, 0, 0), with_sign(immediate, 16));
    case 1: return branch(4, of_immediate(BNE, T8, 0, 0), with_sign(immediate, 16));
    case 2: return plain(4, of_immediate(SW, SP, RA, immediate));
    case 3: return plain(4, of_immediate(ADDIU, SP, SP, immediate));
    case 4: return save_or_restore(4, extend, half);
    default: return reserved(4);
    }
}

static struct mr_mips16 decode_extended(uint32_t extend, uint32_t half)
{
    uint32_t opcode = half >> 11, rx = small(field(half, 8, 3)), ry = small(field(half, 5, 3));
    uint32_t immediate = field(extend, 0, 5) << 11 | field(extend, 5, 6) << 5 | field(half, 0, 5);
    switch (opcode) {
    case 0x00: return plain(4, of_immediate(ADDIU, SP, rx, immediate));
    case 0x01: return relative(MR16_PC_ADD, 4, rx, with_sign(immediate, 16));
    case 0x02: return branch(4, of_immediate(BEQ, 0, 0, 0), with_sign(immediate, 16));
    case 0x04: return branch(4, of_immediate(BEQ, rx, 0, 0), with_sign(immediate, 16));
    case 0x05: return branch(4, of_immediate(BNE, rx, 0, 0), with_sign(immediate, 16));
    case 0x06: return shift(4, half, field(extend, 6, 5));
    case 0x08: {
        uint32_t fifteen = field(extend, 0, 4) << 11 | field(extend, 4, 7) << 4 | field(half, 0, 4);
        return half & 0x10 ? reserved(4) : plain(4, of_immediate(ADDIU, rx, ry, with_sign(fifteen, 15)));
    }
    case 0x09: return plain(4, of_immediate(ADDIU, rx, rx, immediate));
    case 0x0a: return plain(4, of_immediate(SLTI, rx, T8, immediate));
    case 0x0b: return plain(4, of_immediate(SLTIU, rx, T8, immediate));
    case 0x0c: return extended_eight_bits(extend, half, immediate);
    case 0x0d: return plain(4, of_immediate(ORI, 0, rx, immediate));
    case 0x0e: return plain(4, of_immediate(XORI, rx, T8, immediate));
    case 0x12: return plain(4, of_immediate(LW, SP, rx, immediate));
    case 0x1a: return plain(4, of_immediate(SW, SP, rx, immediate));
    case 0x16: return relative(MR16_PC_LOAD, 4, rx, with_sign(immediate, 16));
    case 0x10: case 0x11: case 0x13: case 0x14: case 0x15: case 0x18: case 0x19: case 0x1b:
        return plain(4, of_immediate(access_opcodes[opcode & 15], rx, ry, immediate));
    default: return reserved(4);
    }
}

struct mr_mips16 mr_mips16_decode(uint32_t first, uint32_t second)
{
    if (first >> 11 == 0x1e)
        return decode_extended(first & 0x7ff, second);
    if (first >> 11 != 0x03)
        return decode_short(first);
    uint32_t index = field(first, 0, 5) << 21 | field(first, 5, 5) << 16 | second;
    bool exchanges = first & 0x400;
    return (struct mr_mips16){.kind = MR16_JUMP, .size_bytes = 4, .word = JAL, .value = index << 2 | !exchanges};
}

/* ---- the same by MIPS32 instructions ---- */

static unsigned frame_words(struct mr_mips16 found, uint32_t words[MR16_MOST_WORDS])
{
    uint8_t numbers[MR16_MOST_SAVED];
    unsigned saved = mr_mips16_saved(found.value, numbers), count = 0;
    bool saves = found.kind == MR16_SAVE;
    uint32_t bytes = mr_mips16_frame_bytes(found), top = saves ? 0 : bytes;
    for (unsigned i = 0; saves && i < mr_mips16_arguments(found.value); i++)
        words[count++] = of_immediate(SW, SP, 4 + i, 4 * i);
    for (unsigned i = 0; i < saved; i++)
        words[count++] = of_immediate(saves ? SW : LW, SP, numbers[i], top - 4 * (i + 1));
    words[count++] = of_immediate(ADDIU, SP, SP, saves ? 0 - bytes : bytes);
    return count;
}

unsigned mr_mips16_words(struct mr_mips16 found, uint32_t pc, uint32_t words[MR16_MOST_WORDS])
{
    enum { LUI = 0x0f };
    uint32_t address = mr_aligned_down(pc) + found.value, opcode = found.kind == MR16_PC_LOAD ? LW : ADDIU;
    switch (found.kind) {
    case MR16_PLAIN: words[0] = found.word; return 1;
    case MR16_PC_LOAD: case MR16_PC_ADD:
        words[0] = of_immediate(LUI, 0, found.number, (address + 0x8000) >> 16);
        words[1] = of_immediate(opcode, found.number, found.number, address);
        return 2;
    case MR16_SAVE: case MR16_RESTORE: return mr_mips16_is_unknown_frame(found.value) ? 0 : frame_words(found, words);
    default: return 0;
    }
}
