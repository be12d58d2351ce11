/* What --stats, --strace and --report print. */
#ifndef MR_REPORT_H
#define MR_REPORT_H

void mr_messages_open(void); /* their messages go to another descriptor than the guest's standard error */

#endif
