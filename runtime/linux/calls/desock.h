/* --desock: a service gets standard input as its first connection, and ends when it wants the next one. */
#ifndef MR_LINUX_CALLS_DESOCK_H
#define MR_LINUX_CALLS_DESOCK_H

#include "linux/calls/socket.h"

/* Before the guest's first instruction: keeps its standard input and output, which it may close. */
void mr_desock_start(void);
/* The guest is about to give a socket an address: on the internet that becomes one of this machine alone, and a free port. */
void mr_desock_bind(int fd, struct mr_address *address);
/* It has begun to wait for connections: the first such socket with the wanted port gets standard input. */
void mr_desock_listen(int fd);
/* It has accepted a connection. At the second one the process ends, when its children have ended. */
void mr_desock_accepted(struct mr_state *s, const struct mr_address *peer);

#endif
