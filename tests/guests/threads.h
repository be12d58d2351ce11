/* What the two files of the guest of threads share. */
#ifndef THREADS_H
#define THREADS_H

#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

void *start(void *(*body)(void *), uintptr_t argument);
uintptr_t join(void *thread);
void *square(void *argument);
void destroy(void *value); /* adds it to `destroyed` */
extern atomic_int destroyed;

/* threads_ends.c */
void signals(void);
void cancels(void);
void owners(void);
void processes(const char *program);
void spawns(void);
void ends(const char *which);

#endif
