/* Signals as the protocol numbers them, the same for all machines (gdb's manual, appendix "Remote Serial Protocol", and
 * include/gdb/signals.def); and as Linux numbers them on MIPS. */
#include "gdb/parts.h"

enum {
    TO_31 = 32,            /* signals that have names */
    REALTIME_32 = 77, REALTIME_33 = 45, REALTIME_63 = 75, REALTIME_64 = 78, REALTIME_127 = 141, UNKNOWN = 143,
};

static const uint8_t of_mips[TO_31] = {
    0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, /* HUP to TERM: the same */
    30, 31, 20, 32, 28, 16, 23, 17, 18, 19, 21, 22, 26, 27, 24, 25, /* USR1 USR2 CHLD PWR WINCH URG IO STOP ... XFSZ */
};

int mr_debug_signal_from_mips(int mips_signal)
{
    if (mips_signal < 0 || mips_signal > 127)
        return UNKNOWN;
    if (mips_signal < TO_31)
        return of_mips[mips_signal];
    if (mips_signal == 32)
        return REALTIME_32;
    return mips_signal < 64 ? REALTIME_33 + mips_signal - 33 : REALTIME_64 + mips_signal - 64;
}

int mr_debug_signal_to_mips(int signal)
{
    if (signal == REALTIME_32)
        return 32;
    if (signal >= REALTIME_33 && signal <= REALTIME_63)
        return signal - REALTIME_33 + 33;
    if (signal >= REALTIME_64 && signal <= REALTIME_127)
        return signal - REALTIME_64 + 64;
    for (int mips = 1; mips < TO_31; mips++)
        if (of_mips[mips] == signal)
            return mips;
    return 0;
}
