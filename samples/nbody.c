/* Gravitation between a few bodies: leapfrog steps in double precision, with a square root and divisions per pair. */
#include "freestanding/out.h"

enum { BODIES = 6 };

struct body {
    double position[3], velocity[3], mass;
};

static struct body bodies[BODIES];

/* A heavy body at rest and light ones on nearly circular paths around it. */
static void place_bodies(void)
{
    uint32_t random = 20190101;
    memset(bodies, 0, sizeof bodies);
    bodies[0].mass = 1000;
    for (uint32_t i = 1; i < BODIES; i++) {
        double radius = 10.0 * i, speed = __builtin_sqrt(1000.0 / radius);
        bodies[i].mass = 0.5 + random32(&random) / 4294967296.0;
        bodies[i].position[i % 2] = radius;
        bodies[i].velocity[1 - i % 2] = i & 2 ? speed : -speed;
        bodies[i].position[2] = random32(&random) / 4294967296.0;
    }
}

static void attract(double step)
{
    for (uint32_t i = 0; i < BODIES; i++) {
        for (uint32_t j = i + 1; j < BODIES; j++) {
            struct body *a = &bodies[i], *b = &bodies[j];
            double dx = a->position[0] - b->position[0];
            double dy = a->position[1] - b->position[1];
            double dz = a->position[2] - b->position[2];
            double squared = dx * dx + dy * dy + dz * dz;
            double pull = step / (squared * __builtin_sqrt(squared));
            a->velocity[0] -= dx * b->mass * pull;
            a->velocity[1] -= dy * b->mass * pull;
            a->velocity[2] -= dz * b->mass * pull;
            b->velocity[0] += dx * a->mass * pull;
            b->velocity[1] += dy * a->mass * pull;
            b->velocity[2] += dz * a->mass * pull;
        }
    }
}

static void move(double step)
{
    for (uint32_t i = 0; i < BODIES; i++)
        for (uint32_t axis = 0; axis < 3; axis++)
            bodies[i].position[axis] += step * bodies[i].velocity[axis];
}

static double energy(void)
{
    double total = 0;
    for (uint32_t i = 0; i < BODIES; i++) {
        const struct body *a = &bodies[i];
        double squared_speed = 0;
        for (uint32_t axis = 0; axis < 3; axis++)
            squared_speed += a->velocity[axis] * a->velocity[axis];
        total += 0.5 * a->mass * squared_speed;
        for (uint32_t j = i + 1; j < BODIES; j++) {
            double squared = 0;
            for (uint32_t axis = 0; axis < 3; axis++) {
                double d = a->position[axis] - bodies[j].position[axis];
                squared += d * d;
            }
            total -= a->mass * bodies[j].mass / __builtin_sqrt(squared);
        }
    }
    return total;
}

int main(int argc, char **argv)
{
    uint32_t steps = sample_begin(argc, argv, 1000), hash = 0;
    place_bodies();
    double before = energy();
    for (uint32_t step = 0; step < steps; step++) {
        move(0.0005);
        attract(0.001);
        move(0.0005);
    }
    double after = energy();
    out_line64("energy before", double_bits(before));
    out_line64("energy after", double_bits(after));
    out_line_decimal("drift in millionths", (int32_t)((after - before) / before * 1e6));
    for (uint32_t i = 0; i < BODIES; i++)
        for (uint32_t axis = 0; axis < 3; axis++)
            hash = mix64(hash, double_bits(bodies[i].position[axis]));
    return sample_end(hash);
}
