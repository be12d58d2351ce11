/* How much an instruction accesses: opcode maps of Intel's manual, volume 2, appendix A. */
#include "host/host.h"

enum { OPERAND_SIZE = 0x66, REX_W = 0x08, TWO_BYTES = 0x0f, MAP_38 = 0x38 };

static bool is_prefix(uint8_t byte)
{
    return byte == OPERAND_SIZE || (byte & 0xf0) == 0x40 || byte == 0x67 || byte == 0xf0 || byte == 0xf2 || byte == 0xf3 ||
           (byte & 0xe7) == 0x26 || byte == 0x64 || byte == 0x65;
}

/* In most rows, opcodes come in pairs: the even one is that of a byte. */
static unsigned of_one_byte(const uint8_t *code, unsigned operand_bytes)
{
    uint8_t opcode = code[0], extension = code[1] >> 3 & 7;
    unsigned of_pair = opcode % 2 == 0 ? 1 : operand_bytes;
    if (opcode < 0x40)
        return (opcode & 7) < 4 ? of_pair : 0;
    switch (opcode) {
    case 0x63: return 4; /* movsxd */
    case 0x69: case 0x6b: case 0x80: case 0x81: case 0x83: case 0xc0: case 0xc1: case 0xc6: case 0xc7: case 0xf6: case 0xf7:
        return of_pair;
    case 0xfe: case 0xff: return extension < 2 ? of_pair : 0; /* inc, dec; the others push and jump */
    default: return (opcode >= 0x84 && opcode <= 0x8b) || (opcode >= 0xd0 && opcode <= 0xd3) ? of_pair : 0;
    }
}

static unsigned of_two_bytes(const uint8_t *opcode, unsigned operand_bytes)
{
    switch (*opcode) {
    case MAP_38: return (opcode[1] & 0xfe) == 0xf0 ? operand_bytes : 0; /* movbe */
    case 0xaf: case 0xb1: case 0xc1: return operand_bytes;
    case 0xb0: case 0xb6: case 0xbe: case 0xc0: return 1;
    case 0xb7: case 0xbf: return 2;
    default: return (*opcode & 0xf0) == 0x40 ? operand_bytes : (*opcode & 0xf0) == 0x90 ? 1 : 0;
    }
}

unsigned mr_accessed_bytes(uintptr_t pc)
{
    const uint8_t *code = (const uint8_t *)pc;
    unsigned operand_bytes = 4;
    for (; is_prefix(*code); code++) {
        if (*code == OPERAND_SIZE && operand_bytes == 4)
            operand_bytes = 2;
        if ((*code & 0xf0) == 0x40 && (*code & REX_W) != 0)
            operand_bytes = 8;
    }
    return *code == TWO_BYTES ? of_two_bytes(code + 1, operand_bytes) : of_one_byte(code, operand_bytes);
}
