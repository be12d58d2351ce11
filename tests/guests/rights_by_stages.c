/* Gives rights up in stages, with a second thread beside: NAME USER [FILES]. It says each stage, then waits for a line. FILES is
 * the most that it may have open from then on. */
#define _GNU_SOURCE
#include <grp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

static void *wait_forever(void *argument)
{
    for (;;)
        pause();
    return argument;
}

static void say(const char *stage, int result)
{
    puts(result == 0 ? stage : "failed");
    fflush(stdout);
    getchar();
}

int main(int count, char **words)
{
    unsigned user = count > 1 ? (unsigned)atoi(words[1]) : 0;
    pthread_t thread;
    struct rlimit limit = {count > 2 ? (unsigned)atoi(words[2]) : 64, 4096};
    if (user == 0 || setrlimit(RLIMIT_NOFILE, &limit) != 0 || pthread_create(&thread, 0, wait_forever, 0) != 0)
        return 1;
    say("for a moment", setresgid(-1, user, -1) | setresuid(-1, user, -1));
    say("as another", setresuid(-1, 0, -1) | setresgid(-1, user + 1, -1) | setresuid(-1, user + 1, -1));
    say("back", setresuid(-1, 0, -1) | setresgid(-1, 0, -1));
    say("for good", setgroups(0, 0) | setresgid(user, user, user) | setresuid(user, user, user) | prctl(PR_SET_DUMPABLE, 1));
    return 0;
}
