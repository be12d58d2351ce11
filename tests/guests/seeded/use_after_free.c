/* Letters are orders: M makes a timer, F frees it, R runs it. Nothing forgets a timer that is freed. */
#include <stdlib.h>
#include "input.h"

struct timer {
    int (*run)(int);
    int ticks;
};

static struct timer *timer;

static int count_down(int ticks)
{
    return ticks - 1;
}

static APART void make_timer(void)
{
    timer = malloc(sizeof *timer);
    if (timer == NULL)
        exit(1);
    timer->run = count_down;
    timer->ticks = 3;
}

static APART void run_timer(void)
{
    timer->ticks = timer->run(timer->ticks);
}

int main(int count, char **words)
{
    size_t size = take_input(count, words);
    int is_free = 1;
    for (size_t i = 0; i < size; i++) {
        if (input[i] == 'M' && is_free) {
            make_timer();
            is_free = 0;
        } else if (input[i] == 'F' && !is_free) {
            free(timer);
            is_free = 1;
        } else if (input[i] == 'R' && timer != NULL) {
            run_timer();
        }
    }
    return 0;
}
