/* /proc/self/maps and smaps: the lines of the host's kernel that lie in the guest's window, at guest addresses.
 *
 * Which file is mapped where, the host's kernel knows. What a page allows, mr_pages tells: the host never maps guest code
 * executable, and a mapping of the host may hold pages of several kinds.
 */
#include "base/lock.h"
#include "linux/paths.h"
#include "linux/proc_made.h"
#include "linux/program.h"
#include "memory/memory.h"

#include <stdlib.h>
#include <string.h>

#define WINDOW_BYTES ((uint64_t)1 << 32)
#define NAME_COLUMN 49 /* of a 32-bit kernel: show_map_vma of fs/proc/task_mmu.c */

struct mapping {
    unsigned long long start, end, offset, inode;
    unsigned major, minor;
    char flags[5];
    char *name;
};

static bool parse(char *line, struct mapping *mapping)
{
    int name = 0;
    if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu %n", &mapping->start, &mapping->end, mapping->flags,
               &mapping->offset, &mapping->major, &mapping->minor, &mapping->inode, &name) != 7)
        return false;
    mapping->name = line + name;
    mapping->name[strcspn(mapping->name, "\n")] = 0;
    mapping->name[mr_guest_name(mapping->name, strlen(mapping->name))] = 0;
    return true;
}

/* *heap_end: how far the heap has been seen to reach. */
static const char *name_of(const struct mapping *mapping, uint32_t start, uint32_t end, uint32_t *heap_end)
{
    if (mapping->inode || *mapping->name)
        return mapping->name;
    if (end == MR_USER_END)
        return "[stack]";
    if (start != *heap_end)
        return "";
    *heap_end = end;
    return "[heap]";
}

static void print_part(FILE *to, const struct mapping *mapping, uint32_t start, uint32_t end, uint32_t *heap_end)
{
    char line[120];
    uint8_t bits = mr_pages[start / MR_PAGE_BYTES];
    uint64_t skipped = (uintptr_t)mr_window + (uint64_t)start - mapping->start;
    const char *name = name_of(mapping, start, end, heap_end);
    snprintf(line, sizeof line, "%08x-%08x %c%c%c%c %08llx %02x:%02x %llu ", start, end, bits & MR_READ ? 'r' : '-',
             bits & MR_WRITE ? 'w' : '-', bits & MR_EXEC ? 'x' : '-', mapping->flags[3],
             mapping->inode ? mapping->offset + skipped : 0, mapping->major, mapping->minor, mapping->inode);
    fprintf(to, *name ? "%-*s%s\n" : "%.*s%s\n", *name ? NAME_COLUMN : (int)sizeof line, line, name);
}

/* Returns whether the guest has any of it. */
static bool print_mapping(FILE *to, const struct mapping *mapping, uint32_t *heap_end)
{
    uint64_t window = (uintptr_t)mr_window;
    uint64_t low = mapping->start > window ? mapping->start : window;
    uint64_t high = mapping->end < window + WINDOW_BYTES ? mapping->end : window + WINDOW_BYTES;
    bool any = false;
    if (low >= high)
        return false;
    uint32_t last = (uint32_t)((high - window) / MR_PAGE_BYTES);
    for (uint32_t page = (uint32_t)((low - window) / MR_PAGE_BYTES), end; page < last; page = end) {
        uint8_t bits = mr_pages[page];
        for (end = page + 1; end < last && mr_pages[end] == bits && end * MR_PAGE_BYTES != mr_brk_start; end++)
            ;
        if (!bits)
            continue;
        print_part(to, mapping, page * MR_PAGE_BYTES, end * MR_PAGE_BYTES, heap_end);
        any = true;
    }
    return any;
}

void mr_write_maps(FILE *to, const char *host_name)
{
    FILE *from = fopen(host_name, "re");
    char *line = NULL;
    size_t room = 0;
    bool shown = false;
    uint32_t heap_end = mr_brk_start;
    mr_lock(); /* so that no mapping is half made */
    while (from && getline(&line, &room, from) > 0) {
        struct mapping mapping;
        if (parse(line, &mapping))
            shown = print_mapping(to, &mapping, &heap_end);
        else if (shown) /* smaps: about the mapping above */
            fputs(line, to);
    }
    mr_unlock();
    free(line);
    if (from)
        fclose(from);
}
