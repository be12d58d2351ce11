/* One line of text for an instruction. */
#ifndef MR_CPU_DISASM_H
#define MR_CPU_DISASM_H

#include <stddef.h>
#include <stdint.h>

void mr_disassemble(uint32_t pc, uint32_t word, char *text, size_t size_bytes);

#endif
