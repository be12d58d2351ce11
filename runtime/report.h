/* What the end of a program prints. */
#ifndef MR_REPORT_H
#define MR_REPORT_H

void mr_report_start(void); /* before the first guest instruction */

#endif
