/* Where recompiled code may be: the user's cache, and layers behind it, which others fill and nobody here writes.
 *
 *     the cache    --cache, else $MIPSREC_CACHE, else $XDG_CACHE_HOME/mipsrec, else ~/.cache/mipsrec, else the first of
 *                  the system's layers: notes on files are written there
 *     layers       those of --layers, or of $MIPSREC_CACHE_PATH; then /var/cache/mipsrec and /usr/lib/mipsrec/cache
 *
 * Each has CACHE/code/KEY/VARIANT/ab/abcdef....so. KEY is of the mipsrec that made it, VARIANT of the options and the
 * processor. A folder that is out of reach, as after a chroot, is left out. Enters: options and the environment. Leaves: the
 * folders in which code is looked for.
 *
 * Code runs with the rights of this process, so nobody but root and its user may be able to choose it (mr_distrust). What
 * mr_distrust has found right can be opened by its real path afterwards: who could change that is trusted.
 */
#include "lifted/caches.h"

#include "host/host.h"
#include "lifted/private_group.h"
#include "lifted/this_user.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_LAYERS 16u
#define MOST_LINKS 40u
#define MOST_DEPTH 512u /* of folders in each other */

static const char *const system_layers[] = {"/var/cache/mipsrec", "/usr/lib/mipsrec/cache"};

static char own[PATH_MAX];
static const char *own_refused; /* why the one that was found is not used */
static bool names_none; /* who started this wants no cache: the one that was named is not there */
static char *roots[MOST_LAYERS + 3]; /* own first */
static unsigned root_count;
static char layers_text[MOST_LAYERS * 64 + PATH_MAX];
static char *folders[2 * (MOST_LAYERS + 3) * MR_MOST_LEVEL];
static bool folder_counts[sizeof folders / sizeof *folders]; /* its libraries count decisions */
static unsigned folder_count;
static char grown_folder[PATH_MAX], grown_variant[96];

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* ---- trust ---- */

static const char others_write_it[] = "others can write it, or a folder above it", out_of_reach[] = "it is out of reach";

/* A file or folder on the way to what a path names. What folders are above it says nothing of who can write it: mounts
 * elsewhere, second names and descriptors that were opened earlier lead past them. */
struct place {
    size_t length; /* of its path */
    mode_t mode;
    bool others_write;
};

struct walk {
    char waiting[2 * PATH_MAX]; /* what of the path is to be followed yet */
    char *real;                 /* the path of the last place, without links */
    struct place places[MOST_DEPTH];
    unsigned depth, links;
    bool makes; /* folders that are missing, for this user alone */
};

static bool others_write(const char *path, const struct stat *status)
{
    return (status->st_mode & S_IWOTH) != 0 ||
           ((status->st_mode & S_IWGRP) != 0 && (mr_has_access_list(path) || !mr_group_is_private(status->st_gid)));
}

static const char *follow_link(struct walk *walk, const char *rest)
{
    char target[2 * PATH_MAX];
    ssize_t length = readlink(walk->real, target, PATH_MAX);
    walk->real[walk->places[walk->depth].length] = 0;
    if (length <= 0 || length == PATH_MAX || ++walk->links > MOST_LINKS ||
        snprintf(target + length, sizeof target - (size_t)length, "/%s", rest) >= (int)(sizeof target - (size_t)length))
        return out_of_reach;
    walk->depth = target[0] == '/' ? 0 : walk->depth;
    strcpy(walk->waiting, target);
    return NULL;
}

/* Looks at the last place. One that another process makes at once is looked at as any other. */
static bool look_or_make(const struct walk *walk, struct stat *status)
{
    if (lstat(walk->real, status) == 0)
        return true;
    if (errno != ENOENT || !walk->makes || (mkdir(walk->real, 0700) != 0 && errno != EEXIST))
        return false;
    return lstat(walk->real, status) == 0;
}

/* Goes on to the file of a name in the last place. In a sticky folder others can make names, but neither rename nor remove
 * those of another user: that is enough for a folder in it, whose owner is looked at. A file or a link of this user's they
 * can move there, out of a folder of theirs. Returns NULL, or who else can change what that is. */
static const char *enter(struct walk *walk, const char *name, const char *rest)
{
    struct stat status;
    const struct place *above = &walk->places[walk->depth];
    if (above->others_write && (above->mode & S_ISVTX) == 0)
        return others_write_it;
    size_t length = above->length + 1 + strlen(name);
    if (length >= PATH_MAX || walk->depth + 1 == MOST_DEPTH)
        return out_of_reach;
    snprintf(walk->real + above->length, PATH_MAX - above->length, "/%s", name);
    if (!look_or_make(walk, &status))
        return out_of_reach;
    if (!mr_is_trusted_owner(status.st_uid))
        return "it, or a folder above it, belongs to another user";
    if (S_ISLNK(status.st_mode))
        return above->others_write ? "a link on the way to it is in a folder that others can write" : follow_link(walk, rest);
    walk->places[++walk->depth] = (struct place){length, status.st_mode, others_write(walk->real, &status)};
    return NULL;
}

/* Takes the next name from what waits. Returns false at the end. */
static bool next_name(struct walk *walk, char name[NAME_MAX + 1], char *rest, const char **wrong)
{
    const char *at = walk->waiting + strspn(walk->waiting, "/");
    size_t length = strcspn(at, "/");
    if (length > NAME_MAX)
        *wrong = out_of_reach;
    if (length == 0 || length > NAME_MAX)
        return false;
    memcpy(name, at, length);
    name[length] = 0;
    strcpy(rest, at + length);
    return true;
}

/* What a path names itself, and the folder that holds a file, may not even be sticky. */
static const char *look_at_end(const struct walk *walk)
{
    const struct place *end = &walk->places[walk->depth];
    bool is_file = !S_ISDIR(end->mode) && walk->depth > 0;
    return end->others_write || (is_file && end[-1].others_write) ? others_write_it : NULL;
}

static const char *resolve(const char *path, char real[PATH_MAX], bool makes)
{
    struct stat status;
    struct walk walk = {.real = real, .makes = makes};
    char name[NAME_MAX + 1], rest[2 * PATH_MAX];
    const char *wrong = NULL;
    if (strlen(path) >= PATH_MAX || stat("/", &status) != 0 || (*path != '/' && getcwd(walk.waiting, PATH_MAX) == NULL))
        return out_of_reach;
    strcat(strcat(walk.waiting, "/"), path);
    if (!mr_is_trusted_owner(status.st_uid))
        return "it, or a folder above it, belongs to another user";
    walk.places[0] = (struct place){0, status.st_mode, others_write("/", &status)};
    while (wrong == NULL && next_name(&walk, name, rest, &wrong)) {
        strcpy(walk.waiting, rest);
        if (strcmp(name, "..") == 0)
            walk.depth -= walk.depth > 0;
        else if (strcmp(name, ".") != 0)
            wrong = enter(&walk, name, rest);
    }
    real[walk.places[walk.depth].length] = 0;
    if (walk.depth == 0)
        strcpy(real, "/");
    return wrong != NULL ? wrong : look_at_end(&walk);
}

const char *mr_distrust(const char *path, char real[PATH_MAX])
{
    return resolve(path, real, false);
}

const char *mr_distrust_made(const char *path, char real[PATH_MAX])
{
    return resolve(path, real, true);
}

bool mr_is_still_trusted(const char *real)
{
    char now[PATH_MAX];
    return mr_distrust(real, now) == NULL && strcmp(real, now) == 0;
}

/* ---- caches and layers ---- */

/* Puts a path in two parts into root. Returns false where there is no such folder. */
static bool is_root(char *root, size_t size_bytes, const char *folder, const char *below)
{
    return snprintf(root, size_bytes, "%s%s", folder, below) < (int)size_bytes && is_folder(root);
}

/* Puts the user's cache folder into root. A program that gained privileges trusts no variable. */
static bool find_own(char *root, size_t size_bytes, bool trusting)
{
    const char *named = trusting ? getenv("MIPSREC_CACHE") : NULL, *xdg = trusting ? getenv("XDG_CACHE_HOME") : NULL;
    const char *home = trusting ? getenv("HOME") : NULL;
    if (named != NULL && *named != 0) {
        names_none = !is_root(root, size_bytes, named, "");
        return !names_none;
    }
    return (xdg != NULL && *xdg != 0 && is_root(root, size_bytes, xdg, "/mipsrec")) ||
           (home != NULL && *home != 0 && is_root(root, size_bytes, home, "/.cache/mipsrec")) ||
           is_root(root, size_bytes, system_layers[0], "");
}

/* Puts the path without symbolic links into real. Where others chose what those lead to, it stays as it is, and so will be
 * distrusted. */
static bool find_real(const char *path, char real[PATH_MAX])
{
    if (mr_distrust(path, real) == NULL)
        return true;
    size_t length = 0;
    if (*path != '/') {
        if (getcwd(real, PATH_MAX) == NULL)
            return false;
        length = strlen(real);
    }
    return snprintf(real + length, PATH_MAX - length, "%s%s", length > 0 ? "/" : "", path) < (int)(PATH_MAX - length);
}

/* Returns the folder, if it is there and was not found before. */
static const char *add_root(const char *path)
{
    char real[PATH_MAX];
    if (root_count == sizeof roots / sizeof *roots || !is_folder(path) || !find_real(path, real))
        return NULL;
    for (unsigned i = 0; i < root_count; i++)
        if (strcmp(roots[i], real) == 0)
            return NULL;
    return (roots[root_count] = strdup(real)) != NULL ? roots[root_count++] : NULL;
}

static void add_layers(const char *list)
{
    char name[PATH_MAX];
    for (unsigned count = 0; count < MOST_LAYERS && list != NULL; count++) {
        size_t length = strcspn(list, ":"), used = strlen(layers_text);
        const char *found = NULL;
        if (length > 0 && length < sizeof name) {
            memcpy(name, list, length);
            name[length] = 0;
            found = add_root(name);
        }
        if (found != NULL && used + strlen(found) + 2 <= sizeof layers_text)
            snprintf(layers_text + used, sizeof layers_text - used, "%s%s", used != 0 ? ":" : "", found);
        list = list[length] != 0 ? list + length + 1 : NULL;
    }
}

/* Where others can write the cache, nothing of it is read, and nothing is written there. */
static void take_own(const char *root)
{
    char real[PATH_MAX];
    own_refused = mr_distrust(root, real);
    const char *found = own_refused == NULL ? add_root(real) : NULL;
    if (found != NULL)
        strcpy(own, found);
}

void mr_caches_find(const char *cache, const char *layers, bool trusting)
{
    char root[PATH_MAX];
    names_none = cache != NULL && *cache == 0;
    bool given = cache != NULL && *cache != 0 && is_root(root, sizeof root, cache, "");
    /* One that was given may be out of reach after a chroot. */
    if (!names_none && (given || find_own(root, sizeof root, trusting)))
        take_own(root);
    if (names_none && layers == NULL)
        return;
    add_layers(layers != NULL ? layers : trusting ? getenv("MIPSREC_CACHE_PATH") : NULL);
    for (size_t i = 0; i < sizeof system_layers / sizeof *system_layers; i++)
        add_root(system_layers[i]);
}

const char *mr_cache_own(void)
{
    return *own != 0 || names_none ? own : NULL;
}

const char *mr_cache_refused(void)
{
    return own_refused;
}

const char *mr_cache_layers(void)
{
    return *layers_text != 0 ? layers_text : NULL;
}

/* ---- folders of libraries ---- */

static void add_one(const char *root, const char *variant, bool counts)
{
    char path[PATH_MAX];
    const char *end = counts ? "-counters" : "";
    if (snprintf(path, sizeof path, "%s/code/" MR_CODE_KEY "/%s%s", root, variant, end) < (int)sizeof path &&
        is_folder(path) && folder_count < sizeof folders / sizeof *folders &&
        (folders[folder_count] = strdup(path)) != NULL)
        folder_counts[folder_count++] = counts;
}

static void add_folder(const char *root, const char *variant)
{
    add_one(root, variant, false);
    add_one(root, variant, true);
}

static void name_variant(char *variant, size_t size_bytes, uint32_t level)
{
    char name[MR_CPU_NAME_BYTES];
    mr_host_cpu_name(level, name);
    snprintf(variant, size_bytes, "flat-direct-auto-%s", name);
}

static void add_default_folders(const char *root, uint32_t level)
{
    char variant[48];
    do {
        name_variant(variant, sizeof variant, level);
        add_folder(root, variant);
    } while (level-- > 1);
}

static void name_grown(const char *variant, uint32_t level)
{
    if (variant != NULL)
        snprintf(grown_variant, sizeof grown_variant, "%s", variant);
    else
        name_variant(grown_variant, sizeof grown_variant, level);
    if (*own == 0 || snprintf(grown_folder, sizeof grown_folder, "%s/code/" MR_CODE_KEY "/%s", own, grown_variant) >=
                         (int)sizeof grown_folder)
        grown_folder[0] = 0;
}

void mr_code_folders_find(const char *variant)
{
    uint32_t level = mr_host_cpu_level();
    level = level < MR_MOST_LEVEL ? level : MR_MOST_LEVEL;
    for (unsigned i = 0; i < root_count; i++) {
        if (variant != NULL)
            add_folder(roots[i], variant);
        else
            add_default_folders(roots[i], level);
    }
    name_grown(variant, level);
}

const char *mr_grown_folder(void)
{
    return grown_folder[0] != 0 ? grown_folder : NULL;
}

const char *mr_grown_variant(void)
{
    return grown_variant;
}

bool mr_code_folder_counts(unsigned index)
{
    return folder_counts[index];
}

const char *mr_code_folder(unsigned index)
{
    return index < folder_count ? folders[index] : NULL;
}

bool mr_code_path(const char *folder, const char *identity, char *path, size_t size_bytes)
{
    struct stat status;
    return snprintf(path, size_bytes, "%s/%.2s/%s.so", folder, identity, identity) < (int)size_bytes &&
           stat(path, &status) == 0;
}
