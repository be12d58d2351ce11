/* What a program finds about itself and about others below /proc. Each argument is a question. */
#define _FILE_OFFSET_BITS 64
#include "show.h"

#include <elf.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

extern char **environ;

static size_t read_all(int folder, const char *name, char *text, size_t room)
{
    size_t length = 0;
    int fd = openat(folder, name, O_RDONLY);
    for (ssize_t count; fd >= 0 && (count = read(fd, text + length, room - 1 - length)) > 0;)
        length += count;
    text[length] = 0;
    close(fd);
    return length;
}

static char text[1 << 20];

static void print_file(const char *name)
{
    size_t length = read_all(AT_FDCWD, name, text, sizeof text);
    for (size_t i = 0; i + 1 < length; i++)
        if (text[i] == 0)
            text[i] = '|';
    printf("%s%s", text, length && text[length - 1] == '\n' ? "" : "\n");
}

static void print_link(const char *name)
{
    char to[4096] = {0};
    printf("%s: %s\n", name, readlink(name, to, sizeof to - 1) < 0 ? strerrorname_np(errno) : to);
}

/* Every way to the program: the same file, readable, executable. */
static void program(const char *self)
{
    char own[40], bytes[4];
    const char *const names[] = {"/proc/self/exe", "/proc/thread-self/exe", own, "//proc/./self//exe"};
    struct stat given, found;
    snprintf(own, sizeof own, "/proc/%d/exe", getpid());
    stat(self, &given);
    for (int i = 0; i < 4; i++) {
        int fd = open(names[i], O_RDONLY), count = read(fd, bytes, 4), failed = stat(names[i], &found);
        printf("%d %d %d ", failed, found.st_ino == given.st_ino, access(names[i], X_OK));
        failed = lstat(names[i], &found);
        printf("%d %d %d %.3s\n", failed, S_ISLNK(found.st_mode), count, bytes + 1);
        close(fd);
    }
    int folder = open("/proc/self", O_RDONLY | O_DIRECTORY), fd = openat(folder, "exe", O_RDONLY);
    fstat(fd, &found);
    printf("%d\n", found.st_ino == given.st_ino);
    SHOW(open("/proc/self/exe", O_RDONLY | O_NOFOLLOW));
    SHOW(stat("/proc/self/exe/x", &found));
    chdir("/proc/self");
    printf("%d\n", stat("exe", &found) == 0 && found.st_ino == given.st_ino);
    chdir("/");
}

static int find_line(const char *start, char *line, size_t room)
{
    const char *at = strstr(text, start);
    snprintf(line, room, "%.*s", at ? (int)strcspn(at, "\n") : 0, at ? at : "");
    return at != NULL;
}

static int variable = 1;

/* The mapping that an address is in, without its address and without what differs from machine to machine. */
static void print_mapping(const char *what, uintptr_t address, const char *name)
{
    char *line = text, flags[5], path[4096];
    for (; *line; line += strcspn(line, "\n") + (strchr(line, '\n') != NULL)) {
        unsigned long start, end, offset, inode;
        unsigned major, minor;
        int count = 0;
        path[0] = 0;
        int found = sscanf(line, "%lx-%lx %4s %lx %x:%x %lu%n", &start, &end, flags, &offset, &major, &minor, &inode, &count);
        if (found != 7 || address < start || address >= end)
            continue;
        snprintf(path, sizeof path, "%.*s", (int)strcspn(line + count, "\n"), line + count);
        const char *shown = path + strspn(path, " ");
        struct stat status = {0};
        int same = shown[0] == '/' && stat(shown, &status) == 0 && status.st_ino == inode;
        printf("%s: %s %s %d %d\n", what, flags, strcmp(shown, name) == 0 ? "right" : shown, same,
               inode ? offset % 4096 == 0 : offset == 0);
    }
}

static void mappings(const char *self)
{
    char *end = sbrk(100000), other[] = "on the stack";
    int fd = open(self, O_RDONLY);
    char *file = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, fd, 4096);
    char *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char *alone = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    read_all(AT_FDCWD, "/proc/self/maps", text, sizeof text);
    print_mapping("code", (uintptr_t)mappings, self);
    print_mapping("data", (uintptr_t)&variable, self);
    print_mapping("heap", (uintptr_t)end, "[heap]");
    print_mapping("stack", (uintptr_t)other, "[stack]");
    print_mapping("file", (uintptr_t)file, self);
    print_mapping("alone", (uintptr_t)alone, "");
    (void)shared;
    read_all(AT_FDCWD, "/proc/self/smaps", text, sizeof text);
    print_mapping("code", (uintptr_t)mappings, self);
    printf("%d\n", strstr(text, "Rss:") != NULL);
}

static void *same_maps(void *unused)
{
    (void)unused;
    char path[60];
    snprintf(path, sizeof path, "/proc/self/task/%d/maps", gettid());
    printf("%d\n", read_all(AT_FDCWD, path, text, sizeof text) > 0 && strstr(text, "[heap]") != NULL);
    return NULL;
}

/* Whether a table of /proc/net has a socket's own address: its words as the numbers that they are for this program. */
static int net_table_has(const char *name, int family, int type)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000201)};
    socklen_t size = family == AF_INET ? sizeof four : sizeof six;
    struct sockaddr *address = family == AF_INET ? (struct sockaddr *)&four : (struct sockaddr *)&six;
    uint32_t words[4] = {four.sin_addr.s_addr};
    char wanted[60] = " ";
    int fd = socket(family, type, 0);
    if (bind(fd, address, size) || (type == SOCK_STREAM && listen(fd, 1)) || getsockname(fd, address, &size))
        return -1;
    if (family == AF_INET6)
        memcpy(words, &six.sin6_addr, sizeof words);
    for (int i = 0; i < (family == AF_INET ? 1 : 4); i++)
        sprintf(wanted + strlen(wanted), "%08X", words[i]);
    sprintf(wanted + strlen(wanted), ":%04X", ntohs(family == AF_INET ? four.sin_port : six.sin6_port));
    read_all(AT_FDCWD, name, text, sizeof text);
    close(fd);
    return strstr(text, wanted) != NULL && strstr(text, "local_address") != NULL;
}

static void net_tables(void)
{
    char path[60];
    sprintf(path, "/proc/%d/net/tcp", getpid());
    printf("%d ", net_table_has(path, AF_INET, SOCK_STREAM));
    printf("%d ", net_table_has("/proc/self/net/udp", AF_INET, SOCK_DGRAM));
    printf("%d ", net_table_has("/proc/thread-self/net/tcp6", AF_INET6, SOCK_STREAM));
    chdir("/proc/net");
    printf("%d %d\n", net_table_has("udp6", AF_INET6, SOCK_DGRAM), net_table_has("../net/tcp", AF_INET, SOCK_STREAM));
}

static void auxiliary(void)
{
    unsigned long vector[200] = {0};
    size_t length = read_all(AT_FDCWD, "/proc/self/auxv", (char *)vector, sizeof vector);
    int right = 1;
    for (size_t i = 0; i * sizeof *vector < length && vector[i] != AT_NULL; i += 2)
        right &= getauxval(vector[i]) == vector[i + 1];
    printf("%d %d\n", length > 10 * sizeof *vector, right);
}

static void numbers(void)
{
    char name[100], state;
    unsigned long long field[60] = {0};
    int process, at;
    read_all(AT_FDCWD, "/proc/self/stat", text, sizeof text);
    sscanf(text, "%d (%99[^)]) %c%n", &process, name, &state, &at);
    char *rest = text + at;
    for (int i = 4; i < 53; i++)
        field[i] = strtoull(rest, &rest, 10);
    uintptr_t here = (uintptr_t)numbers, stack = (uintptr_t)&process;
    printf("%d %s %c %d %d %d %d\n", process == getpid(), name, state, here >= field[26] && here < field[27],
           stack < field[28] && stack > field[28] - 0x100000, field[23] > 100000 && field[23] < 0x7fffffff,
           field[4] == (unsigned)getppid());
    printf("%d\n", field[48] == (uintptr_t)getauxval(AT_EXECFN) || field[48] < field[49]);
    read_all(AT_FDCWD, "/proc/self/status", text, sizeof text);
    find_line("Name:", name, sizeof name);
    printf("%s\n", name);
    find_line("VmSize:", name, sizeof name);
    printf("%d\n", atoi(name + 7) > 100 && atoi(name + 7) < 0x200000);
    print_file("/proc/self/comm");
    prctl(PR_SET_NAME, "renamed by itself");
    print_file("/proc/self/comm");
    prctl(PR_GET_NAME, name);
    printf("%s\n", name);
}

static void after_replacement(char *self)
{
    char copy[4096], to[4200];
    snprintf(copy, sizeof copy, "%s.copy", self);
    if (access(copy, F_OK)) { /* first a copy of this program is run, */
        snprintf(to, sizeof to, "cp %s %s", self, copy);
        system(to);
        execl(copy, copy, "replaced", NULL);
    }
}

static void replaced(const char *self)
{
    char *const words[] = {"again", "alive", NULL};
    struct stat status;
    unlink(self); /* which removes itself */
    SHOW(stat(self, &status));
    print_link("/proc/self/exe");
    SHOW(stat("/proc/self/exe", &status));
    SHOW(status.st_nlink);
    close(open(self, O_CREAT | O_WRONLY, 0644));
    SHOW(stat("/proc/self/exe", &status) == 0 && status.st_size > 1000);
    fflush(stdout);
    execv("/proc/self/exe", words);
    perror("exec");
}

static void changed_arguments(char **words)
{
    memset(words[0], 'x', strlen(words[0]));
    print_file("/proc/self/cmdline");
}

int main(int count, char **words)
{
    const char *question = count > 1 ? words[1] : "";
    pthread_t thread;
    if (strcmp(question, "program") == 0)
        program(words[0]);
    else if (strcmp(question, "maps") == 0) {
        mappings(realpath(words[0], NULL));
        pthread_create(&thread, NULL, same_maps, NULL);
        pthread_join(thread, NULL);
    } else if (strcmp(question, "auxv") == 0)
        auxiliary();
    else if (strcmp(question, "net") == 0)
        net_tables();
    else if (strcmp(question, "stat") == 0)
        numbers();
    else if (strcmp(question, "replace") == 0)
        after_replacement(words[0]);
    else if (strcmp(question, "replaced") == 0)
        replaced(words[0]);
    else if (strcmp(question, "alive") == 0)
        printf("alive %s\n", words[0]);
    else if (strcmp(question, "change") == 0)
        changed_arguments(words);
    else if (strcmp(question, "wait") == 0) { /* for others to look at */
        printf("waiting\n");
        fflush(stdout);
        getchar();
    }
    for (int i = 2; i < count; i++)
        if (strcmp(question, "file") == 0)
            print_file(words[i]);
        else if (strcmp(question, "link") == 0)
            print_link(words[i]);
        else if (strcmp(question, "chdir") == 0) {
            chdir(words[i]);
            print_file(words[++i]);
        }
    return 0;
}
