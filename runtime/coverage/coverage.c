/* Where the map of counters is, and whose decisions are counted.
 *
 * --cover names the files that count, with commas between: `program`, `all`, names of libraries, and ranges of guest addresses
 * as 0x401000-0x402000. `libz.so.1` is also libz.so.1.2.13, to which it is a link (mipsrec/counters.py has the same rule).
 * Recompiled code counts or does not as a whole. So of a file that counts, only code with counters is used, and of one that
 * counts in ranges alone none: the baseline tier knows them. A fuzzer may name what does not count, in the same words. That goes
 * before what counts, and no code with counters is used of a file of which a part does not.
 */
#include "coverage/coverage.h"

#include "base/counters.h"
#include "base/messages.h"
#include "base/numbers.h"
#include "base/options.h"
#include "baseline/baseline.h"
#include "cpu/upcalls.h"
#include "host/host.h"
#include "lifted/code_files.h"
#include "lifted/upcalls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_RANGES 64u

static struct words {
    struct range {
        uint32_t low, high;
    } ranges[MOST_RANGES];
    unsigned range_count;
    bool all, program;
    char names[4096]; /* of libraries, with a comma behind each */
} chosen, excluded;

/* ---- what counts ---- */

/* Whether nothing but a range is meant: it has hexadecimal digits and one dash. */
static bool looks_like_range(const char *word)
{
    return strchr(word, '-') != NULL && word[strspn(word, "0123456789abcdefABCDEFx-")] == 0;
}

static bool parse_range(struct words *words, const char *word)
{
    char low[16];
    const char *dash = strchr(word, '-');
    size_t length = dash != NULL ? (size_t)(dash - word) : sizeof low;
    if (length >= sizeof low || words->range_count == MOST_RANGES)
        return false;
    memcpy(low, word, length);
    low[length] = 0;
    struct range *range = &words->ranges[words->range_count];
    if (!mr_parse_address(low, &range->low) || !mr_parse_address(dash + 1, &range->high) || range->low >= range->high)
        return false;
    words->range_count++;
    return true;
}

static void parse(struct words *words, const char *option, const char *text)
{
    char copy[sizeof words->names - 1], *rest = copy;
    if (strlen(text) >= sizeof copy)
        mr_fail("%s: more than %zu bytes", option, sizeof copy - 1);
    strcpy(copy, text);
    for (char *word; (word = strsep(&rest, ",")) != NULL;) {
        words->all |= strcmp(word, "all") == 0;
        words->program |= strcmp(word, "program") == 0;
        bool range = looks_like_range(word);
        if (range ? !parse_range(words, word) : strchr(word, '/') != NULL || strncmp(word, "0x", 2) == 0)
            mr_fail("%s: '%s' is neither program nor all, no name of a library without its folder, and no range of addresses "
                    "such as 0x401000-0x402000", option, word);
        if (*word != 0 && !range)
            strcat(strcat(words->names, word), ",");
    }
    if (*words->names == 0 && words->range_count == 0)
        mr_fail("%s names nothing; write program, all, names of libraries or ranges of addresses", option);
}

/* The program is the first file that has code. */
static bool has_file(const struct words *words, unsigned number, const struct mr_code_file *file)
{
    if ((number == 1 && words->program) || words->all)
        return true;
    const char *slash = strrchr(file->path, '/'), *name = slash != NULL ? slash + 1 : file->path;
    for (const char *word = words->names; *word != 0; word += strcspn(word, ",") + 1) {
        size_t length = strcspn(word, ",");
        if (strncmp(word, name, length) == 0 && (name[length] == 0 || name[length] == '.'))
            return true;
    }
    return false;
}

static bool has_pc(const struct words *words, uint32_t pc)
{
    for (unsigned i = 0; i < words->range_count; i++)
        if (pc >= words->ranges[i].low && pc < words->ranges[i].high)
            return true;
    return false;
}

/* Whether a range has code of a file. */
static bool has_part(const struct words *words, const struct mr_code_file *file)
{
    uint32_t to_guest = file->bias + file->delta;
    for (unsigned i = 0; i < words->range_count; i++)
        if (words->ranges[i].low < file->code_high + to_guest && words->ranges[i].high > file->code_low + to_guest)
            return true;
    return false;
}

bool mr_counter_at(uint32_t pc, uint32_t *counter)
{
    static _Thread_local struct {
        unsigned number;
        bool chosen, excluded;
    } last;
    unsigned number = mr_code_file_number(pc);
    const struct mr_code_file *file = mr_code_file(number);
    if (file == NULL) {
        *counter = mr_counter_place(0, pc);
        return (chosen.all || has_pc(&chosen, pc)) && !excluded.all && !has_pc(&excluded, pc);
    }
    if (last.number != number) {
        last.number = number;
        last.chosen = has_file(&chosen, number, file);
        last.excluded = has_file(&excluded, number, file);
    }
    *counter = mr_counter_place(file->counter_seed, pc - file->delta);
    return (last.chosen || has_pc(&chosen, pc)) && !last.excluded && !has_pc(&excluded, pc);
}

enum mr_code_kind mr_code_kind_of(unsigned number)
{
    const struct mr_code_file *file = mr_code_file(number);
    if (!mr_counting || file == NULL || has_file(&excluded, number, file))
        return MR_PLAIN_CODE;
    if (has_file(&chosen, number, file))
        return has_part(&excluded, file) ? MR_NO_CODE : MR_COUNTING_CODE;
    return has_part(&chosen, file) ? MR_NO_CODE : MR_PLAIN_CODE;
}

/* ---- the map ---- */

/* The file is made as large as the map; what it has is counted on. */
static uint8_t *map_file(const char *path)
{
    struct stat status;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);
    if (fd < 0 || fstat(fd, &status) != 0)
        mr_fail("--counters %s: %s", path, strerror(errno));
    if (!S_ISREG(status.st_mode) || (status.st_size != 0 && status.st_size != MR_COUNTER_BYTES))
        mr_fail("--counters %s: is no map of counters, which has %u bytes", path, MR_COUNTER_BYTES);
    if (ftruncate(fd, MR_COUNTER_BYTES) != 0)
        mr_fail("--counters %s: %s", path, strerror(errno));
    void *map = mmap(NULL, MR_COUNTER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        mr_fail("--counters %s: %s", path, strerror(errno));
    close(fd);
    return map;
}

void mr_coverage_start(void)
{
    if (mr_options.counters_path != NULL)
        mr_counter_map = map_file(mr_options.counters_path);
    else
        mr_counter_map = mr_fuzzer_memory("__AFL_SHM_ID", "counters", NULL);
    if (mr_counter_map == NULL)
        return;
    mr_counting = true;
    if (mr_fuzzed && mr_options.desock == NULL)
        mr_options.desock = secure_getenv("MIPSREC_DESOCK");
    if (mr_fuzzed)
        mr_options.compile_server = NULL; /* each process is too short to tell what is hot, and none would bind new code */
    mr_comparing = mr_noting = mr_fuzzer_compares();
    if (mr_comparing) {
        mr_options.engine_interp = true;
        mr_baseline_on = false;
    }
    parse(&chosen, "--cover", mr_options.cover != NULL ? mr_options.cover : mr_fuzzed ? mr_fuzzer_cover() : "program");
    if (mr_fuzzed && mr_fuzzer_cover_not() != NULL)
        parse(&excluded, MR_FUZZER_COVER_NOT, mr_fuzzer_cover_not());
}

void mr_coverage_unread(void)
{
    static uint8_t unread[MR_COUNTER_BYTES];
    if (mr_counter_map == NULL)
        mr_counter_map = unread;
}
