/* Systems of linear equations: LU decomposition with partial pivoting, substitution, residual; double precision. */
#include "freestanding/out.h"

enum { SIZE = 40 };

static double original[SIZE][SIZE], matrix[SIZE][SIZE], right[SIZE], solution[SIZE];
static uint32_t order[SIZE];

static double magnitude(double value)
{
    return value < 0 ? -value : value;
}

/* Leaves L below the diagonal and U above it, and the order of the rows. Returns how often rows changed places. */
static uint32_t decompose(void)
{
    uint32_t swaps = 0;
    for (uint32_t i = 0; i < SIZE; i++)
        order[i] = i;
    for (uint32_t column = 0; column < SIZE; column++) {
        uint32_t pivot = column;
        for (uint32_t row = column + 1; row < SIZE; row++)
            if (magnitude(matrix[row][column]) > magnitude(matrix[pivot][column]))
                pivot = row;
        if (pivot != column) {
            for (uint32_t i = 0; i < SIZE; i++) {
                double kept = matrix[column][i];
                matrix[column][i] = matrix[pivot][i];
                matrix[pivot][i] = kept;
            }
            uint32_t kept = order[column];
            order[column] = order[pivot];
            order[pivot] = kept;
            swaps++;
        }
        for (uint32_t row = column + 1; row < SIZE; row++) {
            double factor = matrix[row][column] / matrix[column][column];
            matrix[row][column] = factor;
            for (uint32_t i = column + 1; i < SIZE; i++)
                matrix[row][i] -= factor * matrix[column][i];
        }
    }
    return swaps;
}

static void substitute(void)
{
    for (uint32_t row = 0; row < SIZE; row++) {
        double sum = right[order[row]];
        for (uint32_t i = 0; i < row; i++)
            sum -= matrix[row][i] * solution[i];
        solution[row] = sum;
    }
    for (uint32_t row = SIZE; row-- > 0;) {
        double sum = solution[row];
        for (uint32_t i = row + 1; i < SIZE; i++)
            sum -= matrix[row][i] * solution[i];
        solution[row] = sum / matrix[row][row];
    }
}

/* How far the worst equation is off. */
static double residual(void)
{
    double worst = 0;
    for (uint32_t row = 0; row < SIZE; row++) {
        double sum = -right[row];
        for (uint32_t i = 0; i < SIZE; i++)
            sum += original[row][i] * solution[i];
        if (magnitude(sum) > worst)
            worst = magnitude(sum);
    }
    return worst;
}

int main(int argc, char **argv)
{
    uint32_t rounds = sample_begin(argc, argv, 3), random = 99, hash = 0, swaps = 0;
    double worst = 0;
    for (uint32_t round = 0; round < rounds; round++) {
        for (uint32_t row = 0; row < SIZE; row++) {
            for (uint32_t i = 0; i < SIZE; i++)
                original[row][i] = (double)(int32_t)random32(&random) / 2147483648.0;
            right[row] = (double)(row + round) / SIZE;
        }
        memcpy(matrix, original, sizeof matrix);
        swaps += decompose();
        substitute();
        double off = residual();
        if (off > worst)
            worst = off;
        for (uint32_t i = 0; i < SIZE; i++)
            hash = mix64(hash, double_bits(solution[i]));
    }
    out_line_decimal("rows swapped", (int32_t)swaps);
    out_line64("worst residual", double_bits(worst));
    return sample_end(hash);
}
