/*
 * Forty-eight resonant filters, twelve tones in each of four octaves, make chords of white noise. Per channel a power
 * estimate that mutes it, distortion, then mix and low-pass; in double and in single precision. The argument is the
 * number of samples. Sine and cosine are computed here, from plain arithmetic, so that every machine gets the same bits.
 */
#include "freestanding/out.h"

enum { TONES = 48 };
#define RATE 44100.0
#define RADIUS 0.9999 /* of the poles */

struct complex {
    double real, imaginary;
};

/* Coefficients of y[t] = gain x[t] - gain x[t-2] - d0 y[t-1] - d1 y[t-2]: zeros at 1 and -1, poles around the tone. */
struct design {
    double frequency, gain, d0, d1;
};

#define real double
#define NAME(word) double_##word
#include "tone_filter_bank.h"
#undef real
#undef NAME
#define real float
#define NAME(word) single_##word
#include "tone_filter_bank.h"
#undef real
#undef NAME

/* e^(i angle) by its power series, for angles below 1. */
static struct complex unit_at(double angle)
{
    struct complex sum = {1, 0}, term = {1, 0};
    for (uint32_t n = 1; n < 24; n++) {
        struct complex next = {-term.imaginary * angle / n, term.real * angle / n};
        term = next;
        sum.real += term.real;
        sum.imaginary += term.imaginary;
    }
    return sum;
}

static double magnitude(struct complex z)
{
    return __builtin_sqrt(z.real * z.real + z.imaginary * z.imaginary);
}

/* Transfer function with gain 1 at z = e^(i angle): |1 - z^-2| / |1 + d0 z^-1 + d1 z^-2|. */
static double response(const struct design *d, double angle)
{
    struct complex z = unit_at(angle); /* z^-1 is its conjugate, z^-2 that squared */
    struct complex square = {z.real * z.real - z.imaginary * z.imaginary, -2 * z.real * z.imaginary};
    struct complex numerator = {1 - square.real, -square.imaginary};
    struct complex denominator = {1 + d->d0 * z.real + d->d1 * square.real, -d->d0 * z.imaginary + d->d1 * square.imaginary};
    return magnitude(numerator) / magnitude(denominator);
}

static void design_tones(struct design designs[TONES])
{
    double frequency = 220.0;
    for (uint32_t i = 0; i < TONES; i++) {
        double angle = 2 * 3.141592653589793 * frequency / RATE;
        designs[i].frequency = frequency;
        designs[i].d0 = -2 * RADIUS * unit_at(angle).real;
        designs[i].d1 = RADIUS * RADIUS;
        designs[i].gain = 1 / response(&designs[i], angle);
        frequency *= 1.0594630943592953; /* the twelfth root of two */
    }
}

int main(int argc, char **argv)
{
    static struct design designs[TONES];
    uint32_t samples = sample_begin(argc, argv, 20000), hash = 0;
    int32_t double_peak = 0, single_peak = 0;
    design_tones(designs);
    for (uint32_t i = 0; i < TONES; i++)
        hash = mix64(hash, double_bits(designs[i].gain));
    out_line("design", hash);
    out_line_decimal("last tone in Hz", (int32_t)(designs[TONES - 1].frequency + 0.5));
    double_set_up(designs);
    uint32_t in_double = double_run(samples, &double_peak);
    single_set_up(designs);
    uint32_t in_single = single_run(samples, &single_peak);
    out_line("double", in_double);
    out_line_decimal("peak", double_peak);
    out_line("single", in_single);
    out_line_decimal("peak", single_peak);
    return sample_end(mix32(mix32(hash, in_double), in_single));
}
