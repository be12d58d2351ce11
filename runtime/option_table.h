/* The options of the host. */
#ifndef MR_OPTION_TABLE_H
#define MR_OPTION_TABLE_H

#include <stdbool.h>

struct mr_option_row {
    const char *name; /* with the dashes, or NULL */
    char letter;      /* the same in short, or 0 */
    const char *argument; /* as --help names it; NULL: the option takes none */
    const char *help;     /* lines; NULL: --help does not name it */
    bool *flag;           /* set by the option, and handed on when set */
    const char **text;    /* set to the argument */
    void (*apply)(const char *argument);    /* where neither will do */
    const char *(*hand_on)(bool same); /* the argument for an executed program's host, or NULL: it does not get the option */
};
enum { MR_OPTION_ROWS = 32 };
extern const struct mr_option_row mr_option_rows[];

/* What the command line, or the environment, has given so far. */
struct mr_given {
    bool window;
    const char *tier, *sysroot; /* or NULL */
};
extern struct mr_given mr_given;

void mr_option_window(const char *text);
_Noreturn void mr_usage_error(const char *format, const char *what); /* exits with status 2 */

#endif
