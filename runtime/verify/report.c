/* What mipsrec verify has to tell: records, one JSON object to a line, on a socket that `mipsrec verify` reads.
 *
 * Addresses are numbers, registers are objects by name. Names, blocks and disassembly are added there.
 * Not done here: finding out that something differs (verify.c, verify/memory.c).
 */
#include "base/instructions.h"
#include "base/messages.h"
#include "base/observe.h"
#include "cpu/fpu.h"
#include "cpu/interp.h"
#include "cpu/registers.h"
#include "lifted/code_files.h"
#include "linux/descriptors.h"
#include "memory/values.h"
#include "verify/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_OWN_FD 900 /* the guest may close descriptors, or use their numbers */
#define RECORD_BYTES (1u << 20)
#define PATH_LENGTH 24u /* jumps told of */

static int record_fd = -1;

/* ---- records ---- */

static char record[RECORD_BYTES];
static size_t length;

__attribute__((format(printf, 1, 2))) static void add(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    int added = vsnprintf(record + length, sizeof record - length, format, values);
    va_end(values);
    if (added > 0)
        length += (size_t)added < sizeof record - length ? (size_t)added : sizeof record - length - 1;
}

/* A reader that has left must not end a guest that goes on in the background: no SIGPIPE. */
static bool send_record(void)
{
    add("}\n");
    for (size_t sent = 0; sent < length;) {
        ssize_t count = send(record_fd, record + sent, length - sent, MSG_NOSIGNAL);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return false;
        sent += (size_t)count;
    }
    return true;
}

static void begin_record(const char *kind, const struct mr_verify_counts *counts)
{
    length = 0;
    add("{\"kind\":\"%s\",\"process\":%d,\"points\":%llu,\"instructions\":%llu,\"calls\":%llu,\"scans\":%llu,"
        "\"entries\":%u,\"faults_skipped\":%llu",
        kind, getpid(), (unsigned long long)counts->points, (unsigned long long)counts->steps,
        (unsigned long long)counts->calls_made, (unsigned long long)counts->scans, counts->entries,
        (unsigned long long)counts->faults_skipped);
}

void mr_verify_record(const char *kind, const struct mr_verify_counts *counts, const char *more)
{
    begin_record(kind, counts);
    add("%s", more);
    send_record();
}

void mr_verify_record_start(int fd)
{
    struct stat status;
    record_fd = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_OWN_FD);
    if (record_fd < 0) /* a limit of few descriptors */
        record_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (record_fd < 0 || fstat(record_fd, &status) != 0 || !S_ISSOCK(status.st_mode))
        mr_fail("--verify %d: that descriptor is no open socket", fd);
    mr_descriptor_keep(record_fd);
    close(fd);
}

static void add_point(const char *name, const struct mr_point *point)
{
    static const char *const kinds[] = {"start", "call", "place", "syscall", "exception", "fault"};
    add("%s{\"kind\":\"%s\",\"pc\":%u,\"detail\":%u}", name, kinds[point->kind], point->pc, point->detail);
}

static void add_registers(const char *name, const struct mr_state *s)
{
    add(",\"%s\":{", name);
    for (unsigned number = 0; number < MR_VERIFIED_REGISTERS; number++)
        add("%s\"%s\":%llu", number ? "," : "", mr_registers[number].name, (unsigned long long)mr_register(s, number));
    add("}");
}

static void add_bytes(const char *name, const uint8_t *bytes, uint32_t size_bytes)
{
    add(",\"%s\":\"", name);
    for (uint32_t i = 0; i < size_bytes; i++)
        add("%02x", bytes[i]);
    add("\"");
}

/* Bytes that JSON cannot have in a string, and those that are no ASCII, as the code points of Latin-1: the reader gets
 * the bytes of the path. */
static void add_text(const char *text)
{
    for (; *text != 0; text++) {
        uint8_t byte = (uint8_t)*text;
        if (byte < ' ' || byte > '~' || byte == '"' || byte == '\\')
            add("\\u%04x", byte);
        else
            add("%c", byte);
    }
}

static void add_files(void)
{
    struct mr_code_range range;
    uint64_t at = 0;
    add(",\"files\":[");
    bool first = true;
    while (length < RECORD_BYTES / 2 && mr_code_file_next(&at, &range)) {
        const struct mr_code_file *file = mr_code_file(range.number);
        if (file == NULL)
            continue;
        add("%s{\"low\":%u,\"high\":%u,\"delta\":%u,\"identity\":\"%s\",\"path\":\"", first ? "" : ",", range.low,
            range.high, file->delta, file->identity);
        add_text(file->path);
        add("\"}");
        first = false;
    }
    add("]");
}

/* ---- the way from the agreement, once more ---- */

/* What was seen on it. */
static struct {
    struct jump {
        uint32_t from, to;
    } jumps[PATH_LENGTH]; /* the last ones */
    uint64_t jump_count;
    uint32_t changed_by[MR_VERIFIED_REGISTERS]; /* pc of the last instruction that changed it; 0: none */
    uint64_t changed_at[MR_VERIFIED_REGISTERS];
    uint32_t stored_by; /* the same for the memory that differs */
} way;

static sigjmp_buf way_ends;
static bool walking;

void mr_verify_stop_walking(void)
{
    if (walking)
        siglongjmp(way_ends, 1);
}

/* slot_pc is that of the delay slot, or pc where there is none; a branch itself writes no more than where it returns to. */
static void look_at_changes(const struct mr_state *before, const struct mr_state *after, const bool *wanted, uint32_t pc,
                            uint32_t slot_pc, uint64_t step)
{
    for (unsigned number = 0; number < MR_VERIFIED_REGISTERS; number++) {
        uint64_t value = mr_register(after, number);
        if (!wanted[number] || mr_register(before, number) == value)
            continue;
        way.changed_by[number] = value == mr_return_pc(pc) ? pc : slot_pc;
        way.changed_at[number] = step;
    }
}

static uint32_t slot_of(uint32_t pc)
{
    uint32_t word;
    mr_verify_read_interpreted(pc, &word, sizeof word);
    return mr_has_delay_slot(mr_swap32(word)) ? mr_next_pc(pc) : pc;
}

static bool memory_changed(const struct mr_verify_difference *memory, uint8_t bytes[8])
{
    uint8_t now[8];
    if (memory == NULL || !mr_verify_read_interpreted(memory->address, now, memory->size_bytes) ||
        memcmp(now, bytes, memory->size_bytes) == 0)
        return false;
    memcpy(bytes, now, memory->size_bytes);
    return true;
}

static void walk_steps(const struct mr_verify_finding *finding, const bool *wanted)
{
    struct mr_state *s = finding->at_agreement, before;
    const struct mr_verify_difference *memory = finding->memory;
    uint32_t pc = finding->agreed->pc;
    uint8_t bytes[8];
    if (memory != NULL)
        mr_verify_read_interpreted(memory->address, bytes, memory->size_bytes);
    mr_window = mr_verify_window;
    mr_fpu_enter(s);
    for (uint64_t step = 1; step <= finding->steps; step++) {
        before = *s;
        uint32_t slot_pc = slot_of(pc);
        uint32_t next = mr_interpret_step(s, pc);
        if (wanted[MR_REG_FCSR]) /* its flags gather in the host */
            mr_fpu_collect(s);
        look_at_changes(&before, s, wanted, pc, slot_pc, step);
        if (memory_changed(memory, bytes))
            way.stored_by = slot_pc;
        if (next != mr_next_pc(pc))
            way.jumps[way.jump_count++ % PATH_LENGTH] = (struct jump){pc, next};
        pc = next;
    }
}

/* Ends early where the way is another one than the first time: memory shared with another process may have changed. */
static void walk(const struct mr_verify_finding *finding, const bool *wanted)
{
    walking = true;
    if (sigsetjmp(way_ends, 0) == 0)
        walk_steps(finding, wanted);
    walking = false;
}

static void add_way(void)
{
    uint64_t first = way.jump_count > PATH_LENGTH ? way.jump_count - PATH_LENGTH : 0;
    add(",\"jumps\":%llu,\"path\":[", (unsigned long long)way.jump_count);
    for (uint64_t i = first; i < way.jump_count; i++)
        add("%s[%u,%u]", i > first ? "," : "", way.jumps[i % PATH_LENGTH].from, way.jumps[i % PATH_LENGTH].to);
    add("]");
}

static void add_changes(const bool *wanted)
{
    bool first = true;
    add(",\"differ\":[");
    for (unsigned number = 0; number < MR_VERIFIED_REGISTERS; number++) {
        if (!wanted[number])
            continue;
        add("%s{\"register\":\"%s\",\"pc\":%u,\"step\":%llu}", first ? "" : ",", mr_registers[number].name,
            way.changed_by[number], (unsigned long long)way.changed_at[number]);
        first = false;
    }
    add("]");
}

static void add_memory(const struct mr_verify_difference *memory)
{
    add(",\"memory\":{\"address\":%u,\"stored\":%s,\"shared\":%s,\"pc\":%u", memory->address,
        memory->stored ? "true" : "false", memory->shared ? "true" : "false", way.stored_by);
    add_bytes("lifted", memory->lifted, memory->size_bytes);
    add_bytes("interpreted", memory->interpreted, memory->size_bytes);
    add("}");
}

void mr_verify_diverge(const struct mr_verify_finding *finding, const struct mr_verify_counts *counts)
{
    const struct mr_state *lifted = finding->lifted_state, *interpreted = finding->interpreted_state;
    bool wanted[MR_VERIFIED_REGISTERS];
    for (unsigned number = 0; number < MR_VERIFIED_REGISTERS; number++)
        wanted[number] = finding->memory == NULL && mr_verify_register_differs(lifted, interpreted, number);
    begin_record("divergence", counts);
    add_point(",\"agreed\":", finding->agreed);
    add_point(",\"lifted\":", finding->lifted);
    add_point(",\"interpreted\":", finding->interpreted);
    add(",\"steps\":%llu", (unsigned long long)finding->steps);
    add_registers("lifted_registers", lifted);
    add_registers("interpreted_registers", interpreted);
    add(",\"trail\":[");
    for (uint32_t i = 0; i < finding->trail_length; i++)
        add_point(i ? "," : "", &finding->trail[i]);
    add("]");
    mr_verify_take_back_stores();
    if (finding->memory == NULL || finding->memory->stored)
        walk(finding, wanted);
    add_way();
    add_changes(wanted);
    if (finding->memory != NULL)
        add_memory(finding->memory);
    add_files();
    if (!send_record())
        mr_print_error("mipsrec-host: verify: lifted code and the interpreter differ after pc 0x%08x\n",
                       finding->agreed->pc);
    _exit(1);
}
