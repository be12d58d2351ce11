/* System calls of the kernel's list that are not done, with the error that they answer and the reason.
 *
 * The reasons are in docs/system-calls.md, too, which tests/runtime/syscall_status.py writes from here.
 */
#include "base/host_thread.h"
#include "base/messages.h"
#include "base/options.h"
#include "linux/abi.h"
#include "linux/calls/syscall.h"

#include <errno.h>

#define REFUSED(NUMBER, NAME, ERROR, REASON) \
    SYSCALL(NUMBER, NAME, "") { return refuse(c, ERROR, REASON); }
/* The same for what the libc of each program tries and does not miss. */
#define REFUSED_SILENTLY(NUMBER, NAME, ERROR, REASON) \
    SYSCALL(NUMBER, NAME, "") { return -ERROR; }

/* Counted as a call that is not there, and said once. */
static int64_t refuse(const struct mr_call *c, int error, const char *reason)
{
    static uint8_t told[512];
    mr_counters.unknown_syscalls++;
    if (mr_options.stats && !__atomic_exchange_n(&told[c->row->number % 512], 1, __ATOMIC_RELAXED))
        mr_print_error("mipsrec-host: system call %s is refused (%s): %s; said once\n", c->row->name, mr_errno_name(error),
                       reason);
    return -error;
}

/* ---- what a kernel need not have, and programs can do without ---- */
#define CONTEXT "its rings lie in memory that the program shares with a kernel of its own byte order and word size"
REFUSED(4241, io_setup, ENOSYS, CONTEXT)
REFUSED(4242, io_destroy, ENOSYS, CONTEXT)
REFUSED(4243, io_getevents, ENOSYS, CONTEXT)
REFUSED(4244, io_submit, ENOSYS, CONTEXT)
REFUSED(4245, io_cancel, ENOSYS, CONTEXT)
REFUSED(4368, io_pgetevents, ENOSYS, CONTEXT)
REFUSED(4416, io_pgetevents_time64, ENOSYS, CONTEXT)
REFUSED(4425, io_uring_setup, ENOSYS, CONTEXT)
REFUSED(4426, io_uring_enter, ENOSYS, CONTEXT)
REFUSED(4427, io_uring_register, ENOSYS, CONTEXT)
REFUSED(4333, perf_event_open, ENOSYS, "it would count what the host's code does, not the guest's")
REFUSED(4352, seccomp, ENOSYS, "a filter is written for MIPS numbers, and would be applied to the host's calls")
REFUSED(4357, userfaultfd, ENOSYS, "faults and their addresses are the host's, not the guest's")
REFUSED(4444, landlock_create_ruleset, ENOSYS, "rules would bind the files that the host itself needs")
REFUSED(4445, landlock_add_rule, ENOSYS, "rules would bind the files that the host itself needs")
REFUSED(4446, landlock_restrict_self, ENOSYS, "rules would bind the files that the host itself needs")
REFUSED(4363, pkey_mprotect, ENOSYS, "MIPS has no protection keys")
REFUSED(4364, pkey_alloc, ENOSYS, "MIPS has no protection keys")
REFUSED(4365, pkey_free, ENOSYS, "MIPS has no protection keys")
REFUSED(4148, cachectl, ENOSYS, "no MIPS kernel does it")
REFUSED(4253, restart_syscall, EINTR, "only a kernel makes it; calls are made again by the runtime itself")

/* ---- what changes the host's kernel ---- */
REFUSED(4128, init_module, EPERM, "a module for MIPS is none for the host's kernel")
REFUSED(4348, finit_module, EPERM, "a module for MIPS is none for the host's kernel")
REFUSED(4129, delete_module, EPERM, "modules are the host's")
REFUSED(4311, kexec_load, EPERM, "a kernel for MIPS is none for the host")
REFUSED(4355, bpf, EPERM, "programs and maps have the host kernel's layouts")

/* ---- what would show the host in place of the guest ---- */
REFUSED(4026, ptrace, EPERM, "a tracer would see the host's registers and memory, and stop in code that is not the guest's")

/* ---- what newer kernels have no more, or that none ever had ---- */
#define REMOVED "Linux has removed it"
#define NEVER "no Linux kernel has it"
REFUSED(4017, break, ENOSYS, NEVER)
REFUSED(4018, unused18, ENOSYS, NEVER)
REFUSED(4028, unused28, ENOSYS, NEVER)
REFUSED(4031, stty, ENOSYS, NEVER)
REFUSED(4032, gtty, ENOSYS, NEVER)
REFUSED(4035, ftime, ENOSYS, NEVER)
REFUSED(4044, prof, ENOSYS, NEVER)
REFUSED(4053, lock, ENOSYS, NEVER)
REFUSED(4056, mpx, ENOSYS, NEVER)
REFUSED(4058, ulimit, ENOSYS, NEVER)
REFUSED(4059, unused59, ENOSYS, NEVER)
REFUSED(4082, reserved82, ENOSYS, NEVER)
REFUSED(4084, unused84, ENOSYS, NEVER)
REFUSED(4086, uselib, ENOSYS, "libraries of the format before ELF; kernels are built without it")
REFUSED(4098, profil, ENOSYS, NEVER)
REFUSED(4101, ioperm, ENOSYS, "only x86 has ports")
REFUSED(4109, unused109, ENOSYS, NEVER)
REFUSED(4110, iopl, ENOSYS, "only x86 has ports")
REFUSED(4112, idle, ENOSYS, REMOVED)
REFUSED(4113, vm86, ENOSYS, "only x86 has it")
REFUSED(4123, modify_ldt, ENOSYS, "only x86 has it")
REFUSED(4127, create_module, ENOSYS, REMOVED)
REFUSED(4130, get_kernel_syms, ENOSYS, REMOVED)
REFUSED(4134, bdflush, ENOSYS, REMOVED)
REFUSED(4137, afs_syscall, ENOSYS, NEVER)
REFUSED(4150, unused150, ENOSYS, NEVER)
REFUSED(4153, _sysctl, ENOSYS, REMOVED)
REFUSED(4187, query_module, ENOSYS, REMOVED)
REFUSED(4189, nfsservctl, ENOSYS, REMOVED)
REFUSED(4208, getpmsg, ENOSYS, NEVER)
REFUSED(4209, putpmsg, ENOSYS, NEVER)
REFUSED(4221, reserved221, ENOSYS, NEVER)
REFUSED(4247, lookup_dcookie, ENOSYS, REMOVED)
REFUSED(4277, vserver, ENOSYS, NEVER)
REFUSED(4318, timerfd, ENOSYS, "timerfd_create took its place")
REFUSED_SILENTLY(4367, rseq, ENOSYS, "restartable sequences are for code that the kernel can see")
