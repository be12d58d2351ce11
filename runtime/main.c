/* The host: runs a MIPS Linux program, natively where a library has its code, else in the interpreter.
 *
 * In order: options, a look into the library (it decides where the guest's memory must be), the window, the guest's image
 * and stack, the library's functions, the first state, and control to the guest on a host stack of its own.
 */
#include "base/messages.h"
#include "base/options.h"
#include "base/sanitizer.h"
#include "baseline/baseline.h"
#include "command_line.h"
#include "coverage/coverage.h"
#include "cpu/fpu.h"
#include "gdb/gdb.h"
#include "growth/growth.h"
#include "heap/heap.h"
#include "lifted/dispatch_table.h"
#include "lifted/module.h"
#include "lifted/store.h"
#include "linux/calls/desock.h"
#include "linux/descriptors.h"
#include "linux/fault.h"
#include "linux/guest_limits.h"
#include "linux/program.h"
#include "memory/memory.h"
#include "profile/profile.h"
#include "report.h"
#include "run/host_stack.h"
#include "strace/strace.h"
#include "verify/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define EF_FP64 0x00000200u /* e_flags EF_MIPS_FP64, before .MIPS.abiflags */

static struct mr_state first_state __attribute__((aligned(64)));
static uint32_t program_bias, program_entry; /* the latter: where its interpreter hands over to it, if it has one */

/* Status.FR as Linux sets it for this program. */
static bool image_fr(const struct mr_image *image)
{
    enum { FP_OLD_64 = 4, FP_64 = 6, FP_64A = 7 }; /* Val_GNU_MIPS_ABI_FP_*; every other one runs with FR=0 */
    return image->fp_abi == FP_OLD_64 || image->fp_abi == FP_64 || image->fp_abi == FP_64A ||
           (image->fp_abi == 0 && (image->flags & EF_FP64) != 0);
}

/* Only code of model flat needs the identity; elsewhere the host's own null pointers are told from the guest's. */
static bool wants_identity(enum mr_memory_model model)
{
    if (mr_window_choice != MR_WINDOW_AUTO)
        return mr_window_choice == MR_WINDOW_IDENTITY;
    return model == MR_FLAT && !MR_ADDRESS_SANITIZER; /* its shadow memory is in the low 4 GiB */
}

static void init_state(struct mr_state *s, const struct mr_image *image, uint32_t sp, enum mr_memory_model model)
{
    GPR(s, MR_REG_SP) = sp;
    s->pc = image->start;
    s->fr = image_fr(image);
    s->fcsr = image->nan2008 ? MR_FCSR_NAN2008 | MR_FCSR_ABS2008 : 0;
    s->dispatch = mr_dispatch;
    s->dispatch16 = mr_dispatch16;
    s->fallback = mr_fallback;
    s->base = mr_window;
    if (model == MR_PAGED)
        mr_memory_tables(s);
}

/* In an executed program, where the file may be out of reach, they go on at standard error. */
static int open_messages(void)
{
    const char *path = mr_options.log_path;
    int fd = path != NULL ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0666) : -1;
    if (fd < 0 && path != NULL && !mr_options.executed)
        mr_fail("--log %s: %s", path, strerror(errno));
    return fd >= 0 ? fd : fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
}

static void run(void *state)
{
    struct mr_state *s = state;
    if (mr_options.call_function != NULL)
        mr_call_function(s);
    mr_run_thread(s, mr_fork_server(s, s->pc, program_entry, program_bias));
    mr_fail("internal error: the main guest thread was ended like another one");
}

int main(int argc, char **argv)
{
    struct mr_image image = {0};
    enum mr_memory_model model = MR_THUNK; /* the interpreter's way, too */
    mr_own_begin();
    mr_options_parse(argc, argv);
    mr_coverage_start();
    mr_heap_start();
    mr_desock_start();
    mr_limits_start(mr_options.limits);
    mr_program_start();
    mr_report_start();
    mr_marks_start();
    if (mr_options.stats || mr_options.strace || mr_options.report || mr_options.call_function != NULL)
        /* the guest may close its standard error */
        mr_own_keep(MR_OWN_TRACE, open_messages());
    if (mr_options.strace)
        mr_strace_start();
    bool native = !mr_options.engine_interp, named = native && mr_options.library_path != NULL;
    if (named)
        model = (enum mr_memory_model)mr_library_examine(mr_options.library_path, true)->table->memory_model;
    else if (native)
        model = mr_options.memory_model;
    else if (mr_baseline_on)
        model = MR_FLAT;
    mr_memory_reserve(wants_identity(model));
    mr_reserve_stack();
    mr_load(mr_options.program_path, &image);
    uint32_t sp = mr_build_stack(&image);
    mr_process_show(sp);
    mr_dispatch_reserve();
    mr_modules_reserve();
    mr_main_state = &first_state;
    init_state(mr_main_state, &image, sp, model);
    program_entry = image.entry;
    program_bias = image.bias;
    mr_baseline_start(mr_main_state);
    if (named || mr_options.profile_path != NULL)
        mr_image_identify(&image);
    if (native && (!named || image.interpreter_base != 0))
        mr_store_open(mr_options.cache_path, mr_options.layers, mr_options.variant);
    mr_image_bind(&image);
    mr_heap_program_loaded(image.interpreter_base == 0);
    if (named)
        mr_library_open(mr_options.library_path, &image);
    mr_faults_install();
    mr_growth_start();
    mr_profile_start(&image);
    if (mr_options.verify_fd >= 0)
        mr_verify_start(mr_main_state);
    mr_debug_start(mr_main_state);
    mr_own_ready();
    mr_fork_server_start();
    if (MR_ADDRESS_SANITIZER)
        run(mr_main_state);
    struct mr_host_stack stack = mr_host_stack_make(sp);
    if (stack.low == 0)
        mr_fail("cannot get address space for the host stack: %s", strerror(errno));
    mr_on_host_stack(stack, run, mr_main_state);
}
