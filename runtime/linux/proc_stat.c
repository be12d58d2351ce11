/* /proc/self/stat, statm and status: the host's, but for what tells of the size and the places of memory, which is the
 * guest's there. Simplification: what is resident, and the signal masks of status, are the host's. And cpuinfo. */
#include "cpu/model.h"
#include "linux/proc_made.h"
#include "linux/program.h"
#include "memory/values.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t mapped_bytes(void)
{
    uint64_t count = 0;
    for (uint32_t page = 0; page < MR_USER_END / MR_PAGE_BYTES; page++)
        count += mr_pages[page] != 0;
    return count * MR_PAGE_BYTES;
}

static uint32_t entry_point(void)
{
    uint32_t key = AT_NULL, value = 0;
    for (uint32_t at = mr_auxiliary; mr_read32(at, &key) == 0 && key != AT_NULL && key != AT_ENTRY;)
        at += 8, value = at + 4;
    return key == AT_ENTRY && mr_read32(value ? value : mr_auxiliary + 4, &value) == 0 ? value : 0;
}

/* The pages of the same kind around the entry point. */
static void find_code(uint32_t *start, uint32_t *end)
{
    uint32_t first = entry_point() / MR_PAGE_BYTES, last = first;
    uint8_t bits = mr_pages[first];
    while (bits && first > 0 && mr_pages[first - 1] == bits)
        first--;
    while (bits && mr_pages[last] == bits)
        last++;
    *start = first * MR_PAGE_BYTES;
    *end = last * MR_PAGE_BYTES;
}

/* Fields, counted from 1: proc_pid_stat(5). */
void mr_write_stat(FILE *to, FILE *from, const char *name __attribute__((unused)))
{
    enum { FIRST_AFTER_NAME = 3, VSIZE = 23 };
    char text[1024] = {0};
    uint32_t code, code_end;
    size_t length = from ? fread(text, 1, sizeof text - 1, from) : 0;
    char *at = length ? strrchr(text, ')') : NULL;
    if (!at)
        return;
    find_code(&code, &code_end);
    const struct { int field; uint64_t value; } ours[] = {
        {VSIZE, mapped_bytes()}, {26, code}, {27, code_end}, {28, mr_guest_strings.stack}, {29, 0}, {30, 0},
        {45, mr_brk_start}, {46, mr_brk_start}, {47, mr_brk_start}, {48, mr_guest_strings.arguments},
        {49, mr_guest_strings.arguments_end}, {50, mr_guest_strings.environment},
        {51, mr_guest_strings.environment_end},
    };
    fprintf(to, "%.*s", (int)(at + 1 - text), text);
    size_t next = 0;
    int field = FIRST_AFTER_NAME;
    for (char *word = strtok_r(at + 1, " \n", &at); word; word = strtok_r(NULL, " \n", &at), field++) {
        bool replaced = next < sizeof ours / sizeof *ours && ours[next].field == field;
        if (replaced)
            fprintf(to, " %llu", (unsigned long long)ours[next++].value);
        else
            fprintf(to, " %s", word);
    }
    fputc('\n', to);
}

void mr_write_statm(FILE *to, FILE *from, const char *name __attribute__((unused)))
{
    unsigned long size, more[6] = {0};
    if (from && fscanf(from, "%lu %lu %lu %lu %lu %lu %lu", &size, &more[0], &more[1], &more[2], &more[3], &more[4],
                       &more[5]) == 7) {
        size = (unsigned long)(mapped_bytes() / MR_PAGE_BYTES);
        fprintf(to, "%lu %lu %lu %lu %lu %lu %lu\n", size, more[0] < size ? more[0] : size, more[1] < size ? more[1] : size,
                more[2] < size ? more[2] : size, more[3], more[4] < size ? more[4] : size, more[5]);
    }
}

void mr_write_status(FILE *to, FILE *from, const char *name __attribute__((unused)))
{
    char *line = NULL;
    size_t room = 0;
    while (from && getline(&line, &room, from) > 0) {
        size_t name = strcspn(line, "\t");
        bool size = strncmp(line, "VmPeak:", name) == 0 || strncmp(line, "VmSize:", name) == 0;
        if (size && name > 0)
            fprintf(to, "%.*s\t%8llu kB\n", (int)name, line, (unsigned long long)(mapped_bytes() / 1024));
        else
            fputs(line, to);
    }
    free(line);
}

/* A MIPS machine in the words of show_cpuinfo of arch/mips/kernel/proc.c: a 74Kf, whose register FIR the guest reads
 * (fpu.c), or another model (cpu/model.c) with its modules. Programs look for the words after "isa" and "ASEs implemented". */
static const char of_each[] = "processor\t\t: %ld\n"
                              "cpu model\t\t: %s V4.12  FPU V0.0\n"
                              "BogoMIPS\t\t: 1000.00\n"
                              "wait instruction\t: yes\n"
                              "microsecond timers\t: yes\n"
                              "tlb_entries\t\t: 16\n"
                              "extra interrupt vector\t: yes\n"
                              "hardware watchpoint\t: no\n"
                              "isa\t\t\t: mips1 mips2 mips32r1 mips32r2\n"
                              "ASEs implemented\t:%s%s%s\n"
                              "Options implemented\t: tlb 4kex 4k_cache fpu 32fpr prefetch llsc\n"
                              "shadow register sets\t: 1\n"
                              "kscratch registers\t: 0\n"
                              "package\t\t\t: 0\n"
                              "core\t\t\t: %ld\n"
                              "VCED exceptions\t\t: not available\n"
                              "VCEI exceptions\t\t: not available\n"
                              "\n";

void mr_write_cpuinfo(FILE *to, FILE *from __attribute__((unused)), const char *name __attribute__((unused)))
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    fputs("system type\t\t: mipsrec\nmachine\t\t\t: mipsrec\n", to);
    for (long number = 0; number < (count < 1 ? 1 : count); number++)
        fprintf(to, of_each, number, mr_cpu_model->kernel_name, mr_cpu_lacks(MR_CPU_MIPS16) ? "" : " mips16",
                mr_cpu_lacks(MR_CPU_DSP) ? "" : " dsp", mr_cpu_lacks(MR_CPU_DSP2) ? "" : " dsp2", number);
}
