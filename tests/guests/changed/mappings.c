/* Code that comes and goes with mappings and their protection, and that is written by another mapping. */
#include "changed.h"

#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/sysmips.h>
#include <sys/syscall.h>

static void cacheflushed(void)
{
    unsigned *page = pages(1, RWX);
    for (int round = 0; round < ROUNDS; round++) {
        put(page, round);
        flush(page, 8);
        EXPECT(called(page), round);
    }
}

static void sync_line(volatile void *at)
{
    __asm__ volatile(".set push\n.set mips32r2\nsynci 0(%0)\nsync\n.set pop" : : "r"(at) : "memory");
}

static void syncied(void)
{
    unsigned *page = pages(1, RWX);
    for (int round = 0; round < ROUNDS; round++) {
        put(page, round);
        sync_line(page);
        EXPECT(called(page), round);
    }
}

static void sysmipsed(void)
{
    unsigned *page = pages(1, RWX);
    for (int round = 0; round < ROUNDS; round++) {
        put(page, round);
        syscall(SYS_sysmips, 3 /* FLUSH_CACHE */, 0, 0);
        EXPECT(called(page), round);
    }
}

/* Nothing is flushed: new code all the same, from the next call on, as on a machine whose caches are coherent. */
static void stored(void)
{
    unsigned *page = pages(1, RWX);
    for (int round = 0; round < ROUNDS; round++) {
        put(page, round);
        EXPECT(called(page), round);
        put(page + 600, round + 100); /* elsewhere in the page, and the old function still is what it was */
        EXPECT(call(page), round);
        EXPECT(called(page + 600), round + 100);
    }
}

/* Only the word that changed is flushed; functions around it stay. */
static void one_of_many(void)
{
    unsigned *page = pages(2, RWX);
    for (int i = 0; i < 2 * WORDS; i += 2)
        put(page + i, i & 0x7fff);
    flush(page, 2 * PAGE);
    for (int i = 0; i < 2 * WORDS; i += 64)
        EXPECT(called(page + i), i);
    for (int i = 0; i < 2 * WORDS; i += 128) {
        change(page + i, 0x4000 + i);
        EXPECT(call(page + i), 0x4000 + i);
    }
    for (int i = 0; i < 2 * WORDS; i += 64)
        EXPECT(called(page + i), i % 128 == 0 ? 0x4000 + i : i);
}

/* The kernel makes the caches fit when it makes a page executable: no flush. */
static void protection(void)
{
    unsigned *page = pages(1, RW);
    for (int round = 0; round < ROUNDS; round++) {
        mprotect(page, PAGE, RW);
        put(page, round);
        mprotect(page, PAGE, RX);
        EXPECT(called(page), round);
    }
}

/* Written while it may be executed, flushed after it may not be written any more. */
static void protected_late(void)
{
    unsigned *page = pages(1, RWX);
    for (int round = 0; round < ROUNDS; round++) {
        mprotect(page, PAGE, RWX);
        EXPECT(call(page), round == 0 ? 0 : round - 1);
        put(page, round);
        mprotect(page, PAGE, RX);
        flush(page, 8);
        EXPECT(called(page), round);
    }
}

static void unmapped(void)
{
    unsigned *at = pages(1, RX);
    for (int round = 0; round < ROUNDS; round++) {
        munmap(at, PAGE);
        EXPECT(mmap(at, PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), at);
        put(at, round);
        mprotect(at, PAGE, RX);
        EXPECT(called(at), round);
    }
}

static int file_of_functions(int count)
{
    char name[] = "/tmp/changed-XXXXXX";
    int fd = mkstemp(name);
    unlink(name);
    for (int i = 0; i < count; i++) {
        unsigned words[WORDS] = {0};
        put(words, 100 + i);
        EXPECT(write(fd, words, PAGE), PAGE);
    }
    return fd;
}

static void mapped_over(void)
{
    int fd = file_of_functions(ROUNDS);
    unsigned *at = pages(1, RX);
    for (int round = 0; round < ROUNDS; round++) {
        EXPECT(mmap(at, PAGE, RX, (round & 1 ? MAP_SHARED : MAP_PRIVATE) | MAP_FIXED, fd, round * PAGE), at);
        EXPECT(called(at), 100 + round);
        mmap(at, PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        put(at, round);
        mprotect(at, PAGE, RX);
        EXPECT(called(at), round);
    }
}

static void moved(void)
{
    unsigned *area = pages(4, RX);
    for (int round = 0; round < ROUNDS; round++) {
        unsigned *from = area + (round & 1) * WORDS, *to = area + (~round & 1) * WORDS;
        mmap(from, PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        put(from, round);
        mprotect(from, PAGE, RX);
        EXPECT(called(from), round);
        EXPECT(mremap(from, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to), to);
        EXPECT(called(to), round);
    }
}

static void dropped(void)
{
    int fd = file_of_functions(1);
    unsigned *page = mmap(NULL, PAGE, RWX, MAP_PRIVATE, fd, 0);
    for (int round = 0; round < ROUNDS; round++) {
        EXPECT(called(page), 100);
        change(page, round);
        EXPECT(called(page), round);
        madvise(page, PAGE, MADV_DONTNEED);
        flush(page, PAGE);
    }
}

/* ---- the same pages, mapped twice ---- */

static void write_one_execute_the_other(unsigned *written, unsigned *executed)
{
    EXPECT(written != MAP_FAILED && executed != MAP_FAILED, 1);
    for (int round = 0; round < ROUNDS; round++) {
        put(written, round);
        flush(executed, 8);
        EXPECT(called(executed), round);
    }
    for (int round = 0; round < 3; round++) { /* two functions in turn */
        put(written + 2, round);
        put(written, 50 + round);
        flush(executed, 16);
        EXPECT(called(executed), 50 + round);
        EXPECT(called(executed + 2), round);
    }
}

static void twice(int fd)
{
    EXPECT(ftruncate(fd, PAGE), 0);
    write_one_execute_the_other(mmap(NULL, PAGE, RW, MAP_SHARED, fd, 0), mmap(NULL, PAGE, RX, MAP_SHARED, fd, 0));
    write_one_execute_the_other(mmap(NULL, PAGE, RW, MAP_SHARED, fd, 0), mmap(NULL, PAGE, RWX, MAP_SHARED, fd, 0));
}

static void file_twice(void)
{
    twice(file_of_functions(1));
}

static void memfd_twice(void)
{
    twice(memfd_create("code", 0));
}

static void shm_twice(void)
{
    char name[40];
    sprintf(name, "/changed-%d", (int)getpid());
    int fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    shm_unlink(name);
    twice(fd);
}

static void system_v_twice(void)
{
    int id = shmget(IPC_PRIVATE, PAGE, IPC_CREAT | 0600);
    unsigned *one = shmat(id, NULL, 0), *other = shmat(id, NULL, SHM_EXEC);
    shmctl(id, IPC_RMID, NULL);
    write_one_execute_the_other(one, other);
}

/* A write to the file shows in its shared mappings, and so does what pwrite changes. */
static void file_written(void)
{
    int fd = file_of_functions(1);
    unsigned *page = mmap(NULL, PAGE, RX, MAP_SHARED, fd, 0), words[2];
    for (int round = 0; round < ROUNDS; round++) {
        put(words, round);
        EXPECT(pwrite(fd, words, 8, 0), 8);
        flush(page, 8);
        EXPECT(called(page), round);
    }
}

const struct way mapping_ways[] = {
    {"cacheflushed", cacheflushed}, {"syncied", syncied}, {"sysmipsed", sysmipsed}, {"stored", stored},
    {"one_of_many", one_of_many},
    {"protection", protection}, {"protected_late", protected_late}, {"unmapped", unmapped},
    {"mapped_over", mapped_over}, {"moved", moved}, {"dropped", dropped}, {"file_twice", file_twice},
    {"memfd_twice", memfd_twice}, {"shm_twice", shm_twice}, {"system_v_twice", system_v_twice},
    {"file_written", file_written}, {NULL, NULL},
};
