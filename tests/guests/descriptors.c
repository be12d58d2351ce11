/* Descriptors whose contents the kernel makes: signalfd, inotify, fanotify, eventfd, epoll, pidfd; and what moves between. */
#include "show.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>

static void print_signal(const struct signalfd_siginfo *info, int sender)
{
    printf("%s code %d errno %d pid %d uid %d status %d int %d ptr %d\n", strsignal(info->ssi_signo), info->ssi_code,
           info->ssi_errno, info->ssi_pid == sender, info->ssi_uid, info->ssi_status, info->ssi_int,
           (int)info->ssi_ptr == info->ssi_int);
}

static void signals(void)
{
    struct signalfd_siginfo got[4];
    sigset_t set, few;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1), sigaddset(&set, SIGUSR2), sigaddset(&set, SIGCHLD), sigaddset(&set, SIGRTMIN + 3);
    sigaddset(&set, SIGFPE);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    SHOW(fcntl(fd, F_GETFD));
    SHOW(read(fd, got, sizeof got));
    SHOW(read(fd, got, 127));
    SHOW(signalfd(-1, &set, 1));
    SHOW(signalfd(0, &set, 0));
    raise(SIGUSR2);
    kill(getpid(), SIGUSR1);
    sigqueue(getpid(), SIGRTMIN + 3, (union sigval){.sival_int = -77});
    struct pollfd polled = {fd, POLLIN, 0};
    SHOW(poll(&polled, 1, 0));
    int count = SHOW(read(fd, got, sizeof got)) / sizeof *got;
    for (int i = 0; i < count; i++)
        printf("%d ", got[i].ssi_signo == (i == 0 ? SIGUSR1 : i == 1 ? SIGUSR2 : SIGRTMIN + 3)), print_signal(&got[i], getpid());
    kill(getpid(), SIGFPE); /* one that the recompiler's host needs for itself */
    SHOW(read(fd, got, sizeof got));
    printf("%d ", got[0].ssi_signo == SIGFPE), print_signal(got, getpid());
    fflush(stdout);
    int child = fork();
    if (child == 0) {
        raise(SIGSTOP);
        _exit(7);
    }
    int copy = dup(fd);
    close(fd);
    fcntl(copy, F_SETFL, 0);
    struct iovec pieces[] = {{got, 100}, {(char *)got + 100, sizeof got - 100}};
    SHOW(readv(copy, pieces, 2));
    printf("%d %d status %d, stopped %d\n", got[0].ssi_signo == SIGCHLD, got[0].ssi_code == CLD_STOPPED,
           got[0].ssi_status == SIGSTOP, got[0].ssi_pid == child);
    kill(child, SIGCONT);
    waitpid(child, NULL, 0);
    SHOW(read(copy, got, sizeof *got));
    sigemptyset(&few);
    sigaddset(&few, SIGUSR1);
    SHOW(signalfd(copy, &few, 0) == copy);
    fcntl(copy, F_SETFL, O_NONBLOCK);
    raise(SIGUSR2);
    SHOW(read(copy, got, sizeof got));
    raise(SIGUSR1);
    SHOW(read(copy, got, sizeof got));
    close(copy);
    int timeless = eventfd(0, EFD_NONBLOCK); /* perhaps the same number: its contents are others now */
    uint64_t number = 3;
    SHOW(write(timeless, &number, 8));
    SHOW(read(timeless, &number, 8));
    printf("%d\n", (int)number);
    close(timeless);
}

static void numbers(void)
{
    uint64_t value = 0x123456789;
    int fd = eventfd(0, EFD_NONBLOCK);
    struct iovec pieces[] = {{&value, 3}, {(char *)&value + 3, 5}};
    SHOW(writev(fd, pieces, 2));
    value = 0;
    SHOW(readv(fd, pieces, 2));
    printf("%llx\n", (unsigned long long)value);
    int copy = fcntl(fd, F_DUPFD, 50);
    SHOW(write(copy, &value, 8));
    SHOW(dup2(copy, 60));
    value = 0;
    SHOW(read(60, &value, 8));
    printf("%llx\n", (unsigned long long)value);
    SHOW(write(fd, &value, 4));
    SHOW(read(fd, &value, 7));
    SHOW(read(fd, BAD, 8));
    uint64_t most = ~0ull;
    SHOW(write(fd, &most, 8));
    most--;
    SHOW(write(fd, &most, 8));
    SHOW(write(fd, &value, 8));
    SHOW(write(fd, BAD, 8));
    close(copy);
    char plain[8] = "1234567", back[8];
    copy = open("plain", O_RDWR | O_CREAT | O_TRUNC, 0600);
    write(copy, plain, 8);
    SHOW(dup2(copy, 60)); /* what was a counter is a file now */
    lseek(60, 0, SEEK_SET);
    SHOW(read(60, back, 8));
    printf("%.8s\n", back);
    close(60), close(fd), close(copy);
}

static void print_events(int fd, const int *watches)
{
    _Alignas(8) char buffer[2048];
    ssize_t size = read(fd, buffer, sizeof buffer);
    for (ssize_t at = 0; at < size;) {
        const struct inotify_event *event = (const struct inotify_event *)(buffer + at);
        printf("watch %d mask %x cookie %d name %s\n", event->wd == watches[0] ? 0 : event->wd == watches[1] ? 1 : -1,
               event->mask, event->cookie != 0, event->len ? event->name : "-");
        at += sizeof *event + event->len;
    }
    if (size < 0)
        printf("no events: %s\n", strerrorname_np(errno));
}

static void watching(void)
{
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC), watches[2];
    mkdir("watched", 0700);
    SHOW(inotify_init1(0x10000000));
    watches[0] = inotify_add_watch(fd, "watched", IN_CREATE | IN_MOVE | IN_DELETE | IN_CLOSE_WRITE);
    close(open("watched/a long name of a file", O_CREAT | O_WRONLY, 0600));
    watches[1] = inotify_add_watch(fd, "watched/a long name of a file", IN_ATTRIB | IN_DELETE_SELF);
    printf("%d %d\n", watches[0] > 0, watches[1] > watches[0]);
    SHOW(inotify_add_watch(fd, "watched/none", IN_ATTRIB));
    SHOW(inotify_add_watch(fd, BAD, IN_ATTRIB));
    SHOW(inotify_add_watch(0, "watched", IN_ATTRIB));
    rename("watched/a long name of a file", "watched/b");
    chmod("watched/b", 0640);
    unlink("watched/b");
    print_events(fd, watches);
    print_events(fd, watches);
    SHOW(inotify_rm_watch(fd, watches[0]));
    SHOW(inotify_rm_watch(fd, 12345));
    print_events(fd, watches);
    SHOW(read(fd, watches, 4));
    close(fd);
    fd = inotify_init();
    SHOW(fcntl(fd, F_GETFL));
    close(fd);
}

static void print_file_event(int fd)
{
    _Alignas(8) char buffer[4096];
    ssize_t size = read(fd, buffer, sizeof buffer);
    struct fanotify_event_metadata *event = (void *)buffer;
    for (; FAN_EVENT_OK(event, size); event = FAN_EVENT_NEXT(event, size)) {
        printf("size %d version %d own %d mask %llx pid %d fd %d\n", event->event_len, event->vers, event->metadata_len,
               (unsigned long long)event->mask, event->pid == getpid(), event->fd >= 0 ? 1 : event->fd);
        if (event->event_len > event->metadata_len) {
            const struct fanotify_event_info_fid *info = (const void *)(event + 1);
            const struct file_handle *handle = (const void *)info->handle;
            printf("record %d of %d, handle of %d bytes, type %d, name %s\n", info->hdr.info_type, info->hdr.len,
                   handle->handle_bytes, handle->handle_type,
                   info->hdr.info_type == FAN_EVENT_INFO_TYPE_DFID_NAME
                       ? (const char *)handle->f_handle + handle->handle_bytes
                       : "-");
        }
        if (event->mask & FAN_OPEN_PERM) {
            const struct fanotify_response response = {event->fd, FAN_DENY};
            SHOW(write(fd, &response, sizeof response));
        }
        if (event->fd >= 0)
            close(event->fd);
    }
    if (size < 0)
        printf("no events: %s\n", strerrorname_np(errno));
}

static void watching_file_systems(void)
{
    int fd = fanotify_init(FAN_CLASS_CONTENT | FAN_NONBLOCK | FAN_CLOEXEC, O_RDONLY | O_LARGEFILE);
    if (fd < 0) {
        printf("no fanotify: %s\n", strerrorname_np(errno));
        return;
    }
    SHOW(fanotify_mark(fd, FAN_MARK_ADD, FAN_CLOSE_WRITE | FAN_MODIFY | FAN_ONDIR, AT_FDCWD, "plain"));
    SHOW(fanotify_mark(fd, FAN_MARK_ADD, 1ull << 40, AT_FDCWD, "plain"));
    SHOW(fanotify_mark(fd, FAN_MARK_ADD, FAN_OPEN, AT_FDCWD, BAD));
    int file = open("plain", O_WRONLY);
    write(file, "x", 1);
    close(file);
    print_file_event(fd);
    print_file_event(fd);
    SHOW(fanotify_mark(fd, FAN_MARK_ADD, FAN_OPEN_PERM, AT_FDCWD, "plain"));
    fflush(stdout);
    if (fork() == 0) {
        SHOW(open("plain", O_RDONLY));
        fflush(stdout);
        _exit(0);
    }
    struct pollfd polled = {fd, POLLIN, 0};
    SHOW(poll(&polled, 1, 5000));
    fflush(stdout);
    _Alignas(8) struct fanotify_event_metadata event;
    SHOW(read(fd, &event, sizeof event));
    printf("%llx %d\n", (unsigned long long)event.mask, event.pid != getpid());
    const struct fanotify_response response = {event.fd, FAN_DENY};
    fflush(stdout);
    write(fd, &response, sizeof response);
    wait(NULL);
    close(fd);
    fd = fanotify_init(FAN_REPORT_DFID_NAME | FAN_NONBLOCK, 0);
    SHOW(fanotify_mark(fd, FAN_MARK_ADD, FAN_CREATE | FAN_DELETE, AT_FDCWD, "watched"));
    close(open("watched/new", O_CREAT | O_WRONLY, 0600));
    print_file_event(fd);
    close(fd);
    SHOW(fanotify_init(FAN_CLASS_NOTIF, 0x40000000));
}

static void polling(void)
{
    int set = epoll_create1(0), second = epoll_create1(0), ends[2];
    struct epoll_event event = {.events = EPOLLIN | EPOLLEXCLUSIVE, .data.u64 = 0x1122334455667788}, got[2];
    pipe(ends);
    SHOW(epoll_create(0));
    SHOW(epoll_create1(1));
    SHOW(epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event));
    SHOW(epoll_ctl(second, EPOLL_CTL_ADD, ends[0], &event));
    SHOW(epoll_ctl(set, EPOLL_CTL_MOD, ends[0], &event));
    SHOW(epoll_ctl(set, EPOLL_CTL_ADD, set, &event));
    SHOW(epoll_ctl(set, 77, ends[0], &event));
    SHOW(epoll_ctl(set, EPOLL_CTL_ADD, ends[0], BAD));
    SHOW(epoll_ctl(ends[0], EPOLL_CTL_ADD, set, &event));
    SHOW(epoll_ctl(set, EPOLL_CTL_ADD, open("plain", O_RDONLY), &event));
    SHOW(epoll_wait(set, got, -1, 0));
    SHOW(epoll_wait(set, got, 0x7fffffff, 0));
    SHOW(epoll_wait(ends[0], got, 1, 0));
    SHOW(epoll_wait(99, got, 1, 0));
    SHOW(epoll_wait(set, BAD, 2, 0));
    write(ends[1], "x", 1);
    SHOW(epoll_wait(set, BAD, 2, 0));
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(pages + 4096, 4096);
    struct epoll_event *last = (struct epoll_event *)(pages + 4096) - 1;
    SHOW(epoll_wait(set, last, 2, 0));
    printf("%x %llx\n", last->events, (unsigned long long)last->data.u64);
    sigset_t none;
    sigemptyset(&none);
    const struct timespec time = {0, 1000000}, bad = {0, 2000000000};
    SHOW(epoll_pwait2(second, got, 2, &time, &none));
    SHOW(epoll_pwait2(second, got, 2, &bad, NULL));
    SHOW(epoll_pwait(second, got, 2, 0, BAD));
}

static void processes(void)
{
    int fds[2];
    pipe(fds);
    fflush(stdout);
    int child = fork();
    if (child == 0) {
        int counter = eventfd(5, 0);
        write(fds[1], &counter, sizeof counter);
        pause();
        _exit(0);
    }
    int theirs = -1, process = syscall(SYS_pidfd_open, child, O_NONBLOCK);
    SHOW(!!(fcntl(process, F_GETFL) & O_NONBLOCK));
    SHOW(fcntl(process, F_GETFD));
    SHOW(syscall(SYS_pidfd_open, child, O_APPEND));
    SHOW(syscall(SYS_pidfd_open, 999999999, 0));
    SHOW(syscall(SYS_pidfd_open, -1, 0));
    read(fds[0], &theirs, sizeof theirs);
    int mine = syscall(SYS_pidfd_getfd, process, theirs, 0);
    uint64_t value = 0;
    SHOW(read(mine, &value, 8));
    printf("%d\n", (int)value);
    SHOW(syscall(SYS_pidfd_getfd, process, 999, 0));
    SHOW(syscall(SYS_pidfd_getfd, process, 0, 1));
    SHOW(syscall(SYS_pidfd_send_signal, process, 0, NULL, 0));
    SHOW(syscall(SYS_pidfd_send_signal, process, 999, NULL, 0));
    SHOW(syscall(SYS_pidfd_send_signal, process, SIGUSR1, NULL, 8));
    siginfo_t info = {.si_signo = SIGUSR1};
    SHOW(syscall(SYS_pidfd_send_signal, process, SIGUSR2, &info, 0));
    SHOW(syscall(SYS_pidfd_send_signal, process, SIGTERM, NULL, 0));
    struct pollfd polled = {process, POLLIN, 0};
    SHOW(poll(&polled, 1, 5000));
    int status = 0;
    waitpid(child, &status, 0);
    printf("%d\n", WTERMSIG(status) == SIGTERM);
    SHOW(syscall(SYS_pidfd_send_signal, process, 0, NULL, 0));
    process = syscall(SYS_pidfd_open, getpid(), 0);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN + 1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    info = (siginfo_t){.si_signo = SIGRTMIN + 1, .si_code = SI_QUEUE, .si_value.sival_int = 4711};
    SHOW(syscall(SYS_pidfd_send_signal, process, SIGRTMIN + 1, &info, 0));
    SHOW(sigwaitinfo(&set, &info) == SIGRTMIN + 1);
    printf("%d\n", info.si_value.sival_int);
}

static void moving(void)
{
    int ends[2], other[2], file = open("moved", O_RDWR | O_CREAT | O_TRUNC, 0600);
    char text[64] = {0};
    pipe(ends), pipe(other);
    write(file, "0123456789", 10);
    off64_t at = 3, to = 20;
    SHOW(splice(file, &at, ends[1], NULL, 4, 0));
    printf("%d\n", (int)at);
    SHOW(tee(ends[0], other[1], 4, SPLICE_F_NONBLOCK));
    SHOW(splice(ends[0], NULL, file, &to, 4, 0));
    printf("%d\n", (int)to);
    SHOW(splice(ends[0], &to, file, NULL, 4, 0));
    SHOW(splice(file, BAD, ends[1], NULL, 4, 0));
    SHOW(splice(file, NULL, file, NULL, 4, 0));
    SHOW(tee(ends[0], ends[1], 4, 0));
    SHOW(tee(ends[0], file, 4, 0));
    struct iovec pieces[] = {{"abc", 3}, {"defg", 4}}, bad[] = {{BAD, 4}};
    SHOW(vmsplice(ends[1], pieces, 2, 0));
    SHOW(vmsplice(ends[1], bad, 1, 0));
    SHOW(vmsplice(file, pieces, 2, 0));
    SHOW(read(ends[0], text, sizeof text));
    printf("%s\n", text);
    SHOW(read(other[0], text, sizeof text));
    printf("%.4s\n", text);
    off64_t from = 0, into = 30;
    SHOW(copy_file_range(file, &from, file, &into, 5, 0));
    printf("%d %d\n", (int)from, (int)into);
    SHOW(copy_file_range(file, &from, file, &into, 5, 1));
    SHOW(copy_file_range(file, &from, ends[1], NULL, 5, 0));
    SHOW(sendfile(ends[1], file, BAD, 5));
    SHOW(sendfile(ends[1], ends[0], NULL, 5));
    off64_t wide = 0x100000000LL;
    SHOW(sendfile64(ends[1], file, &wide, 5));
    SHOW(readahead(file, 0x100000001LL, 10));
    SHOW(readahead(ends[0], 0, 10));
    SHOW(sync_file_range(file, 0, 10, SYNC_FILE_RANGE_WRITE));
    SHOW(sync_file_range(file, -5, 10, SYNC_FILE_RANGE_WRITE));
    SHOW(sync_file_range(file, 0, 10, 99));
    SHOW(fallocate64(file, FALLOC_FL_KEEP_SIZE, 0x100000000LL, 4096));
    SHOW(fallocate64(file, 0x4000, 0, 4096));
    SHOW(fallocate64(file, 0, 0, 0));
    struct iovec into_pieces[] = {{text, 4}, {text + 4, 4}};
    SHOW(preadv2(file, into_pieces, 2, 2, 0));
    printf("%.8s\n", text);
    SHOW(preadv2(file, into_pieces, 2, -1, RWF_HIPRI));
    SHOW(preadv2(file, into_pieces, 2, 0, 0x4000));
    SHOW(preadv64(file, into_pieces, 2, -5));
    SHOW(pwritev2(file, pieces, 2, 0, RWF_APPEND));
    SHOW(lseek(file, 0, SEEK_END));
    SHOW(pwritev2(file, pieces, 2, -1, 0));
}

static void controls(void)
{
    int file = open("moved", O_RDWR), ends[2];
    pipe(ends);
    SHOW(fcntl(ends[0], F_SETPIPE_SZ, 8192));
    SHOW(fcntl(ends[0], F_GETPIPE_SZ));
    SHOW(fcntl(file, F_GETPIPE_SZ));
    SHOW(fcntl(file, F_SETLEASE, F_WRLCK));
    SHOW(fcntl(file, F_GETLEASE) == F_WRLCK);
    SHOW(fcntl(file, F_SETLEASE, F_UNLCK));
    SHOW(fcntl(file, F_NOTIFY, DN_CREATE));
    int folder = open("watched", O_RDONLY | O_DIRECTORY);
    SHOW(fcntl(folder, F_NOTIFY, DN_CREATE));
    SHOW(fcntl(folder, F_NOTIFY, 0));
    const struct f_owner_ex owner = {F_OWNER_PGRP, getpgrp()}, bad = {77, 1};
    struct f_owner_ex told = {0};
    SHOW(fcntl(ends[0], F_SETOWN_EX, &owner));
    SHOW(fcntl(ends[0], F_GETOWN_EX, &told));
    printf("%d %d\n", told.type == F_OWNER_PGRP, told.pid == getpgrp());
    SHOW(fcntl(ends[0], F_SETOWN_EX, &bad));
    SHOW(fcntl(ends[0], F_SETOWN, getpid()));
    SHOW(fcntl(ends[0], F_GETOWN) == getpid());
    SHOW(fcntl(ends[0], F_SETSIG, SIGUSR1));
    SHOW(fcntl(ends[0], F_GETSIG) == SIGUSR1);
    SHOW(fcntl(ends[0], F_SETSIG, 9999));
    uint64_t hint = 3;
    SHOW(fcntl(file, F_SET_RW_HINT, &hint));
    hint = 0;
    SHOW(fcntl(file, F_GET_RW_HINT, &hint));
    printf("%d\n", (int)hint);
    struct flock64 lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0x100000000LL, .l_len = 10};
    int second = open("moved", O_RDWR);
    SHOW(fcntl64(file, F_OFD_SETLK, &lock));
    SHOW(fcntl64(second, F_OFD_SETLK, &lock));
    SHOW(fcntl64(second, F_OFD_GETLK, &lock));
    printf("%d %llx %d %d\n", lock.l_type == F_WRLCK, (long long)lock.l_start, (int)lock.l_len, lock.l_pid);
    lock.l_pid = 5;
    SHOW(fcntl64(file, F_OFD_SETLK, &lock));
    int memory = memfd_create("name", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    SHOW(fcntl(memory, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK));
    SHOW(fcntl(memory, F_GET_SEALS));
    SHOW(ftruncate(memory, 100));
    SHOW(memfd_create("name", 0x4000));
    SHOW(close_range(200, 100, 0));
    SHOW(close_range(200, 300, 99));
    dup2(memory, 200);
    SHOW(close_range(200, 300, CLOSE_RANGE_CLOEXEC));
    SHOW(fcntl(200, F_GETFD));
    SHOW(close_range(150, ~0u, 0));
    SHOW(fcntl(200, F_GETFD));
}

static void listing(void)
{
    char name[32];
    mkdir("many", 0700);
    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof name, "many/entry %d", i);
        close(open(name, O_CREAT | O_WRONLY, 0600));
    }
    DIR *folder = opendir("many");
    long places[400], sum = 0;
    char *names[400];
    int count = 0, right = 0, fits = 0;
    struct dirent *entry;
    for (; errno = 0, (entry = readdir(folder)) != NULL; count++) {
        names[count] = strdup(entry->d_name);
        places[count] = telldir(folder);
        fits += places[count] == (int)places[count] || sizeof(long) > 4;
        sum += strlen(entry->d_name);
    }
    printf("%d entries of %ld letters, errno %d, %d places fit\n", count, sum, errno, fits);
    for (int i = count - 2; i >= 0; i -= 7) {
        seekdir(folder, places[i]);
        entry = readdir(folder);
        right += entry && strcmp(entry->d_name, names[i + 1]) == 0;
    }
    printf("%d gone back to\n", right);
    closedir(folder);
}

int main(void)
{
    signals();
    numbers();
    watching();
    watching_file_systems();
    polling();
    processes();
    moving();
    controls();
    listing();
    return 0;
}
