/* For guests that try system calls: prints a call's text and its result, or the error's name. */
#ifndef SHOW_H
#define SHOW_H

#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static long long show_result(const char *text, long long result)
{
    int error = errno;
    if (result == -1 && error)
        printf("%s = %s\n", text, strerrorname_np(error));
    else
        printf("%s = %lld\n", text, result);
    return result;
}

/* SHOW(call): any result. CHECK(call): only whether it failed, for results that differ from run to run. */
#define SHOW(call) ({ errno = 0; long long shown = (long long)(call); show_result(#call, shown); })
#define CHECK(call) ({ errno = 0; long long shown = (long long)(call); show_result(#call, shown == -1 ? -1 : 0); shown; })

#define BAD ((void *)8) /* never mapped */

#endif
