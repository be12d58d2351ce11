/* What the files of modules share. All of it under mr_lock. */
#ifndef MR_LIFTED_MODULE_PARTS_H
#define MR_LIFTED_MODULE_PARTS_H

#include "lifted/module.h"
#include "mr_abi.h"

#include <stdint.h>

#define MR_CODE_PAGES (0x80000000u / MR_PAGE_BYTES) /* in which a guest's code may lie */

/* The module of a library at a delta, loaded if need be; NULL, and why not in *wrong. */
struct mr_module *mr_module_for(struct mr_open_library *library, uint32_t delta, const char *guest_path, const char **wrong);
struct mr_module *mr_module_at_page(uint64_t page);           /* whose code is there; NULL: none */
void mr_module_set_page(uint64_t page, struct mr_module *module); /* NULL: none */
void mr_module_fill_page(uint32_t page);                      /* puts its entries into the dispatch table */
void mr_module_forget_page(uint32_t page);                    /* and takes them out; some module's code is there */

/* The bytes of the ELF file that the module's library was made of; NULL where that is not there any more. */
const uint8_t *mr_module_guest_file(struct mr_module *module, size_t *size_bytes);
const char *mr_module_needs_missing(struct mr_module *module); /* NULL, or what it needs that the processor lacks */
bool mr_module_has_page(struct mr_module *module, uint64_t page); /* what it was made of is what the guest has there */

#endif
