/* /proc/self/maps, smaps, smaps_rollup and numa_maps: the lines of the host's kernel that lie in the guest's window, at
 * guest addresses.
 *
 * Which file is mapped where, the host's kernel knows. What a page allows, mr_pages tells: the host never maps guest code
 * executable, and a mapping of the host may hold pages of several kinds.
 */
#include "base/kernel_proc.h"
#include "base/lock.h"
#include "linux/descriptors.h"
#include "linux/paths.h"
#include "linux/proc_made.h"
#include "linux/program.h"
#include "memory/memory.h"

#include <fcntl.h>
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

void mr_write_maps(FILE *to, FILE *from, const char *name __attribute__((unused)))
{
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
}

/* ---- smaps_rollup ---- */

/* The sums of smaps, in the order in which the kernel names them. */
struct sums {
    char name[40][24];
    unsigned long long kilobytes[40];
    unsigned count;
};

static void add_line(struct sums *sums, const char *line)
{
    char name[24], unit[4];
    unsigned long long kilobytes;
    unsigned i = 0;
    if (sscanf(line, "%23[^:]: %llu %3s", name, &kilobytes, unit) != 3 || strcmp(name, "Size") == 0 ||
        strstr(name, "PageSize") != NULL)
        return;
    while (i < sums->count && strcmp(sums->name[i], name) != 0)
        i++;
    if (i == sizeof sums->kilobytes / sizeof *sums->kilobytes)
        return;
    if (i == sums->count) {
        sums->count++;
        strcpy(sums->name[i], name);
    }
    sums->kilobytes[i] += kilobytes;
}

/* The kernel's own sums are of the host. */
void mr_write_rollup(FILE *to, FILE *from __attribute__((unused)), const char *name)
{
    char path[MR_PROC_ROOM], *text = NULL, *rest = NULL;
    size_t size_bytes = 0;
    unsigned start = 0, end = 0, first = ~0u, last = 0;
    struct sums sums = {.count = 0};
    FILE *made = open_memstream(&text, &size_bytes);
    if (made == NULL)
        return;
    int proc = mr_proc_at(path, "self/smaps");
    FILE *smaps = mr_proc_stream(mr_own_openat(proc, path, O_RDONLY));
    mr_write_maps(made, smaps, name);
    fclose(made);
    if (smaps)
        fclose(smaps);
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        if (sscanf(line, "%8x-%8x ", &start, &end) == 2) {
            first = start < first ? start : first;
            last = end;
        } else {
            add_line(&sums, line);
        }
    free(text);
    fprintf(to, "%08x-%08x ---p 00000000 00:00 0                          [rollup]\n", first < last ? first : 0, last);
    for (unsigned i = 0; i < sums.count; i++)
        fprintf(to, "%s:%*llu kB\n", sums.name[i], 23 - (int)strlen(sums.name[i]), sums.kilobytes[i]);
}

/* ---- numa_maps ---- */

/* Prints a line about the mapping of the host that begins there, if the guest has its beginning. */
static void print_policy(FILE *to, char *line)
{
    char *rest = NULL;
    uint64_t start = strtoull(line, &rest, 16) - (uintptr_t)mr_window;
    if (start >= WINDOW_BYTES || rest == line || !mr_pages[start / MR_PAGE_BYTES])
        return;
    rest[strcspn(rest, "\n")] = 0;
    char *file = strstr(rest, " file=");
    if (file) {
        char *name = file + strlen(" file="), *after = name + strcspn(name, " ");
        size_t length = (size_t)(after - name), kept = mr_guest_name(name, length);
        memmove(name + kept, after, strlen(after) + 1);
    }
    fprintf(to, "%08x%s\n", (unsigned)start, rest);
}

void mr_write_numa_maps(FILE *to, FILE *from, const char *name __attribute__((unused)))
{
    char *line = NULL;
    size_t room = 0;
    mr_lock();
    while (from && getline(&line, &room, from) > 0)
        print_policy(to, line);
    mr_unlock();
    free(line);
}
