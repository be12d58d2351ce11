/* The command line of the host: how it is read, the table of options, and `mipsrec call`. */
#ifndef MR_COMMAND_LINE_H
#define MR_COMMAND_LINE_H

#include "mr_state.h"

#include <stdbool.h>

enum mr_window_choice { MR_WINDOW_AUTO, MR_WINDOW_IDENTITY, MR_WINDOW_ANY };
extern enum mr_window_choice mr_window_choice;
extern char **mr_call_arguments; /* of --call, mr_call_argument_count of them, checked to be numbers */
extern int mr_call_argument_count;
void mr_options_parse(int argc, char **argv);

/* ---- option_table.c ---- */

struct mr_option_row {
    const char *name; /* with the dashes, or NULL */
    char letter;      /* the same in short, or 0 */
    const char *argument; /* as --help names it; NULL: the option takes none */
    const char *help;     /* lines; NULL: --help does not name it */
    bool *flag;           /* set by the option, and handed on when set */
    const char **text;    /* set to the argument */
    bool inherited;       /* an executed program's host gets the text, too */
    void (*apply)(const char *argument);    /* where neither will do */
    const char *(*hand_on)(bool same); /* where that will not do: the argument for that host, or NULL: it gets none */
};
enum { MR_OPTION_ROWS = 47 };
extern const struct mr_option_row mr_option_rows[];

/* What the command line, or the environment, has given so far. */
struct mr_given {
    bool window;
    const char *tier, *sysroot; /* or NULL */
};
extern struct mr_given mr_given;

void mr_option_window(const char *text);
void mr_option_qemu(const char *name); /* all words behind it are those of qemu-user (qemu_names.c) */
const char *mr_host_variable(const char *name); /* of the environment, or NULL; not in a program of more rights */
_Noreturn void mr_usage_error(const char *format, const char *what); /* exits with status 2 */

/* ---- call.c ---- */
_Noreturn void mr_call_function(struct mr_state *s);

#endif
