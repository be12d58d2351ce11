/* Writes thousands of small functions and calls each often, in several threads that share some of the code. The first
 * argument is the number of functions, the second that of threads. Prints a sum that does not depend on the order. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/cachectl.h>
#include <sys/mman.h>

enum { WORDS = 32, CALLS = 12 };
static unsigned count;
static unsigned *fixed; /* functions that all threads call */

static void write_function(unsigned *at, unsigned number)
{
    unsigned *word = at;
    *word++ = 0x24020000 | (number & 0x7fff); /* addiu v0, zero, number */
    for (unsigned i = 0; i < WORDS - 6; i++)
        *word++ = 0x24420000 | ((number >> (i % 16)) & 0xff); /* addiu v0, v0, ... */
    *word++ = 0x2484ffff; /* addiu a0, a0, -1 */
    *word++ = 0x1480fffd; /* bne a0, zero, back to the addiu before */
    *word++ = 0x24420001; /* addiu v0, v0, 1 */
    *word++ = 0x03e00008; /* jr ra */
    *word++ = 0x00441021; /* addu v0, v0, a0 */
}

static unsigned expected(unsigned number, unsigned a0)
{
    unsigned value = number & 0x7fff, last = 0;
    for (unsigned i = 0; i < WORDS - 6; i++)
        value += last = (number >> (i % 16)) & 0xff;
    return value + a0 + (a0 - 1) * last;
}

static void *work(void *argument)
{
    unsigned first = (unsigned)(size_t)argument, wrong = 0;
    unsigned *own = mmap(0, count * WORDS * 4, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (unsigned i = 0; i < count; i++)
        write_function(own + i * WORDS, first + i);
    cacheflush((char *)own, count * WORDS * 4, BCACHE);
    for (unsigned i = 0; i < count; i++)
        for (unsigned call = 1; call <= CALLS; call++) {
            unsigned other = (i * 7 + call) % count;
            wrong += ((unsigned (*)(unsigned))(own + i * WORDS))(call) != expected(first + i, call);
            wrong += ((unsigned (*)(unsigned))(fixed + other * WORDS))(call) != expected(other, call);
        }
    return (void *)(size_t)wrong;
}

int main(int argument_count, char **arguments)
{
    count = (unsigned)atoi(arguments[argument_count - 2]);
    unsigned threads = (unsigned)atoi(arguments[argument_count - 1]), wrong = 0;
    size_t size = count * WORDS * 4;
    pthread_t all[16];
    fixed = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (unsigned i = 0; i < count; i++)
        write_function(fixed + i * WORDS, i);
    mprotect(fixed, size, PROT_READ | PROT_EXEC);
    cacheflush((char *)fixed, size, BCACHE);
    for (unsigned i = 0; i < threads; i++)
        pthread_create(&all[i], 0, work, (void *)(size_t)(i * 1000));
    for (unsigned i = 0; i < threads; i++) {
        void *result;
        pthread_join(all[i], &result);
        wrong += (unsigned)(size_t)result;
    }
    printf("%u wrong\n", wrong);
    return wrong != 0;
}
