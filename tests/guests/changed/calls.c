/* Code that system calls write, into pages that were executed before; and data that they write beside code. */
#include "changed.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>

static int ends[2], unflushed;

static void by(ssize_t (*receive)(unsigned *to))
{
    unsigned *page = pages(1, RWX), words[2];
    for (int round = 0; round < ROUNDS; round++) {
        EXPECT(called(page), round == 0 ? 0 : round - 1);
        put(words, round);
        EXPECT(write(ends[1], words, 8), 8);
        EXPECT(receive(page), 8);
        if (!unflushed)
            flush(page, 8);
        EXPECT(called(page), round);
    }
}

static ssize_t receive_read(unsigned *to) { return read(ends[0], to, 8); }
static ssize_t receive_recv(unsigned *to) { return recv(ends[0], to, 8, 0); }

static ssize_t receive_readv(unsigned *to) /* the second word first, into two places of the page */
{
    unsigned first;
    struct iovec parts[] = {{&first, 4}, {to + 1, 4}};
    ssize_t got = readv(ends[0], parts, 2);
    *to = first;
    return got;
}

static ssize_t receive_message(unsigned *to)
{
    struct iovec part = {to, 8};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    return recvmsg(ends[0], &message, 0);
}

static void by_read(void) { pipe(ends), by(receive_read); }
static void by_readv(void) { pipe(ends), by(receive_readv); }
static void by_recv(void) { socketpair(AF_UNIX, SOCK_STREAM, 0, ends), by(receive_recv); }
static void by_recvmsg(void) { socketpair(AF_UNIX, SOCK_DGRAM, 0, ends), by(receive_message); }

/* As machines with coherent caches do, and qemu. */
static void by_read_alone(void) { unflushed = 1, by_read(); }

static void by_pread(void)
{
    char name[] = "/tmp/changed-XXXXXX";
    int fd = mkstemp(name);
    unsigned *page = pages(1, RWX), words[2];
    unlink(name);
    for (int round = 0; round < ROUNDS; round++) {
        put(words, round);
        EXPECT(pwrite(fd, words, 8, 0), 8);
        EXPECT(pread(fd, page, 8, 0), 8);
        flush(page, 8);
        EXPECT(called(page), round);
    }
}

static void by_process_vm_writev(void)
{
    unsigned *page = pages(1, RWX), words[2];
    for (int round = 0; round < ROUNDS; round++) {
        struct iovec from = {words, 8}, to = {page, 8};
        EXPECT(called(page), round == 0 ? 0 : round - 1);
        put(words, round);
        EXPECT(process_vm_writev(getpid(), &from, 1, &to, 1, 0), 8);
        flush(page, 8);
        EXPECT(called(page), round);
    }
}

/* A child writes what the parent executes, by the call and by the pages that they share. */
static void by_a_child(void)
{
    unsigned *page = pages(1, RWX);
    unsigned *shared = mmap(NULL, PAGE, RWX, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    put(shared, 0);
    for (int round = 1; round < ROUNDS; round++) {
        int status;
        EXPECT(called(page), round - 1);
        EXPECT(called(shared), round - 1);
        if (fork() == 0) {
            unsigned words[2];
            struct iovec from = {words, 8}, to = {page, 8};
            put(words, round);
            put(shared, round);
            _exit(process_vm_writev(getppid(), &from, 1, &to, 1, 0) != 8);
        }
        wait(&status);
        EXPECT(status, 0);
        flush(page, 8);
        flush(shared, 8);
        EXPECT(called(page), round);
        EXPECT(called(shared), round);
    }
}

/* Writes there regardless of protection: into pages that the guest may write, and that it may not. */
static void by_proc_mem(void)
{
    int fd = open("/proc/self/mem", O_RDWR);
    unsigned words[2];
    for (int writable = 1; writable >= 0; writable--) {
        unsigned *page = pages(1, writable ? RWX : RX);
        for (int round = 0; round < ROUNDS; round++) {
            put(words, round);
            EXPECT(pwrite64(fd, words, 8, (off64_t)(unsigned long)page), 8);
            flush(page, 8);
            EXPECT(called(page), round);
        }
    }
}

/* Results of calls go beside functions that stay as they are. */
static void results(void)
{
    unsigned *page = pages(1, RWX), *data = page + 64;
    struct timespec now;
    for (int round = 0; round < 200; round++) {
        int status = 0;
        EXPECT(call(page), 0);
        EXPECT(clock_gettime(CLOCK_MONOTONIC, (struct timespec *)data), 0);
        clock_gettime(CLOCK_MONOTONIC, &now);
        EXPECT(data[0] <= (unsigned)now.tv_sec && data[1] < 1000000000, 1);
        EXPECT(pipe((int *)data + 4), 0);
        EXPECT(data[4] != data[5], 1);
        EXPECT(getcwd((char *)data + 64, 256) != NULL, 1);
        EXPECT(gettimeofday((struct timeval *)(data + 100), NULL), 0);
        EXPECT(syscall(SYS_getcwd, page + WORDS - 64, 256) > 0, 1);
        close((int)data[4]);
        close((int)data[5]);
        (void)status;
    }
}

const struct way call_ways[] = {
    {"by_read", by_read}, {"by_read_alone", by_read_alone}, {"by_readv", by_readv}, {"by_recv", by_recv}, {"by_recvmsg", by_recvmsg},
    {"by_pread", by_pread}, {"by_process_vm_writev", by_process_vm_writev}, {"by_a_child", by_a_child},
    {"by_proc_mem", by_proc_mem}, {"results", results}, {NULL, NULL},
};
