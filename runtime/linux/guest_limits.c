/* RLIMIT_AS and RLIMIT_DATA of the guest, kept apart from those of the process: the host's own tables are larger than any guest,
 * so its limits are raised as far as they may be, and the guest's bound only what the guest maps (memory/pages.c counts).
 *
 * Simplifications: hard limits of the process stay what they are, and other processes see the host's limits.
 */
#include "linux/guest_limits.h"

#include "linux/proc_made.h"
#include "memory/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ALL, DATA, COUNT };

static const __rlimit_resource_t numbers[COUNT] = {RLIMIT_AS, RLIMIT_DATA};
static const char *const names[COUNT] = {"Max address space", "Max data size"}; /* as /proc/PID/limits has them */
static struct rlimit guests[COUNT];

/* As may_expand_vm of mm/mmap.c: a limit of 0 on data stands for the hard one. */
static void enforce(void)
{
    const struct rlimit *data = &guests[DATA];
    mr_memory_limits.all_bytes = guests[ALL].rlim_cur;
    mr_memory_limits.data_bytes = data->rlim_cur == 0 ? data->rlim_max : data->rlim_cur;
}

static void raise_soft(int which)
{
    struct rlimit now;
    if (getrlimit(numbers[which], &now) || now.rlim_cur == now.rlim_max)
        return;
    now.rlim_cur = now.rlim_max;
    setrlimit(numbers[which], &now);
}

void mr_limits_start(const char *handed_on)
{
    unsigned long long values[2 * COUNT];
    bool given = handed_on != NULL &&
                 sscanf(handed_on, "%llu,%llu,%llu,%llu", &values[0], &values[1], &values[2], &values[3]) == 2 * COUNT;
    for (int which = 0; which < COUNT; which++) {
        if (given)
            guests[which] = (struct rlimit){values[2 * which], values[2 * which + 1]};
        else if (getrlimit(numbers[which], &guests[which]))
            guests[which] = (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
        raise_soft(which);
    }
    enforce();
}

bool mr_limit_is_guests(int limit)
{
    return limit == RLIMIT_AS || limit == RLIMIT_DATA;
}

int64_t mr_limit_change(int limit, const struct rlimit *new, struct rlimit *old)
{
    struct rlimit *now = &guests[limit == RLIMIT_AS ? ALL : DATA];
    if (new && new->rlim_cur > new->rlim_max)
        return -EINVAL;
    if (new && new->rlim_max > now->rlim_max && geteuid() != 0)
        return -EPERM;
    if (old)
        *old = *now;
    if (new)
        *now = *new;
    enforce();
    return 0;
}

const char *mr_limits_hand_on(void)
{
    static char text[100];
    bool same = true;
    struct rlimit real;
    for (int which = 0; which < COUNT; which++)
        same = same && getrlimit(numbers[which], &real) == 0 && real.rlim_cur == guests[which].rlim_cur &&
               real.rlim_max == guests[which].rlim_max;
    snprintf(text, sizeof text, "%llu,%llu,%llu,%llu", (unsigned long long)guests[ALL].rlim_cur,
             (unsigned long long)guests[ALL].rlim_max, (unsigned long long)guests[DATA].rlim_cur,
             (unsigned long long)guests[DATA].rlim_max);
    return same ? NULL : text;
}

void mr_limits_are_real(bool real)
{
    for (int which = 0; which < COUNT; which++) {
        struct rlimit now;
        if (!real)
            raise_soft(which);
        else if (getrlimit(numbers[which], &now) == 0 && guests[which].rlim_cur < now.rlim_max) {
            now.rlim_cur = guests[which].rlim_cur;
            setrlimit(numbers[which], &now);
        }
    }
}

/* ---- /proc/self/limits ---- */

static const char *value_text(rlim_t value, char text[24])
{
    snprintf(text, 24, "%llu", (unsigned long long)value);
    return value == RLIM_INFINITY ? "unlimited" : text;
}

void mr_write_limits(FILE *to, FILE *from, const char *name __attribute__((unused)))
{
    char *line = NULL, soft[24], hard[24];
    size_t room = 0;
    while (from && getline(&line, &room, from) > 0) {
        int which = 0;
        while (which < COUNT && strncmp(line, names[which], strlen(names[which])) != 0)
            which++;
        if (which < COUNT)
            fprintf(to, "%-25s %-20s %-20s %-10s\n", names[which], value_text(guests[which].rlim_cur, soft),
                    value_text(guests[which].rlim_max, hard), "bytes");
        else
            fputs(line, to);
    }
    free(line);
}
