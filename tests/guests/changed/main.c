/* Guests that bring code into being, and change it: `changed WAY`. Prints what was not as expected, else "ok". */
#include "changed.h"

int failures;

void expect(const char *file, int line, long found, long expected)
{
    if (found == expected)
        return;
    failures++;
    printf("%s:%d: %ld, not %ld\n", strrchr(file, '/') ? strrchr(file, '/') + 1 : file, line, found, expected);
    fflush(stdout);
    if (failures == 5)
        _exit(1);
}

int called(const volatile void *code)
{
    int first = call(code);
    for (int i = 1; i < OFTEN; i++)
        if (call(code) != first)
            return -1;
    return first;
}

int main(int count, char **words)
{
    const struct way *const lists[] = {mapping_ways, call_ways, own_ways, process_ways, fault_ways, text_ways};
    for (size_t list = 0; list < sizeof lists / sizeof *lists; list++)
        for (const struct way *way = lists[list]; way->name != NULL; way++) {
            if (count == 1)
                puts(way->name);
            else if (strcmp(words[1], way->name) == 0)
                way->run();
        }
    if (count > 1)
        puts(failures == 0 ? "ok" : "failed");
    return failures != 0;
}
