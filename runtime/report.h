/* What the end of a program prints. */
#ifndef MR_REPORT_H
#define MR_REPORT_H

void mr_report_start(void); /* before the first guest instruction */

/* Ends the process: flushes --stats, the profile and what else is told at the end. */
_Noreturn void mr_exit_process(int status);

#endif
