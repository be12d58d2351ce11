/* Requests about the guest's threads: which there are, what they do, and which one the others are about. */
#include "gdb/parts.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define THREADS_IN_REPLY 500u

bool mr_debug_choose_thread(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    pid_t number;
    bool general = mr_debug_take(&rest, 'g');
    (void)length;
    if ((!general && !mr_debug_take(&rest, 'c')) || !mr_debug_take_thread(&rest, &number) ||
        (number > 0 && mr_debug_find_thread(number) == NULL)) {
        mr_debug_refuse(reply, MR_DEBUG_INVALID);
        return true;
    }
    *(general ? &mr_debug_session.general : &mr_debug_session.resumed) = number;
    mr_debug_agree(reply, 0);
    return true;
}

bool mr_debug_tell_alive(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    pid_t number;
    (void)length;
    mr_debug_agree(reply, mr_debug_take_thread(&rest, &number) && mr_debug_find_thread(number) != NULL ? 0 : MR_DEBUG_INVALID);
    return true;
}

bool mr_debug_tell_current(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    const struct mr_debug_thread *thread = mr_debug_general_thread();
    (void)rest, (void)length;
    if (thread != NULL) {
        mr_debug_add(reply, "QC");
        mr_debug_add_thread(reply, thread->number);
    }
    return true;
}

static bool list_threads_from(uint32_t first, struct mr_debug_reply *reply)
{
    uint32_t at = 0;
    for (const struct mr_debug_thread *thread = mr_debug_first_thread(); thread != NULL; thread = thread->next, at++)
        if (at >= first && at < first + THREADS_IN_REPLY) {
            mr_debug_add(reply, "%s", at == first ? "m" : ",");
            mr_debug_add_thread(reply, thread->number);
        }
    if (reply->length == 0)
        mr_debug_add(reply, "l");
    return true;
}

static uint32_t threads_listed;

bool mr_debug_list_threads(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    (void)rest, (void)length;
    threads_listed = 0;
    return list_threads_from(0, reply);
}

bool mr_debug_list_more_threads(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    (void)rest, (void)length;
    threads_listed += THREADS_IN_REPLY;
    return list_threads_from(threads_listed, reply);
}

/* The thread's name, and what it does. */
bool mr_debug_describe_thread(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    pid_t number;
    char path[60], text[80];
    (void)length;
    const struct mr_debug_thread *thread = mr_debug_take_thread(&rest, &number) ? mr_debug_find_thread(number) : NULL;
    if (thread == NULL) {
        mr_debug_refuse(reply, MR_DEBUG_INVALID);
        return true;
    }
    snprintf(path, sizeof path, "/proc/self/task/%d/comm", (int)number);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, text, 32);
    if (fd >= 0)
        close(fd);
    size_t count = got > 0 && text[got - 1] == '\n' ? (size_t)got - 1 : got > 0 ? (size_t)got : 0;
    int more = snprintf(text + count, sizeof text - count, "%s",
                        thread->in_call ? " (in a system call)" : thread->parked ? "" : " (busy in a system call)");
    mr_debug_add_hex(reply, text, count + (size_t)more);
    return true;
}
