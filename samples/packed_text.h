/* What the compressors' samples pack: text of words that are as unequally frequent as those of a language, and numbers. */
#ifndef SAMPLES_PACKED_TEXT_H
#define SAMPLES_PACKED_TEXT_H

#include "freestanding/out.h"

enum { TEXT_SIZE = 1 << 18, WORDS = 2048 };

static unsigned char text[TEXT_SIZE];

/* Fills `text`, another for each seed, which must not be 0. */
static void write_text(uint32_t seed)
{
    static unsigned char words[WORDS][12];
    uint32_t random = seed, used = 0;
    for (uint32_t i = 0; i < WORDS; i++) {
        uint32_t length = 2 + random32(&random) % 9;
        for (uint32_t j = 0; j < length; j++)
            words[i][j] = "etaoinshrdlucmfwypvbgk"[random32(&random) % (j & 1 ? 6 : 22)];
        words[i][length] = 0;
    }
    while (used < TEXT_SIZE) {
        /* A product of two makes small numbers, that is the first words, frequent. */
        uint32_t which = (random32(&random) >> 21) * (random32(&random) >> 21) / WORDS, kind = random32(&random) >> 27;
        const unsigned char *word = words[which];
        unsigned char digits[8] = {0};
        if (kind == 0) {
            for (uint32_t i = 0; i < 5; i++)
                digits[i] = '0' + random32(&random) % 10;
            word = digits;
        }
        for (; *word && used < TEXT_SIZE; word++)
            text[used++] = *word;
        if (used < TEXT_SIZE)
            text[used++] = kind == 1 ? '\n' : kind == 2 ? ',' : ' ';
    }
}

static uint32_t hash_bytes(uint32_t hash, const unsigned char *bytes, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * 16777619u;
    return hash;
}

#endif
