/* Rows of tables: elements of one size that grow in number, and some that are sorted by the uint32_t which each begins with. */
#ifndef MR_LIFTED_ROWS_H
#define MR_LIFTED_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether *elements, which has *room, has room for one more than count; gives it more if it can. */
bool mr_has_room(void *elements, size_t element_bytes, size_t count, size_t *room);
/* How many of the elements, which are sorted, begin with one below the limit. */
size_t mr_count_below(const void *elements, size_t count, size_t element_bytes, uint64_t limit);

#endif
