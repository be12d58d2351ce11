/* Whether a group is the user's alone, as most systems make one for each user (umask 002 counts on it).
 *
 * Enters: the number of a group, and the lists of users and groups in /etc. Leaves: whether nobody but this user, and root,
 * can have the group. Only these files count; where anything in them, or in how the system uses them, is unusual, the group
 * is others'. Python has the same rule (mipsrec/files/private_group.py).
 */
#include "lifted/private_group.h"
#include "lifted/this_user.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define MOST_BYTES ((size_t)1 << 20)
#define MOST_FIELDS 7u
#define PASSWD_FIELDS 7u
#define GROUP_FIELDS 4u
#define ACL "system.posix_acl_access"

/* ---- files that only root can have written ---- */

static bool is_roots(const struct stat *status)
{
    return status->st_uid == 0 && (status->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* Returns the text of a file, which the caller frees, or NULL; *missing: there is no such file. */
static char *trusted_text(const char *path, bool *missing)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);
    *missing = fd < 0 && errno == ENOENT;
    if (fd < 0)
        return NULL;
    char *text = malloc(MOST_BYTES + 2);
    size_t length = 0;
    ssize_t count = text != NULL && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && is_roots(&status) ? 1 : -1;
    while (count > 0 && length <= MOST_BYTES) {
        count = read(fd, text + length, MOST_BYTES + 1 - length);
        length += count > 0 ? (size_t)count : 0;
    }
    close(fd);
    if (count != 0 || memchr(text, 0, length) != NULL) {
        free(text);
        return NULL;
    }
    text[length] = 0;
    return text;
}

/* ---- lists ---- */

struct row {
    char *field[MOST_FIELDS];
};

/* Takes the fields of the next line that is not empty. Returns 1, 0 at the end, and -1 where the line is unusual. */
static int next_row(char **rest, unsigned field_count, struct row *row)
{
    char *line, *field;
    unsigned count = 0;
    do
        line = strsep(rest, "\n");
    while (line != NULL && *line == 0);
    if (line == NULL)
        return 0;
    if (strchr("+-#:", *line) != NULL)
        return -1;
    while ((field = strsep(&line, ":")) != NULL) {
        if (count == field_count)
            return -1;
        row->field[count++] = field;
    }
    return count == field_count ? 1 : -1;
}

static bool is_number(const char *text, uint32_t *value)
{
    size_t digits = strspn(text, "0123456789");
    unsigned long long number = strtoull(text, NULL, 10);
    *value = (uint32_t)number;
    return digits >= 1 && digits <= 10 && text[digits] == 0 && number < UINT32_MAX;
}

/* What is looked for in a list, and what was found. */
struct search {
    uint32_t user, group;
    const char *name;
    unsigned found;
    char found_name[256];
};

/* Counts a user who has the number or the group, or the name where one is looked for. Returns false if that is not all one. */
static bool look_at_user(struct search *search, const struct row *row)
{
    uint32_t user, group;
    if (!is_number(row->field[2], &user) || !is_number(row->field[3], &group))
        return false;
    if (search->name != NULL) {
        search->found += strcmp(row->field[0], search->name) == 0;
        return true;
    }
    if (user != search->user && group != search->group)
        return true;
    search->found++;
    if (strlen(row->field[0]) >= sizeof search->found_name)
        return false;
    strcpy(search->found_name, row->field[0]);
    return user == search->user && group == search->group;
}

/* Of a group: the same of its number and name; it has no other member, and no password that makes members. */
static bool look_at_group(struct search *search, const struct row *row)
{
    uint32_t group;
    const char *password = row->field[1], *members = row->field[3];
    if (!is_number(row->field[2], &group))
        return false;
    bool named = strcmp(row->field[0], search->name) == 0;
    if (group != search->group && !named)
        return true;
    search->found++;
    return group == search->group && named && (*members == 0 || strcmp(members, search->name) == 0) &&
           (*password == 0 || (strchr("x*!", *password) != NULL && password[1] == 0));
}

/* Whether a list has exactly one row of what is looked for, and none is against it. */
static bool has_one(const char *path, unsigned field_count, bool (*look)(struct search *, const struct row *),
                    struct search *search)
{
    struct row row;
    bool missing, right = true;
    char *text = trusted_text(path, &missing), *rest = text;
    int more = text != NULL ? 1 : -1;
    search->found = 0;
    while (right && more > 0 && (more = next_row(&rest, field_count, &row)) > 0)
        right = look(search, &row);
    free(text);
    return right && more == 0 && search->found == 1;
}

/* ---- where else users and groups come from ---- */

static bool are_known(char *sources)
{
    static const char *const known[] = {"", "files", "compat", "systemd", "[SUCCESS=merge]"};
    char *source;
    while ((source = strsep(&sources, " \t")) != NULL) {
        size_t i = 0;
        while (i < sizeof known / sizeof *known && strcmp(source, known[i]) != 0)
            i++;
        if (i == sizeof known / sizeof *known)
            return false;
    }
    return true;
}

static bool is_usual_switch(char *line)
{
    line[strcspn(line, "#")] = 0;
    line += strspn(line, " \t");
    size_t length = strcspn(line, " \t:");
    char *sources = strchr(line, ':');
    bool counts = (length == 6 && strncmp(line, "passwd", length) == 0) || (length == 5 && strncmp(line, "group", length) == 0) ||
                  (length == 10 && strncmp(line, "initgroups", length) == 0);
    return !counts || (sources != NULL && are_known(sources + 1));
}

/* Whether these files have all users and groups. */
static bool are_all(void)
{
    bool missing, usual = true;
    char *text = trusted_text("/etc/nsswitch.conf", &missing), *rest = text, *line;
    if (text == NULL)
        return missing;
    while (usual && (line = strsep(&rest, "\n")) != NULL)
        usual = is_usual_switch(line);
    free(text);
    return usual;
}

/* ---- the answer ---- */

bool mr_group_is_private(gid_t group)
{
    struct stat status;
    struct search search = {.user = geteuid(), .group = group};
    if (!mr_is_this_user(search.user) || search.group == MR_OVERFLOW_ID || lstat("/etc", &status) != 0 ||
        !is_roots(&status) || !are_all() || !has_one("/etc/passwd", PASSWD_FIELDS, look_at_user, &search))
        return false;
    search.name = search.found_name;
    return has_one("/etc/passwd", PASSWD_FIELDS, look_at_user, &search) &&
           has_one("/etc/group", GROUP_FIELDS, look_at_group, &search);
}

bool mr_has_access_list(const char *path)
{
    return lgetxattr(path, ACL, NULL, 0) >= 0 || (errno != ENODATA && errno != EOPNOTSUPP);
}
