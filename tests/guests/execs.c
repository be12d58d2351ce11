/* Executes itself in all ways that there are, and says what the new program was given; and what is refused, how. */
#define _FILE_OFFSET_BITS 64
#include "show.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

extern char **environ;

static char self[4096];
static char *const arguments[] = {"another name", "show", "two words", "", "--engine", NULL};
static char *const variables[] = {"A=1", "MIPSREC_ARGV0=not special", "EMPTY=", "MIPSREC_SYSROOT=/none", NULL};

static int show(int count, char **words)
{
    const char *name = (const char *)getauxval(AT_EXECFN);
    for (int i = 0; i < count; i++)
        printf("[%s] ", words[i]);
    for (char **variable = environ; *variable; variable++)
        printf("{%s} ", *variable);
    printf("%s\n", name);
    return 42;
}

static void wait_for(pid_t child)
{
    int status;
    waitpid(child, &status, 0);
    printf("  ends with %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
    fflush(stdout);
}

#define IN_CHILD(call)                       \
    do {                                     \
        fflush(stdout);                      \
        pid_t child = fork();                \
        if (child == 0) {                    \
            SHOW(call);                      \
            fflush(stdout);                  \
            _exit(1);                        \
        }                                    \
        printf("%s\n", #call);               \
        wait_for(child);                     \
    } while (0)

static void make_file(const char *name, const char *text, int mode)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, mode);
    dprintf(fd, text, self);
    close(fd);
    chmod(name, mode);
}

static int at(int folder, const char *name, int flags)
{
    return (int)syscall(SYS_execveat, folder, name, arguments, variables, flags);
}

static int copy_self(int to)
{
    static char bytes[1 << 16];
    int from = open(self, O_RDONLY);
    for (ssize_t count; (count = read(from, bytes, sizeof bytes)) > 0;)
        write(to, bytes, count);
    close(from);
    return to;
}

static void by_descriptor(void)
{
    int here = open(".", O_RDONLY | O_DIRECTORY), here_path = open(".", O_PATH | O_CLOEXEC);
    int own = open(self, O_RDONLY), own_path = open(self, O_PATH | O_CLOEXEC);
    IN_CHILD(at(own, "", AT_EMPTY_PATH));
    IN_CHILD(at(own_path, "", AT_EMPTY_PATH));
    IN_CHILD(fexecve(own, arguments, variables));
    IN_CHILD(at(own, "", 0));
    IN_CHILD(at(99, "", AT_EMPTY_PATH));
    IN_CHILD(at(own, "x", 0));
    IN_CHILD(at(here, "link", 0));
    IN_CHILD(at(here_path, "link", AT_EMPTY_PATH));
    IN_CHILD(at(here, "link", AT_SYMLINK_NOFOLLOW));
    IN_CHILD(at(AT_FDCWD, "link", 0));
    IN_CHILD(at(here, self, 0));
    IN_CHILD(at(here, "", AT_EMPTY_PATH));
    IN_CHILD(at(here, "none", 0));
    IN_CHILD(at(here, "link", 0x8000));
    IN_CHILD(at(here, "script", 0));
    IN_CHILD(at(here_path, "script", 0));
    int script = open("script", O_RDONLY), closing_script = open("script", O_RDONLY | O_CLOEXEC);
    IN_CHILD(at(closing_script, "", AT_EMPTY_PATH));
    close(script);
    int memory = copy_self(syscall(SYS_memfd_create, "in memory", MFD_CLOEXEC));
    IN_CHILD(fexecve(memory, arguments, variables));
    int gone = copy_self(open("gone", O_RDWR | O_CREAT | O_CLOEXEC, 0755));
    close(gone);
    gone = open("gone", O_RDONLY | O_CLOEXEC);
    unlink("gone");
    IN_CHILD(at(gone, "", AT_EMPTY_PATH));
}

static void scripts(void)
{
    static const struct { const char *name, *text; } files[] = {
        {"plain", "#!%s\n"}, {"argument", "#!%s show\n"}, {"blanks", "#! \t %s \t show me \t \nrest"},
        {"no-newline", "#!%s show"}, {"nothing", "#!"}, {"only-blanks", "#!   \t \n"}, {"missing", "#!/none/such show\n"},
        {"folder", "#!/ show\n"}, {"empty", ""}, {"text", "some text\n"}, {"not-here", "#!none\n"},
        {"one", "#!two 1\n"}, {"two", "#!three 2\n"}, {"three", "#!four 3\n"}, {"four", "#!five 4\n"},
        {"five", "#!%s show\n"}, {"zero", "#!one 0\n"}, {"itself", "#!itself\n"},
        {"long", "#!/a/very/long/path/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        make_file(files[i].name, files[i].text, 0755);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        printf("%s: ", files[i].name);
        IN_CHILD(execve(files[i].name, arguments, variables));
    }
    make_file("not-executable", "#!%s show\n", 0644);
    IN_CHILD(execve("not-executable", arguments, variables));
    make_file("bad-interpreter", "#!not-executable\n", 0755);
    IN_CHILD(execve("bad-interpreter", arguments, variables));
    mkfifo("pipe", 0755);
    make_file("of-pipe", "#!pipe\n", 0755);
    IN_CHILD(execve("pipe", arguments, variables));
    IN_CHILD(execve("of-pipe", arguments, variables));
}

static void sizes(void)
{
    static char *none[] = {NULL}, *many[6] = {"name", "show"};
    static char text[120000];
    memset(text, 'x', sizeof text - 1);
    IN_CHILD(execve(self, none, variables));
    IN_CHILD(execve(self, NULL, NULL));
    IN_CHILD(execve(self, (char **)BAD, variables));
    IN_CHILD(execve(self, arguments, (char **)BAD));
    IN_CHILD(execve((char *)BAD, arguments, variables));
    const struct rlimit limit = {1 << 20, RLIM_INFINITY};
    setrlimit(RLIMIT_STACK, &limit);
    many[1] = many[2] = text;
    IN_CHILD(execve(self, many, variables));
    many[3] = text;
    IN_CHILD(execve(self, many, variables) < 0 && errno == E2BIG);
}

/* As cautious programs do before they execute another one. */
static void close_all_and_run(const char *path, char **words)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    for (int fd = 3; fd < 1200; fd++)
        if (close(fd) == 0)
            printf("%d was open\n", fd);
    syscall(SYS_close_range, 3, ~0u, 0);
    for (int fd = 890; fd < 910 && fd < (int)limit.rlim_cur; fd++)
        if (dup2(1, fd) != fd)
            printf("%d cannot be used\n", fd);
    fflush(stdout);
    syscall(SYS_close_range, 890, 920, 0);
    execv(path, words);
    perror(path);
}

/* Of another user, who cannot reach the folder. */
static void drop_rights_and_run(const char *path, char **words)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    SHOW(setresuid(65534, 65534, 65534));
    SHOW(access(path, F_OK));
    fflush(stdout);
    fexecve(fd, words, environ);
    perror(path);
}

int main(int count, char **words)
{
    if (count > 3 && strcmp(words[1], "drop") == 0)
        drop_rights_and_run(words[2], words + 3);
    if (count > 3 && strcmp(words[1], "run") == 0)
        close_all_and_run(words[2], words + 3);
    if (count < 2 || strcmp(words[1], "execs") != 0)
        return count > 1 && words[1][0] == 'x' ? 41 : show(count, words);
    strcpy(self, realpath(words[2], NULL));
    symlink(self, "link");
    make_file("script", "#!%s show\n", 0755);
    by_descriptor();
    scripts();
    sizes();
    return 0;
}
