/* Signals that come faster than they are taken: a child sends them all the time. Prints what went wrong, which is nothing.
 *
 *   storm execs   a program that is executed meanwhile gets them as well
 *   storm ignored those that come while they are being ignored do not keep later ones away
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static volatile sig_atomic_t taken;

static void take(int number)
{
    (void)number;
    taken = 1;
}

static void lost(int number)
{
    static const char text[] = "lost\n";
    (void)number;
    _exit(write(1, text, sizeof text - 1) < 0 ? 2 : 1);
}

static pid_t start_sender(void)
{
    pid_t to = getpid(), sender = fork();
    if (sender != 0)
        return sender;
    while (getppid() == to)
        kill(to, SIGURG); /* ignored by default: a program that was just executed survives it */
    _exit(0);
}

/* Waits for one; not with pause, before which the last one may have come. */
static void take_one(void)
{
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGALRM);
    sigprocmask(SIG_BLOCK, &all, &before);
    taken = 0;
    signal(SIGURG, take);
    sigdelset(&before, SIGURG);
    while (!taken)
        sigsuspend(&before);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

static int execute(const char *self, int left, pid_t sender)
{
    char count[16], number[16];
    sigset_t blocked;
    sigprocmask(SIG_SETMASK, NULL, &blocked);
    if (sigismember(&blocked, SIGURG))
        puts("blocked");
    take_one();
    if (left > 0) {
        snprintf(count, sizeof count, "%d", left - 1);
        snprintf(number, sizeof number, "%d", (int)sender);
        execl(self, self, "execs", count, number, (char *)NULL);
        perror("execl");
    }
    return 0;
}

int main(int argc, char **argv)
{
    signal(SIGALRM, lost);
    alarm(600);
    pid_t sender = argc > 3 ? (pid_t)atoi(argv[3]) : start_sender();
    if (strcmp(argv[1], "execs") == 0) {
        execute(argv[0], argc > 2 ? atoi(argv[2]) : 40, sender);
    } else {
        for (int round = 0; round < 2000; round++) {
            signal(SIGURG, take);
            signal(SIGURG, SIG_IGN);
            if (round % 20 == 0)
                take_one();
        }
        take_one();
    }
    kill(sender, SIGKILL);
    puts("done");
    return 0;
}
