/* The last name of a path, and paths of calls that know no folder: see paths.h.
 *
 * Most calls look a path up: "link/" is what the link leads to, whatever the call does with "link". A call that makes, removes
 * or renames a name looks only the folder up, and the kernel refuses what follows the name, or a name that is a link
 * (filename_parentat in fs/namei.c). So the name goes to the kernel as the guest wrote it, after a folder of the host's.
 */
#include "linux/paths.h"

#include "base/kernel_proc.h"
#include "memory/values.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* What a path is cut into: what is looked up, and what is put after it again. */
struct cut {
    char stem[PATH_MAX];
    const char *tail;
    unsigned how;
};

/* "." and ".." are no names: the kernel refuses them unseen, so their folder is what is looked up. False: the path is too long,
 * or there is nothing to look up. */
static bool cut_path(const char *text, unsigned how, struct cut *cut)
{
    size_t end = strlen(text);
    while (end > 0 && text[end - 1] == '/')
        end--;
    size_t start = end;
    while (start > 0 && text[start - 1] != '/')
        start--;
    size_t length = end - start;
    bool dots = (length == 1 && text[start] == '.') || (length == 2 && text[start] == '.' && text[start + 1] == '.');
    size_t stem_length = dots ? start : end;
    cut->tail = text + stem_length;
    cut->how = dots ? MR_FOLLOW : (how & ~(unsigned)MR_NAME) | MR_NO_FOLLOW;
    if (stem_length == 0 || stem_length >= sizeof cut->stem)
        return false;
    memcpy(cut->stem, text, stem_length);
    cut->stem[stem_length] = 0;
    return true;
}

/* Puts the tail after a path for the host. The host's folder of a "." has perhaps no slash at its end. */
static int put_tail(struct mr_path *path, const char *tail)
{
    size_t length = strlen(path->text), room = sizeof path->text - length;
    bool wants_slash = *tail && *tail != '/' && length > 0 && path->text[length - 1] != '/';
    if (strlen(tail) + wants_slash >= room)
        return -ENAMETOOLONG;
    if (wants_slash)
        path->text[length++] = '/';
    strcpy(path->text + length, tail);
    return 0;
}

int mr_path_find_name(struct mr_path *path, int directory, const char *text, unsigned how)
{
    struct cut cut;
    if (!cut_path(text, how, &cut))
        return strlen(text) >= PATH_MAX ? -ENAMETOOLONG : 0;
    int error = mr_path_find_text(path, directory, cut.stem, cut.how);
    if (error)
        return error;
    if (path->name == path->text)
        return put_tail(path, cut.tail);
    path->name = text;
    return 0;
}

int mr_host_path_of(const char *text, unsigned how, const char **found)
{
    static _Thread_local struct mr_path paths[2];
    static _Thread_local unsigned turn;
    struct mr_path *path = &paths[turn++ % 2];
    int error = mr_path_find_text(path, AT_FDCWD, text, how);
    if (path->opened >= 0) { /* a program: by the name that it has now */
        mr_descriptor_link(path->opened, path->text, sizeof path->text);
        mr_path_done(path);
    }
    *found = path->name;
    return error;
}

int mr_host_path(uint32_t guest, unsigned how, const char **found)
{
    const char *text = mr_guest_string(guest);
    return text ? mr_host_path_of(text, how, found) : -EFAULT;
}
