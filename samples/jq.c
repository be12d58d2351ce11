/* jq, of its source package, running filters over JSON: a parser, values with reference counts, a machine with backtracking. */
#include "freestanding/out.h"

#include <jq.h>
#include <jv.h>
#include <stdio.h>
#include <string.h>

enum { RECORDS = 400 };

/* Each takes the document of `write_document` and leaves one value. */
static const char *const filters[] = {
    /* groups with sums, sorted */
    "[.records | group_by(.team)[] | {team: .[0].team, count: length, total: (map(.points) | add),"
    "  best: (max_by(.points) | .name)}] | sort_by(-.total, .team)",
    /* text: split, joined, in capitals, tested */
    "[.records[] | .name | split(\"-\") | map(ascii_upcase) | join(\"_\") | select(startswith(\"A\") or endswith(\"E\"))] | unique",
    /* a reduction into an object, and its entries turned round */
    "reduce .records[].tags[] as $tag ({}; .[$tag] += 1) | to_entries | map({(.value | tostring): .key}) | add",
    /* paths, changed and deleted */
    "(.records[] | select(.points % 3 == 0) | .points) |= . + 1 | del(.records[].tags) | [paths(numbers)] | length",
    /* recursion, functions with closures, generators */
    "def primes: [limit(40; range(2; 1000) | select(. as $n | all(range(2; $n) | select(. * . <= $n); $n % . != 0)))];"
    " def depth: if type == \"object\" or type == \"array\" then 1 + ([.[] | depth] | max // 0) else 0 end;"
    " [primes, depth, ([.. | numbers] | add)]",
    /* tests and bindings */
    "[foreach .records[] as {name: $name, points: $p} (0; if $p > 50 then . + $p else . - 1 end; [$name, .])] | .[-3:]",
};

static const char *const teams[] = {"red", "green", "blue", "white", "black"};
static const char *const syllables[] = {"a", "be", "ki", "lo", "nu", "re", "ta", "ve"};
static char document[RECORDS * 128];

static void write_document(uint32_t seed)
{
    uint32_t random = seed;
    size_t used = (size_t)sprintf(document, "{\"title\": \"round %u\", \"records\": [", (unsigned)seed);
    for (uint32_t i = 0; i < RECORDS; i++) {
        const char *first = syllables[random32(&random) >> 29], *second = syllables[random32(&random) >> 29];
        const char *third = syllables[random32(&random) >> 29], *team = teams[random32(&random) % 5];
        uint32_t points = random32(&random) % 100, tag = random32(&random) % 40;
        used += (size_t)sprintf(document + used,
                                "%s\n{\"name\": \"%s%s-%s\", \"team\": \"%s\", \"points\": %u, \"ratio\": %u.%u,"
                                " \"tags\": [\"t%u\", \"u\\u00%x\"]}",
                                i ? "," : "", first, second, third, team, (unsigned)points, (unsigned)tag,
                                (unsigned)(points & 1 ? 5 : 25), (unsigned)tag, (unsigned)(0x41 + tag % 26));
    }
    sprintf(document + used, "]}");
}

/* Prints a value and mixes its text into a hash; returns 0 for what is no value, that is for an error of the filter. */
static int mix_value(uint32_t *hash, jv value)
{
    int valid = jv_is_valid(value);
    jv text = valid ? jv_dump_string(value, JV_PRINT_SORTED) : jv_invalid_get_msg(value);
    if (jv_get_kind(text) == JV_KIND_STRING) {
        const char *c = jv_string_value(text);
        if (!valid) {
            out_string(c);
            out_char('\n');
        }
        for (; *c; c++)
            *hash = (*hash ^ (unsigned char)*c) * 16777619u;
    }
    jv_free(text);
    return valid;
}

int main(int argc, char **argv)
{
    uint32_t rounds = sample_begin(argc, argv, 1), hash = 0;
    for (uint32_t i = 0; i < sizeof filters / sizeof *filters; i++) {
        jq_state *jq = jq_init();
        if (!jq || !jq_compile(jq, filters[i])) {
            out_line_decimal("cannot compile filter", (int32_t)i);
            return 1;
        }
        for (uint32_t round = 0; round < rounds; round++) {
            write_document(1 + round);
            jq_start(jq, jv_parse(document), 0);
            if (!mix_value(&hash, jq_next(jq)))
                return 1;
        }
        jq_teardown(&jq);
        out_line("filter", hash);
    }
    return sample_end(hash);
}
