/* Changes what paths name for it, then maps a file executable and computes: NAME DEED FOLDER FILE [execute]. With the last
 * word it executes itself first, to do the rest. */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_move_mount
#define SYS_open_tree (4000 + 428)
#define SYS_move_mount (4000 + 429)
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr (4000 + 442)
#endif
#define CLONES_TREE 1
#define FROM_EMPTY_PATH 4
#define INHERITED 100
#define OTHER 12345

static const char *folder;
static const unsigned long long attributes[4] = {0, 0, MS_PRIVATE, 0};

/* The parent ends as the child does. */
static int go_on_as_child(int flags)
{
    int status, child = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
    if (child > 0)
        _exit(wait(&status) == child ? status >> 8 : 3);
    return child;
}

static int have_root_changed(void)
{
    int status, child = syscall(SYS_clone, CLONE_FS | SIGCHLD, 0, 0, 0, 0);
    if (child == 0)
        _exit(chroot(folder) != 0);
    return wait(&status) == child ? status : 3;
}

/* The folder gets another name, and a folder of another user its old one, with a link to what it was. */
static int exchange(void)
{
    char old[4096], link[4096], notes[4096];
    snprintf(old, sizeof old, "%s.old", folder);
    snprintf(notes, sizeof notes, "%s.old/identities", folder);
    snprintf(link, sizeof link, "%s/identities", folder);
    int result = rename(folder, old) | mkdir(folder, 0755);
    mkdir(notes, 0700); /* unless it is there */
    return result | symlink(notes, link) | lchown(link, OTHER, OTHER) | chown(folder, OTHER, OTHER);
}

/* As mount(8) does it for the shell that ran it. */
static int have_file_covered(void)
{
    int status, child = fork();
    if (child == 0)
        _exit(mount("/dev/null", folder, "", MS_BIND, "") != 0);
    return wait(&status) == child ? status : 3;
}

static int change(const char *deed)
{
    if (strcmp(deed, "nothing") == 0)
        return 0;
    if (strcmp(deed, "file covered by child") == 0)
        return have_file_covered();
    if (strcmp(deed, "exchange") == 0)
        return exchange();
    if (strcmp(deed, "chroot") == 0)
        return chroot(folder);
    if (strcmp(deed, "mount") == 0)
        return mount("tmpfs", folder, "tmpfs", 0, "");
    if (strcmp(deed, "umount") == 0)
        return umount2(folder, MNT_DETACH);
    if (strcmp(deed, "move_mount") == 0)
        return syscall(SYS_move_mount, syscall(SYS_open_tree, AT_FDCWD, "/dev", CLONES_TREE), "", AT_FDCWD, folder, FROM_EMPTY_PATH);
    if (strcmp(deed, "mount_setattr") == 0)
        return syscall(SYS_mount_setattr, AT_FDCWD, "/", 0, attributes, sizeof attributes);
    if (strcmp(deed, "unshare mounts") == 0)
        return unshare(CLONE_NEWNS);
    if (strcmp(deed, "unshare users") == 0)
        return unshare(CLONE_NEWUSER);
    if (strcmp(deed, "child with mounts") == 0)
        return go_on_as_child(CLONE_NEWNS);
    if (strcmp(deed, "child with users") == 0)
        return go_on_as_child(CLONE_NEWUSER);
    if (strcmp(deed, "child with the same root") == 0)
        return go_on_as_child(CLONE_FS);
    return strcmp(deed, "root changed by child") == 0 ? have_root_changed() : 4;
}

static volatile unsigned sum;

__attribute__((noipa)) static void compute(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        sum = (sum << 5 | sum >> 27) * 31 + (sum >> 7) % 11 + i;
}

int main(int count, char **words)
{
    folder = words[2];
    int file = count > 3 ? open(words[3], O_RDONLY) : INHERITED, self = open(words[0], O_RDONLY);
    if (change(words[1]) != 0) {
        perror(words[1]);
        return 5;
    }
    if (count > 4) {
        char *again[] = {words[0], "nothing", words[2], 0};
        dup2(file, INHERITED);
        syscall(SYS_execveat, self, "", again, (char *[]){0}, AT_EMPTY_PATH);
        perror("execveat");
        return 6;
    }
    if (mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0) == MAP_FAILED)
        return 7;
    for (clock_t end = clock() + CLOCKS_PER_SEC / 2; clock() < end;)
        compute(100000);
    return 0;
}
