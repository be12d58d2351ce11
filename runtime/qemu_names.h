/* The command line of qemu-user: what a host takes that is called by one of its names. */
#ifndef MR_QEMU_NAMES_H
#define MR_QEMU_NAMES_H

#include <stdbool.h>

/* Whether the last component is a name of qemu-user; then the host answers as that one from now on. */
bool mr_qemu_is_name(const char *path);
/* Reads the words from this one on, once the name is known; returns the position of the program. */
int mr_qemu_parse(int argc, char **argv, int at);

/* ---- qemu_options.c ---- */

struct mr_qemu {
    const char *name; /* without -static */
    bool big_endian;  /* which byte order it runs */
    bool any_order;   /* it runs both: the program's */
    const char *log, *argv0; /* of -D and -0, or NULL */
    char ignored[1024];      /* what is not there, with commas between */
};
extern struct mr_qemu mr_qemu;

struct mr_qemu_option {
    const char *name, *variable, *argument; /* variable or argument NULL: there is none */
    void (*apply)(const char *text);
    const char *help;
};
enum { MR_QEMU_OPTIONS = 23 };
extern const struct mr_qemu_option mr_qemu_options[MR_QEMU_OPTIONS];

void mr_qemu_default_prefix(void); /* the folder that stands for -L, if it is there */

#endif
