/* A connection goes through states, by letters: Hello, Login, Password, Open, Quit. Who quits when nothing was sent
 * divides by zero. */
#include "input.h"

enum state { CLOSED, GREETED, NAMED, KNOWN, OPEN };

static APART int mean_size(volatile int bytes, volatile int messages)
{
    return bytes / messages;
}

int main(int count, char **words)
{
    size_t size = take_input(count, words);
    enum state state = CLOSED;
    int bytes = 0, messages = 0;
    for (size_t i = 0; i < size; i++) {
        switch (state) {
        case CLOSED:
            state = input[i] == 'H' ? GREETED : CLOSED;
            break;
        case GREETED:
            state = input[i] == 'L' ? NAMED : CLOSED;
            break;
        case NAMED:
            state = input[i] == 'P' ? KNOWN : GREETED;
            break;
        case KNOWN:
            state = input[i] == 'O' ? OPEN : CLOSED;
            break;
        case OPEN:
            if (input[i] == 'Q')
                return mean_size(bytes, messages) & 1;
            bytes++;
            messages++;
            break;
        }
    }
    return 0;
}
