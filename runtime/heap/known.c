/* Functions that symbols name: where they begin, and which of them are string functions.
 *
 * A file is looked through when it is mapped. What is at an address later is the function of the file that came there last.
 */
#include "base/lock.h"
#include "heap/heap.h"

#include <stdlib.h>
#include <string.h>

struct known {
    uint32_t low, high, number; /* number: later ones are newer */
    bool is_string_function;
};
static struct known *all;
static uint32_t count, room;
static bool is_sorted;

/* They look at all bytes of a word, at once or one after another, that has a string's end: a page has all of a word or nothing. */
static bool is_string_function(const char *name)
{
    static const char *const kinds[] = {"str", "stp", "mem", "wcs", "wmem", "rawmem", "index", "rindex", "bcmp"};
    name += strspn(name, "_");
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strncmp(name, kinds[i], strlen(kinds[i])) == 0)
            return true;
    return false;
}

void mr_heap_note_function(const char *name, uint32_t low, uint32_t high)
{
    mr_lock();
    if (count == room) {
        struct known *more = realloc(all, (2 * (size_t)room + 4096) * sizeof *all);
        if (more == NULL) {
            mr_unlock();
            return;
        }
        all = more;
        room = 2 * room + 4096;
    }
    all[count] = (struct known){low & ~1u, high & ~1u, count, is_string_function(name)};
    count++;
    is_sorted = false;
    mr_unlock();
}

static int compare(const void *a, const void *b)
{
    const struct known *one = a, *other = b;
    if (one->low != other->low)
        return one->low < other->low ? -1 : 1;
    return one->number < other->number ? -1 : one->number > other->number;
}

static void sort(void)
{
    if (!is_sorted && count != 0)
        qsort(all, count, sizeof *all, compare);
    is_sorted = true;
}

/* The last function that begins at a pc or before it and has it; NULL: none is known. Functions do not overlap, but several names
 * may stand for one. Under mr_lock. */
static const struct known *find(uint32_t pc)
{
    enum { NAMES = 16 };
    uint32_t low = 0, high = count;
    sort();
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (all[middle].low <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    for (uint32_t i = low; i > 0 && low - i < NAMES; i--)
        if (pc < all[i - 1].high)
            return &all[i - 1];
    return NULL;
}

uint32_t mr_heap_function_of(uint32_t pc)
{
    mr_lock();
    const struct known *found = find(pc & ~1u);
    uint32_t low = found != NULL ? found->low : 0;
    mr_unlock();
    return low;
}

bool mr_heap_in_string_function(uint32_t pc)
{
    mr_lock();
    const struct known *found = find(pc & ~1u);
    bool is_one = found != NULL ? found->is_string_function : count == 0; /* without symbols nobody knows */
    mr_unlock();
    return is_one;
}
