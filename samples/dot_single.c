/* Dot products in single precision: one sum in order, four sums in turn, and down the columns of a matrix. */
#include "freestanding/out.h"

enum { SIZE = 1024, COLUMNS = 16 };
static float left[SIZE], right[SIZE];

static float dot(const float *a, const float *b, uint32_t count)
{
    float sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

static float dot_in_four(const float *a, const float *b, uint32_t count)
{
    float sums[4] = {0, 0, 0, 0};
    for (uint32_t i = 0; i < count; i += 4) {
        sums[0] += a[i] * b[i];
        sums[1] += a[i + 1] * b[i + 1];
        sums[2] += a[i + 2] * b[i + 2];
        sums[3] += a[i + 3] * b[i + 3];
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/* The dot product of two columns of a matrix that lies in memory by rows. */
static float dot_of_columns(const float *matrix, uint32_t first, uint32_t second)
{
    float sum = 0;
    for (uint32_t row = 0; row < SIZE / COLUMNS; row++)
        sum += matrix[row * COLUMNS + first] * matrix[row * COLUMNS + second];
    return sum;
}

int main(int argc, char **argv)
{
    uint32_t rounds = sample_begin(argc, argv, 20), random = 77, hash = 0;
    float straight = 0;
    for (uint32_t i = 0; i < SIZE; i++) {
        left[i] = (float)((int32_t)random32(&random) >> 8) / 8388608.0f;
        right[i] = (float)((int32_t)random32(&random) >> 8) / 8388608.0f;
    }
    for (uint32_t round = 0; round < rounds; round++) {
        straight = dot(left, right, SIZE);
        float in_four = dot_in_four(left, right, SIZE);
        hash = mix32(mix32(hash, float_bits(straight)), float_bits(in_four));
        for (uint32_t column = 1; column < COLUMNS; column++)
            hash = mix32(hash, float_bits(dot_of_columns(left, 0, column)));
        left[round % SIZE] = straight * 0.03125f;
        right[round * 7 % SIZE] = -right[round * 7 % SIZE];
    }
    out_line("straight", float_bits(straight));
    return sample_end(hash);
}
