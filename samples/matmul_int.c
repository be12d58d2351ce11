/* Products of matrices of 32-bit integers, plain and in blocks. */
#include "freestanding/out.h"

enum { SIZE = 64, BLOCK = 16 };
static uint32_t left[SIZE][SIZE], right[SIZE][SIZE], product[SIZE][SIZE], blocked[SIZE][SIZE];

static void multiply(void)
{
    for (uint32_t i = 0; i < SIZE; i++) {
        for (uint32_t j = 0; j < SIZE; j++) {
            uint32_t sum = 0;
            for (uint32_t k = 0; k < SIZE; k++)
                sum += left[i][k] * right[k][j];
            product[i][j] = sum;
        }
    }
}

static void multiply_block(uint32_t i0, uint32_t j0, uint32_t k0)
{
    for (uint32_t i = i0; i < i0 + BLOCK; i++)
        for (uint32_t k = k0; k < k0 + BLOCK; k++)
            for (uint32_t j = j0; j < j0 + BLOCK; j++)
                blocked[i][j] += left[i][k] * right[k][j];
}

static void multiply_in_blocks(void)
{
    memset(blocked, 0, sizeof blocked);
    for (uint32_t i = 0; i < SIZE; i += BLOCK)
        for (uint32_t k = 0; k < SIZE; k += BLOCK)
            for (uint32_t j = 0; j < SIZE; j += BLOCK)
                multiply_block(i, j, k);
}

int main(int argc, char **argv)
{
    uint32_t rounds = sample_begin(argc, argv, 2), random = 1, hash = 0, differences = 0;
    for (uint32_t i = 0; i < SIZE * SIZE; i++) {
        left[i / SIZE][i % SIZE] = random32(&random);
        right[i / SIZE][i % SIZE] = random32(&random);
    }
    for (uint32_t round = 0; round < rounds; round++) {
        multiply();
        multiply_in_blocks();
        for (uint32_t i = 0; i < SIZE * SIZE; i++) {
            differences += product[i / SIZE][i % SIZE] != blocked[i / SIZE][i % SIZE];
            left[i / SIZE][i % SIZE] = product[i / SIZE][i % SIZE] >> 3;
        }
        hash = mix32(hash, product[round % SIZE][round / 3 % SIZE]);
    }
    out_line_decimal("differences", (int32_t)differences);
    return sample_end(hash);
}
