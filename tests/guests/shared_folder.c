/* Uses names in /tmp that other users may have put there: NAME [threads]. Prints how each call ends. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void say(const char *name, int result)
{
    printf("%s: %s\n", name, result < 0 ? strerror(errno) : "done");
}

static void *wait_forever(void *argument)
{
    for (;;)
        pause();
    return argument;
}

int main(int count, char **words)
{
    pthread_t thread;
    if (count > 1 && pthread_create(&thread, 0, wait_forever, 0) != 0)
        return 1;
    say("open", open("/tmp/link", O_WRONLY | O_APPEND));
    say("create", open("/tmp/link", O_WRONLY | O_CREAT | O_APPEND, 0600));
    say("create its target", open("/tmp/new", O_WRONLY | O_CREAT, 0600));
    say("open a pipe", open("/tmp/pipe", O_RDWR | O_NONBLOCK | O_CREAT, 0600));
    say("open a file", open("/tmp/file", O_WRONLY | O_CREAT, 0600));
    say("truncate", truncate("/tmp/link", 5));
    say("mode", chmod("/tmp/link", 0640));
    say("folder", chdir("/tmp"));
    say("open here", open("link", O_WRONLY | O_APPEND));
    say("create here", open("link", O_WRONLY | O_CREAT, 0600));
    say("mode here", chmod("link", 0640));
    say("link itself", readlink("link", (char[20]){0}, 20));
    return 0;
}
