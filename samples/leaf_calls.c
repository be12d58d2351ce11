/*
 * Small leaf functions in loops: of a scanner that counts words, of a mixer of fixed-point sound, of a board of cells.
 *
 * They stand for functions of other files, which no compiler inlines or calls in another way than the ABI's. So they
 * are not static. Each has a few to twenty instructions and calls nothing: most of the time goes to calls, to returns
 * and to what the loops keep over them.
 */
#include "freestanding/out.h"

#define LEAF __attribute__((noinline))

/* ---- a scanner: words are counted in a table, numbers are added ---- */

enum { TEXT_SIZE = 3000, SLOTS = 256, WORD_SIZE = 12 };
enum character_class { SPACE, LETTER, DIGIT, SIGN };

struct word {
    uint32_t hash, count;
    uint8_t size, letters[WORD_SIZE];
};

static uint8_t text[TEXT_SIZE];
static struct word words[SLOTS];

LEAF enum character_class class_of(uint32_t c)
{
    if ((c | 32) - 'a' < 26)
        return LETTER;
    if (c - '0' < 10)
        return DIGIT;
    return c == ' ' || c == '\n' || c == '\t' ? SPACE : SIGN;
}

LEAF uint32_t lower(uint32_t c) { return c - 'A' < 26 ? c + 32 : c; }

LEAF uint32_t hash_step(uint32_t hash, uint32_t c) { return (hash ^ c) * 16777619u; }

LEAF uint32_t hash_end(uint32_t hash) { return (hash ^ hash >> 13) * 0x5bd1e995u | 1; }

LEAF uint32_t number_step(uint32_t number, uint32_t digit) { return number * 10 + (digit - '0'); }

LEAF uint32_t next_slot(uint32_t slot, uint32_t tries) { return (slot + tries) & (SLOTS - 1); }

LEAF uint32_t same_word(const struct word *word, uint32_t hash, uint32_t size)
{
    return word->hash == hash && word->size == size;
}

static void make_text(uint32_t *random)
{
    static const char parts[] = "thatconsoredUnIvEr";
    uint32_t size = 0;
    while (size < TEXT_SIZE - 16) {
        uint32_t choice = random32(random);
        if (choice % 8 == 0) {
            for (uint32_t left = 1 + (choice >> 8) % 5; left--;)
                text[size++] = (uint8_t)('0' + (choice >> (4 + 3 * left)) % 10);
        } else {
            for (uint32_t left = 1 + (choice >> 8) % 3; left--; choice >>= 3)
                for (uint32_t i = 0; i < 3; i++)
                    text[size++] = (uint8_t)parts[(choice >> 10) % 6 * 3 + i];
        }
        text[size++] = (uint8_t)" \n,; .  "[(choice >> 20) % 8];
    }
    while (size < TEXT_SIZE)
        text[size++] = ' ';
}

static void count_word(uint32_t start, uint32_t size, uint32_t hash)
{
    uint32_t slot = hash & (SLOTS - 1);
    for (uint32_t tries = 1; tries <= SLOTS; tries++) {
        struct word *word = &words[slot];
        if (!word->count) {
            word->hash = hash;
            word->size = (uint8_t)size;
            for (uint32_t i = 0; i < size && i < WORD_SIZE; i++)
                word->letters[i] = (uint8_t)lower(text[start + i]);
        }
        if (!word->count || same_word(word, hash, size)) {
            word->count++;
            return;
        }
        slot = next_slot(slot, tries);
    }
}

static uint32_t scan(uint32_t sum)
{
    uint32_t at = 0;
    while (at < TEXT_SIZE) {
        uint32_t start = at, hash = 2166136261u, number = 0;
        switch (class_of(text[at])) {
        case LETTER:
            for (; at < TEXT_SIZE && class_of(text[at]) == LETTER; at++)
                hash = hash_step(hash, lower(text[at]));
            count_word(start, at - start, hash_end(hash));
            break;
        case DIGIT:
            for (; at < TEXT_SIZE && class_of(text[at]) == DIGIT; at++)
                number = number_step(number, text[at]);
            sum = mix32(sum, number);
            break;
        case SIGN:
            sum += text[at];
            at++;
            break;
        default:
            at++;
        }
    }
    return sum;
}

static uint32_t scanner_round(uint32_t *random, uint32_t hash)
{
    make_text(random);
    memset(words, 0, sizeof words);
    hash = scan(hash);
    for (uint32_t i = 0; i < SLOTS; i++)
        if (words[i].count)
            hash = mix32(mix32(hash, words[i].hash), words[i].count << 16 | words[i].letters[words[i].size % 4]);
    return hash;
}

/* ---- a mixer: voices with an envelope and a filter, in fixed-point numbers of 15 bits after the point ---- */

enum { VOICES = 6, FRAMES = 240 };

struct voice {
    uint32_t phase, step;
    int32_t level, decay, low, cutoff;
};

LEAF int32_t saturate16(int32_t value) { return value > 32767 ? 32767 : value < -32768 ? -32768 : value; }

LEAF int32_t multiply_q15(int32_t left, int32_t right) { return (left * right + 0x4000) >> 15; }

LEAF int32_t triangle(uint32_t phase)
{
    int32_t ramp = (int32_t)(phase >> 15) - 65536;
    return (ramp < 0 ? -ramp : ramp) - 32768;
}

LEAF int32_t blend(int32_t from, int32_t to, int32_t share) { return from + (((to - from) >> 1) * share >> 14); }

LEAF int32_t envelope(int32_t level, int32_t decay) { return level > decay ? level - decay : 0; }

static uint32_t mixer_round(uint32_t *random, uint32_t hash)
{
    struct voice voices[VOICES];
    for (uint32_t i = 0; i < VOICES; i++) {
        uint32_t choice = random32(random);
        voices[i].phase = choice;
        voices[i].step = choice >> 5 | 1 << 20;
        voices[i].level = (int32_t)(choice >> 4 & 0x7fff);
        voices[i].decay = (int32_t)(choice >> 9 & 0x7f) + 20;
        voices[i].low = 0;
        voices[i].cutoff = (int32_t)(choice >> 13 & 0x3fff) + 0x1000;
    }
    for (uint32_t frame = 0; frame < FRAMES; frame++) {
        int32_t sum = 0;
        for (uint32_t i = 0; i < VOICES; i++) {
            struct voice *voice = &voices[i];
            int32_t sound = multiply_q15(saturate16(triangle(voice->phase)), voice->level);
            voice->low = blend(voice->low, sound, voice->cutoff);
            voice->level = envelope(voice->level, voice->decay);
            voice->phase += voice->step;
            sum = saturate16(sum + voice->low);
        }
        hash = mix32(hash, (uint32_t)sum);
    }
    return hash;
}

/* ---- cells on a board whose edges meet, one bit a cell ---- */

enum { WIDTH = 32, HEIGHT = 16 };

struct board {
    uint32_t rows[HEIGHT];
};

LEAF uint32_t cell_at(const struct board *board, uint32_t x, uint32_t y)
{
    return board->rows[y] >> (x & (WIDTH - 1)) & 1;
}

LEAF void set_cell(struct board *board, uint32_t x, uint32_t y) { board->rows[y] |= 1u << x; }

LEAF uint32_t row_above(uint32_t y) { return y ? y - 1 : HEIGHT - 1; }

LEAF uint32_t lives_on(uint32_t alive, uint32_t neighbours) { return neighbours == 3 || (alive && neighbours == 2); }

static void step_board(const struct board *from, struct board *to)
{
    memset(to, 0, sizeof *to);
    for (uint32_t y = 0; y < HEIGHT; y++) {
        uint32_t above = row_above(y), below = y + 1 < HEIGHT ? y + 1 : 0;
        for (uint32_t x = 0; x < WIDTH; x++) {
            uint32_t count = cell_at(from, x - 1, y) + cell_at(from, x + 1, y);
            for (uint32_t side = x - 1; side != x + 2; side++)
                count += cell_at(from, side, above) + cell_at(from, side, below);
            if (lives_on(cell_at(from, x, y), count))
                set_cell(to, x, y);
        }
    }
}

static uint32_t board_round(uint32_t *random, uint32_t hash)
{
    struct board board, next;
    for (uint32_t y = 0; y < HEIGHT; y++)
        board.rows[y] = random32(random) & random32(random);
    step_board(&board, &next);
    step_board(&next, &board);
    for (uint32_t y = 0; y < HEIGHT; y++)
        hash = mix32(hash, board.rows[y]);
    return hash;
}

int main(int argc, char **argv)
{
    uint32_t rounds = sample_begin(argc, argv, 4), random = 88172645, scanned = 1, mixed = 2, lived = 3;
    for (uint32_t round = 0; round < rounds; round++) {
        scanned = scanner_round(&random, scanned);
        mixed = mixer_round(&random, mixed);
        lived = board_round(&random, lived);
    }
    out_line("scanner", scanned);
    out_line("mixer", mixed);
    out_line("board", lived);
    return sample_end(mix32(mix32(scanned, mixed), lived));
}
