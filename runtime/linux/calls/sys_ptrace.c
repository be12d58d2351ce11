/* ptrace: refused, as by a kernel whose security module forbids it. A tracer would see the registers and the memory of the
 * host's process, and stop it where the guest has no instruction of its own.
 */
#include "linux/calls/syscall.h"

#include <errno.h>

SYSCALL(4026, ptrace, "ddxx") { return -EPERM; }
