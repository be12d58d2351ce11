/* Samples where the program's processor time goes.
 *
 * Each thread has a timer of its own processor time, whose signal comes to that thread. The kernel looks at such timers at its
 * clock ticks, 100 to 1000 times a second; a signal says how many periods it stands for, and counts that much. The
 * handler notes the guest pc of lifted code, or the one that the host works for, and whose file it is in, in a table that
 * forked children share. The profile is written when the first process ends, and again by the last of its children if they
 * outlive it. Signals that end the process unseen have a handler meanwhile, so that a program that is
 * interrupted leaves its profile. Not done here: programs that the guest executes, and what SIGKILL ends.
 */
#include "profile/profile.h"

#include "base/messages.h"
#include "base/observe.h"
#include "base/options.h"
#include "baseline/baseline.h"
#include "host/host.h"
#include "lifted/code_files.h"
#include "lifted/module.h"
#include "linux/fault.h"
#include "linux/host_call.h"
#include "linux/signals.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define MOST_PROBES 64u
#define STACK_WORDS 512 /* how far up a return address into lifted code is looked for */
#define NANOSECONDS 1000000000u

bool mr_profiling;

static struct mr_profile_table *table;
static char path[PATH_MAX];
static uint8_t identity[32];
static _Thread_local int timer = -1;
static atomic_int end_state;               /* NOT_ENDED and so on */
enum { NOT_ENDED, ENDING, ENDED };

/* ---- taking samples ---- */

static void count(enum mr_profile_engine engine, struct mr_place place, uint64_t periods)
{
    uint64_t key = (uint64_t)engine << MR_PROFILE_ENGINE_SHIFT | (uint64_t)place.code_file << MR_PROFILE_FILE_SHIFT | place.pc;
    if (!mr_count_samples(table->slots, MR_PROFILE_SLOT_COUNT, MOST_PROBES, key, periods))
        atomic_fetch_add(&table->lost, periods);
}

/* The address that the nearest call by lifted code returns to, or 0. A guess: an older one may lie nearer, in a frame that has
 * not written there. */
__attribute__((no_sanitize("address"))) static uintptr_t find_return(uintptr_t sp)
{
    if (sp < mr_host_thread.stack_low || sp >= mr_host_thread.stack_high)
        return 0; /* on the stack for signals, whose frames are looked for nowhere */
    const uintptr_t *word = (const uintptr_t *)((sp + sizeof *word - 1) & ~(sizeof *word - 1));
    for (int i = 0; i < STACK_WORDS && (uintptr_t)(word + i) < mr_host_thread.stack_high; i++)
        if (mr_library_contains(word[i]))
            return word[i];
    return 0;
}

static struct mr_place place_of(uint32_t pc)
{
    const struct mr_code_file *file = mr_code_file(mr_code_file_number(pc));
    return (struct mr_place){file != NULL ? mr_code_file_number(pc) : 0, file != NULL ? pc - file->delta : pc};
}

static void take_sample(const ucontext_t *context, uint64_t periods)
{
    uintptr_t pc = mr_context_pc(context);
    if (mr_library_contains(pc)) {
        struct mr_place place = mr_library_place(pc);
        /* A stub on the way to the host is of no line. */
        uintptr_t after = place.pc == 0 ? find_return(mr_context_sp(context)) : 0;
        count(MR_PROFILE_LIFTED, after != 0 ? mr_library_place(after - 1) : place, periods);
    } else if (mr_current == NULL) { /* a thread that begins or ends */
        count(MR_PROFILE_HOST, (struct mr_place){0, 0}, periods);
    } else if (mr_doing.activity == MR_FOR_CALL) {
        count(MR_PROFILE_HOST, place_of(mr_doing.pc), periods);
    } else if (mr_doing.activity == MR_INTERPRETING) {
        uint32_t translated = mr_baseline_guest_pc(pc);
        count(translated != 0 ? MR_PROFILE_BASELINE : MR_PROFILE_INTERPRETED,
              place_of(translated != 0 ? translated : mr_current->pc), periods);
    } else {
        uintptr_t after = find_return(mr_context_sp(context));
        count(MR_PROFILE_HOST, after != 0 ? mr_library_place(after - 1) : place_of(mr_current->pc), periods);
    }
}

static void on_sample(int host_signal, siginfo_t *info, void *context)
{
    int saved_errno = errno;
    uint64_t periods = 1 + (uint64_t)info->si_overrun;
    (void)host_signal;
    mr_wait_call_go_on(context); /* also for one that is sent: it may have to end a call that the kernel would restart */
    if (info->si_code != SI_TIMER || info->si_value.sival_ptr != &table)
        mr_take_sent(info, context);
    else if (mr_profiling)
        take_sample(context, periods);
    else
        mr_growth_sample(mr_context_pc(context), periods);
    errno = saved_errno;
}

/* ---- threads and processes ---- */

static bool start_timer(void)
{
    struct sigevent event = {0};
    uint32_t period = NANOSECONDS / (mr_profiling ? mr_options.profile_rate : MR_GROWTH_RATE);
    const struct timespec time = {period / NANOSECONDS, period % NANOSECONDS};
    const struct timespec at_once = {0, 1}; /* at the next tick of the clock: many short processes have samples, too */
    const struct itimerspec times = {time, mr_profiling ? time : at_once};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = MR_SAMPLE_SIGNAL;
    event.sigev_value.sival_ptr = &table;
    event._sigev_un._tid = gettid();
    if (syscall(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event, &timer) != 0) {
        timer = -1;
        return false;
    }
    return syscall(SYS_timer_settime, timer, 0, &times, NULL) == 0;
}

static void thread_begins(void)
{
    mr_samples_release(); /* the process that ran the host may have blocked the signal */
    if (!start_timer() && mr_profiling && gettid() == getpid())
        mr_fail("--profile: cannot make a timer: %s", strerror(errno));
}

static void thread_ends(void)
{
    if (timer >= 0)
        syscall(SYS_timer_delete, timer);
    timer = -1;
}

static void forked(void)
{
    atomic_store(&end_state, NOT_ENDED);
    if (mr_profiling)
        atomic_fetch_add(&table->processes, 1);
    start_timer(); /* timers are not inherited; without one, this process goes uncounted */
}

/* ---- calls that wait ---- */

/* Linux from 5.9 on sends the signal when a thread returns to its program, where it interrupts no call. */
static bool interrupts_calls(void)
{
    struct utsname kernel;
    int major = 0, minor = 0;
    return uname(&kernel) != 0 || sscanf(kernel.release, "%d.%d", &major, &minor) != 2 || major < 5 ||
           (major == 5 && minor < 9);
}

/* ---- the end ---- */

static void leave_table(void)
{
    uint32_t others = atomic_fetch_sub(&table->processes, 1) - 1;
    if (getpid() != table->first_process && others > 0)
        return;
    int error = mr_profile_write(table, path, identity);
    if (error != 0)
        mr_print_error("mipsrec-host: %s: the profile cannot be written (%s)\n", path, strerror(error));
}

void mr_profile_end(void)
{
    int expected = NOT_ENDED;
    if (!mr_profiling)
        return;
    uint64_t mask = mr_signals_set_host_mask(~(uint64_t)0); /* or else a handler in this thread might wait for itself */
    if (atomic_compare_exchange_strong(&end_state, &expected, ENDING)) {
        leave_table();
        atomic_store(&end_state, ENDED);
    }
    while (atomic_load(&end_state) != ENDED) /* another thread ends the process, too */
        sched_yield();
    mr_signals_set_host_mask(mask);
}

static void executes(void)
{
    thread_ends();
    if (mr_profiling)
        leave_table();
}

static void executes_not(void)
{
    if (mr_profiling)
        atomic_fetch_add(&table->processes, 1);
    start_timer();
}

/* ---- signals that end the process ---- */

static bool takes_end(int host_signal)
{
    static const int others[] = {SIGKILL, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGCHLD, SIGCONT, SIGURG, SIGWINCH,
                                 SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, MR_SAMPLE_SIGNAL};
    if (!mr_profiling)
        return false;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (host_signal == others[i])
            return false;
    return true;
}

static void on_end(int host_signal, siginfo_t *info, void *context)
{
    (void)info, (void)context;
    mr_profile_end();
    mr_die_of_host_signal(host_signal);
}

/* ---- the start ---- */

/* Makes `path` of the name, and sees whether the file can be made: better than when the program is done. */
static void name_file(const char *given)
{
    char folder[PATH_MAX];
    struct stat status;
    if (stat(given, &status) == 0 && !S_ISREG(status.st_mode))
        mr_fail("--profile %s: is there, and no regular file: name another", given);
    bool relative = given[0] != '/';
    if (relative && getcwd(folder, sizeof folder) == NULL)
        mr_fail("--profile %s: cannot tell the current folder (%s)", given, strerror(errno));
    int length = snprintf(path, sizeof path, "%s%s%s", relative ? folder : "", relative ? "/" : "", given);
    const char *wrong = length < (int)sizeof path ? mr_profile_place(path) : strerror(ENAMETOOLONG);
    if (wrong != NULL)
        mr_fail("--profile %s: cannot be written (%s)", given, wrong);
}

static void start_file(const struct mr_image *image)
{
    struct sigaction action = {0}, before;
    name_file(mr_options.profile_path);
    table = mmap(NULL, sizeof *table, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (table == MAP_FAILED)
        mr_fail("--profile: cannot get memory for samples: %s", strerror(errno));
    table->first_process = getpid();
    table->processes = 1;
    memcpy(identity, image->identity, sizeof identity);
    mr_profiling = true;
    sigfillset(&action.sa_mask);
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    action.sa_sigaction = on_end;
    for (int number = 1; number <= 64; number++)
        if (takes_end(number) && sigaction(number, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
            sigaction(number, &action, NULL); /* not of the two that the libc keeps for itself */
}

void mr_profile_start(const struct mr_image *image)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART, .sa_sigaction = on_sample};
    if (mr_options.profile_path != NULL)
        start_file(image);
    else if (!mr_growth_on)
        return;
    mr_observe.sample_thread_begins = thread_begins;
    mr_observe.sample_thread_ends = thread_ends;
    mr_observe.sample_forked = forked;
    mr_observe.sample_executes = executes;
    mr_observe.sample_executes_not = executes_not;
    mr_observe.sample_end = mr_profile_end;
    mr_observe.sample_takes_end = takes_end;
    mr_observe.sample_on_end = on_end;
    mr_sampling = true;
    mr_samples_held = interrupts_calls();
    sigfillset(&action.sa_mask);
    if (sigaction(MR_SAMPLE_SIGNAL, &action, NULL) != 0)
        mr_fail("--profile: cannot install a handler: %s", strerror(errno));
}
