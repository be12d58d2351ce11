/* How the host starts the compile server, in the words that mipsrec/commands/server_words.py would give it. */
#include "launcher/program.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_BYTES 65536u

struct text {
    char bytes[MOST_BYTES];
    size_t length;
    bool fits;
};

/* Adds a line: name=value, or the value alone. One that has newlines of its own cannot be told. */
static void add(struct text *text, const char *name, const char *value)
{
    size_t room = MOST_BYTES - text->length;
    int length = snprintf(text->bytes + text->length, room, "%s%s%s%s", text->length == 0 ? "" : "\n", name,
                          *name == 0 ? "" : "=", value);
    text->fits = text->fits && length > 0 && (size_t)length < room && strchr(value, '\n') == NULL;
    if (text->fits)
        text->length += (size_t)length;
}

static void add_variables(struct text *text, const char *cache)
{
    static const char *const handed_on[] = {"PATH", "HOME", "CC", "MIPSREC_CACHE_LIMIT"};
    char folder[PATH_MAX], path[2 * PATH_MAX];
    for (size_t i = 0; i < sizeof handed_on / sizeof *handed_on; i++) {
        const char *value = getenv(handed_on[i]);
        if (value != NULL && *value != 0)
            add(text, handed_on[i], value);
    }
    if (*cache == '/') {
        add(text, "MIPSREC_CACHE", cache);
    } else if (getcwd(folder, sizeof folder) != NULL) {
        snprintf(path, sizeof path, "%s/%s", folder, cache);
        add(text, "MIPSREC_CACHE", path);
    } else {
        text->fits = false;
    }
}

const char *mr_server_words(const char *python, const char *cache)
{
    static struct text text = {.fits = true};
    const char *idle = getenv("MIPSREC_SERVER_IDLE");
    add_variables(&text, cache);
    add(&text, "", python);
    add(&text, "", "compile-server");
    add(&text, "", "--jobs");
    add(&text, "", "0");
    if (idle != NULL && *idle != 0) {
        add(&text, "", "--idle");
        add(&text, "", idle);
    }
    return text.fits ? text.bytes : NULL;
}
