/* Files that run, and files that are open for writing: which calls answer ETXTBSY. Runs in an empty folder as ./busy_text. */
#include "show.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define SELF "/proc/self/exe"
static const char *words[] = {"name", "look", NULL};

static int copy_to(const char *name, const char *text)
{
    static char bytes[1 << 16];
    int from = open(SELF, O_RDONLY), to = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
    if (text)
        write(to, text, strlen(text));
    for (ssize_t count; !text && (count = read(from, bytes, sizeof bytes)) > 0;)
        write(to, bytes, count);
    close(from);
    return to;
}

/* Each way to change a file, of which none may have worked in the end. */
static void change(const char *name)
{
    struct stat before, after;
    stat(name, &before);
    printf("%s\n", name[0] == '/' ? "by its link" : name);
    SHOW(open(name, O_WRONLY));
    SHOW(open(name, O_RDWR | O_APPEND));
    SHOW(open(name, O_WRONLY | O_TRUNC));
    SHOW(open(name, O_WRONLY | O_CREAT | O_TRUNC, 0755));
    SHOW(open(name, O_WRONLY | O_CREAT | O_EXCL, 0755));
    SHOW(truncate(name, 0));
    SHOW(open(name, O_RDONLY) < 0);
    SHOW(open(name, O_PATH | O_RDWR) < 0);
    SHOW(stat(name, &after) || before.st_size != after.st_size);
}

static void execute(const char *name)
{
    int status;
    fflush(stdout);
    if (fork() == 0) {
        execv(name, (char *const *)words);
        printf("%s: %s\n", name, strerror(errno));
        fflush(stdout);
        _exit(1);
    }
    wait(&status);
    printf("%s ends with %d\n", name, status);
}

static void executed_while_written(void)
{
    int fd = copy_to("copy", NULL), only_made = copy_to("script", "#!./copy\n");
    execute("copy");
    execute("script");
    close(only_made);
    execute("script"); /* whose interpreter is open for writing */
    int reader = open("copy", O_RDONLY);
    close(fd);
    execute("copy");
    execute("script");
    close(reader);
    fd = open("copy", O_WRONLY | O_TRUNC); /* nobody runs it any more */
    SHOW(write(fd, "#!/none\n", 8));
    close(fd);
}

int main(int count, char **arguments)
{
    char name[40];
    if (count > 1 && strcmp(arguments[count - 1], "look") == 0)
        return 0;
    if (count > 1) { /* another program, while its maker runs */
        change(arguments[1]);
        return 0;
    }
    change(arguments[0]);
    change(SELF);
    executed_while_written();
    close(copy_to("other", NULL));
    words[1] = arguments[0];
    execute("other");
    sprintf(name, "/proc/%d/exe", getpid());
    words[1] = name;
    execute("other");
    unlink(arguments[0]);
    SHOW(open(arguments[0], O_WRONLY | O_CREAT | O_TRUNC, 0755) < 0);
    return 0;
}
