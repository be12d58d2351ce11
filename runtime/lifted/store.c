/* The store: folders of libraries, each named by the contents of the ELF file that it was made of.
 *
 * caches.c says which folders there are, notes.c what is known of files. Everything here fails quietly: without a library the
 * guest runs in the slower tiers, and --stats says why. Threads may come at once; each finds the same.
 *
 * When a library was used last, its access time says, for `mipsrec cache prune`. Most file systems note it once a day as
 * this maps the file; where one does not, mark_used does.
 *
 * Libraries that the compile server makes while programs run lie there, too, and grow by being replaced:
 *
 *     CACHE/code/KEY/VARIANT/ab/abcdef....so        all functions of a file: it is used where it is there
 *     CACHE/code/KEY/VARIANT/ab/abcdef...-hot.so    those that were hot so far
 */
#include "lifted/store.h"

#include "base/checksum.h"
#include "base/lock.h"
#include "base/messages.h"
#include "base/options.h"
#include "lifted/caches.h"
#include "lifted/writers.h"
#include "memory/values.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MOST_FILES 4096u
#define MOST_FILE_BYTES ((off_t)1 << 32) /* no ELF file of 32 bits is larger */
#define SMALL_FILE_BYTES ((off_t)1 << 22) /* is read within a few milliseconds */
#define USE_NOTED_SECONDS (24 * 60 * 60)

/* A file that the guest has mapped. All of this is under mr_lock. */
struct known {
    struct stat status;
    char identity[MR_IDENTITY_DIGITS + 1];
    bool settled;                    /* the same times are the same contents */
    bool counts;                     /* decisions; the library does so, too */
    struct mr_open_library *library; /* NULL: there is none */
};
static struct known *known;
static unsigned known_count;
static unsigned refused_count, missing_count;
static _Atomic bool has_grown; /* the compile server has made a library since the start */

/* ---- where it is ---- */

void mr_store_open(const char *cache, const char *layers, const char *variant)
{
    mr_caches_find(cache, layers, getauxval(AT_SECURE) == 0 && !mr_options.executed);
    const char *own = mr_cache_own();
    mr_notes_open(mr_options.shares_root ? NULL : own);
    mr_code_folders_find(variant);
    if (mr_cache_refused() != NULL && mr_options.stats)
        mr_print_error("mipsrec-host: the cache is not used: %s\n", mr_cache_refused());
    if (own != NULL && *own != 0 && !mr_store_has_code() && mr_options.stats)
        mr_print_error("mipsrec-host: no recompiled code is used: there is no folder %.400s/code/%s/%.100s\n", own,
                       MR_CODE_KEY, variant != NULL ? variant : "flat-direct-auto-*");
}

bool mr_store_has_code(void)
{
    return mr_code_folder(0) != NULL || atomic_load(&has_grown);
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
uint8_t *mr_file_read(int fd, size_t size_bytes)
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

/* *settled: whether the identity is the file's for as long as its status stays as it is. */
static bool identify(int fd, const struct stat *status, char identity[MR_IDENTITY_DIGITS + 1], bool *settled)
{
    *settled = mr_note_identity(fd, status, identity);
    if (*settled)
        return true;
    *settled = mr_times_tell_of(fd, status); /* before it is read */
    uint8_t hash[32], *bytes = status->st_size < MOST_FILE_BYTES ? mr_file_read(fd, (size_t)status->st_size) : NULL;
    if (bytes == NULL)
        return false;
    mr_blake2b_256(bytes, (size_t)status->st_size, hash);
    free(bytes);
    for (int i = 0; i < 32; i++)
        snprintf(identity + 2 * i, 3, "%02x", hash[i]);
    struct stat after;
    if (fstat(fd, &after) != 0 || !mr_is_same_file(status, &after))
        return false;
    if (*settled)
        mr_note_write(status, identity);
    return true;
}

bool mr_store_identify_soon(int fd, char identity[MR_IDENTITY_DIGITS + 1], bool reads)
{
    struct stat status;
    bool settled;
    if (fstat(fd, &status) != 0 || status.st_size == 0)
        return false;
    return mr_note_identity(fd, &status, identity) ||
           (reads && status.st_size <= SMALL_FILE_BYTES && identify(fd, &status, identity, &settled));
}

bool mr_store_identify(int fd, char identity[MR_IDENTITY_DIGITS + 1])
{
    struct stat status;
    bool settled;
    return fstat(fd, &status) == 0 && status.st_size > 0 && identify(fd, &status, identity, &settled);
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

static bool is_in_layer(const char *path)
{
    const char *own = mr_cache_own();
    size_t length = own != NULL ? strlen(own) : 0;
    return length == 0 || strncmp(path, own, length) != 0 || path[length] != '/';
}

/* The access time of a library is of the last use, to the day. Setting it changes the status change time as well, so the
 * library is checked as a whole the next time: once a day, and only where the file system does not note accesses. */
static void mark_used(const char *path, const struct stat *before)
{
    static const struct timespec access_only[2] = {{0, UTIME_NOW}, {0, UTIME_OMIT}};
    struct stat status;
    time_t now = time(NULL);
    if (is_in_layer(path) || before->st_atim.tv_sec + USE_NOTED_SECONDS >= now)
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

/* Opens the library of that identity; *wrong says why it is not fit. */
static struct mr_open_library *open_fit(const char *path, const char *identity, const char **wrong)
{
    struct stat status;
    bool regular = stat(path, &status) == 0 && S_ISREG(status.st_mode);
    struct mr_open_library *library = regular ? calloc(1, sizeof *library) : NULL;
    *wrong = "its library is not a regular file";
    if (library == NULL)
        return NULL;
    bool checked = mr_note_is_whole(&status), tells = !checked && mr_times_tell(path, &status);
    *wrong = mr_library_check_file(library, path, !checked);
    if (*wrong == NULL && (library->file.device != status.st_dev || library->file.inode != status.st_ino))
        *wrong = "it was replaced meanwhile";
    if (*wrong == NULL && !has_identity(library->table, identity))
        *wrong = "it was made of another file; rebuild it";
    if (*wrong == NULL)
        *wrong = mr_library_check_process(library->table);
    if (*wrong != NULL) {
        close_library(library);
        return NULL;
    }
    if (tells)
        mr_note_whole(&status);
    mark_used(path, &status);
    return library;
}

/* The library of that identity, if nobody else could write it (caches.c), and it is fit; else NULL. */
static struct mr_open_library *open_trusted(const char *path, const char *identity, const char *guest_path)
{
    char real[PATH_MAX];
    const char *wrong = mr_distrust(path, real);
    struct mr_open_library *library = wrong == NULL ? open_fit(real, identity, &wrong) : NULL;
    if (library == NULL)
        mr_store_refused(guest_path, wrong);
    return library;
}

/* ---- libraries that grow ---- */

/* Whether the files with that identity have this library. */
static bool has_library(const char *identity, dev_t device, ino_t inode)
{
    bool has = false;
    mr_lock();
    for (unsigned i = 0; i < known_count; i++) {
        const struct mr_open_library *library = known[i].library;
        has |= strcmp(known[i].identity, identity) == 0 && library != NULL && library->file.device == device &&
               library->file.inode == inode;
    }
    mr_unlock();
    return has;
}

static bool grown_path(char path[PATH_MAX], const char *identity)
{
    const char *folder = mr_grown_folder();
    return folder != NULL && snprintf(path, PATH_MAX, "%s/%.2s/%s-hot.so", folder, identity, identity) < PATH_MAX;
}

bool mr_grown_is_pointless(const char *identity)
{
    char path[PATH_MAX];
    const char *folder = mr_grown_folder();
    if (folder == NULL || mr_code_path(folder, identity, path, sizeof path))
        return true;
    for (unsigned i = 0; (folder = mr_code_folder(i)) != NULL; i++)
        if (mr_code_path(folder, identity, path, sizeof path))
            return true;
    return false;
}

struct mr_open_library *mr_grown_find(const char *identity, struct mr_file_stamp *seen, const char *guest_path)
{
    char path[PATH_MAX];
    struct stat status;
    if (!grown_path(path, identity) || stat(path, &status) != 0)
        return NULL;
    struct mr_file_stamp now = {status.st_dev, status.st_ino, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
    if (mr_is_same_stamp(&now, seen))
        return NULL;
    *seen = now;
    if (has_library(identity, status.st_dev, status.st_ino)) /* it was bound when the file was mapped */
        return NULL;
    struct mr_open_library *library = open_trusted(path, identity, guest_path);
    if (library != NULL)
        library->grown = true;
    return library;
}

/* ---- in all folders ---- */

/* Returns the library for the guest's file of that identity, if a folder has one that is fit. */
static struct mr_open_library *open_library(const char *identity, const char *guest_path, bool counts)
{
    char path[PATH_MAX];
    const char *folder;
    bool there = false;
    struct mr_file_stamp seen = {0};
    for (unsigned i = 0; (folder = mr_code_folder(i)) != NULL; i++) {
        if (mr_code_folder_counts(i) != counts || !mr_code_path(folder, identity, path, sizeof path))
            continue;
        struct mr_open_library *library = open_trusted(path, identity, guest_path);
        if (library != NULL)
            return library;
        there = true;
    }
    struct mr_open_library *grown = counts ? NULL : mr_grown_find(identity, &seen, guest_path);
    if (grown == NULL && !there && mr_options.stats)
        mr_print_error("mipsrec-host: there is no code of %.300s (%s)\n", guest_path, identity);
    return grown;
}

/* ---- files of this process ---- */

static struct known *find_known(const struct stat *status)
{
    for (unsigned i = 0; i < known_count; i++)
        if (mr_is_same_file(&known[i].status, status))
            return &known[i];
    return NULL;
}

/* Under mr_lock: puts in the library of a file with the same contents. False where no such file is known. */
static bool take_library(struct known *file)
{
    for (unsigned i = 0; i < known_count; i++)
        if (strcmp(known[i].identity, file->identity) == 0 && known[i].counts == file->counts) {
            file->library = known[i].library;
            return true;
        }
    return false;
}

void mr_store_replace(const char *identity, struct mr_open_library *library)
{
    atomic_store(&has_grown, true);
    for (unsigned i = 0; i < known_count; i++)
        if (strcmp(known[i].identity, identity) == 0 && !known[i].counts)
            known[i].library = library;
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

struct mr_open_library *mr_store_find(int fd, const char *guest_path, bool counts)
{
    struct known file = {.counts = counts};
    if (!mr_store_has_code() || fstat(fd, &file.status) != 0)
        return NULL;
    mr_lock();
    const struct known *before = find_known(&file.status);
    bool settled = before != NULL && before->settled, full = before == NULL && known_count == MOST_FILES;
    file.library = before != NULL ? before->library : NULL;
    mr_unlock();
    if (settled || full)
        return file.library;
    if (!is_mips(fd, &file.status) || !identify(fd, &file.status, file.identity, &file.settled))
        return NULL;
    mr_lock();
    bool found = take_library(&file);
    mr_unlock();
    struct mr_open_library *opened = found ? NULL : open_library(file.identity, guest_path, counts);
    mr_lock();
    if (!found && !take_library(&file)) /* another thread may have been faster */
        file.library = opened;
    remember(&file);
    mr_unlock();
    if (opened != file.library)
        close_library(opened);
    return file.library;
}
