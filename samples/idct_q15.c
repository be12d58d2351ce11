/* The inverse cosine transform of blocks of 8 by 8, as JPEG and MPEG decoders do it: rows, columns, clamped to bytes. */
#include "freestanding/out.h"
#include "q15.h"

enum { SIZE = 8, BLOCKS = 32, BITS = 12 };
static int16_t basis[SIZE][SIZE] __attribute__((aligned(8))); /* of an output, for all inputs */
static int16_t coefficients[BLOCKS][SIZE][SIZE] __attribute__((aligned(8)));
static int16_t halfway[SIZE][SIZE] __attribute__((aligned(8)));
static uint8_t pixels[BLOCKS][SIZE][SIZE];

/* cos(k pi / 16) in units of 1 / 4096, k from 0 to 8. */
static const int16_t cosines[] = {4096, 4017, 3784, 3406, 2896, 2276, 1567, 799, 0};

static int16_t cosine(uint32_t sixteenths)
{
    uint32_t turn = sixteenths % 32, part = turn > 16 ? 32 - turn : turn;
    return part > 8 ? (int16_t)-cosines[16 - part] : cosines[part];
}

#ifdef __mips_dsp
static int32_t product(const int16_t *row, const int16_t *by)
{
    const q15_pair *a = (const q15_pair *)row, *b = (const q15_pair *)by;
    long long sum = 0;
    for (uint32_t i = 0; i < SIZE / 2; i++)
        sum = __builtin_mips_dpa_w_ph(sum, a[i], b[i]);
    return __builtin_mips_extr_r_w(sum, BITS + 1);
}
#else
static int32_t product(const int16_t *row, const int16_t *by)
{
    int32_t sum = 0;
    for (uint32_t i = 0; i < SIZE; i++)
        sum += row[i] * by[i];
    return (sum + (1 << BITS)) >> (BITS + 1);
}
#endif

static void transform(const int16_t (*from)[SIZE], uint8_t (*to)[SIZE])
{
    for (uint32_t y = 0; y < SIZE; y++)
        for (uint32_t x = 0; x < SIZE; x++)
            halfway[x][y] = q15_clamped(product(from[y], basis[x]));
    for (uint32_t x = 0; x < SIZE; x++)
        for (uint32_t y = 0; y < SIZE; y++) {
            int32_t value = product(halfway[x], basis[y]) + 128;
            to[y][x] = (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
        }
}

int main(int argc, char **argv)
{
    uint32_t rounds = sample_begin(argc, argv, 4), random = 1, hash = 0;
    for (uint32_t x = 0; x < SIZE; x++)
        for (uint32_t k = 0; k < SIZE; k++)
            basis[x][k] = k ? cosine((2 * x + 1) * k) : cosines[4];
    for (uint32_t round = 0; round < rounds; round++) {
        for (uint32_t i = 0; i < BLOCKS * SIZE * SIZE; i++) {
            uint32_t place = i % (SIZE * SIZE), bits = random32(&random);
            int32_t most = place ? 255 / (int32_t)(place / SIZE + place % SIZE) : 511;
            coefficients[i / (SIZE * SIZE)][place / SIZE][place % SIZE] = (int16_t)((int32_t)(bits >> 8) % (most + 1) - most / 2);
        }
        for (uint32_t i = 0; i < BLOCKS; i++)
            transform((const int16_t (*)[SIZE])coefficients[i], pixels[i]);
        hash = mix32(hash, pixels[round % BLOCKS][1][2] << 16 | pixels[round / 3 % BLOCKS][5][3]);
    }
    return sample_end(hash);
}
