/* The store: a folder of libraries, each named by the contents of the ELF file that it was made of.
 *
 *     CACHE/code/KEY/VARIANT/ab/abcdef....so    by the BLAKE2b-256 of the guest's file; KEY is of the mipsrec that made it,
 *                                               VARIANT of the options (mipsrec/store.py)
 *     CACHE/identities/DEVICE-INODE             what is known of a file: its size and times when it was read, and its hash,
 *                                               or, of a library, that it is whole
 *
 * So a file that is known is not read again until its size, modification or change time differ. What changes within the
 * two seconds after it was read might have the same times: a file so young is read anew each time. Everything here fails
 * quietly: without a library the guest is interpreted, and --stats says why. Threads may come at once; each finds the same.
 *
 * When a library was used last, its access time says, for `mipsrec cache prune`. Most file systems note it once a day as
 * this maps the file; where one does not, mark_used does.
 */
#include "code.h"

#include "../blake2b.h"
#include "../control.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifndef MR_CODE_KEY
#define MR_CODE_KEY "none"
#endif

#define IDENTITY_DIGITS 64
#define SETTLED_SECONDS 2
#define MOST_FILES 4096u
#define MOST_FILE_BYTES ((off_t)1 << 32) /* no ELF file of 32 bits is larger */
#define USE_NOTED_SECONDS (24 * 60 * 60)
static const char whole_note[] = "whole";

const char *mr_store_path;
static char identities_path[PATH_MAX], cache_path[PATH_MAX];
static bool names_none; /* who started this wants no cache: the one that was named is not there */

/* A file that the guest has mapped. All of this is under mr_lock. */
struct known {
    struct stat status;
    char identity[IDENTITY_DIGITS + 1];
    bool settled;                    /* it was read when it was old enough: the same times are the same contents */
    struct mr_open_library *library; /* NULL: there is none */
};
static struct known *known;
static unsigned known_count;
static unsigned refused_count, missing_count;

/* ---- where it is ---- */

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Puts the first cache folder that there is into `root`. A program that gained privileges trusts no variable. */
static bool find_cache(char *root, size_t size_bytes)
{
    bool trusting = getauxval(AT_SECURE) == 0 && !mr_options.executed;
    const char *named = trusting ? getenv("MIPSREC_CACHE") : NULL, *xdg = trusting ? getenv("XDG_CACHE_HOME") : NULL;
    const char *home = trusting ? getenv("HOME") : NULL;
    if (named != NULL && *named != 0) {
        names_none = snprintf(root, size_bytes, "%s", named) >= (int)size_bytes || !is_folder(root);
        return !names_none;
    }
    if (xdg != NULL && *xdg != 0 && snprintf(root, size_bytes, "%s/mipsrec", xdg) < (int)size_bytes && is_folder(root))
        return true;
    if (home != NULL && *home != 0 && snprintf(root, size_bytes, "%s/.cache/mipsrec", home) < (int)size_bytes &&
        is_folder(root))
        return true;
    return snprintf(root, size_bytes, "/var/cache/mipsrec") < (int)size_bytes && is_folder(root);
}

/* Puts names together as a path; false where there is no room. */
static bool join(char *path, size_t size_bytes, const char *first, const char *second, const char *third)
{
    int length = snprintf(path, size_bytes, "%s/%s%s%s", first, second, third != NULL ? "/" : "",
                          third != NULL ? third : "");
    return length >= 0 && (size_t)length < size_bytes;
}

void mr_store_open(const char *cache, const char *variant)
{
    static char path[PATH_MAX];
    char root[PATH_MAX / 2], by_level[40] = "", *absolute = cache_path;
    uint32_t level = mr_host_cpu_level() > 3 ? 3 : mr_host_cpu_level();
    if (cache != NULL && *cache == 0) {
        names_none = true;
        return;
    }
    bool given = cache != NULL && snprintf(root, sizeof root, "%s", cache) < (int)sizeof root && is_folder(root);
    if (!given && !find_cache(root, sizeof root)) /* one that was given may be out of reach after a chroot */
        return;
    if (realpath(root, absolute) == NULL || strlen(absolute) >= sizeof root) {
        *absolute = 0;
        return;
    }
    if (level > 1)
        snprintf(by_level, sizeof by_level, "flat-direct-auto-x86-64-v%u", level);
    else
        snprintf(by_level, sizeof by_level, "flat-direct-auto-%s", level == 1 ? "x86-64" : "generic");
    if (!join(path, sizeof path, absolute, "code/" MR_CODE_KEY, variant != NULL ? variant : by_level) ||
        !join(identities_path, sizeof identities_path, absolute, "identities", NULL))
        return;
    if (is_folder(path))
        mr_store_path = path;
    else if (mr_options.stats)
        mr_print_error("mipsrec-host: no recompiled code is used: there is no folder %.400s\n", path);
}

const char *mr_store_cache(void)
{
    return *cache_path != 0 || names_none ? cache_path : NULL;
}

/* ---- what is known of files ---- */

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static bool note_path(const struct stat *status, char *path, size_t size_bytes)
{
    char name[40];
    if (identities_path[0] == 0)
        return false;
    snprintf(name, sizeof name, "%llx-%llx", (unsigned long long)status->st_dev, (unsigned long long)status->st_ino);
    return join(path, size_bytes, identities_path, name, NULL);
}

static time_t seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec;
}

static bool is_settled(const struct stat *status)
{
    time_t changed = status->st_mtim.tv_sec, noted = status->st_ctim.tv_sec;
    return (changed > noted ? changed : noted) + SETTLED_SECONDS <= seconds_now();
}

/* The part of a note that says which state of the file it is of. */
static int note_head(const struct stat *status, char *text, size_t size_bytes)
{
    return snprintf(text, size_bytes, "1 %lld %lld.%09ld %lld.%09ld ", (long long)status->st_size,
                    (long long)status->st_mtim.tv_sec, status->st_mtim.tv_nsec, (long long)status->st_ctim.tv_sec,
                    status->st_ctim.tv_nsec);
}

static bool is_identity(const char *text)
{
    return strlen(text) == IDENTITY_DIGITS && strspn(text, "0123456789abcdef") == IDENTITY_DIGITS;
}

static bool read_note(const struct stat *status, char value[IDENTITY_DIGITS + 1])
{
    char path[PATH_MAX], head[160], text[320];
    int fd = note_path(status, path, sizeof path) ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    if (fd < 0)
        return false;
    ssize_t size_bytes = read(fd, text, sizeof text - 1);
    close(fd);
    text[size_bytes > 0 ? size_bytes : 0] = 0;
    int head_bytes = note_head(status, head, sizeof head);
    size_t value_bytes = strcspn(text + (strlen(text) < (size_t)head_bytes ? 0 : head_bytes), "\n");
    if (strncmp(text, head, (size_t)head_bytes) != 0 || value_bytes > IDENTITY_DIGITS ||
        text[(size_t)head_bytes + value_bytes] != '\n') /* cut off */
        return false;
    memcpy(value, text + head_bytes, value_bytes);
    value[value_bytes] = 0;
    return true;
}

static void write_note(const struct stat *status, const char *value)
{
    char path[PATH_MAX], partial[PATH_MAX + 32], text[320];
    if (!is_settled(status) || status->st_nlink == 0 || !note_path(status, path, sizeof path))
        return;
    snprintf(partial, sizeof partial, "%s.%d", path, (int)getpid());
    mkdir(identities_path, 0777);
    int fd = open(partial, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return;
    int head_bytes = note_head(status, text, sizeof text);
    int size_bytes = head_bytes + snprintf(text + head_bytes, sizeof text - (size_t)head_bytes, "%s\n", value);
    bool whole = write(fd, text, (size_t)size_bytes) == size_bytes;
    if ((close(fd) != 0) | !whole || rename(partial, path) != 0)
        unlink(partial);
}

/* ---- the guest's file ---- */

static bool is_mips(int fd, const struct stat *status)
{
    Elf32_Ehdr header;
    if (!S_ISREG(status->st_mode) || pread(fd, &header, sizeof header, 0) != sizeof header)
        return false;
    const uint8_t *machine = (const uint8_t *)&header.e_machine;
    return memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS32 &&
           machine[mr_big_endian ? 1 : 0] == EM_MIPS;
}

/* Reads a file; mapped, it could be cut off meanwhile, and the host would die of it. The caller frees. */
static uint8_t *read_file(int fd, size_t size_bytes)
{
    uint8_t *bytes = malloc(size_bytes + 1);
    for (size_t done = 0; bytes != NULL && done < size_bytes;) {
        ssize_t count = pread(fd, bytes + done, size_bytes - done, (off_t)done);
        if (count > 0) {
            done += (size_t)count;
        } else if (count == 0 || errno != EINTR) {
            free(bytes);
            return NULL;
        }
    }
    return bytes;
}

static bool identify(int fd, const struct stat *status, char identity[IDENTITY_DIGITS + 1])
{
    bool settled = is_settled(status);
    if (settled && read_note(status, identity) && is_identity(identity))
        return true;
    uint8_t hash[32], *bytes = status->st_size < MOST_FILE_BYTES ? read_file(fd, (size_t)status->st_size) : NULL;
    if (bytes == NULL)
        return false;
    mr_blake2b_256(bytes, (size_t)status->st_size, hash);
    free(bytes);
    for (int i = 0; i < 32; i++)
        snprintf(identity + 2 * i, 3, "%02x", hash[i]);
    struct stat after;
    if (fstat(fd, &after) != 0 || !is_same_file(status, &after))
        return false;
    if (settled)
        write_note(status, identity);
    return true;
}

bool mr_store_identify(int fd, char identity[IDENTITY_DIGITS + 1])
{
    struct stat status;
    return fstat(fd, &status) == 0 && status.st_size > 0 && identify(fd, &status, identity);
}

/* ---- the library ---- */

static bool has_identity(const struct mr_library *table, const char *identity)
{
    for (int i = 0; i < 32; i++) {
        char digits[3];
        snprintf(digits, sizeof digits, "%02x", table->guest_identity[i]);
        if (memcmp(digits, identity + 2 * i, 2) != 0)
            return false;
    }
    return true;
}

void mr_store_refused(const char *guest_path, const char *reason)
{
    mr_lock();
    refused_count++;
    mr_unlock();
    if (mr_options.stats)
        mr_print_error("mipsrec-host: the code of %.200s is not used: %.250s\n", guest_path, reason);
}

void mr_store_report(void)
{
    if (missing_count != 0 || refused_count != 0)
        mr_print_error("mipsrec-host: interpreted for want of code: %u files; %u times code was not fit\n", missing_count,
                       refused_count);
}

/* The access time of a library is of the last use, to the day. Setting it changes the status change time as well, so the
 * library is checked as a whole the next time: once a day, and only where the file system does not note accesses. */
static void mark_used(const char *path, const struct stat *before)
{
    static const struct timespec access_only[2] = {{0, UTIME_NOW}, {0, UTIME_OMIT}};
    struct stat status;
    time_t now = seconds_now();
    if (before->st_atim.tv_sec + USE_NOTED_SECONDS >= now)
        return;
    if (stat(path, &status) == 0 && status.st_atim.tv_sec + USE_NOTED_SECONDS < now)
        utimensat(AT_FDCWD, path, access_only, 0);
}

static void close_library(struct mr_open_library *library)
{
    if (library != NULL)
        mr_library_file_close(&library->file);
    free(library);
}

/* Returns the library for the guest's file of that identity, if it is fit. */
static struct mr_open_library *open_library(const char *identity, const char *guest_path)
{
    char path[PATH_MAX], note[IDENTITY_DIGITS + 1];
    struct stat status;
    if (snprintf(path, sizeof path, "%s/%.2s/%s.so", mr_store_path, identity, identity) >= (int)sizeof path ||
        stat(path, &status) != 0) {
        if (mr_options.stats)
            mr_print_error("mipsrec-host: there is no code of %.300s (%s)\n", guest_path, identity);
        return NULL;
    }
    struct mr_open_library *library = S_ISREG(status.st_mode) ? calloc(1, sizeof *library) : NULL;
    if (library == NULL) {
        mr_store_refused(guest_path, "its library is not a regular file");
        return NULL;
    }
    bool checked = is_settled(&status) && read_note(&status, note) && strcmp(note, whole_note) == 0;
    const char *wrong = mr_library_check_file(library, path, !checked);
    if (wrong == NULL && (library->file.device != status.st_dev || library->file.inode != status.st_ino))
        wrong = "it was replaced meanwhile";
    if (wrong == NULL && !has_identity(library->table, identity))
        wrong = "it was made of another file; rebuild it";
    if (wrong == NULL)
        wrong = mr_library_check_process(library->table);
    if (wrong != NULL) {
        mr_store_refused(guest_path, wrong);
        close_library(library);
        return NULL;
    }
    if (!checked)
        write_note(&status, whole_note);
    mark_used(path, &status);
    return library;
}

/* ---- files of this process ---- */

static struct known *find_known(const struct stat *status)
{
    for (unsigned i = 0; i < known_count; i++)
        if (is_same_file(&known[i].status, status))
            return &known[i];
    return NULL;
}

/* Under mr_lock: puts in the library of a file with the same contents. False where no such file is known. */
static bool take_library(struct known *file)
{
    for (unsigned i = 0; i < known_count; i++)
        if (strcmp(known[i].identity, file->identity) == 0) {
            file->library = known[i].library;
            return true;
        }
    return false;
}

/* Under mr_lock. */
static void remember(const struct known *file)
{
    struct known *entry = find_known(&file->status);
    if (known == NULL)
        known = calloc(MOST_FILES, sizeof *known); /* untouched pages cost nothing */
    if (entry == NULL && known != NULL && known_count < MOST_FILES) {
        missing_count += file->library == NULL;
        entry = &known[known_count++];
    }
    if (entry != NULL)
        *entry = *file;
}

struct mr_open_library *mr_store_find(int fd, const char *guest_path)
{
    struct known file = {0};
    if (mr_store_path == NULL || fstat(fd, &file.status) != 0)
        return NULL;
    mr_lock();
    const struct known *before = find_known(&file.status);
    bool settled = before != NULL && before->settled, full = before == NULL && known_count == MOST_FILES;
    file.library = before != NULL ? before->library : NULL;
    mr_unlock();
    if (settled || full)
        return file.library;
    file.settled = is_settled(&file.status);
    if (!is_mips(fd, &file.status) || !identify(fd, &file.status, file.identity))
        return NULL;
    mr_lock();
    bool found = take_library(&file);
    mr_unlock();
    struct mr_open_library *opened = found ? NULL : open_library(file.identity, guest_path);
    mr_lock();
    if (!found && !take_library(&file)) /* another thread may have been faster */
        file.library = opened;
    remember(&file);
    mr_unlock();
    if (opened != file.library)
        close_library(opened);
    return file.library;
}
