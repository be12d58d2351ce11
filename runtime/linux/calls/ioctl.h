/* ioctl by table: one row for each request, with its number for the guest, for the host, and what its argument is.
 *
 * asm/ioctl.h of MIPS has other bits for the direction than most machines, 13 bits for the size, and old numbers of its own
 * for terminals.
 */
#ifndef MR_IOCTL_H
#define MR_IOCTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mr_ioctl_row;
typedef int64_t mr_ioctl_body(int fd, const struct mr_ioctl_row *row, uint32_t argument);

enum mr_ioctl_argument {
    MR_IOCTL_NONE,
    MR_IOCTL_VALUE, /* a number, not a pointer */
    MR_IOCTL_DESCRIPTOR, /* a number that is a descriptor */
    MR_IOCTL_IN,    /* points to a structure that the call reads */
    MR_IOCTL_IN_DESCRIPTOR, /* the same, and begins with a descriptor */
    MR_IOCTL_OUT,   /* that it writes */
    MR_IOCTL_INOUT, /* both */
    MR_IOCTL_BODY,  /* the row has a function for it */
};

struct mr_ioctl_row {
    uint32_t number; /* the guest's */
    uint32_t host;
    const char *name;
    enum mr_ioctl_argument argument;
    const char *layout; /* of the structure (layout.h) */
    mr_ioctl_body *body;
};

extern const struct mr_ioctl_row mr_ioctl_rows[];
extern const size_t mr_ioctl_row_count;

/* The host's call; returns its result, -errno, or -ERESTART (mr_wait_call). */
int64_t mr_ioctl_host(int fd, uint32_t host_number, uint64_t argument);

/* ---- ioctl_terminal.c ---- */
mr_ioctl_body mr_ioctl_termios, mr_ioctl_termios2, mr_ioctl_termio; /* TCGETS, TCSETS and variants */
mr_ioctl_body mr_ioctl_modem, mr_ioctl_modem_wait;                  /* bits of modem lines */
mr_ioctl_body mr_ioctl_open_flags, mr_ioctl_console_mode;
mr_ioctl_body mr_ioctl_signal; /* the value is a signal */

/* ---- ioctl_special.c: structures of no fixed size ---- */
mr_ioctl_body mr_ioctl_extents;   /* FS_IOC_FIEMAP */
mr_ioctl_body mr_ioctl_dedupe;    /* FIDEDUPERANGE */
mr_ioctl_body mr_ioctl_partition; /* BLKPG */
mr_ioctl_body mr_ioctl_entropy;   /* RNDADDENTROPY */
/* Requests of input devices whose number holds a size that the program chooses; false: it is none of them. */
bool mr_ioctl_input(int fd, uint32_t number, uint32_t argument, int64_t *result);

/* ---- ioctl_socket.c: those of sockets. Returns false when the request is none of them. ---- */
bool mr_ioctl_socket(int fd, uint32_t number, uint32_t argument, int64_t *result);

#endif
