/* Counts samples of code that nobody recompiled, asks the compile server for what is hot, and binds what it made.
 *
 * Enters: samples (profile.c), one for each 4 ms of a thread's processor time. Leaves: requests (request.c), and libraries
 * bound over the pages of files (lifted/growing.c). The handler of a sample only counts; what takes longer is done by
 * take_step, where the guest's state is complete: the handler has the next poll of its thread come there.
 *
 * A file is asked for when it has had a number of new samples, which doubles each time. Counts are forgotten when they were
 * sent: the server remembers what it was asked for.
 */
#include "base/host_thread.h"
#include "base/instructions.h"
#include "base/kernel_proc.h"
#include "base/messages.h"
#include "base/observe.h"
#include "base/options.h"
#include "baseline/baseline.h"
#include "growth/growth.h"
#include "lifted/caches.h"
#include "lifted/code_files.h"
#include "lifted/module.h"
#include "lifted/store.h"
#include "lifted/this_user.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#define SLOTS 4096u
#define MOST_PROBES 16u
#define STEP_SAMPLES 4u          /* of the process, from one step to the next */
#define FIRST_SAMPLES 8u         /* that a file is asked for at first */
#define MOST_SAMPLES 512u        /* and in the end */
#define LOOK_STEPS 32u           /* from one look for what others had made to the next */
#define CROWDED_ARRIVALS 6u      /* counts of arrivals (run/interpret.c) for each sample: one arrival in 160 ns */
#define MOST_STARTS 3u           /* of the server, by this process */
#define MOST_BINDINGS 64u        /* for one file */

bool mr_growth_on;

enum { RECOMPILED, TRANSLATED, IN_HOST, PLACES };
static _Atomic uint64_t samples_of[PLACES];

static struct mr_sample_slot slots[SLOTS]; /* key: number of the file above, pc as `mipsrec disasm` shows it */
static _Atomic uint32_t *fresh; /* samples of each file since it was asked for */

/* What is known of a file. */
struct file {
    bool hopeless; /* it cannot be asked for */
    bool waiting;  /* the server has been asked, and nothing has come of it yet */
    bool aside;    /* what has grown is not used for now */
    bool unsent;   /* nobody has taken the message about it yet */
    char identity[65];
    uint32_t next_at; /* as many samples as it is asked for */
    struct mr_file_stamp library;
    unsigned bound;
};
static struct file *files;
static atomic_flag stepping = ATOMIC_FLAG_INIT;
static _Atomic uint32_t generation; /* of what is bound */
static _Thread_local uint32_t seen_generation;
static unsigned step_number, starts, requests, set_aside;
static bool lacks_server; /* in this step */
static _Atomic uint32_t ticks, arrived; /* samples, and counts of arrivals, since the last step */

/* ---- in the handler ---- */

bool mr_count_samples(struct mr_sample_slot *slots, size_t slot_count, unsigned most, uint64_t key, uint64_t samples)
{
    size_t at = (size_t)((unsigned __int128)(key * 0x9e3779b97f4a7c15u) * slot_count >> 64); /* its uppermost bits */
    for (unsigned probe = 0; probe < most; probe++, at = (at + 1) % slot_count) {
        uint64_t found = atomic_load_explicit(&slots[at].key, memory_order_relaxed);
        if (found == 0 && atomic_compare_exchange_strong(&slots[at].key, &found, key))
            found = key;
        if (found == key) {
            atomic_fetch_add_explicit(&slots[at].count, samples, memory_order_relaxed);
            return true;
        }
    }
    return false;
}

/* bits: added to the pc. */
static void count_at(uint32_t pc, uint32_t bits, uint32_t periods)
{
    unsigned number = mr_code_file_number(pc);
    const struct mr_code_file *file = mr_code_file(number);
    if (file == NULL || files[number].hopeless)
        return;
    mr_count_samples(slots, SLOTS, MOST_PROBES, (uint64_t)number << 32 | (pc - file->delta) | bits, periods);
    atomic_fetch_add_explicit(&fresh[number], periods, memory_order_relaxed);
}

static uint32_t instruction_at(uint32_t pc)
{
    return mr_is_mips16(pc) ? pc : mr_aligned_down(pc);
}

/* Where ra says that a call was made, too: of a leaf that is the caller, which is better recompiled with it. Of other functions
 * it is a place in themselves. */
static void count_translated(uintptr_t host_pc, uint32_t periods)
{
    uint32_t pc = mr_baseline_guest_pc(host_pc), ra = GPR(mr_current, MR_REG_RA);
    uint32_t call_pc = ra - 2 * (mr_is_mips16(ra) ? MR_HALF_BYTES : MR_INSTRUCTION_BYTES);
    count_at(instruction_at(pc != 0 ? pc : mr_current->pc), 0, periods);
    if (mr_may_be_code(call_pc) && call_pc < MR_USER_END)
        count_at(call_pc, 0, periods);
}

static void note_arrivals(uint32_t pc)
{
    atomic_fetch_add_explicit(&arrived, 1, memory_order_relaxed);
    count_at(instruction_at(pc), MR_ARRIVED, 1);
}

static unsigned place_of(uintptr_t host_pc)
{
    if (mr_library_contains(host_pc))
        return RECOMPILED;
    return mr_current != NULL && mr_doing.activity == MR_INTERPRETING ? TRANSLATED : IN_HOST;
}

void mr_growth_sample(uintptr_t host_pc, uint64_t periods)
{
    unsigned place = place_of(host_pc);
    atomic_fetch_add_explicit(&samples_of[place], periods, memory_order_relaxed);
    if (place == TRANSLATED)
        count_translated(host_pc, (uint32_t)periods);
    if (mr_current == NULL)
        return;
    uint32_t now = atomic_load_explicit(&generation, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&ticks, 1, memory_order_relaxed) >= STEP_SAMPLES - 1)
        atomic_store(&mr_growth_due, true);
    if (seen_generation != now || atomic_load_explicit(&mr_growth_due, memory_order_relaxed))
        mr_current->signalled.value = 1; /* its next poll leaves for the host */
    seen_generation = now;
}

/* ---- asking ---- */

static int by_samples(const void *a, const void *b)
{
    const struct mr_hot_pc *one = a, *other = b;
    return one->samples == other->samples ? 0 : one->samples > other->samples ? -1 : 1;
}

/* Takes the counts of a file out of the table; returns how many pcs there are. */
static size_t take_counts(unsigned number, struct mr_hot_pc *pcs)
{
    static struct mr_hot_pc all[SLOTS];
    size_t found = 0;
    for (size_t at = 0; at < SLOTS; at++) {
        uint64_t key = atomic_load_explicit(&slots[at].key, memory_order_relaxed);
        if (key >> 32 != number)
            continue;
        all[found++] = (struct mr_hot_pc){(uint32_t)key, (uint32_t)atomic_exchange(&slots[at].count, 0)};
        atomic_store(&slots[at].key, 0);
    }
    qsort(all, found, sizeof *all, by_samples);
    found = found < MR_MOST_HOT_PCS ? found : MR_MOST_HOT_PCS;
    memcpy(pcs, all, found * sizeof *all);
    return found;
}

/* Opens the file as it was when it was mapped; -1 where it is another by now. */
static int open_again(const struct mr_code_file *known)
{
    struct stat status;
    int fd = mr_open_regular(known->path);
    if (fd < 0)
        return -1;
    if (fstat(fd, &status) == 0 && mr_code_file_is(known, &status))
        return fd;
    close(fd);
    return -1;
}

/* Finds out what identifies a file that the guest runs. The server notes it; only who has waited long reads the file, unless
 * it is a large one. */
static void identify(struct file *file, int fd, bool reads)
{
    if (file->identity[0] == 0 && !mr_store_identify_soon(fd, file->identity, reads))
        file->identity[0] = 0;
    file->hopeless = file->identity[0] != 0 && mr_grown_is_pointless(file->identity);
}

/* pcs of one file, to be sent. */
struct list {
    unsigned number;
    size_t count;
    struct mr_hot_pc pcs[MR_MOST_PCS];
};

static void add_translated(uint32_t start, void *argument)
{
    struct list *list = argument;
    if (list->count < MR_MOST_PCS && mr_code_file_number(start) == list->number)
        list->pcs[list->count++] = (struct mr_hot_pc){start - mr_code_file(list->number)->delta, 0};
}

/* What is executed often, too: where all of that is recompiled, control seldom goes from one tier to another. */
static void ask(unsigned number, struct file *file, int fd)
{
    static struct list list;
    static unsigned taken_for; /* counts of this file wait to be sent */
    if (taken_for != number) {
        list.number = number;
        list.count = take_counts(number, list.pcs);
        mr_baseline_visit(add_translated, &list);
    }
    taken_for = number;
    enum mr_sent sent = mr_request_send(mr_code_file(number)->path, fd, list.pcs, list.count);
    file->unsent = sent != MR_SENT;
    lacks_server |= sent == MR_NOBODY;
    if (sent != MR_SENT)
        return;
    taken_for = 0;
    requests++;
    file->waiting = true;
    atomic_store(&fresh[number], 0);
    file->next_at = file->next_at < MOST_SAMPLES ? 2 * file->next_at : MOST_SAMPLES;
}

/* ---- binding ---- */

static void use_all(void)
{
    for (unsigned number = 1; number <= mr_code_file_count(); number++)
        if (files[number].aside) {
            mr_module_take_back(number);
            files[number].aside = false;
        }
}

/* Binds what the server has made of a file since the last look. What other files had before may fit together with it. */
static void look(unsigned number, struct file *file)
{
    struct mr_open_library *library = mr_grown_find(file->identity, &file->library, mr_code_file(number)->path);
    if (library == NULL)
        return;
    file->waiting = false;
    if (file->bound == MOST_BINDINGS || !mr_module_grow(number, library, file->identity))
        file->hopeless = true;
    else
        file->bound++;
    use_all();
    atomic_fetch_add(&generation, 1);
}

/* ---- setting aside ---- */

/* Whether control has gone between recompiled and other code so often, in this step and the one before, that recompiled code
 * is hardly worth it. */
static bool is_crowded(void)
{
    static bool before;
    uint32_t samples = atomic_exchange(&ticks, 0), arrivals = atomic_exchange(&arrived, 0);
    bool now = arrivals > CROWDED_ARRIVALS * samples, both = now && before;
    before = now;
    return both;
}

/* Until there is more. The server has been told where control arrives. */
static void set_all_aside(void)
{
    for (unsigned number = 1; number <= mr_code_file_count(); number++) {
        struct file *file = &files[number];
        if (mr_code_file(number) == NULL || file->aside)
            continue;
        file->aside = mr_module_set_aside(number);
        set_aside += file->aside;
    }
    atomic_fetch_add(&generation, 1);
}

/* ---- a step ---- */

static void step_for(unsigned number, bool all, bool at_end, bool crowded)
{
    struct file *file = &files[number];
    const struct mr_code_file *known = mr_code_file(number);
    uint32_t samples = atomic_load(&fresh[number]);
    if (known == NULL || file->hopeless || (samples == 0 && !file->waiting && !file->unsent))
        return;
    file->next_at = file->next_at != 0 ? file->next_at : FIRST_SAMPLES;
    bool asks = file->unsent || (!file->aside && samples >= (at_end || crowded ? 1 : file->next_at));
    bool looks = !at_end && (file->waiting || all);
    int fd = asks || (looks && file->identity[0] == 0) ? open_again(known) : -1;
    if (fd >= 0)
        identify(file, fd, looks && all);
    else
        file->hopeless = asks;
    if (asks && !file->hopeless)
        ask(number, file, fd);
    if (fd >= 0)
        close(fd);
    if (looks && file->identity[0] != 0 && !file->hopeless)
        look(number, file);
}

static void step(void *at_end)
{
    bool all = ++step_number % LOOK_STEPS == 0, crowded = at_end == NULL && is_crowded();
    lacks_server = false;
    for (unsigned number = 1; number <= mr_code_file_count(); number++)
        step_for(number, all || crowded, at_end != NULL, crowded);
    const char *command = lacks_server && starts < MOST_STARTS ? mr_server_command() : NULL;
    if (command != NULL && mr_server_is_to_start(atomic_load(&samples_of[TRANSLATED]), at_end != NULL)) {
        starts++;
        mr_start_apart(command);
    }
    if (crowded)
        set_all_aside();
}

static void make_step(bool at_end)
{
    if (atomic_flag_test_and_set(&stepping))
        return;
    atomic_store(&mr_growth_due, false);
    mr_aside(step, at_end ? &stepping : NULL);
    atomic_flag_clear(&stepping);
}

static void take_step(void)
{
    make_step(false);
}

void mr_growth_end(void)
{
    if (mr_growth_on && atomic_load(&samples_of[TRANSLATED]) != 0)
        make_step(true);
}

/* ---- start and end ---- */

static void forked(void)
{
    atomic_flag_clear(&stepping); /* another thread may have had it */
    if (atomic_load(&samples_of[TRANSLATED]) != 0) {
        for (unsigned number = 0; number <= mr_code_file_count(); number++)
            atomic_store(&fresh[number], 0);
        memset(slots, 0, sizeof slots);
    }
    for (int place = 0; place < PLACES; place++)
        atomic_store(&samples_of[place], 0);
}

/* Not while another thread makes a step, which may be about to execute the server. */
static void end(void)
{
    while (atomic_flag_test_and_set(&stepping))
        sched_yield();
    mr_options.compile_server = NULL;
    atomic_flag_clear(&stepping);
}

static bool is_debugged(void)
{
    return mr_options.gdb != NULL || mr_options.gdb_on_crash != NULL || mr_options.gdb_handed_on != NULL;
}

void mr_growth_start(void)
{
    struct stat status;
    const char *cache = mr_cache_own();
    mr_server_note();
    if (mr_options.compile_server == NULL || is_debugged() || !mr_baseline_on || mr_options.engine_interp || mr_options.verify_fd >= 0 ||
        mr_options.profile_path != NULL || mr_options.call_function != NULL || getauxval(AT_SECURE) != 0 || cache == NULL ||
        stat(cache, &status) != 0 || !mr_is_this_user(status.st_uid))
        return;
    files = calloc(MR_MOST_CODE_FILES + 1, sizeof *files); /* untouched pages cost nothing */
    fresh = calloc(MR_MOST_CODE_FILES + 1, sizeof *fresh);
    mr_growth_on = files != NULL && fresh != NULL;
    if (!mr_growth_on)
        return;
    mr_observe.growth_arrived = note_arrivals;
    mr_observe.growth_step = take_step;
    mr_observe.growth_forked = forked;
    mr_observe.growth_ends = end;
}

void mr_growth_report(void)
{
    uint64_t sum = 0;
    unsigned bound = 0;
    if (!mr_growth_on)
        return;
    for (int place = 0; place < PLACES; place++)
        sum += atomic_load(&samples_of[place]);
    for (unsigned number = 1; number <= mr_code_file_count(); number++)
        bound += files[number].bound;
    mr_print_error("mipsrec-host: %llu samples, %llu in recompiled code, %llu in translated or interpreted code, %llu in the "
                   "host; asked the compile server %u times, bound its code %u times, set it aside %u times\n",
                   (unsigned long long)sum, (unsigned long long)samples_of[RECOMPILED],
                   (unsigned long long)samples_of[TRANSLATED], (unsigned long long)samples_of[IN_HOST], requests, bound,
                   set_aside);
}
