/* A person has a name of 24 bytes at most, which `rename_person` does not check; it copies words of 8 bytes. Behind the
 * name lies another block of the heap, with the address of a text. */
#include <stdlib.h>
#include "input.h"

struct note {
    const char *text;
};

static APART int print_note(const struct note *note)
{
    return puts(note->text);
}

static APART void rename_person(char *name, const unsigned char *from, unsigned size)
{
    for (unsigned i = 0; i < (size + 7) / 8 * 8; i++)
        name[i] = (char)from[i];
}

int main(int count, char **words)
{
    size_t size = take_input(count, words);
    char *name = malloc(24);
    struct note *note = malloc(sizeof *note);
    if (size < 2 || name == NULL || note == NULL)
        return 1;
    note->text = "a note";
    if (input[0] == 'N')
        rename_person(name, input + 2, input[1]);
    return print_note(note) < 0;
}
