/* Code of the program's own file, in pages that it may not write: /proc/self/mem changes them all the same. */
#include "changed.h"

__attribute__((noipa, aligned(PAGE))) static int from_file(void) { return 77; }
__attribute__((noipa)) static int beside_it(void) { return 78; }
__attribute__((noipa, aligned(PAGE))) static int direct_call(void) { return from_file() + beside_it(); }

/* Flushes of what did not change leave all as it is; then each change counts, and the old words, written again. */
static void text_by_proc_mem(void)
{
    int fd = open("/proc/self/mem", O_RDWR);
    unsigned first[2], words[2];
    memcpy(first, (void *)from_file, sizeof first);
    for (int round = 0; round < ROUNDS; round++) {
        flush((void *)from_file, PAGE);
        EXPECT(called((void *)from_file), 77);
        EXPECT(direct_call(), 77 + 78);
    }
    for (int round = 0; round < ROUNDS; round++) {
        put(words, round);
        EXPECT(pwrite64(fd, round == ROUNDS - 1 ? first : words, 8, (off64_t)(unsigned long)from_file), 8);
        flush((void *)from_file, 8);
        EXPECT(called((void *)from_file), round == ROUNDS - 1 ? 77 : round);
        EXPECT(direct_call(), (round == ROUNDS - 1 ? 77 : round) + 78);
    }
}

const struct way text_ways[] = {{"text_by_proc_mem", text_by_proc_mem}, {NULL, NULL}};
