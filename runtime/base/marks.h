/* Marks: which instructions the guest has executed (run --coverage; coverage/marks.c).
 *
 * There is a byte for each guest address. The one of an instruction's pc, which is odd in MIPS16e code, becomes the
 * instruction's size when control comes there and the instruction can be read, whether or not it then faults. Where a file is
 * mapped to be executed, the bytes are those of the file of marks, so that all processes share them, and no end of a process
 * loses one.
 */
#ifndef MR_BASE_MARKS_H
#define MR_BASE_MARKS_H

#include "mr_abi.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern uint8_t *mr_marks; /* of guest address 0; NULL: nobody wants to know */

/* `ends`: it is the last one of a basic block, such as a delay slot. */
static inline uint8_t mr_mark_value(uint32_t size_bytes, bool ends)
{
    return (uint8_t)(size_bytes | (ends ? MR_MARK_ENDS : 0));
}

/* The instruction at pc, which has been read, is next. */
static inline void mr_mark(uint32_t pc, uint32_t size_bytes, bool ends)
{
    if (__builtin_expect(mr_marks != NULL, false))
        *(volatile uint8_t *)&mr_marks[pc] = mr_mark_value(size_bytes, ends);
}

#endif
