/* Numbers of POSIX timers: the guest's, and the host's. */
#ifndef MR_LINUX_TIMER_NUMBERS_H
#define MR_LINUX_TIMER_NUMBERS_H

struct sigevent;

int mr_timer_to_guest(int host); /* the guest's number of a timer; for handlers of signals, too */
int mr_timer_to_host(int guest); /* the host's; -1, which is none: the guest has no such timer */
/* Where the guest has numbers of its own: makes a timer, and puts its number into *number; 0 or -errno. */
int mr_timer_make_numbered(int clock, const struct sigevent *given, int *number);
void mr_timer_forget(int host);
void mr_timers_forked(void); /* in the child, which has none */

#endif
