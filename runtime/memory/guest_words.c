/* Single words in guest memory, checked: 0 or -EFAULT. */
#include "linux/abi.h"
#include "base/host.h"

#include <errno.h>
#include <string.h>

int mr_read32(uint32_t guest, uint32_t *value)
{
    const void *from = mr_guest_bytes(guest, sizeof *value, MR_READ);
    if (!from)
        return -EFAULT;
    *value = mr_get32(from);
    return 0;
}

int mr_write32(uint32_t guest, uint32_t value)
{
    void *to = mr_guest_bytes(guest, sizeof value, MR_WRITE);
    if (!to)
        return -EFAULT;
    mr_put32(to, value);
    return 0;
}

int mr_read64(uint32_t guest, uint64_t *value)
{
    const void *from = mr_guest_bytes(guest, sizeof *value, MR_READ);
    if (!from)
        return -EFAULT;
    *value = mr_get64(from);
    return 0;
}

int mr_write64(uint32_t guest, uint64_t value)
{
    void *to = mr_guest_bytes(guest, sizeof value, MR_WRITE);
    if (!to)
        return -EFAULT;
    mr_put64(to, value);
    return 0;
}
