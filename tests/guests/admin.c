/* Calls of administrators, on namespaces of their own; keys, other processes, nodes of memory, handles of files. Runs in an
 * empty folder. What needs rights that are not there fails natively, too. */
#include "show.h"

#include <fcntl.h>
#include <linux/kcmp.h>
#include <linux/keyctl.h>
#include <linux/mempolicy.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/klog.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/quota.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/swap.h>
#include <time.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>

int mount(const char *, const char *, const char *, unsigned long, const void *), umount2(const char *, int);
int acct(const char *);

static void names(void)
{
    struct utsname name;
    char text[100];
    memset(text, 'x', sizeof text);
    SHOW(sethostname(BAD, 65));
    SHOW(sethostname(BAD, -1));
    SHOW(sethostname(BAD, 3));
    SHOW(sethostname(text, 65));
    SHOW(setdomainname(BAD, 65));
    SHOW(setdomainname(BAD, 3));
    if (SHOW(unshare(CLONE_NEWUTS)) == 0) {
        SHOW(sethostname("a host", 6));
        SHOW(setdomainname(text, 64));
        uname(&name);
        printf("%s %s\n", name.nodename, name.domainname);
        SHOW(sethostname("", 0));
    }
    fflush(stdout);
    if (fork() == 0) { /* rights are looked at before anything else */
        setuid(65534);
        SHOW(sethostname(BAD, 65));
        SHOW(setdomainname("x", 1));
        SHOW(mount(BAD, BAD, BAD, 0, BAD));
        SHOW(mount("none", "/", "tmpfs", 0, NULL));
        SHOW(umount2("/", 0));
        SHOW(swapon("none", 0));
        SHOW(acct(NULL));
        SHOW(syscall(SYS_reboot, 0, 0, 0, 0));
        SHOW(syscall(SYS_pivot_root, "/", "/"));
        SHOW(unshare(CLONE_NEWNS));
        SHOW(chroot("/"));
        fflush(stdout);
        _exit(0);
    }
    wait(NULL);
    SHOW(syscall(SYS_reboot, 0, 0, 0, 0));
    SHOW(unshare(0x1));
    SHOW(setns(0, 0));
    SHOW(setns(99, CLONE_NEWNS));
}

static void mounts(void)
{
    struct statfs status;
    int old = open("/proc/self/ns/mnt", O_RDONLY), here = open(".", O_RDONLY | O_DIRECTORY);
    mkdir("m", 0700), mkdir("n", 0700);
    if (SHOW(unshare(CLONE_NEWNS)))
        return;
    SHOW(mount(NULL, "/", NULL, 0x44000, NULL)); /* MS_REC|MS_PRIVATE */
    SHOW(mount("some", "m", "tmpfs", 2, "size=1m,mode=0711")); /* MS_NOSUID */
    SHOW(statfs("m", &status));
    printf("%lx %d\n", (long)status.f_type, (int)(status.f_blocks * status.f_bsize));
    SHOW(mount("some", "m", "no such type", 0, NULL));
    SHOW(mount("some", "none", "tmpfs", 0, NULL));
    SHOW(mount("some", BAD, "tmpfs", 0, NULL));
    SHOW(mount("m", "n", NULL, 0x1000, NULL)); /* MS_BIND */
    close(open("m/file", O_CREAT, 0600));
    SHOW(access("n/file", F_OK));
    SHOW(umount2("n", 0x8000));
    SHOW(umount2("n", 0));
    SHOW(umount2("n", 0));
    SHOW(syscall(SYS_pivot_root, "m", "n"));
    int context = syscall(SYS_fsopen, "tmpfs", 1), made;
    SHOW(syscall(SYS_fsopen, "no such type", 0));
    SHOW(syscall(SYS_fsconfig, context, 1, "size", "2m", 0));
    SHOW(syscall(SYS_fsconfig, context, 1, "nonsense", "2m", 0));
    SHOW(syscall(SYS_fsconfig, context, 6, NULL, NULL, 0));
    made = syscall(SYS_fsmount, context, 1, 0);
    SHOW(syscall(SYS_move_mount, made, "", AT_FDCWD, "n", 4)); /* MOVE_MOUNT_F_EMPTY_PATH */
    SHOW(statfs("n", &status));
    printf("%d\n", (int)(status.f_blocks * status.f_bsize));
    struct { uint64_t set, clear, propagation, user; uint64_t more; } attributes = {MOUNT_ATTR_RDONLY};
    SHOW(syscall(SYS_mount_setattr, AT_FDCWD, "n", 0, &attributes, 32));
    SHOW(syscall(SYS_mount_setattr, AT_FDCWD, "n", 0, &attributes, 40));
    SHOW(syscall(SYS_mount_setattr, AT_FDCWD, "n", 0, &attributes, 31));
    SHOW(open("n/file", O_CREAT | O_WRONLY, 0600));
    int tree = syscall(SYS_open_tree, AT_FDCWD, "n", 0x80001); /* OPEN_TREE_CLONE|OPEN_TREE_CLOEXEC */
    SHOW(fcntl(tree, F_GETFD));
    SHOW(syscall(SYS_fspick, AT_FDCWD, "m/file", 0));
    SHOW(setns(old, CLONE_NEWNS));
    SHOW(fchdir(here)); /* it was changed to the root */
}

static void clocks(void)
{
    struct timex values = {0}, same = {.modes = ADJ_TICK, .tick = 1};
    int state = adjtimex(&values);
    printf("%d %ld %ld %d\n", state >= 0, values.tick, values.tolerance, values.time.tv_sec > 1000000000 || values.time.tv_sec < 0);
    SHOW(adjtimex(&same));
    SHOW(clock_adjtime(CLOCK_REALTIME, &values) == state);
    SHOW(clock_adjtime(CLOCK_MONOTONIC, &values));
    SHOW(clock_adjtime(77, &values));
    struct timeval bad = {1, 2000000};
    SHOW(syscall(SYS_settimeofday, &bad, NULL));
    SHOW(klogctl(10, NULL, 0) > 0); /* SYSLOG_ACTION_SIZE_BUFFER */
    SHOW(klogctl(3, NULL, 1));
    SHOW(klogctl(3, BAD, -1));
    SHOW(klogctl(99, NULL, 0));
}

static void devices(void)
{
    struct dqblk quota;
    SHOW(swapon("none", 0));
    SHOW(swapoff("none"));
    SHOW(swapoff("m"));
    SHOW(acct("none"));
    SHOW(acct("m"));
    SHOW(quotactl(QCMD(Q_SYNC, USRQUOTA), NULL, 0, NULL));
    SHOW(quotactl(QCMD(Q_GETQUOTA, USRQUOTA), "m", 0, (char *)&quota));
    SHOW(quotactl(QCMD(Q_GETQUOTA, USRQUOTA), "none", 0, (char *)&quota));
    SHOW(quotactl(QCMD(0x123456, USRQUOTA), "m", 0, (char *)&quota));
    SHOW(syscall(SYS_sysfs, 3, 0, 0) > 10);
    char name[64] = {0};
    int proc = syscall(SYS_sysfs, 1, "proc", 0);
    SHOW(syscall(SYS_sysfs, 2, proc, name));
    printf("%s\n", name);
    SHOW(syscall(SYS_sysfs, 1, "no such type", 0));
    SHOW(syscall(SYS_sysfs, 9, 0, 0));
}

static void processes(void)
{
    static char text[] = "in my memory";
    char got[32] = {0};
    int ends[2], set = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    pipe(ends);
    epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event);
    int copy = dup(ends[0]), me = getpid();
    SHOW(syscall(SYS_kcmp, me, me, KCMP_FILE, ends[0], copy));
    SHOW(syscall(SYS_kcmp, me, me, KCMP_FILE, ends[0], ends[1]) > 0);
    SHOW(syscall(SYS_kcmp, me, me, KCMP_VM, 0, 0));
    struct kcmp_epoll_slot slot = {set, ends[0], 0};
    SHOW(syscall(SYS_kcmp, me, me, KCMP_EPOLL_TFD, ends[0], &slot));
    SHOW(syscall(SYS_kcmp, me, me, KCMP_EPOLL_TFD, ends[0], BAD));
    SHOW(syscall(SYS_kcmp, me, me, 99, 0, 0));
    SHOW(syscall(SYS_kcmp, 999999999, me, KCMP_VM, 0, 0));
    fflush(stdout);
    int child = fork();
    if (child == 0) {
        strcpy(text, "in a child's");
        write(ends[1], "x", 1);
        pause();
        _exit(0);
    }
    read(ends[0], got, 1);
    struct iovec here[] = {{got, 5}, {got + 5, 20}}, there[] = {{text, sizeof text}};
    SHOW(process_vm_readv(child, here, 2, there, 1, 0));
    printf("%s\n", got);
    here[0] = (struct iovec){"by the parent", 14};
    there[0].iov_len = 4, here[0].iov_len = 4;
    SHOW(process_vm_writev(child, here, 1, there, 1, 0));
    here[0] = (struct iovec){got, sizeof got};
    there[0].iov_len = sizeof text;
    SHOW(process_vm_readv(child, here, 1, there, 1, 0));
    printf("%s\n", got);
    there[0].iov_base = BAD;
    SHOW(process_vm_readv(child, here, 1, there, 1, 0));
    SHOW(process_vm_readv(child, here, 1, there, 1, 1));
    SHOW(process_vm_readv(999999999, here, 1, there, 1, 0));
    here[0].iov_base = BAD;
    there[0].iov_base = text;
    SHOW(process_vm_readv(child, here, 1, there, 1, 0));
    int process = syscall(SYS_pidfd_open, me, 0);
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pages[0] = pages[4096] = 1;
    struct iovec cold = {pages, 8192};
    SHOW(syscall(SYS_process_madvise, process, &cold, 1, 20, 0)); /* MADV_COLD */
    SHOW(syscall(SYS_process_madvise, process, &cold, 1, 20, 1));
    SHOW(syscall(SYS_process_mrelease, process, 0));
    kill(child, SIGKILL);
    wait(NULL);
    SHOW(prctl(PR_GET_SECCOMP, 0, 0, 0, 0));
}

static void keys(void)
{
    char text[64] = {0};
    int found[4] = {0};
    int ring = syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
    int key = syscall(SYS_add_key, "user", "a key", "secret", 6, KEY_SPEC_SESSION_KEYRING);
    printf("%d %d\n", ring > 0, key > 0);
    SHOW(syscall(SYS_keyctl, KEYCTL_READ, key, text, sizeof text));
    printf("%s\n", text);
    SHOW(syscall(SYS_keyctl, KEYCTL_READ, KEY_SPEC_SESSION_KEYRING, found, sizeof found));
    printf("%d\n", found[0] == key);
    SHOW(syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, "user", "a key", 0) == key);
    SHOW(syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, "user", "none", 0));
    SHOW(syscall(SYS_request_key, "user", "a key", NULL, 0) == key);
    SHOW(syscall(SYS_request_key, "user", "none", NULL, 0));
    SHOW(syscall(SYS_keyctl, KEYCTL_DESCRIBE, key, text, sizeof text) > 0);
    printf("%.5s\n", text);
    SHOW(syscall(SYS_keyctl, KEYCTL_SETPERM, key, 0x3f3f0000));
    SHOW(syscall(SYS_keyctl, KEYCTL_UPDATE, key, "other", 5));
    struct iovec piece = {text, 4};
    SHOW(syscall(SYS_keyctl, KEYCTL_INSTANTIATE_IOV, key, &piece, 1, 0));
    SHOW(syscall(SYS_keyctl, KEYCTL_REJECT, key, 10, EKEYREJECTED, 0));
    SHOW(syscall(SYS_keyctl, KEYCTL_SET_TIMEOUT, key, 1000));
    SHOW(syscall(SYS_keyctl, KEYCTL_REVOKE, key));
    SHOW(syscall(SYS_keyctl, KEYCTL_READ, key, text, sizeof text));
    SHOW(syscall(SYS_keyctl, KEYCTL_UNLINK, key, KEY_SPEC_SESSION_KEYRING));
    SHOW(syscall(SYS_keyctl, 99, 0, 0, 0, 0));
    SHOW(syscall(SYS_add_key, "no such type", "x", NULL, 0, KEY_SPEC_SESSION_KEYRING));
    SHOW(syscall(SYS_add_key, BAD, "x", NULL, 0, KEY_SPEC_SESSION_KEYRING));
}

static void memory(void)
{
    unsigned long nodes[64 / sizeof(long)] = {1};
    int mode = 99, status[2] = {99, 99}, wanted[2] = {0, 0};
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pages[0] = 1;
    SHOW(syscall(SYS_set_mempolicy, MPOL_BIND, nodes, 64));
    nodes[0] = 0;
    SHOW(syscall(SYS_get_mempolicy, &mode, nodes, sizeof nodes * 8, NULL, 0));
    printf("%d %lx\n", mode, nodes[0]);
    SHOW(syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0));
    SHOW(syscall(SYS_set_mempolicy, 77, NULL, 0));
    SHOW(syscall(SYS_set_mempolicy, MPOL_BIND, BAD, 64));
    SHOW(syscall(SYS_mbind, pages, 8192, MPOL_BIND, nodes, 64, 0));
    SHOW(syscall(SYS_get_mempolicy, &mode, NULL, 0, pages, MPOL_F_ADDR));
    printf("%d\n", mode);
    SHOW(syscall(SYS_get_mempolicy, &mode, NULL, 0, pages, MPOL_F_ADDR | MPOL_F_NODE));
    printf("%d\n", mode);
    SHOW(syscall(SYS_mbind, pages + 1, 8192, MPOL_BIND, nodes, 64, 0));
    void *both[] = {pages, pages + 4096};
    SHOW(syscall(SYS_move_pages, 0, 2, both, NULL, status, 0));
    printf("%d %d\n", status[0], status[1] == -ENOENT);
    SHOW(syscall(SYS_move_pages, 0, 2, both, wanted, status, MPOL_MF_MOVE));
    SHOW(syscall(SYS_move_pages, 0, 2, BAD, NULL, status, 0));
    SHOW(syscall(SYS_move_pages, 0, 0, NULL, NULL, NULL, 0));
    nodes[0] = 1;
    SHOW(syscall(SYS_migrate_pages, 0, 64, nodes, nodes));
    SHOW(syscall(SYS_set_mempolicy_home_node, pages, 8192, 0, 0));
    int file = open("pages", O_RDWR | O_CREAT, 0600);
    ftruncate(file, 8192);
    pwrite(file, "one", 3, 0), pwrite(file, "two", 3, 4096);
    char *mapped = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    SHOW(remap_file_pages(mapped, 4096, 0, 1, 0));
    printf("%s %s\n", mapped, mapped + 4096);
    SHOW(remap_file_pages(mapped, 4096, 1, 1, 0));
    SHOW(remap_file_pages(pages, 4096, 0, 1, 0));
}

static void handles(void)
{
    struct {
        struct file_handle head;
        unsigned char bytes[128];
    } handle = {{.handle_bytes = 0}};
    int mount = -1;
    close(open("named", O_CREAT, 0600));
    SHOW(name_to_handle_at(AT_FDCWD, "named", &handle.head, &mount, 0));
    printf("%d %d\n", handle.head.handle_bytes, mount > 0);
    SHOW(name_to_handle_at(AT_FDCWD, "named", &handle.head, &mount, 0));
    printf("%d\n", handle.head.handle_type);
    SHOW(name_to_handle_at(AT_FDCWD, "none", &handle.head, &mount, 0));
    int folder = open(".", O_RDONLY | O_DIRECTORY), fd = open_by_handle_at(folder, &handle.head, O_WRONLY | O_APPEND);
    SHOW(fcntl(fd, F_GETFL) & (O_ACCMODE | O_APPEND) & O_WRONLY);
    SHOW(!!(fcntl(fd, F_GETFL) & O_APPEND));
    SHOW(open_by_handle_at(folder, (void *)BAD, O_RDONLY));
    handle.head.handle_bytes = 200;
    SHOW(open_by_handle_at(folder, &handle.head, O_RDONLY));
    struct open_how how = {.flags = O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, .mode = 0640};
    fd = syscall(SYS_openat2, AT_FDCWD, "opened", &how, sizeof how);
    SHOW(fcntl(fd, F_GETFD));
    SHOW(syscall(SYS_openat2, AT_FDCWD, "opened", &how, sizeof how));
    how = (struct open_how){.flags = O_RDONLY, .resolve = RESOLVE_BENEATH};
    SHOW(syscall(SYS_openat2, AT_FDCWD, "/etc", &how, sizeof how));
    SHOW(syscall(SYS_openat2, folder, "..", &how, sizeof how));
    how.resolve = 0x8000;
    SHOW(syscall(SYS_openat2, folder, ".", &how, sizeof how));
    how = (struct open_how){.flags = 1ull << 40};
    SHOW(syscall(SYS_openat2, folder, ".", &how, sizeof how));
    how = (struct open_how){.mode = 0600};
    SHOW(syscall(SYS_openat2, folder, ".", &how, sizeof how));
    struct { struct open_how how; uint64_t more; } larger = {{0}, 1};
    SHOW(syscall(SYS_openat2, folder, ".", &larger, sizeof larger));
    SHOW(syscall(SYS_openat2, folder, ".", &larger, 23));
    SHOW(syscall(SYS_openat2, folder, ".", BAD, sizeof how));
    SHOW(syscall(SYS_faccessat2, folder, "named", R_OK, AT_EACCESS));
    SHOW(syscall(SYS_faccessat2, folder, "named", R_OK, 0x8000));
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    names();
    mounts();
    clocks();
    devices();
    processes();
    keys();
    memory();
    handles();
    return 0;
}
