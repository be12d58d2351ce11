/*
 * A bank of resonant filters, as text: tone_filter.c includes it once with real = double and once with real = float.
 * Wants the macros `real`, `NAME(word)` and the enumerator TONES defined.
 */

struct NAME(channel) {
    real n0, n1, n2, d0, d1;         /* coefficients; a0 is 1 */
    real x1, x2, y1, y2;             /* the last two inputs and outputs */
    real power;                      /* running estimate of y^2 */
};

struct NAME(bank) {
    struct NAME(channel) channels[TONES];
    real low_pass;
};

static struct NAME(bank) NAME(tones);

static void NAME(set_up)(const struct design *design)
{
    memset(&NAME(tones), 0, sizeof NAME(tones));
    for (uint32_t i = 0; i < TONES; i++) {
        struct NAME(channel) *c = &NAME(tones).channels[i];
        c->n0 = (real)design[i].gain;
        c->n1 = 0;
        c->n2 = (real)-design[i].gain;
        c->d0 = (real)design[i].d0;
        c->d1 = (real)design[i].d1;
    }
}

/* One sample through one resonator; silence while its power is below the threshold. */
static inline real NAME(resonate)(struct NAME(channel) *c, real x)
{
    real y = c->n0 * x + c->n1 * c->x1 + c->n2 * c->x2 - c->d0 * c->y1 - c->d1 * c->y2;
    c->x2 = c->x1;
    c->x1 = x;
    c->y2 = c->y1;
    c->y1 = y;
    c->power += (y * y - c->power) * (real)0.001;
    return c->power < (real)0.00002 ? 0 : y;
}

static inline real NAME(distort)(real x)
{
    return x / (1 + (x < 0 ? -x : x));
}

/* One output sample: all channels, distorted and mixed, through a one-pole low-pass. */
static real NAME(filter)(real x)
{
    real mix = 0;
    for (uint32_t i = 0; i < TONES; i++)
        mix += NAME(distort)(NAME(resonate)(&NAME(tones).channels[i], x) * 8);
    NAME(tones).low_pass += (mix * (real)0.125 - NAME(tones).low_pass) * (real)0.3;
    return NAME(tones).low_pass;
}

/* Filters `samples` samples of white noise; returns a checksum of the output as 16-bit integers. */
static uint32_t NAME(run)(uint32_t samples, int32_t *peak)
{
    uint32_t random = 2019, hash = 0;
    for (uint32_t t = 0; t < samples; t++) {
        real noise = (real)(int32_t)random32(&random) / (real)2147483648.0;
        real y = NAME(filter)(noise) * 32767 + (real)0.5;
        int32_t rounded = (int32_t)y;
        rounded -= (real)rounded > y; /* floor */
        *peak = rounded > *peak ? rounded : *peak;
        hash = mix32(hash, (uint32_t)rounded);
    }
    return hash;
}
