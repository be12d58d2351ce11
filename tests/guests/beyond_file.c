/* Executes code of a file that has been truncated since it was mapped: NAME FILE WAY. slot: a jump is the last word that is left,
 * its delay slot is gone; called: the code has been called often before. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096 };

int main(int count, char **words)
{
    const unsigned code[] = {0x03e00008, 0}; /* jr $ra; nop */
    int file = open(words[1], O_RDWR | O_CREAT | O_TRUNC, 0700);
    for (int at = PAGE - 4; at < 2 * PAGE - 8; at += 8)
        pwrite(file, code, sizeof code, at);
    char *start = mmap(0, 2 * PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
    void (*volatile function)(void) = (void (*)(void))(start + PAGE + (strcmp(words[2], "slot") == 0 ? -4 : 4));
    for (int i = 0; i < 1000 && strcmp(words[2], "called") == 0; i++)
        function();
    ftruncate(file, PAGE);
    function();
    puts("returned");
    return 0;
}
