/* Memory on machines with several nodes: sets of nodes, and pages by address. A set is an array of longs of bits. */
#include "base/lock.h"
#include "lifted/module.h"
#include "linux/abi.h"
#include "linux/calls/layout.h"
#include "linux/calls/syscall.h"
#include "linux/host_call.h"
#include "memory/values.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST_NODES (MR_PAGE_BYTES * 8) /* as the kernel has it */

struct node_set {
    _Alignas(uint64_t) uint32_t words[MOST_NODES / 32];
    uint32_t *used; /* words, or NULL when the guest gives none */
};

/* A set of n bits is told as one of n + 1 (get_nodes of mm/mempolicy.c). */
static uint32_t words_of(uint32_t most)
{
    return most > 1 ? (most - 1 + 31) / 32 : 0;
}

static int64_t get_set(uint32_t guest, uint32_t most, struct node_set *set)
{
    set->used = guest ? set->words : NULL;
    if (most > MOST_NODES + 1)
        return -EINVAL;
    if (guest && mr_get_words(guest, set->words, words_of(most)))
        return -EFAULT;
    if (words_of(most) % 2) /* the rest of the host's last long */
        set->words[words_of(most)] = 0;
    return 0;
}

SYSCALL(4270, set_mempolicy, "dpu")
{
    struct node_set set;
    int64_t error = get_set(U32(1), U32(2), &set);
    return error ? error : mr_result(syscall(SYS_set_mempolicy, INT(0), set.used, (unsigned long)U32(2)));
}

SYSCALL(4269, get_mempolicy, "ppupx")
{
    struct node_set set = {.used = NULL};
    int mode = 0;
    uint64_t at = U32(3) ? MR_HOST(mr_user(U32(3), 0)) : 0;
    if (U32(1) && U32(2) > MOST_NODES + 1)
        return -EINVAL;
    set.used = U32(1) ? set.words : NULL;
    if (syscall(SYS_get_mempolicy, U32(0) ? &mode : NULL, set.used, (unsigned long)U32(2), at, (unsigned long)U32(4)))
        return -errno;
    if (U32(0) && mr_write32(U32(0), (uint32_t)mode))
        return -EFAULT;
    return U32(1) ? mr_put_words(U32(1), set.words, words_of(U32(2))) : 0;
}

SYSCALL(4268, mbind, "pudpux")
{
    struct node_set set;
    int64_t error = get_set(U32(3), U32(4), &set);
    if (error)
        return error;
    return mr_result(syscall(SYS_mbind, mr_user(U32(0), U32(1)), (unsigned long)U32(1), (unsigned long)U32(2), set.used,
                             (unsigned long)U32(4), U32(5)));
}

SYSCALL(4287, migrate_pages, "dupp")
{
    struct node_set old, new;
    int64_t error = get_set(U32(2), U32(1), &old);
    if (!error)
        error = get_set(U32(3), U32(1), &new);
    return error ? error : mr_result(syscall(SYS_migrate_pages, INT(0), (unsigned long)U32(1), old.used, new.used));
}

#ifndef SYS_set_mempolicy_home_node
#define SYS_set_mempolicy_home_node 450
#endif

SYSCALL(4450, set_mempolicy_home_node, "puux")
{
    return mr_result(syscall(SYS_set_mempolicy_home_node, mr_user(U32(0), U32(1)), (unsigned long)U32(1),
                             (unsigned long)U32(2), (unsigned long)U32(3)));
}

/* ---- pages one by one ---- */

struct pages {
    void **addresses;
    int *nodes, *status;
};

static int64_t get_pages(struct mr_call *c, uint32_t count, struct pages *pages)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at, node;
        if (mr_read32(U32(2) + 4 * i, &at) || (U32(3) && mr_read32(U32(3) + 4 * i, &node)))
            return -EFAULT;
        pages->addresses[i] = mr_user(at, 0);
        pages->nodes[i] = U32(3) ? (int)node : 0;
    }
    return 0;
}

/* A page's node, or what is wrong with it as a negative errno. */
static int64_t put_status(uint32_t guest, uint32_t count, const int *status)
{
    for (uint32_t i = 0; i < count; i++)
        if (mr_write32(guest + 4 * i, (uint32_t)(status[i] < 0 ? -mr_errno_to_mips(-status[i]) : status[i])))
            return -EFAULT;
    return 0;
}

SYSCALL(4308, move_pages, "dupppx")
{
    uint32_t count = U32(1);
    if (count > MR_USER_END / 4)
        return -E2BIG;
    struct pages pages = {calloc(count + 1, sizeof(void *)), calloc(count + 1, sizeof(int)), calloc(count + 1, sizeof(int))};
    int64_t result = pages.addresses && pages.nodes && pages.status ? get_pages(c, count, &pages) : -ENOMEM;
    if (!result)
        result = mr_result(syscall(SYS_move_pages, INT(0), (unsigned long)count, pages.addresses,
                                   U32(3) ? pages.nodes : NULL, pages.status, INT(5)));
    if (result >= 0 && put_status(U32(4), count, pages.status))
        result = -EFAULT;
    free(pages.addresses);
    free(pages.nodes);
    free(pages.status);
    return result;
}

/* ---- pages of a mapped file in another order ---- */

SYSCALL(4251, remap_file_pages, "puxux")
{
    int64_t result = mr_result(syscall(SYS_remap_file_pages, mr_user(U32(0), U32(1)), (unsigned long)U32(1),
                                       (unsigned long)U32(2), (unsigned long)U32(3), (unsigned long)U32(4)));
    if (result == 0) { /* code that stood there is gone */
        mr_lock();
        mr_code_forget(U32(0), U32(1));
        mr_unlock();
    }
    return result;
}
