/* String work with routines of our own: search, compare, split, edit distance, run lengths and base 64. */
#include "freestanding/out.h"

static const char text[] =
    "A recompiler reads a program made for one machine and writes a program for another. It keeps the registers in "
    "variables, the memory in an array and the jumps as jumps; what it cannot know before the program runs, it asks at "
    "run time. The quick brown fox jumps over the lazy dog, 1234567890 times.";

static int32_t compare(const char *left, const char *right)
{
    while (*left && *left == *right) {
        left++;
        right++;
    }
    return (uint8_t)*left - (uint8_t)*right;
}

static const char *find(const char *haystack, const char *needle)
{
    for (; *haystack; haystack++) {
        uint32_t i = 0;
        while (needle[i] && haystack[i] == needle[i])
            i++;
        if (!needle[i])
            return haystack;
    }
    return NULL;
}

/* Splits into words of lower-case letters; returns their count. */
static uint32_t split(const char *from, char words[][16], uint32_t limit)
{
    uint32_t count = 0, size = 0;
    for (; count < limit; from++) {
        char c = *from >= 'A' && *from <= 'Z' ? (char)(*from + 32) : *from;
        if (c >= 'a' && c <= 'z' && size < 15) {
            words[count][size++] = c;
        } else if (size) {
            words[count++][size] = 0;
            size = 0;
        }
        if (!c)
            break;
    }
    return count;
}

/* Levenshtein's distance with one row of the table. */
static uint32_t edit_distance(const char *left, const char *right)
{
    uint8_t row[17];
    uint32_t width = (uint32_t)strlen(right);
    for (uint32_t j = 0; j <= width; j++)
        row[j] = (uint8_t)j;
    for (uint32_t i = 0; left[i]; i++) {
        uint8_t diagonal = row[0];
        row[0] = (uint8_t)(i + 1);
        for (uint32_t j = 1; j <= width; j++) {
            uint8_t best = (uint8_t)(diagonal + (left[i] != right[j - 1]));
            diagonal = row[j];
            if (best > row[j] + 1)
                best = (uint8_t)(row[j] + 1);
            if (best > row[j - 1] + 1)
                best = (uint8_t)(row[j - 1] + 1);
            row[j] = best;
        }
    }
    return row[width];
}

static uint32_t base64(const char *from, uint32_t size, char *to)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *start = to;
    for (; size >= 3; size -= 3, from += 3) {
        uint32_t group = (uint32_t)(uint8_t)from[0] << 16 | (uint32_t)(uint8_t)from[1] << 8 | (uint8_t)from[2];
        for (int32_t shift = 18; shift >= 0; shift -= 6)
            *to++ = digits[(group >> shift) & 63];
    }
    *to = 0;
    return (uint32_t)(to - start);
}

static uint32_t text_round(uint32_t round)
{
    static const char *const needles[] = {"program", "jumps", "lazy dog", "absent", "1234567890", "A rec"};
    static char words[64][16], encoded[512];
    const char *from = text + round % 16;
    uint32_t hash = round, count = split(from, words, 64);
    for (uint32_t i = 0; i < sizeof needles / sizeof *needles; i++) {
        const char *found = find(from, needles[i]);
        hash = mix32(hash, found ? (uint32_t)(found - from) : ~0u);
    }
    for (uint32_t i = 1; i < count; i++) {
        int32_t order = compare(words[i - 1], words[i]);
        hash = mix32(hash, edit_distance(words[i - 1], words[i]) * 4 + (uint32_t)((order > 0) - (order < 0) + 1));
    }
    uint32_t encoded_size = base64(from, (uint32_t)strlen(from), encoded);
    for (uint32_t i = 0, run = 1; i < encoded_size; i++, run++) {
        if (encoded[i] != encoded[i + 1]) {
            hash = mix32(hash, run << 8 | (uint8_t)encoded[i]);
            run = 0;
        }
    }
    return hash;
}

int main(int argc, char **argv)
{
    uint32_t rounds = sample_begin(argc, argv, 40), hash = 0;
    char encoded[64];
    for (uint32_t round = 0; round < rounds; round++)
        hash = mix32(hash, text_round(round));
    base64(text, 39, encoded);
    out_string(encoded);
    out_char('\n');
    out_line_decimal("distance", (int32_t)edit_distance("recompiler", "decompile"));
    return sample_end(hash);
}
