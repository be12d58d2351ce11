/* Which files the marks of executed code are of (base/marks.h).
 *
 * Enters: the descriptor of a file of marks (mr_marks.h), which mipsrec run --coverage makes in memory and reads when the program
 * has ended. Each file that the guest maps to be executed has there a description, and as many marks as it has bytes. Its
 * mappings in all processes share them, also in programs that the guest executes. Elsewhere marks go nowhere: to private
 * memory. A file that is changed and mapped again is another one.
 */
#include "base/counters.h"
#include "base/marks.h"
#include "base/messages.h"
#include "base/options.h"
#include "coverage/coverage.h"
#include "lifted/code_files.h"
#include "lifted/upcalls.h"
#include "linux/descriptors.h"
#include "memory/memory.h"
#include "mr_marks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct mr_marks_head *head; /* shared with all processes, so counted atomically */
static struct mr_marked_file *files;

static uint32_t file_count(void)
{
    uint32_t count = __atomic_load_n(&head->file_count, __ATOMIC_ACQUIRE);
    return count < MR_MOST_MARKED_FILES ? count : MR_MOST_MARKED_FILES;
}

static bool describes(const struct mr_marked_file *known, const struct mr_code_file *file)
{
    return __atomic_load_n(&known->ready, __ATOMIC_ACQUIRE) != 0 && known->device == file->stamp.device &&
           known->inode == file->stamp.inode && known->seconds == file->stamp.seconds &&
           known->fraction == file->stamp.fraction;
}

/* Two processes may describe a file at the same time: then it has two descriptions. */
static struct mr_marked_file *describe(int fd, const struct mr_code_file *file, uint64_t size_bytes)
{
    uint32_t number = file_count() < MR_MOST_MARKED_FILES ? __atomic_fetch_add(&head->file_count, 1, __ATOMIC_ACQ_REL)
                                                          : MR_MOST_MARKED_FILES;
    if (number >= MR_MOST_MARKED_FILES || size_bytes > MR_MARKS_BYTES)
        return NULL;
    uint64_t marks = __atomic_fetch_add(&head->next, mr_page_up(size_bytes), __ATOMIC_ACQ_REL);
    struct mr_marked_file *made = &files[number];
    if (marks > MR_MARKS_BYTES - mr_page_up(size_bytes))
        return NULL;
    made->bias = file->delta + file->bias;
    made->device = file->stamp.device;
    made->inode = file->stamp.inode;
    made->seconds = file->stamp.seconds;
    made->fraction = file->stamp.fraction;
    made->size_bytes = size_bytes;
    made->marks = marks;
    snprintf(made->path, sizeof made->path, "%s", file->path);
    if (pread(fd, made->head, sizeof made->head, 0) < 0)
        made->head[0] = 0;
    __atomic_store_n(&made->ready, 1, __ATOMIC_RELEASE);
    return made;
}

static const struct mr_marked_file *find(int fd, const struct mr_code_file *file, uint64_t size_bytes)
{
    for (uint32_t i = 0; i < file_count(); i++)
        if (describes(&files[i], file))
            return &files[i];
    return describe(fd, file, size_bytes);
}

void mr_marks_mapped(uint32_t guest, uint32_t size_bytes, int fd, uint64_t offset, const struct mr_code_file *file,
                     const struct stat *status)
{
    const struct mr_marked_file *found = file != NULL ? find(fd, file, (uint64_t)status->st_size) : NULL;
    uint64_t end = offset + mr_page_up(size_bytes), there = found != NULL ? mr_page_up(found->size_bytes) : UINT64_MAX;
    if (offset >= there)
        return;
    end = end < there ? end : there;
    if (found == NULL || mmap(mr_marks + guest, end - offset, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                              mr_own_descriptor(MR_OWN_MARKS), (off_t)(found->marks + offset)) == MAP_FAILED)
        __atomic_fetch_add(&head->unmarked, 1, __ATOMIC_RELAXED);
}

static void *map_private(uint8_t *at, uint64_t size_bytes, int flags)
{
    return mmap(at, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
}

void mr_marks_unmapped(uint32_t guest, uint32_t size_bytes)
{
    uint64_t end = mr_page_up((uint64_t)guest + size_bytes);
    for (uint64_t at = mr_page_down(guest), from; at < end && at < MR_USER_END; at += MR_PAGE_BYTES) {
        for (from = at; at < end && mr_code_file_number((uint32_t)at) != 0; at += MR_PAGE_BYTES)
            ;
        if (at > from && map_private(mr_marks + from, at - from, MAP_FIXED) == MAP_FAILED)
            __atomic_fetch_add(&head->unmarked, 1, __ATOMIC_RELAXED);
    }
}

void mr_marks_start(void)
{
    int fd = mr_options.marks_fd;
    if (fd < 0)
        return;
    void *described = mmap(NULL, MR_MARKS_AT, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    void *marks = map_private(NULL, MR_USER_END, 0);
    struct stat status;
    if (described == MAP_FAILED || marks == MAP_FAILED)
        mr_fail("--marks %d: cannot be mapped: %s", fd, strerror(errno));
    if (fstat(fd, &status) != 0 || (uint64_t)status.st_size != MR_MARKS_BYTES ||
        ((struct mr_marks_head *)described)->magic != MR_MARKS_MAGIC)
        mr_fail("--marks %d: is no file of marks; mipsrec run --coverage makes one", fd);
    head = described;
    files = (void *)((uint8_t *)described + MR_MARKED_FILES_AT);
    mr_marks = marks;
    mr_noting = true;
    mr_own_keep(MR_OWN_MARKS, fd);
}

const char *mr_marks_hand_on(void)
{
    static char text[12];
    snprintf(text, sizeof text, "%d", mr_own_descriptor(MR_OWN_MARKS));
    return mr_marks != NULL ? text : NULL;
}
