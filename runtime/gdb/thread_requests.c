/* Requests about the guest's threads: which there are, what they do, and which one the others are about. */
#include "gdb/parts.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define THREADS_IN_REPLY 500u

int mr_debug_choose_thread(const char *rest, struct mr_debug_reply *reply)
{
    pid_t number;
    bool general = mr_debug_take(&rest, 'g');
    (void)reply;
    if ((!general && !mr_debug_take(&rest, 'c')) || !mr_debug_take_thread(&rest, &number) ||
        (number > 0 && mr_debug_find_thread(number) == NULL))
        return MR_DEBUG_INVALID;
    *(general ? &mr_debug_session.general : &mr_debug_session.resumed) = number;
    return MR_DEBUG_OK;
}

int mr_debug_tell_alive(const char *rest, struct mr_debug_reply *reply)
{
    pid_t number;
    (void)reply;
    return mr_debug_take_thread(&rest, &number) && mr_debug_find_thread(number) != NULL ? MR_DEBUG_OK : MR_DEBUG_INVALID;
}

int mr_debug_tell_current(const char *rest, struct mr_debug_reply *reply)
{
    const struct mr_debug_thread *thread = mr_debug_general_thread();
    (void)rest;
    if (thread != NULL) {
        mr_debug_add(reply, "QC");
        mr_debug_add_thread(reply, thread->number);
    }
    return MR_DEBUG_ADDED;
}

static int list_threads_from(uint32_t first, struct mr_debug_reply *reply)
{
    uint32_t at = 0;
    for (const struct mr_debug_thread *thread = mr_debug_first_thread(); thread != NULL; thread = thread->next, at++)
        if (at >= first && at < first + THREADS_IN_REPLY) {
            mr_debug_add(reply, "%s", at == first ? "m" : ",");
            mr_debug_add_thread(reply, thread->number);
        }
    if (reply->length == 0)
        mr_debug_add(reply, "l");
    return MR_DEBUG_ADDED;
}

static uint32_t threads_listed;

int mr_debug_list_threads(const char *rest, struct mr_debug_reply *reply)
{
    (void)rest;
    threads_listed = 0;
    return list_threads_from(0, reply);
}

int mr_debug_list_more_threads(const char *rest, struct mr_debug_reply *reply)
{
    (void)rest;
    threads_listed += THREADS_IN_REPLY;
    return list_threads_from(threads_listed, reply);
}

/* The thread's name, and what it does. */
int mr_debug_describe_thread(const char *rest, struct mr_debug_reply *reply)
{
    pid_t number;
    char path[60], text[80];
    const struct mr_debug_thread *thread = mr_debug_take_thread(&rest, &number) ? mr_debug_find_thread(number) : NULL;
    if (thread == NULL)
        return MR_DEBUG_INVALID;
    snprintf(path, sizeof path, "/proc/self/task/%d/comm", (int)number);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, text, 32);
    if (fd >= 0)
        close(fd);
    size_t count = got > 0 && text[got - 1] == '\n' ? (size_t)got - 1 : got > 0 ? (size_t)got : 0;
    int more = snprintf(text + count, sizeof text - count, "%s",
                        thread->in_call ? " (in a system call)" : thread->parked ? "" : " (busy in a system call)");
    mr_debug_add_hex(reply, text, count + (size_t)more);
    return MR_DEBUG_ADDED;
}
