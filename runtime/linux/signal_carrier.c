/* Guest signals 65 to 128, which the host's kernel does not have: they travel on one signal that it has.
 *
 * A signal of this kind for another thread or process is a packet on the host's signal 64, whose siginfo says which one it is.
 * So the host never blocks 64, and has a handler for it (mr_signal_host_needs); guest signal 64 itself comes there as well.
 * Who blocks what is decided here: a packet for the process that its thread blocks goes to a thread that does not, or waits
 * in `waiting` until one does not. What a guest that executes another leaves to it, and the host's mask cannot say, is a
 * packet, too. Simplification: a signal for a group of processes reaches only those whose program is this host.
 * All that threads share here is under a lock that is held for a few instructions, with all signals blocked.
 */
#include "base/observe.h"
#include "linux/abi.h"
#include "linux/host_call.h"
#include "linux/signal_parts.h"
#include "run/upcalls.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CARRIER_BIT ((uint64_t)1 << (MR_CARRIER_SIGNAL - 1))
#define MOST_WAITING 256

/* si_code of a packet: negative, so that any process may send it, and of no other use. */
#define PACKET_CODE (-0x4d52)
enum { PACKET_LOOK = 0, PACKET_STATE = 0x100 }; /* in si_errno, beside the signal's number and MR_PACKET_OF_THREAD */

/* What a program that is executed takes over, in a packet of PACKET_STATE. */
struct state {
    uint64_t blocked, ignored; /* of signals 65 to 128 */
    uint32_t carrier_blocked, carrier_ignored;
};

static size_t payload_offset(void)
{
    return offsetof(siginfo_t, si_pid);
}

/* ---- what threads share ---- */

struct member {
    pid_t thread;
    const struct mr_thread_signals *signals;
    struct member *next;
};

static _Thread_local struct member this_member;
static struct member *members; /* all guest threads, once there are two */
static struct mr_signal_info waiting[MOST_WAITING];
static volatile uint32_t waiting_count;
static volatile int taken;

/* Returns the mask to give back. */
static uint64_t take_lock(void)
{
    uint64_t mask = mr_signals_set_host_mask(~(uint64_t)0);
    while (__atomic_exchange_n(&taken, 1, __ATOMIC_ACQUIRE))
        sched_yield();
    return mask;
}

static void give_lock(uint64_t mask)
{
    __atomic_store_n(&taken, 0, __ATOMIC_RELEASE);
    mr_signals_set_host_mask(mask);
}

void mr_carrier_thread_begins(void)
{
    uint64_t mask = take_lock();
    this_member = (struct member){gettid(), &mr_thread_signals, members};
    members = &this_member;
    give_lock(mask);
}

void mr_carrier_thread_ends(void)
{
    uint64_t mask = take_lock();
    for (struct member **link = &members; *link; link = &(*link)->next)
        if (*link == &this_member) {
            *link = this_member.next;
            break;
        }
    give_lock(mask);
}

void mr_carrier_forked(void)
{
    taken = 0;
    members = NULL;
    waiting_count = 0;
}

static bool takes(const struct mr_thread_signals *signals, int number)
{
    return !mr_signal_in(&signals->blocked, number) || mr_signal_in(&signals->awaited, number);
}

/* Returns the number of a thread that takes the signal, or 0. Under the lock. */
static pid_t find_taker(int number)
{
    for (const struct member *member = members; member; member = member->next)
        if (takes(member->signals, number))
            return member->thread;
    return 0;
}

/* ---- packets ---- */

void mr_packet_make(siginfo_t *packet, const struct mr_signal_info *info, int flags)
{
    memset(packet, 0, sizeof *packet);
    packet->si_signo = MR_CARRIER_SIGNAL;
    packet->si_code = PACKET_CODE;
    packet->si_errno = info->signal | flags;
    packet->si_pid = (pid_t)info->words[0];
    packet->si_uid = info->words[1];
    packet->si_value.sival_ptr = mr_carried_value(info->code, info->words[2]);
}

int64_t mr_packet_to_thread(pid_t process, pid_t thread, const siginfo_t *packet)
{
    return mr_result(syscall(SYS_rt_tgsigqueueinfo, process, thread, MR_CARRIER_SIGNAL, packet));
}

int64_t mr_packet_to_process(pid_t process, const siginfo_t *packet)
{
    return mr_result(syscall(SYS_rt_sigqueueinfo, process, MR_CARRIER_SIGNAL, packet));
}

/* A timer's or a queue's notification has no room for a packet: the number stands above the value. */
void *mr_carried_value(int upper, uint32_t value)
{
    return (void *)(uintptr_t)((uint64_t)(uint32_t)upper << 32 | value);
}

/* Returns the packet's flags; 0 for what is none. */
static int unpack(const siginfo_t *from, struct mr_signal_info *info)
{
    uint32_t upper = (uint32_t)((uint64_t)(uintptr_t)from->si_value.sival_ptr >> 32);
    int number = from->si_errno & 0xff;
    mr_signal_info_from_host(from, info);
    if (from->si_code == PACKET_CODE && number <= MR_SIGNAL_COUNT) { /* any process may send what looks like one */
        info->signal = number;
        info->code = (int)upper;
        info->error = 0;
        return from->si_errno & ~0xff;
    }
    if ((from->si_code == SI_TIMER || from->si_code == SI_MESGQ) && upper > MR_CARRIER_SIGNAL && upper <= MR_SIGNAL_COUNT)
        info->signal = (int)upper;
    return 0;
}

/* ---- the own process ---- */

void mr_signal_to_process(const struct mr_signal_info *info)
{
    if (takes(&mr_thread_signals, info->signal)) {
        mr_signal_queue(info);
        return;
    }
    siginfo_t look;
    const struct mr_signal_info nothing = {.signal = PACKET_LOOK};
    mr_packet_make(&look, &nothing, 0);
    uint64_t mask = take_lock();
    bool joined = false;
    for (uint32_t i = 0; i < waiting_count && !joined; i++)
        joined = mr_signal_joins(&waiting[i], info);
    if (!joined && waiting_count < MOST_WAITING)
        waiting[waiting_count++] = *info;
    pid_t taker = find_taker(info->signal);
    give_lock(mask);
    if (taker != 0)
        mr_packet_to_thread(getpid(), taker, &look);
}

void mr_signals_take_waiting(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* what this thread takes is seen by a thread that adds one now */
    if (waiting_count == 0)
        return;
    uint64_t mask = take_lock();
    uint32_t kept = 0;
    for (uint32_t i = 0; i < waiting_count; i++)
        if (takes(&mr_thread_signals, waiting[i].signal))
            mr_signal_queue(&waiting[i]);
        else
            waiting[kept++] = waiting[i];
    waiting_count = kept;
    give_lock(mask);
}

void mr_signals_add_waiting(struct mr_signal_set *pending)
{
    if (waiting_count == 0)
        return;
    uint64_t mask = take_lock();
    for (uint32_t i = 0; i < waiting_count; i++)
        pending->bits[(waiting[i].signal - 1) / 64] |= (uint64_t)1 << ((waiting[i].signal - 1) % 64);
    give_lock(mask);
}

void mr_signals_drop_waiting(int mips_signal)
{
    if (waiting_count == 0)
        return;
    uint64_t mask = take_lock();
    uint32_t kept = 0;
    for (uint32_t i = 0; i < waiting_count; i++)
        if (waiting[i].signal != mips_signal)
            waiting[kept++] = waiting[i];
    waiting_count = kept;
    give_lock(mask);
}

/* ---- arrival ---- */

void mr_signal_arrived(const struct mr_signal_info *info, bool of_thread, void *context)
{
    const struct mr_thread_signals *thread = &mr_thread_signals;
    bool blocked = mr_signal_in(&thread->blocked, info->signal);
    bool taken_here = takes(thread, info->signal);
    if (mr_signal_actions[info->signal].handler == MR_SIG_IGNORE && !blocked) {
        mr_wait_call_go_on(context);
        return;
    }
    if (taken_here || of_thread)
        mr_signal_queue(info);
    else
        mr_signal_to_process(info);
    if (taken_here)
        mr_wait_call_interrupt(context);
    else
        mr_wait_call_go_on(context);
}

static void on_carrier(int host_signal, siginfo_t *host_info, void *context)
{
    int saved_errno = errno;
    struct mr_signal_info info;
    (void)host_signal;
    if (mr_observe.debug_kicked != NULL && mr_observe.debug_kicked(host_info, context)) {
        errno = saved_errno;
        return;
    }
    int flags = unpack(host_info, &info);
    uint32_t before = mr_signals_queued;
    if (info.signal == PACKET_LOOK)
        mr_signals_take_waiting();
    if (info.signal != PACKET_LOOK)
        mr_signal_arrived(&info, flags & MR_PACKET_OF_THREAD || host_info->si_code == SI_TKILL, context);
    else if (mr_signals_queued > before)
        mr_wait_call_interrupt(context);
    else
        mr_wait_call_go_on(context);
    errno = saved_errno;
}

/* ---- from one program to the next ---- */

static uint64_t ignored_signals(void)
{
    uint64_t ignored = 0;
    for (int mips = MR_CARRIER_SIGNAL + 1; mips <= MR_SIGNAL_COUNT; mips++)
        if (mr_signal_actions[mips].handler == MR_SIG_IGNORE)
            ignored |= (uint64_t)1 << (mips - 65);
    return ignored;
}

static void take_state(const siginfo_t *packet)
{
    struct state state;
    memcpy(&state, (const uint8_t *)packet + payload_offset(), sizeof state);
    mr_thread_signals.blocked.bits[1] = state.blocked;
    mr_thread_signals.blocked.bits[0] &= ~CARRIER_BIT;
    mr_thread_signals.blocked.bits[0] |= state.carrier_blocked ? CARRIER_BIT : 0;
    for (int mips = MR_CARRIER_SIGNAL + 1; mips <= MR_SIGNAL_COUNT; mips++)
        if (state.ignored >> (mips - 65) & 1)
            mr_signal_actions[mips].handler = MR_SIG_IGNORE;
    if (state.carrier_ignored)
        mr_signal_actions[MR_CARRIER_SIGNAL].handler = MR_SIG_IGNORE;
}

/* Takes the packets that the host keeps; the carrier is blocked. */
static void take_kept(void)
{
    const uint64_t carrier = CARRIER_BIT;
    const struct timespec at_once = {0, 0};
    siginfo_t packet;
    while (syscall(SYS_rt_sigtimedwait, &carrier, &packet, &at_once, MR_HOST_SET_BYTES) > 0) {
        struct mr_signal_info info;
        if (unpack(&packet, &info) & PACKET_STATE)
            take_state(&packet);
        else if (info.signal != PACKET_LOOK)
            mr_signal_to_process(&info);
    }
}

/* The mask that this program began with is known; the carrier still is as it was then. */
void mr_carrier_install(void)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK};
    action.sa_sigaction = on_carrier;
    sigfillset(&action.sa_mask);
    uint64_t mask = mr_signals_set_host_mask(~(uint64_t)0);
    sigaction(MR_CARRIER_SIGNAL, &action, NULL);
    take_kept();
    mr_signals_set_host_mask(mask & ~CARRIER_BIT);
}

/* Only signals that the next program may be told of: those that wait because they are blocked. */
static void leave_queue(bool to_guest)
{
    struct mr_signal_info info;
    siginfo_t packet;
    while (mr_signal_dequeue(mr_thread_signals.blocked, &info)) {
        int host_signal = mr_signal_to_host(info.signal);
        if (host_signal != 0 && host_signal != MR_CARRIER_SIGNAL) {
            mr_signal_info_to_host(&info, to_guest, &packet);
            syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), host_signal, &packet);
        } else if (to_guest) {
            mr_packet_make(&packet, &info, MR_PACKET_OF_THREAD);
            mr_packet_to_thread(getpid(), gettid(), &packet);
        }
    }
    for (uint32_t i = 0; to_guest && i < waiting_count; i++) {
        mr_packet_make(&packet, &waiting[i], 0);
        mr_packet_to_thread(getpid(), gettid(), &packet);
    }
    waiting_count = 0;
}

void mr_signals_hand_on(bool to_guest)
{
    const struct mr_signal_set *blocked = &mr_thread_signals.blocked;
    struct state state = {blocked->bits[1], ignored_signals(), mr_signal_in(blocked, MR_CARRIER_SIGNAL),
                          mr_signal_actions[MR_CARRIER_SIGNAL].handler == MR_SIG_IGNORE};
    uint64_t bit = CARRIER_BIT, pending = 0;
    mr_signals_hold_none(true); /* the next program keeps the host's mask */
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &bit, NULL, MR_HOST_SET_BYTES);
    leave_queue(to_guest);
    syscall(SYS_rt_sigpending, &pending, MR_HOST_SET_BYTES);
    if (to_guest && (state.blocked || state.ignored || pending & CARRIER_BIT)) {
        siginfo_t packet;
        const struct mr_signal_info nothing = {.signal = PACKET_LOOK};
        mr_packet_make(&packet, &nothing, PACKET_STATE);
        memcpy((uint8_t *)&packet + payload_offset(), &state, sizeof state);
        mr_packet_to_thread(getpid(), gettid(), &packet);
        return;
    }
    if (state.carrier_ignored)
        signal(MR_CARRIER_SIGNAL, SIG_IGN);
    if (!state.carrier_blocked)
        syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &bit, NULL, MR_HOST_SET_BYTES);
}
