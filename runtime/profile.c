/* Samples where the program's processor time goes, and writes them as a profile (mipsrec/profiles.py has the format).
 *
 * Each thread has a timer of its own processor time, whose signal comes to that thread. The kernel looks at such timers at its
 * clock ticks, 100 to 1000 times a second; a signal says how many periods it stands for, and counts that much. The
 * handler notes the host pc in lifted code, or the guest pc that the host works for, in a table that forked children share.
 * Guest pcs of lifted code are found, and the file is written, when the first process ends, and again by the last of its
 * children if they outlive it. Signals that end the process unseen have a handler meanwhile, so that a program that is
 * interrupted leaves its profile. Not done here: programs that the guest executes, and what SIGKILL ends.
 */
#include "profile.h"

#include "control.h"
#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define SLOT_BITS 16
#define SLOT_COUNT ((size_t)1 << SLOT_BITS)
#define PROBES_MAX 64
#define STACK_WORDS 512 /* how far up a return address into lifted code is looked for */
#define NANOSECONDS 1000000000u

/* What a key's number is. */
enum { LIFTED_CODE = 1, LIFTED_CALL, INTERPRETED_PC, CALL_PC }; /* the first two: addresses in the library's file */
#define KIND_SHIFT 56

struct slot {
    _Atomic uint64_t key; /* kind and number; 0: free */
    _Atomic uint64_t count;
};

struct table {
    pid_t first_process;
    _Atomic uint32_t processes; /* that are alive and count here */
    _Atomic uint64_t lost;      /* samples the table had no room for */
    struct slot slots[SLOT_COUNT];
};

bool mr_profiling;
_Thread_local volatile struct mr_doing mr_doing;

static struct table *table;
static char path[PATH_MAX];
static uint8_t identity[32];
static _Thread_local int timer = -1;
static _Thread_local uintptr_t stack_high; /* this thread's frames lie below it */
static atomic_int end_state;               /* NOT_ENDED and so on */
enum { NOT_ENDED, ENDING, ENDED };

/* ---- taking samples ---- */

static void count(uint64_t kind, uint64_t number, uint64_t periods)
{
    uint64_t key = kind << KIND_SHIFT | number;
    size_t at = (size_t)((key * 0x9e3779b97f4a7c15u) >> (64 - SLOT_BITS));
    for (int probe = 0; probe < PROBES_MAX; probe++, at = (at + 1) % SLOT_COUNT) {
        uint64_t found = atomic_load_explicit(&table->slots[at].key, memory_order_relaxed);
        if (found == 0 && atomic_compare_exchange_strong(&table->slots[at].key, &found, key))
            found = key;
        if (found == key) {
            atomic_fetch_add_explicit(&table->slots[at].count, periods, memory_order_relaxed);
            return;
        }
    }
    atomic_fetch_add(&table->lost, periods);
}

static uintptr_t pc_of(const ucontext_t *context)
{
#if defined(__x86_64__)
    return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#else
    return (uintptr_t)context->uc_mcontext.pc;
#endif
}

static uintptr_t sp_of(const ucontext_t *context)
{
#if defined(__x86_64__)
    return (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
#else
    return (uintptr_t)context->uc_mcontext.sp;
#endif
}

/* The address that the nearest call by lifted code returns to, or 0. A guess: an older one may lie nearer, in a frame that has
 * not written there. */
__attribute__((no_sanitize("address"))) static uintptr_t find_return(uintptr_t sp)
{
    if (sp < mr_host_thread.stack_low || sp >= stack_high)
        return 0; /* on the stack for signals, whose frames are looked for nowhere */
    const uintptr_t *word = (const uintptr_t *)((sp + sizeof *word - 1) & ~(sizeof *word - 1));
    for (int i = 0; i < STACK_WORDS && (uintptr_t)(word + i) < stack_high; i++)
        if (mr_library_contains(word[i]))
            return word[i];
    return 0;
}

static void take_sample(const ucontext_t *context, uint64_t periods)
{
    uintptr_t pc = pc_of(context);
    if (mr_library_contains(pc)) {
        count(LIFTED_CODE, pc - mr_library_bias, periods);
    } else if (mr_current == NULL) { /* a thread that begins or ends */
        count(CALL_PC, 0, periods);
    } else if (mr_doing.activity == MR_FOR_CALL) {
        count(CALL_PC, mr_doing.pc, periods);
    } else if (mr_doing.activity == MR_INTERPRETING) {
        count(INTERPRETED_PC, mr_current->pc, periods);
    } else {
        uintptr_t after = find_return(sp_of(context));
        if (after != 0)
            count(LIFTED_CALL, after - 1 - mr_library_bias, periods);
        else
            count(CALL_PC, mr_current->pc, periods);
    }
}

static void on_sample(int host_signal, siginfo_t *info, void *context)
{
    int saved_errno = errno;
    (void)host_signal;
    if (info->si_code == SI_TIMER && info->si_value.sival_ptr == &table)
        take_sample(context, 1 + (uint64_t)info->si_overrun);
    else
        mr_take_sent(info, context);
    errno = saved_errno;
}

/* ---- threads and processes ---- */

static bool start_timer(void)
{
    struct sigevent event = {0};
    uint32_t period = NANOSECONDS / mr_options.profile_rate;
    const struct timespec time = {period / NANOSECONDS, period % NANOSECONDS};
    const struct itimerspec times = {time, time};
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

void mr_profile_thread_begins(void)
{
    if (!mr_profiling)
        return;
    stack_high = (uintptr_t)__builtin_frame_address(0);
    mr_profile_release(); /* whoever ran the host may have blocked the signal */
    if (!start_timer() && gettid() == getpid())
        mr_fail("--profile: cannot make a timer: %s", strerror(errno));
}

void mr_profile_thread_ends(void)
{
    if (timer >= 0)
        syscall(SYS_timer_delete, timer);
    timer = -1;
}

void mr_profile_forked(void)
{
    if (!mr_profiling)
        return;
    atomic_store(&end_state, NOT_ENDED);
    atomic_fetch_add(&table->processes, 1);
    start_timer(); /* timers are not inherited; without one, this process goes uncounted */
}

/* ---- calls that wait ---- */

uint64_t mr_profile_hold_bit(void)
{
    return mr_profiling ? (uint64_t)1 << (MR_SAMPLE_SIGNAL - 1) : 0;
}

static void change_mask(int how)
{
    uint64_t bit = mr_profile_hold_bit();
    syscall(SYS_rt_sigprocmask, how, &bit, NULL, sizeof bit);
}

void mr_profile_hold(void)
{
    change_mask(SIG_BLOCK);
}

void mr_profile_release(void)
{
    change_mask(SIG_UNBLOCK);
}

/* ---- the file ---- */

struct line {
    uint32_t pc, engine;
    uint64_t count;
};
static const char *const engines[] = {"lifted", "interp", "host"};
enum { LIFTED, INTERP, HOST };

static struct line line_of(uint64_t key, uint64_t periods)
{
    uint64_t number = key & (((uint64_t)1 << KIND_SHIFT) - 1);
    switch (key >> KIND_SHIFT) {
    case LIFTED_CODE:
        return (struct line){mr_lines_near(number), LIFTED, periods};
    case LIFTED_CALL:
        return (struct line){mr_lines_near(number), HOST, periods};
    case INTERPRETED_PC:
        return (struct line){(uint32_t)number, INTERP, periods};
    default:
        return (struct line){(uint32_t)number, HOST, periods};
    }
}

static bool precedes(const struct line *a, const struct line *b)
{
    return a->pc != b->pc ? a->pc < b->pc : a->engine < b->engine;
}

static void sift_down(struct line *lines, size_t at, size_t line_count)
{
    for (size_t child; (child = 2 * at + 1) < line_count; at = child) {
        if (child + 1 < line_count && precedes(&lines[child], &lines[child + 1]))
            child++;
        if (!precedes(&lines[at], &lines[child]))
            return;
        struct line moved = lines[at];
        lines[at] = lines[child];
        lines[child] = moved;
    }
}

/* A heap sort, since qsort may allocate memory, and this may run in a handler of a signal. */
static void sort(struct line *lines, size_t line_count)
{
    for (size_t at = line_count / 2; at-- > 0;)
        sift_down(lines, at, line_count);
    for (size_t end = line_count; end-- > 1;) {
        struct line last = lines[end];
        lines[end] = lines[0];
        lines[0] = last;
        sift_down(lines, 0, end);
    }
}

/* Fills lines, of which there is room for one of each slot; returns how many there are, one for each pc and engine. */
static size_t collect(struct line *lines)
{
    size_t line_count = 0, merged = 0;
    for (size_t at = 0; at < SLOT_COUNT; at++) {
        uint64_t key = atomic_load(&table->slots[at].key), periods = atomic_load(&table->slots[at].count);
        if (key != 0 && periods != 0)
            lines[line_count++] = line_of(key, periods);
    }
    sort(lines, line_count);
    for (size_t at = 0; at < line_count; at++) {
        if (merged > 0 && lines[merged - 1].pc == lines[at].pc && lines[merged - 1].engine == lines[at].engine)
            lines[merged - 1].count += lines[at].count;
        else
            lines[merged++] = lines[at];
    }
    return merged;
}

struct output {
    int fd, error;
    size_t size_bytes;
    char bytes[8192];
};

static void flush(struct output *out)
{
    for (size_t done = 0; done < out->size_bytes && out->error == 0;) {
        ssize_t written = write(out->fd, out->bytes + done, out->size_bytes - done);
        if (written >= 0)
            done += (size_t)written;
        else if (errno != EINTR)
            out->error = errno;
    }
    out->size_bytes = 0;
}

static void put_text(struct output *out, const char *text)
{
    for (; *text != 0; text++) {
        if (out->size_bytes == sizeof out->bytes)
            flush(out);
        out->bytes[out->size_bytes++] = *text;
    }
}

/* A word of the command, in a comment of one line of ASCII. */
static void put_word(struct output *out, const char *word)
{
    char text[2] = {0, 0};
    put_text(out, " ");
    for (; *word != 0; word++) {
        text[0] = *word > ' ' && *word <= '~' ? *word : '?';
        put_text(out, text);
    }
}

static void put_profile(struct output *out, const struct line *lines, size_t line_count)
{
    char text[80];
    put_text(out, "mipsrec profile 1 ");
    for (size_t i = 0; i < sizeof identity; i++) {
        snprintf(text, sizeof text, "%02x", identity[i]);
        put_text(out, text);
    }
    put_text(out, "\n# command");
    for (int i = 0; i < mr_options.guest_argc; i++)
        put_word(out, mr_options.guest_argv[i]);
    snprintf(text, sizeof text, "\n# rate %u\n# lost %llu\n", mr_options.profile_rate,
             (unsigned long long)atomic_load(&table->lost));
    put_text(out, text);
    for (size_t i = 0; i < line_count; i++) {
        snprintf(text, sizeof text, "%08x %llu %s\n", lines[i].pc, (unsigned long long)lines[i].count,
                 engines[lines[i].engine]);
        put_text(out, text);
    }
    flush(out);
}

/* The file under another name until it is whole. */
static int open_partial(char *partial, size_t size_bytes)
{
    int length = snprintf(partial, size_bytes, "%s.%d", path, (int)getpid());
    if (length < 0 || (size_t)length >= size_bytes) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return open(partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

static int write_file(void)
{
    static struct output out;
    char partial[PATH_MAX];
    size_t room_bytes = SLOT_COUNT * sizeof(struct line);
    struct line *lines =
        mmap(NULL, room_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (lines == MAP_FAILED)
        return errno;
    out.error = 0;
    out.fd = open_partial(partial, sizeof partial);
    if (out.fd < 0) {
        out.error = errno;
    } else {
        put_profile(&out, lines, collect(lines));
        if (close(out.fd) != 0 && out.error == 0)
            out.error = errno;
        if (out.error == 0 && rename(partial, path) != 0)
            out.error = errno;
        if (out.error != 0)
            unlink(partial);
    }
    munmap(lines, room_bytes);
    return out.error;
}

static void leave_table(void)
{
    uint32_t others = atomic_fetch_sub(&table->processes, 1) - 1;
    if (getpid() != table->first_process && others > 0)
        return;
    int error = write_file();
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

void mr_profile_executes(void)
{
    if (!mr_profiling)
        return;
    mr_profile_thread_ends();
    leave_table();
}

void mr_profile_executes_not(void)
{
    if (!mr_profiling)
        return;
    atomic_fetch_add(&table->processes, 1);
    start_timer();
}

/* ---- signals that end the process ---- */

bool mr_profile_takes_end(int host_signal)
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

void mr_profile_on_end(int host_signal, siginfo_t *info, void *context)
{
    (void)info, (void)context;
    mr_profile_end();
    mr_die_of_host_signal(host_signal);
}

/* ---- the start ---- */

/* Makes `path` of the name, and sees whether the file can be made: better than when the program is done. */
static void name_file(const char *given)
{
    char folder[PATH_MAX], partial[PATH_MAX];
    struct stat status;
    if (stat(given, &status) == 0 && !S_ISREG(status.st_mode))
        mr_fail("--profile %s: is there, and no regular file: name another", given);
    bool relative = given[0] != '/';
    if (relative && getcwd(folder, sizeof folder) == NULL)
        mr_fail("--profile %s: cannot tell the current folder (%s)", given, strerror(errno));
    int length = snprintf(path, sizeof path, "%s%s%s", relative ? folder : "", relative ? "/" : "", given);
    int fd = length < (int)sizeof path ? open_partial(partial, sizeof partial) : (errno = ENAMETOOLONG, -1);
    if (fd < 0)
        mr_fail("--profile %s: cannot be written (%s)", given, strerror(errno));
    close(fd);
    unlink(partial);
}

void mr_profile_start(const struct mr_image *image)
{
    struct sigaction action = {0}, before;
    if (mr_options.profile_path == NULL)
        return;
    name_file(mr_options.profile_path);
    table = mmap(NULL, sizeof *table, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (table == MAP_FAILED)
        mr_fail("--profile: cannot get memory for samples: %s", strerror(errno));
    table->first_process = getpid();
    table->processes = 1;
    memcpy(identity, image->identity, sizeof identity);
    mr_lines_near(0); /* decodes the table, which the end may be too late for */
    mr_profiling = true;
    sigfillset(&action.sa_mask);
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    action.sa_sigaction = mr_profile_on_end;
    for (int number = 1; number <= 64; number++)
        if (mr_profile_takes_end(number) && sigaction(number, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
            sigaction(number, &action, NULL); /* not of the two that the libc keeps for itself */
    action.sa_sigaction = on_sample;
    action.sa_flags |= SA_RESTART;
    if (sigaction(MR_SAMPLE_SIGNAL, &action, NULL) != 0)
        mr_fail("--profile: cannot install a handler: %s", strerror(errno));
}
