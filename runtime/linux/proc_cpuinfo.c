/* /proc/cpuinfo of a MIPS machine, in the words of show_cpuinfo of arch/mips/kernel/proc.c.
 *
 * It is a 24Kf, whose register FIR the guest reads (fpu.c), without application-specific extensions. Programs look for the
 * words after "isa" and "ASEs implemented".
 */
#include "linux/proc_made.h"

#include <unistd.h>

static const char of_each[] = "processor\t\t: %ld\n"
                              "cpu model\t\t: MIPS 24Kc V9.3  FPU V0.0\n"
                              "BogoMIPS\t\t: 1000.00\n"
                              "wait instruction\t: yes\n"
                              "microsecond timers\t: yes\n"
                              "tlb_entries\t\t: 16\n"
                              "extra interrupt vector\t: yes\n"
                              "hardware watchpoint\t: no\n"
                              "isa\t\t\t: mips1 mips2 mips32r1 mips32r2\n"
                              "ASEs implemented\t:\n"
                              "Options implemented\t: tlb 4kex 4k_cache fpu 32fpr prefetch llsc\n"
                              "shadow register sets\t: 1\n"
                              "kscratch registers\t: 0\n"
                              "package\t\t\t: 0\n"
                              "core\t\t\t: %ld\n"
                              "VCED exceptions\t\t: not available\n"
                              "VCEI exceptions\t\t: not available\n"
                              "\n";

void mr_write_cpuinfo(FILE *to, const char *host_name __attribute__((unused)))
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    fputs("system type\t\t: mipsrec\nmachine\t\t\t: mipsrec\n", to);
    for (long number = 0; number < (count < 1 ? 1 : count); number++)
        fprintf(to, of_each, number, number);
}
