/* Loading a program, and its first stack. */
#ifndef MR_LINUX_LOAD_H
#define MR_LINUX_LOAD_H

#include "lifted/image.h"

#include <stdint.h>

void mr_load(const char *path, struct mr_image *image); /* fails with mr_fail on anything unfit */
void mr_reserve_stack(void);                            /* before mr_load; sets mr_mmap_top */
uint32_t mr_build_stack(const struct mr_image *image);  /* returns the first sp */
extern uint32_t mr_brk_start;                           /* first page after the image */

/* ---- stack.c ---- */
extern uint32_t mr_auxiliary, mr_auxiliary_bytes; /* where the auxiliary vector is */
uint32_t mr_stack_size_bytes(void); /* of the first stack; arguments and environment may fill a quarter of it */

#endif
