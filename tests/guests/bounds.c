/* RLIMIT_AS and RLIMIT_DATA: what they refuse, who inherits them, and where they are told. */
#include "show.h"

#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/wait.h>

#define MIB ((size_t)1 << 20)
#define RW (PROT_READ | PROT_WRITE)
#define PRIVATE (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)
#define SHARED (MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE)

static int limit(int which, rlim_t soft, rlim_t hard)
{
    struct rlimit limit = {soft, hard};
    return setrlimit(which, &limit);
}

static void *get(size_t mib, int prot, int flags) { return mmap(NULL, mib * MIB, prot, flags, -1, 0); }

/* Whether there is that much, which is given back. */
static int can(size_t mib, int prot, int flags)
{
    void *at = get(mib, prot, flags);
    return at == MAP_FAILED ? -1 : munmap(at, mib * MIB);
}

static void data(void)
{
    limit(RLIMIT_DATA, 100 * MIB, RLIM_INFINITY);
    SHOW(can(80, RW, PRIVATE));
    SHOW(can(120, RW, PRIVATE));
    SHOW(can(120, PROT_READ, PRIVATE));
    SHOW(can(120, RW, SHARED));
    char *at = get(120, PROT_READ, PRIVATE), *more = get(80, RW, PRIVATE), *heap = sbrk(0);
    SHOW(mprotect(at, 10 * MIB, RW));
    SHOW(mprotect(at, 120 * MIB, RW));
    SHOW(mprotect(at, 120 * MIB, PROT_READ));
    SHOW(can(40, RW, PRIVATE));
    SHOW(mmap(more, 80 * MIB, RW, PRIVATE | MAP_FIXED, -1, 0) == more); /* in place of what is there */
    SHOW((char *)mremap(more, 80 * MIB, 120 * MIB, MREMAP_MAYMOVE) == MAP_FAILED ? -1 : 0);
    SHOW(brk(heap + 40 * MIB));
    SHOW(brk(heap + 5 * MIB));
    munmap(more, 80 * MIB);
    SHOW(brk(heap + 45 * MIB));
    SHOW(brk(heap));
    limit(RLIMIT_DATA, RLIM_INFINITY, RLIM_INFINITY);
    SHOW(mprotect(at, 120 * MIB, RW));
    munmap(at, 120 * MIB);
}

static void all(void)
{
    int segment = shmget(IPC_PRIVATE, 120 * MIB, IPC_CREAT | SHM_NORESERVE | 0600);
    limit(RLIMIT_AS, 200 * MIB, RLIM_INFINITY);
    char *at = get(100, PROT_READ, PRIVATE);
    SHOW(can(120, PROT_NONE, PRIVATE));
    SHOW(can(120, RW, SHARED));
    SHOW(can(80, RW, PRIVATE));
    SHOW(shmat(segment, NULL, 0) == (void *)-1 ? -1 : 0);
    shmctl(segment, IPC_RMID, NULL);
    SHOW((char *)mremap(at, 100 * MIB, 220 * MIB, MREMAP_MAYMOVE) == MAP_FAILED ? -1 : 0);
    SHOW(munmap(at + 20 * MIB, 80 * MIB));
    SHOW(can(150, RW, PRIVATE));
    munmap(at, 20 * MIB);
}

static void tell(void)
{
    char line[200];
    FILE *limits = fopen("/proc/self/limits", "r");
    while (fgets(line, sizeof line, limits))
        if (strstr(line, "Max data") || strstr(line, "Max address"))
            fputs(line, stdout);
    fclose(limits);
    fflush(stdout);
}

int main(int count, char **words)
{
    struct rlimit now;
    if (count > 1) { /* executed with limits */
        SHOW(can(120, RW, PRIVATE));
        SHOW(can(250, PROT_READ, PRIVATE));
        tell();
        getrlimit(RLIMIT_AS, &now);
        printf("%d %d\n", (int)(now.rlim_cur / MIB), (int)(now.rlim_max / MIB));
        fflush(stdout);
        execlp("sh", "sh", "-c", "ulimit -S -v; ulimit -S -d", NULL);
        return 1;
    }
    data();
    all();
    limit(RLIMIT_DATA, 100 * MIB, RLIM_INFINITY);
    SHOW(limit(RLIMIT_AS, 300 * MIB, 200 * MIB));
    limit(RLIMIT_AS, 200 * MIB, 300 * MIB);
    tell();
    fflush(stdout);
    execl("/none", "none", NULL);
    if (fork() == 0) {
        execl("/proc/self/exe", "bounds", "again", NULL);
        _exit(1);
    }
    wait(NULL);
    return 0;
}
