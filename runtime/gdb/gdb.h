/* A debugger's view of the guest: gdb's remote serial protocol, spoken with gdb and lldb over a socket.
 *
 * With --gdb the guest waits for a debugger before its first instruction, and runs in the interpreter's second loop
 * (stepping.c), which looks at breakpoints before each instruction. A host thread of its own, the server, reads packets.
 * With --gdb-on-crash a guest that is about to die waits for a debugger; the dying thread is the server then.
 * server.c has the table of requests; from there each leads to the file that answers it.
 *
 * The lower folders call what session.c puts into mr_observe; that costs one test of mr_debugging when nobody debugs.
 */
#ifndef MR_GDB_H
#define MR_GDB_H

#include "mr_state.h"

#include <stdbool.h>
#include <stdint.h>

/* Before the guest's first instruction, on its first thread: waits for the debugger that the options ask for. */
void mr_debug_start(struct mr_state *s);
bool mr_debug_is_port(const char *where); /* else it is the path of a socket */

/* ---- the end ---- */
void mr_debug_exits(int status);
void mr_debug_dies(int mips_signal);
/* --gdb-on-crash: lets a debugger look at the guest that dies of this signal. Returns when it has to die. */
void mr_debug_crash(struct mr_state *s, int mips_signal, uint32_t pc, uint32_t address);

/* ---- execve ---- */
const char *mr_debug_hand_on(void);  /* the argument of --gdb-fd for the next host, which inherits the connection; or NULL */

#endif
