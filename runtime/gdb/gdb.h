/* A debugger's view of the guest: gdb's remote serial protocol, spoken with gdb and lldb over a socket.
 *
 * With --gdb the guest waits for a debugger before its first instruction, and runs in the interpreter's second loop
 * (stepping.c), which looks at breakpoints before each instruction. A host thread of its own, the server, reads packets.
 * With --gdb-on-crash a guest that is about to die waits for a debugger; the dying thread is the server then.
 *
 *     connect.c          the socket
 *     packets.c          packets: checksums, acknowledgements, escapes
 *     server.c           which packet does what
 *     state_requests.c   registers, memory and breakpoints
 *     thread_requests.c  threads
 *     resume.c           packets that let the guest run
 *     session.c          the begin and the end, and execve
 *     stops.c            guest threads stop together, and go on
 *     asking.c           signals and system calls of guest threads
 *     stop_replies.c     what the debugger is told of a stop
 *     stepping.c         the interpreter's loop under a debugger
 *     points.c           breakpoints and watchpoints
 *     registers.c        registers by the debugger's numbers
 *     target_xml.c       the description of these registers
 *     bytes.c            guest memory
 *     transfers.c        qXfer: objects that are read in pieces
 *     remote_files.c     vFile: the guest's files
 *     signal_numbers.c   the protocol's numbers of signals
 *     crash.c            --gdb-on-crash
 *
 * All that begins with mr_debug_ and is called from elsewhere costs one test of mr_debugging when nobody debugs.
 */
#ifndef MR_GDB_H
#define MR_GDB_H

#include "base/host.h"

#include <signal.h>

struct mr_signal_info;

extern bool mr_debugging; /* a debugger has this process */

/* Before the guest's first instruction, on its first thread: waits for the debugger that the options ask for. */
void mr_debug_start(struct mr_state *s);
bool mr_debug_is_port(const char *where); /* else it is the path of a socket */

/* ---- guest threads ---- */
void mr_debug_thread_begins(struct mr_state *s);
void mr_debug_thread_ends(void);
void mr_debug_forked(void); /* in the child, which nobody debugs */
/* As mr_interpret, until the debugger leaves. */
uint32_t mr_debug_run(struct mr_state *s, uint32_t pc, uint32_t stop_pc, uint32_t stop_sp);

/* ---- system calls ---- */
/* Before one: whether the thread is to stop first; then the call is made again. */
bool mr_debug_holds_call(struct mr_state *s);
/* After one: whether the debugger has changed the thread's registers meanwhile; then it goes on at *pc with those. */
bool mr_debug_moved(struct mr_state *s, uint32_t *pc);

/* ---- signals ---- */
/* The debugger is asked before the guest sees a signal. It may change *info and *pc; info->signal is 0 when there is none. */
void mr_debug_ask_signal(struct mr_state *s, struct mr_signal_info *info, uint32_t *pc);
/* The same in a handler of the host, when the thread waits in a system call. Returns whether the guest gets the signal. */
bool mr_debug_ask_in_call(struct mr_signal_info *info, void *context);
/* Whether the host must take a signal although the guest ignores it, or leaves it at its default. */
bool mr_debug_takes(int mips_signal);
/* In the handler of the carrier. Returns whether the signal was a request to stop. */
bool mr_debug_kicked(const siginfo_t *info, void *context);
#define MR_DEBUG_KICK_CODE (-0x4d53) /* its si_code: negative, and of no other use */

/* ---- the end ---- */
void mr_debug_exits(int status);
void mr_debug_dies(int mips_signal);
/* --gdb-on-crash: lets a debugger look at the guest that dies of this signal. Returns when it has to die. */
void mr_debug_crash(struct mr_state *s, int mips_signal, uint32_t pc, uint32_t address);

/* ---- execve ---- */
void mr_debug_executes(void);        /* another program is about to take over */
const char *mr_debug_hand_on(void);  /* the argument of --gdb-fd for the next host, which inherits the connection; or NULL */
void mr_debug_executes_not(void);    /* it did not */

#endif
