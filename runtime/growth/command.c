/* Whether the files that the server's command names still are those of the start.
 *
 * Another process may mount something over them, for all that have the same mounts: natively, this process would execute
 * none of them then. Enters: mr_options.compile_server. Leaves: whether it may be executed, and handed on.
 */
#include "base/options.h"
#include "growth/growth.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define MOST_FILES 4u

/* A file, and the mount that it is found in. */
struct place {
    uint64_t device, inode, mount;
};
static struct place noted[MOST_FILES];

static void find(const char *path, struct place *place)
{
    struct statx status;
    *place = (struct place){0};
    if (statx(AT_FDCWD, path, 0, STATX_INO | STATX_MNT_ID, &status) == 0)
        *place = (struct place){(uint64_t)status.stx_dev_major << 32 | status.stx_dev_minor, status.stx_ino,
                                status.stx_mask & STATX_MNT_ID ? status.stx_mnt_id : 0};
}

/* Of the command's words, those that are absolute paths. */
static void find_files(struct place files[MOST_FILES])
{
    char path[PATH_MAX];
    unsigned count = 0;
    for (const char *word = mr_options.compile_server; word != NULL && count < MOST_FILES;) {
        const char *end = strchr(word, '\n');
        int length = end != NULL ? (int)(end - word) : (int)strlen(word);
        if (*word == '/' && snprintf(path, sizeof path, "%.*s", length, word) < (int)sizeof path)
            find(path, &files[count++]);
        word = end != NULL ? end + 1 : NULL;
    }
}

void mr_server_note(void)
{
    find_files(noted);
}

const char *mr_server_command(void)
{
    struct place now[MOST_FILES] = {{0}};
    find_files(now);
    return memcmp(now, noted, sizeof now) == 0 ? mr_options.compile_server : NULL;
}
