/* The command line of the host. */
#ifndef MR_COMMAND_LINE_H
#define MR_COMMAND_LINE_H

enum mr_window_choice { MR_WINDOW_AUTO, MR_WINDOW_IDENTITY, MR_WINDOW_ANY };
extern enum mr_window_choice mr_window_choice;
extern char **mr_call_arguments; /* of --call, mr_call_argument_count of them, checked to be numbers */
extern int mr_call_argument_count;
void mr_options_parse(int argc, char **argv);

#endif
