/* Gives rights up, or some of them, then maps a file executable and computes: WAY USER FILE. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned sum;

__attribute__((noipa)) static void compute(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        sum = (sum << 5 | sum >> 27) * 31 + (sum >> 7) % 11 + i;
}

int main(int count, char **words)
{
    unsigned user = atoi(words[2]);
    int file = open(words[3], O_RDONLY), result = 0;
    if (strcmp(words[1], "all") == 0)
        result = setresgid(user, user, user) | setresuid(user, user, user);
    else if (strcmp(words[1], "all but the saved user") == 0)
        result = setresuid(user, user, -1);
    else if (strcmp(words[1], "the effective user") == 0)
        result = setresuid(-1, user, -1);
    if (result != 0 || mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0) == MAP_FAILED)
        return 1;
    for (clock_t end = clock() + CLOCKS_PER_SEC / 5; clock() < end;)
        compute(100000);
    return 0;
}
