/* Jumps between units. Each goes to the code of its pc while there is any, else to a stub that leaves translated code.
 *
 * A link to code is in the list of the unit that it goes to; the others wait here, by their pc. All under mr_lock. Threads
 * execute the jumps meanwhile: each changes by one store.
 */
#include "base/instructions.h"
#include "baseline/parts.h"

#include <stdlib.h>

#define WAITING_KEYS 4096u

static struct mr_link *waiting[WAITING_KEYS];

static struct mr_link **waiting_for(uint32_t pc)
{
    return &waiting[mr_instruction_index(pc) % WAITING_KEYS];
}

static void put(struct mr_link **list, struct mr_link *link)
{
    link->next = *list;
    *list = link;
}

void mr_link_add(uint8_t *displacement, uint8_t *stub, uint32_t pc, const uint8_t *code, struct mr_link **of_unit)
{
    struct mr_link *link = malloc(sizeof *link);
    if (link == NULL)
        return; /* it goes to the stub, for good */
    *link = (struct mr_link){displacement, stub, pc, NULL};
    if (code != NULL)
        mr_write_displacement(displacement, code);
    put(code != NULL ? of_unit : waiting_for(pc), link);
}

void mr_links_connect(uint32_t pc, const uint8_t *code, struct mr_link **of_unit)
{
    for (struct mr_link **at = waiting_for(pc); *at != NULL;) {
        struct mr_link *link = *at;
        if (link->pc != pc) {
            at = &link->next;
            continue;
        }
        *at = link->next;
        mr_write_displacement(link->displacement, code);
        put(of_unit, link);
    }
}

void mr_links_to_stubs(struct mr_link **of_unit)
{
    for (struct mr_link *link = *of_unit, *next; link != NULL; link = next) {
        next = link->next;
        mr_write_displacement(link->displacement, link->stub);
        put(waiting_for(link->pc), link);
    }
    *of_unit = NULL;
}

void mr_links_drop(struct mr_link **list, const uint8_t *code, size_t size_bytes)
{
    while (*list != NULL) {
        struct mr_link *link = *list;
        if (link->displacement < code || link->displacement >= code + size_bytes) {
            list = &link->next;
            continue;
        }
        *list = link->next;
        free(link);
    }
}

void mr_links_drop_waiting(const uint8_t *code, size_t size_bytes)
{
    for (unsigned key = 0; key < WAITING_KEYS; key++)
        mr_links_drop(&waiting[key], code, size_bytes);
}
