/* Makes, removes, renames and looks up names at the end of paths: NAME [threads]. Prints how each call ends. The root has
 * /links with links to /houses/..., and the folders /yard, /etc. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#ifdef __mips__
#define FIRST 4000 /* of o32 */
#else
#define FIRST 0
#endif
enum { OPEN_TREE = FIRST + 428, MOVE_MOUNT, FSPICK = FIRST + 433, SET_ATTRIBUTES = FIRST + 442 };

static void say(const char *call, const char *name, long result)
{
    printf("%s %s: %s\n", call, name, result < 0 ? strerror(errno) : "done");
}

static void *wait_forever(void *argument)
{
    for (;;)
        pause();
    return argument;
}

/* What the calls before may have taken away. */
static void prepare(void)
{
    static const char *const names[] = {"empty", "full", "file", "new"};
    char link[80], target[80];
    mkdir("/houses/empty", 0700);
    mkdir("/houses/full", 0700);
    mkdir("/yard/mine", 0700);
    close(open("/houses/full/kept", O_CREAT | O_WRONLY, 0600));
    close(open("/houses/file", O_CREAT | O_WRONLY, 0600));
    for (int i = 0; i < 4; i++) {
        snprintf(link, sizeof link, "/links/%s", names[i]);
        snprintf(target, sizeof target, "/houses/%s", names[i]);
        symlink(target, link);
    }
}

static long bind_to(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", name);
    long result = bind(fd, (struct sockaddr *)&address, sizeof address);
    int error = errno;
    close(fd);
    errno = error;
    return result;
}

static void use_name(const char *name)
{
    struct stat status;
    prepare();
    say("mkdir", name, mkdir(name, 0700));
    say("rmdir", name, rmdir(name));
    prepare();
    say("unlink", name, unlink(name));
    prepare();
    say("rename to", name, rename("/yard/mine", name));
    prepare();
    say("rename from", name, rename(name, "/yard/taken"));
    rename("/yard/taken", name);
    prepare();
    say("symlink", name, symlink("/houses/file", name));
    say("link", name, link("/houses/file", name));
    say("mknod", name, mknod(name, S_IFIFO | 0600, 0));
    say("bind", name, bind_to(name));
    say("lstat", name, lstat(name, &status));
    say("create", name, open(name, O_CREAT | O_EXCL | O_WRONLY, 0600));
}

static void use_names(const char *folder)
{
    static const char *const names[] = {"empty", "full", "file", "new"};
    static const char *const ends[] = {"", "/", "//", "/.", "/..", "/kept"};
    char name[100];
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 6; j++) {
            snprintf(name, sizeof name, "%s%s%s", folder, names[i], ends[j]);
            use_name(name);
        }
    for (int j = 0; j < 5; j++) {
        snprintf(name, sizeof name, "%s%s", folder, ends[j]);
        use_name(name);
    }
}

/* A name in the folder that is named by a descriptor is no name in the working folder, and the other way round. */
static void use_descriptor(int etc, const char *name)
{
    static const char *const links[] = {"do not follow", "follow"};
    unsigned handle[34] = {128};
    int mount;
    unsigned long long attributes[4] = {0};
    say("handle", name, syscall(SYS_name_to_handle_at, etc, name, handle, &mount, 0));
    say("tree", name, syscall(OPEN_TREE, etc, name, 0));
    say("pick", name, syscall(FSPICK, etc, name, 0));
    say("move", name, syscall(MOVE_MOUNT, etc, name, etc, name, 0));
    say("attributes", name, syscall(SET_ATTRIBUTES, etc, name, 0, attributes, sizeof attributes));
    for (int follow = 0; follow < 2; follow++) {
        puts(links[follow]);
        handle[0] = 128;
        say("handle", name, syscall(SYS_name_to_handle_at, etc, name, handle, &mount, follow ? AT_SYMLINK_FOLLOW : 0));
        say("tree", name, syscall(OPEN_TREE, etc, name, follow ? 0 : AT_SYMLINK_NOFOLLOW));
        say("pick", name, syscall(FSPICK, etc, name, follow ? 0 : 2));
        say("move", name, syscall(MOVE_MOUNT, etc, name, etc, "only", follow ? 0x11 : 0));
        say("attributes", name,
            syscall(SET_ATTRIBUTES, etc, name, follow ? 0 : AT_SYMLINK_NOFOLLOW, attributes, sizeof attributes));
    }
}

int main(int count, char **words)
{
    pthread_t thread;
    if (count > 1 && pthread_create(&thread, 0, wait_forever, 0) != 0)
        return 1;
    use_names("/links/");
    use_name("/");
    use_name("");
    prepare();
    if (chdir("/links") != 0)
        return 1;
    use_names("");
    use_names("../links/");
    prepare();
    int etc = open("/etc", O_RDONLY | O_DIRECTORY), watch = inotify_init();
    use_descriptor(etc, "only");
    use_descriptor(etc, "file");
    use_descriptor(etc, "nowhere");
    say("watch", "link", inotify_add_watch(watch, "/etc/nowhere", IN_MODIFY | IN_DONT_FOLLOW));
    say("watch", "target", inotify_add_watch(watch, "/etc/nowhere", IN_MODIFY));
    say("open", "by the root", open("/proc/self/root/etc/only", O_RDONLY));
    say("open", "by the root's root", open("/proc/self/root/proc/thread-self/root/etc/only", O_RDONLY));
    symlink("/proc/self/root", "/yard/root");
    say("open", "by a link to the root", open("/yard/root/etc/only", O_RDONLY));
    say("make", "by a link to the root", open("/yard/root/yard/made", O_CREAT | O_WRONLY, 0600));
    say("remove", "by the root", unlink("/proc/self/root/yard/made"));
    say("umount", "link", umount2("/etc/nowhere", UMOUNT_NOFOLLOW));
    say("umount", "target", umount2("/etc/nowhere", 0));
    return 0;
}
