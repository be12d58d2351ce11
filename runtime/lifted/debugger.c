/* Tells debuggers of the libraries in the arena, as a dynamic linker does: by a list of them, and a function to break at.
 *
 * Enters: modules. Leaves: the list that DT_DEBUG of the host's dynamic section leads to (link.h, `struct r_debug`). The
 * libc of a static program has made that with itself as the only entry, and does not look at it again. Here it gets a
 * list of our own, since the libc's entries are longer than what a debugger sees of them, and the libc reads the rest.
 * A host with a dynamic linker, as the sanitizers need one, has a list that is not ours to change.
 */
#include "lifted/module.h"

#include <link.h>
#include <stdlib.h>
#include <sys/auxv.h>

static struct link_map host = {.l_name = (char *)""};
static struct link_map *last; /* of the list; NULL: there is no list, or nobody asked yet */

static struct r_debug *find_debug(void)
{
    if (getauxval(AT_BASE) != 0)
        return NULL;
    for (const ElfW(Dyn) *entry = _DYNAMIC; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_DEBUG)
            return (struct r_debug *)entry->d_un.d_ptr;
    return NULL;
}

/* A debugger that has a breakpoint there stops, and reads the list where the state is RT_CONSISTENT. */
static void announce(struct r_debug *debug, int state)
{
    debug->r_state = state == RT_ADD ? RT_ADD : RT_CONSISTENT;
    ((void (*)(void))debug->r_brk)();
}

void mr_debugger_tell(const struct mr_module *module)
{
    struct r_debug *debug = find_debug();
    bool listens = debug != NULL && debug->r_map != NULL && debug->r_brk != 0;
    struct link_map *entry = listens ? calloc(1, sizeof *entry) : NULL;
    if (entry == NULL)
        return;
    if (last == NULL) {
        host.l_addr = debug->r_map->l_addr;
        host.l_ld = debug->r_map->l_ld;
        last = &host;
    }
    entry->l_addr = module->object.bias;
    entry->l_name = module->library->file.path;
    entry->l_ld = module->object.dynamic;
    entry->l_prev = last;
    announce(debug, RT_ADD);
    last->l_next = entry;
    last = entry;
    debug->r_map = &host;
    announce(debug, RT_CONSISTENT);
}
