/* What the files of this folder share. */
#ifndef MR_GDB_PARTS_H
#define MR_GDB_PARTS_H

#include "cpu/mips16.h"
#include "mr_state.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct mr_signal_info;

/* ---- what observe.h calls ---- */
void mr_debug_thread_begins(struct mr_state *s);
void mr_debug_thread_ends(void);
void mr_debug_forked(void);
uint32_t mr_debug_run(struct mr_state *s, uint32_t pc, uint32_t stop_pc, uint32_t stop_sp);
bool mr_debug_holds_call(struct mr_state *s);
bool mr_debug_moved(struct mr_state *s, uint32_t *pc);
void mr_debug_ask_signal(struct mr_state *s, struct mr_signal_info *info, uint32_t *pc);
bool mr_debug_ask_in_call(struct mr_signal_info *info, void *context);
bool mr_debug_wants_signal(int mips_signal);
bool mr_debug_kicked(const siginfo_t *info, void *context);
#define MR_DEBUG_KICK_CODE (-0x4d54) /* the si_code of a request to stop: negative, and of no other use */

/* ---- connect.c ---- */
/* Waits for a debugger at a port of 127.0.0.1 or at a socket in the file system. Returns its connection, or -1. */
int mr_debug_accept(const char *where);

/* ---- rights.c ---- */
void mr_debug_rights_start(void);
void mr_debug_rights_changed(void);      /* what observe.h calls */
void mr_debug_take_rights(bool last);    /* the server's thread takes those of a guest thread that waits; last: it ends */

/* ---- packets.c ---- */
#define MR_DEBUG_PACKET_BYTES 0x4000u /* the longest payload, also told in hexadecimal as PacketSize */

struct mr_debug_reply {
    char bytes[MR_DEBUG_PACKET_BYTES + 1];
    size_t length;
};
enum mr_debug_input { MR_DEBUG_PACKET, MR_DEBUG_INTERRUPT, MR_DEBUG_CLOSED };

void mr_debug_connection(bool no_acknowledgements); /* MR_OWN_DEBUGGER begins */
void mr_debug_stop_acknowledging(void);
bool mr_debug_acknowledges(void);
/* Reads the next packet or interrupt. *packet ends with a 0 byte, and is valid until the next call. */
enum mr_debug_input mr_debug_read(const char **packet);
void mr_debug_send(const struct mr_debug_reply *reply);

/* Adding to a reply; what does not fit is dropped. */
void mr_debug_add(struct mr_debug_reply *reply, const char *format, ...) __attribute__((format(printf, 2, 3)));
void mr_debug_add_hex(struct mr_debug_reply *reply, const void *bytes, size_t size_bytes);
/* Escaped; returns how many of the bytes found room. */
size_t mr_debug_add_binary(struct mr_debug_reply *reply, const void *bytes, size_t size_bytes);
/* Reading from a packet. They move *at behind what they read, and return false, or fewer bytes, where there is something else. */
bool mr_debug_take_number(const char **at, uint64_t *value); /* hexadecimal, at most 16 digits */
bool mr_debug_take(const char **at, char wanted);
size_t mr_debug_take_hex(const char **at, void *bytes, size_t room_bytes);
size_t mr_debug_unescape(const char *from, void *bytes, size_t room_bytes); /* up to the packet's end */

/* ---- stops.c ---- */
enum mr_debug_order { MR_DEBUG_RUN, MR_DEBUG_STEP, MR_DEBUG_STAY };

struct mr_debug_thread {
    pid_t number;               /* 0: not on the list */
    struct mr_state *state;
    bool parked;                /* it waits in stops.c, and its registers are complete */
    bool in_call;               /* its system call goes on, or is made again, when it goes on */
    bool changed;               /* the debugger has written its registers */
    enum mr_debug_order order;  /* of the debugger */
    bool ordered;               /* while it gives orders: this thread has one */
    bool stepped;               /* under MR_DEBUG_STEP: the instruction has been executed */
    bool reported;              /* no instruction was executed since it told the debugger of a stop */
    uint32_t reported_pc;
    int signal;                 /* the one that the debugger sends with the order, a MIPS number, or 0 */
    uint32_t fault_address;
    uint8_t signal_info[128];   /* the guest's siginfo_t of the signal that it has stopped for */
    bool has_signal_info;
    struct mr_debug_thread *next;
};
extern _Thread_local struct mr_debug_thread mr_debug_this_thread;

enum mr_debug_kind { MR_DEBUG_SIGNAL, MR_DEBUG_BREAK, MR_DEBUG_WATCH, MR_DEBUG_READ_WATCH, MR_DEBUG_ACCESS_WATCH, MR_DEBUG_EXEC,
                     MR_DEBUG_NO_THREADS /* none is left that may go on */ };
struct mr_debug_event {
    enum mr_debug_kind kind;
    int signal;        /* MIPS number */
    uint32_t address;  /* of a watched access */
};

extern bool mr_debug_stop; /* threads are to stop; atomic */
extern struct mr_debug_event mr_debug_last_event;
extern pid_t mr_debug_last_thread;

/* Stops all threads, tells the debugger, and waits until this one may go on. Returns false when another thread's stop came
 * first: then the debugger has not been told, and the caller looks again whether there is reason to stop. */
bool mr_debug_report(const struct mr_debug_event *event);
void mr_debug_park(bool in_call); /* the calling thread stops with the others; returns when it may go on */
void mr_debug_interrupt(void);    /* the debugger wants the guest to stop */
bool mr_debug_has_control(void);  /* the guest is stopped, and the debugger knows */
/* Where the debugger has control. Lets threads go on by their orders. */
void mr_debug_resume(void);
void mr_debug_leave(void);        /* the debugger is gone: the guest runs on its own */
struct mr_debug_thread *mr_debug_first_thread(void); /* valid while the debugger has control */
struct mr_debug_thread *mr_debug_find_thread(pid_t number);
bool mr_debug_any_goes_on(void); /* whether the orders let any thread go on */
void mr_debug_stopped_at_start(bool exec); /* the calling thread is the only one, and stops before its first instruction */
void mr_debug_await_start(void);
void mr_debug_freeze(void);
void mr_debug_unfreeze(void);

/* The rest of stops.c is for crash.c and session.c; what touches the list of threads needs the lock. */
void mr_debug_lock(void);
void mr_debug_unlock(void);
void mr_debug_set_stop(bool stop);
void mr_debug_enlist(struct mr_state *s);
void mr_debug_kick(pid_t number); /* makes a thread look whether it is to stop */
void mr_debug_await(bool (*reached)(void)); /* at most for a second */
void mr_debug_wait_for_end(void);
void mr_debug_take_control(pid_t number, struct mr_debug_event event);

/* ---- asking.c, crash.c ---- */
bool mr_debug_take_given_signal(void); /* the one that the debugger sends with its order; it waits for the thread then */
void mr_debug_note_signal(struct mr_debug_thread *self, const struct mr_signal_info *info); /* for the debugger to see */
void mr_debug_end_in_call(void *context); /* after parking in a system call, in the handler of the host */
void mr_debug_stop_here(const void *context);
bool mr_debug_dumps_core(int mips_signal); /* whether that is its default action */

/* ---- stop_replies.c ---- */
void mr_debug_make_stop_reply(struct mr_debug_reply *reply);
void mr_debug_send_stop_reply(void);
void mr_debug_add_thread(struct mr_debug_reply *reply, pid_t number);
int mr_debug_signal_from_mips(int mips_signal);
int mr_debug_signal_to_mips(int signal); /* 0: none, or one that MIPS does not have */

/* ---- server.c ---- */
enum {
    MR_DEBUG_KNOWS_EXEC = 2, MR_DEBUG_KNOWS_SWBREAK = 4, MR_DEBUG_KNOWS_NO_RESUMED = 8, MR_DEBUG_KNOWS_PROCESSES = 16,
};
struct mr_debug_session {
    unsigned features;                                /* what the client has said in qSupported */
    bool post_mortem;                                 /* the guest is dying */
    bool executes;                                    /* another program is about to find the host's signal actions */
    bool over;                                        /* the guest goes on, or dies, without the debugger */
    pid_t general;                                    /* thread that registers and memory are of, or 0 */
    pid_t resumed;                                    /* thread that `c` and `s` are for, or 0 or -1: all */
    uint64_t passed[3];                               /* set of the protocol's signals that it does not want to see */
};
extern struct mr_debug_session mr_debug_session;
void mr_debug_serve(void); /* reads packets until the session is over */
struct mr_debug_thread *mr_debug_general_thread(void);
bool mr_debug_passes(int mips_signal);

/* Is given the rest of a packet behind the request's name, which still stands before it. Returns what becomes of the
 * reply: it is "OK", it is what the request has added, there is none, or it is E and this code. */
typedef int mr_debug_request(const char *rest, struct mr_debug_reply *reply);
enum {
    MR_DEBUG_OK = 0, MR_DEBUG_ADDED = -1, MR_DEBUG_SILENT = -2,
    MR_DEBUG_NO_MEMORY = 12, MR_DEBUG_FAULT = 14, MR_DEBUG_BUSY = 16, MR_DEBUG_INVALID = 22,
};

/* ---- state_requests.c ---- */
mr_debug_request mr_debug_read_registers, mr_debug_write_registers, mr_debug_read_register, mr_debug_write_register;
mr_debug_request mr_debug_send_memory, mr_debug_take_memory, mr_debug_describe_region, mr_debug_change_point;
mr_debug_request mr_debug_count_watchpoints, mr_debug_allocate, mr_debug_release;

/* ---- thread_requests.c ---- */
mr_debug_request mr_debug_choose_thread, mr_debug_tell_alive, mr_debug_tell_current, mr_debug_describe_thread;
mr_debug_request mr_debug_list_threads, mr_debug_list_more_threads, mr_debug_vcont;
mr_debug_request mr_debug_plain_resume; /* c C s S */

/* ---- points.c ---- */
#define MR_DEBUG_MOST_WATCHPOINTS 64u
int mr_debug_set_point(char type, uint32_t address, uint32_t size_bytes, bool set); /* Z and z; returns as a request */
void mr_debug_clear_points(void);
bool mr_debug_breaks_at(uint32_t pc);
/* Whether the instruction at s->pc, or that in its delay slot, accesses what is watched. */
bool mr_debug_watches_next(const struct mr_state *s, struct mr_debug_event *event);

/* ---- accesses.c ---- */
#define MR_DEBUG_MOST_ACCESSES MR16_MOST_WORDS /* of save and restore */
struct mr_debug_access {
    uint32_t address, size_bytes;
    bool store;
};
/* Writes what the instruction at s->pc, or that in its delay slot, accesses; returns how many accesses there are. */
unsigned mr_debug_next_accesses(const struct mr_state *s, struct mr_debug_access accesses[MR_DEBUG_MOST_ACCESSES]);

/* ---- registers.c ---- by numbers of gdb, below MR_GDB_NUMBERS */
uint32_t mr_debug_register_bytes(const struct mr_state *s, uint32_t number);
void mr_debug_get_register(const struct mr_debug_thread *thread, uint32_t number, uint8_t bytes[8]);
void mr_debug_set_register(struct mr_debug_thread *thread, uint32_t number, const uint8_t bytes[8]);
const char *mr_debug_target_xml(void);

/* ---- bytes.c ---- */
/* Returns how many bytes could be read, from the start. */
uint32_t mr_debug_read_memory(uint32_t guest, void *bytes, uint32_t size_bytes);
bool mr_debug_write_memory(uint32_t guest, const void *bytes, uint32_t size_bytes);

/* ---- transfers.c, remote_files.c ---- */
mr_debug_request mr_debug_transfer, mr_debug_file_request;

#endif
