/* Rays and spheres in single precision: the nearest hit, its normal, light with shadows, and one reflection. */
#include "freestanding/out.h"

enum { SPHERES = 12, SIDE = 48 };

struct vector {
    float x, y, z;
};

struct sphere {
    struct vector centre;
    float radius, colour;
};

static struct sphere spheres[SPHERES];
static const struct vector light = {0.48f, 0.6f, -0.64f};

static struct vector plus(struct vector a, struct vector b, float factor)
{
    return (struct vector){a.x + b.x * factor, a.y + b.y * factor, a.z + b.z * factor};
}

static float dot(struct vector a, struct vector b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static struct vector unit(struct vector a)
{
    float length = __builtin_sqrtf(dot(a, a));
    return (struct vector){a.x / length, a.y / length, a.z / length};
}

/* Returns the nearest sphere in a direction, and how far it is; NULL if there is none. */
static const struct sphere *nearest(struct vector from, struct vector direction, float *distance)
{
    const struct sphere *found = NULL;
    *distance = 1e6f;
    for (uint32_t i = 0; i < SPHERES; i++) {
        struct vector to = plus(spheres[i].centre, from, -1.0f);
        float along = dot(to, direction), beside = dot(to, to) - along * along;
        float square = spheres[i].radius * spheres[i].radius - beside;
        if (square <= 0.0f || along <= 0.0f)
            continue;
        float reached = along - __builtin_sqrtf(square);
        if (reached > 0.001f && reached < *distance) {
            *distance = reached;
            found = &spheres[i];
        }
    }
    return found;
}

static float shade(struct vector from, struct vector direction, uint32_t depth)
{
    float weight = 1.0f, total = 0.0f;
    for (; depth > 0; depth--) {
        float distance, unused;
        const struct sphere *hit = nearest(from, direction, &distance);
        if (hit == NULL)
            return total + weight * (0.2f + 0.1f * direction.y);
        from = plus(from, direction, distance);
        struct vector normal = unit(plus(from, hit->centre, -1.0f));
        float bright = dot(normal, light);
        if (bright > 0.0f && nearest(from, light, &unused) == NULL)
            total += weight * hit->colour * bright;
        direction = plus(direction, normal, -2.0f * dot(direction, normal));
        weight *= 0.4f;
    }
    return total;
}

int main(int argc, char **argv)
{
    uint32_t frames = sample_begin(argc, argv, 2), random = 1968, hash = 0;
    float last = 0;
    for (uint32_t i = 0; i < SPHERES; i++) {
        float kind[5];
        for (uint32_t k = 0; k < 5; k++)
            kind[k] = (float)(random32(&random) >> 8) / 16777216.0f;
        spheres[i].centre = (struct vector){kind[0] * 4.0f - 2.0f, kind[1] * 4.0f - 2.0f, kind[2] * 3.0f + 3.0f};
        spheres[i].radius = 0.25f + kind[3] * 0.75f;
        spheres[i].colour = 0.3f + 0.7f * kind[4];
    }
    for (uint32_t frame = 0; frame < frames; frame++) {
        struct vector eye = {(float)(frame % 16) * 0.05f - 0.4f, 0.1f, -1.0f};
        for (uint32_t pixel = 0; pixel < SIDE * SIDE; pixel++) {
            float x = (float)(pixel % SIDE) / SIDE - 0.5f, y = (float)(pixel / SIDE) / SIDE - 0.5f;
            last = shade(eye, unit((struct vector){x, y, 0.8f}), 3);
            hash = mix32(hash, float_bits(last));
        }
    }
    out_line("last", float_bits(last));
    return sample_end(hash);
}
