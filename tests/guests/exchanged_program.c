/* exchange HOST PROGRAM OTHER: holds what /proc/PID/exe of a guest is found by, and exchanges it again and again for another
 * file. lease HOST OTHER OTHER: holds what such a guest is found by, and a lease on it for as long as it can. look FILE COUNT: opens a file that often, and says whether all that it got were ELF files. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PLACE = 4096 }; /* of the host's own descriptor */

static int exchange(char **files)
{
    struct rlimit limit = {PLACE + 100, PLACE + 100};
    int host = open(files[0], O_RDONLY), program = open(files[1], O_RDONLY), other = open(files[2], O_PATH);
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0 || dup2(host, PLACE) != PLACE || dup2(program, PLACE + 1) < 0 || other < 0)
        return 1;
    puts("waiting");
    fflush(stdout);
    for (;;) {
        dup2(other, PLACE + 1);
        dup2(program, PLACE + 1);
    }
}

/* What is held for its path alone counts as not open, so that a lease is granted. */
static int lease(char **files)
{
    struct rlimit limit = {PLACE + 100, PLACE + 100};
    int host = open(files[0], O_RDONLY), other = open(files[1], O_RDWR), path = open(files[1], O_PATH);
    signal(SIGIO, SIG_IGN);
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0 || dup2(host, PLACE) != PLACE || dup2(path, PLACE + 1) < 0)
        return 1;
    if (fcntl(other, F_SETLEASE, F_WRLCK) != 0)
        return 2;
    puts("waiting");
    fflush(stdout);
    for (;;)
        fcntl(other, F_SETLEASE, F_WRLCK);
}

static int look(const char *name, int count)
{
    int opened = 0, programs = 0;
    for (int i = 0; i < count; i++) {
        char magic[4] = "";
        int fd = open(name, O_RDONLY);
        opened += fd >= 0;
        programs += fd >= 0 && read(fd, magic, sizeof magic) == sizeof magic && memcmp(magic, "\177ELF", sizeof magic) == 0;
        close(fd);
    }
    puts(opened > 0 && programs == opened ? "programs" : "others");
    return 0;
}

int main(int count, char **words)
{
    if (count > 4 && strcmp(words[1], "lease") == 0)
        return lease(words + 2);
    return count > 4 ? exchange(words + 2) : look(words[2], atoi(words[3]));
}
