/* Writes what was sampled as a profile: a line for each file, guest pc and engine, in order (mipsrec/profiles.py has the
 * format). */
#include "base/options.h"
#include "lifted/code_files.h"
#include "linux/descriptors.h"
#include "profile/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct line {
    uint32_t code_file, pc, engine;
    uint64_t count;
};
static const char *const engines[] = {
    [MR_PROFILE_LIFTED] = "lifted", [MR_PROFILE_BASELINE] = "baseline", [MR_PROFILE_INTERPRETED] = "interp",
    [MR_PROFILE_HOST] = "host"};

static bool precedes(const struct line *a, const struct line *b)
{
    if (a->code_file != b->code_file)
        return a->code_file < b->code_file;
    return a->pc != b->pc ? a->pc < b->pc : a->engine < b->engine;
}

static void sift_down(struct line *lines, size_t at, size_t line_count)
{
    for (size_t child; (child = 2 * at + 1) < line_count; at = child) {
        if (child + 1 < line_count && precedes(&lines[child], &lines[child + 1]))
            child++;
        if (!precedes(&lines[at], &lines[child]))
            return;
        struct line moved = lines[at];
        lines[at] = lines[child];
        lines[child] = moved;
    }
}

/* A heap sort, since qsort may allocate memory, and this may run in a handler of a signal. */
static void sort(struct line *lines, size_t line_count)
{
    for (size_t at = line_count / 2; at-- > 0;)
        sift_down(lines, at, line_count);
    for (size_t end = line_count; end-- > 1;) {
        struct line last = lines[end];
        lines[end] = lines[0];
        lines[0] = last;
        sift_down(lines, 0, end);
    }
}

/* Fills lines, of which there is room for one of each slot; returns how many there are. */
static size_t collect(struct mr_profile_table *table, struct line *lines)
{
    const uint32_t files = (1u << (MR_PROFILE_ENGINE_SHIFT - MR_PROFILE_FILE_SHIFT)) - 1;
    size_t line_count = 0;
    for (size_t at = 0; at < MR_PROFILE_SLOT_COUNT; at++) {
        uint64_t key = atomic_load(&table->slots[at].key), periods = atomic_load(&table->slots[at].count);
        if (key != 0 && periods != 0)
            lines[line_count++] = (struct line){(uint32_t)(key >> MR_PROFILE_FILE_SHIFT) & files, (uint32_t)key,
                                                (uint32_t)(key >> MR_PROFILE_ENGINE_SHIFT), periods};
    }
    sort(lines, line_count);
    return line_count;
}

struct output {
    int fd, error;
    size_t size_bytes;
    char bytes[8192];
};

static void flush(struct output *out)
{
    for (size_t done = 0; done < out->size_bytes && out->error == 0;) {
        ssize_t written = write(out->fd, out->bytes + done, out->size_bytes - done);
        if (written >= 0)
            done += (size_t)written;
        else if (errno != EINTR)
            out->error = errno;
    }
    out->size_bytes = 0;
}

static void put_text(struct output *out, const char *text)
{
    for (; *text != 0; text++) {
        if (out->size_bytes == sizeof out->bytes)
            flush(out);
        out->bytes[out->size_bytes++] = *text;
    }
}

/* Puts question marks for bytes that are not between the lowest and the highest. */
static void put_clean(struct output *out, const char *text, uint8_t lowest, uint8_t highest)
{
    char byte[2] = {0, 0};
    for (; *text != 0; text++) {
        byte[0] = (uint8_t)*text < lowest || (uint8_t)*text > highest ? '?' : *text;
        put_text(out, byte);
    }
}

static void put_file(struct output *out, unsigned number)
{
    const struct mr_code_file *file = mr_code_file(number);
    put_text(out, "file ");
    put_text(out, file != NULL && file->identity[0] != 0 ? file->identity : "-");
    put_text(out, " ");
    put_clean(out, file != NULL ? file->path : "-", ' ', UINT8_MAX);
    put_text(out, "\n");
}

static void put_profile(struct output *out, const uint8_t identity[32], uint64_t lost, const struct line *lines,
                        size_t line_count)
{
    char text[80];
    put_text(out, "mipsrec profile 2 ");
    for (size_t i = 0; i < 32; i++) {
        snprintf(text, sizeof text, "%02x", identity[i]);
        put_text(out, text);
    }
    put_text(out, "\n# command");
    for (int i = 0; i < mr_options.guest_argc; i++) {
        put_text(out, " ");
        put_clean(out, mr_options.guest_argv[i], '!', '~');
    }
    snprintf(text, sizeof text, "\n# rate %u\n# lost %llu\n", mr_options.profile_rate,
             (unsigned long long)lost);
    put_text(out, text);
    unsigned files_told = 0; /* those without samples, too: they were part of the program */
    for (size_t i = 0; i < line_count; i++) {
        if (lines[i].code_file == 0 && i == 0)
            put_file(out, 0);
        while (files_told < lines[i].code_file)
            put_file(out, ++files_told);
        snprintf(text, sizeof text, "%08x %llu %s\n", lines[i].pc, (unsigned long long)lines[i].count,
                 engines[lines[i].engine]);
        put_text(out, text);
    }
    while (files_told < mr_code_file_count())
        put_file(out, ++files_told);
    flush(out);
}

static const char *name_of(const char *path)
{
    return strrchr(path, '/') + 1;
}

/* Opens a file in the folder, to be renamed when whole, and puts its name into partial; -1 and errno if it cannot. The umask is
 * the guest's, and daemons set it to 0. */
static int open_partial(int folder, const char *path, char partial[NAME_MAX + 1])
{
    if (snprintf(partial, NAME_MAX + 1, "%s.%d", name_of(path), (int)getpid()) <= NAME_MAX)
        return openat(folder, partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    errno = ENAMETOOLONG;
    return -1;
}

/* Whether a file begins as programs and libraries do. */
static bool is_elf(int folder, const char *name)
{
    char magic[4];
    struct stat status;
    int fd = openat(folder, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
    bool found = fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && pread(fd, magic, 4, 0) == 4 &&
                 memcmp(magic, "\177ELF", 4) == 0;
    if (fd >= 0)
        close(fd);
    return found;
}

const char *mr_profile_place(const char *path)
{
    char above[PATH_MAX], partial[NAME_MAX + 1];
    snprintf(above, sizeof above, "%.*s", (int)(name_of(path) - path), path);
    int folder = open(above, O_PATH | O_DIRECTORY | O_CLOEXEC), fd = folder < 0 ? -1 : open_partial(folder, path, partial);
    if (fd < 0)
        return strerror(errno);
    close(fd);
    unlinkat(folder, partial, 0);
    if (is_elf(folder, name_of(path)))
        return "it is a program or library, which stays: name another file";
    mr_own_keep(MR_OWN_PROFILE, folder);
    return NULL;
}

/* Returns an errno, or 0. */
static int write_in(int folder, const char *path, struct mr_profile_table *table, struct line *lines,
                    const uint8_t identity[32])
{
    static struct output out;
    char partial[NAME_MAX + 1];
    out.error = 0;
    out.fd = open_partial(folder, path, partial);
    if (out.fd < 0)
        return errno;
    put_profile(&out, identity, atomic_load(&table->lost), lines, collect(table, lines));
    if (close(out.fd) != 0 && out.error == 0)
        out.error = errno;
    if (out.error == 0 && renameat(folder, partial, folder, name_of(path)) != 0)
        out.error = errno;
    if (out.error != 0)
        unlinkat(folder, partial, 0);
    return out.error;
}

int mr_profile_write(struct mr_profile_table *table, const char *path, const uint8_t identity[32])
{
    size_t room_bytes = MR_PROFILE_SLOT_COUNT * sizeof(struct line);
    struct line *lines =
        mmap(NULL, room_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (lines == MAP_FAILED)
        return errno;
    mr_own_begin(); /* the guest may have all descriptors that it may have */
    int error = write_in(mr_own_descriptor(MR_OWN_PROFILE), path, table, lines, identity);
    mr_own_ready();
    munmap(lines, room_bytes);
    return error;
}
