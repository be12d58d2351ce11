/* Products of matrices of doubles and floats, and the solution of a linear system by elimination. */
#include "freestanding/out.h"

enum { SIZE = 48 };
static double left[SIZE][SIZE], right[SIZE][SIZE], product[SIZE][SIZE];
static float left_single[SIZE][SIZE], product_single[SIZE][SIZE];

static void multiply(void)
{
    for (uint32_t i = 0; i < SIZE; i++) {
        for (uint32_t j = 0; j < SIZE; j++) {
            double sum = 0;
            for (uint32_t k = 0; k < SIZE; k++)
                sum += left[i][k] * right[k][j];
            product[i][j] = sum;
        }
    }
}

static void multiply_single(void)
{
    for (uint32_t i = 0; i < SIZE; i++) {
        for (uint32_t j = 0; j < SIZE; j++)
            product_single[i][j] = 0;
        for (uint32_t k = 0; k < SIZE; k++)
            for (uint32_t j = 0; j < SIZE; j++)
                product_single[i][j] += left_single[i][k] * left_single[k][j];
    }
}

/* Gauss's elimination of `product` with row exchanges, against a right-hand side of ones; returns the first unknown. */
static double solve(void)
{
    double side[SIZE];
    for (uint32_t i = 0; i < SIZE; i++)
        side[i] = 1;
    for (uint32_t column = 0; column < SIZE; column++) {
        uint32_t pivot = column;
        for (uint32_t i = column + 1; i < SIZE; i++)
            if (__builtin_fabs(product[i][column]) > __builtin_fabs(product[pivot][column]))
                pivot = i;
        for (uint32_t j = column; j < SIZE && pivot != column; j++) {
            double swapped = product[column][j];
            product[column][j] = product[pivot][j];
            product[pivot][j] = swapped;
        }
        double side_swapped = side[column];
        side[column] = side[pivot];
        side[pivot] = side_swapped;
        for (uint32_t i = column + 1; i < SIZE; i++) {
            double factor = product[i][column] / product[column][column];
            for (uint32_t j = column; j < SIZE; j++)
                product[i][j] -= factor * product[column][j];
            side[i] -= factor * side[column];
        }
    }
    for (uint32_t i = SIZE; i-- > 0;) {
        for (uint32_t j = i + 1; j < SIZE; j++)
            side[i] -= product[i][j] * side[j];
        side[i] /= product[i][i];
    }
    return side[0];
}

int main(int argc, char **argv)
{
    uint32_t rounds = sample_begin(argc, argv, 2), random = 5, hash = 0;
    double unknown = 0;
    for (uint32_t round = 0; round < rounds; round++) {
        for (uint32_t i = 0; i < SIZE * SIZE; i++) {
            left[i / SIZE][i % SIZE] = (int32_t)random32(&random) / 2147483648.0;
            right[i / SIZE][i % SIZE] = (int32_t)random32(&random) / 2147483648.0;
            left_single[i / SIZE][i % SIZE] = (float)left[i / SIZE][i % SIZE];
        }
        multiply();
        multiply_single();
        for (uint32_t i = 0; i < SIZE; i++)
            hash = mix32(mix64(hash, double_bits(product[i][i])), float_bits(product_single[i][SIZE - 1 - i]));
        unknown = solve();
        hash = mix64(hash, double_bits(unknown));
    }
    out_line64("unknown", double_bits(unknown));
    return sample_end(hash);
}
