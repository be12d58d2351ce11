/* Reads standard input as a tree of values, and computes with it: lists (1 2 3), numbers, names, and operations on the numbers
 * before them. It ends by its result, or by the fault that an input leads to. It needs no C library. */

#define KIND __attribute__((noinline))
#define MOST 512

enum { STACK = 32 };

static unsigned char input[MOST];
static unsigned size, at;
static int values[STACK];
static unsigned depth, lists;

__attribute__((noinline, nomips16)) static long system_call(long which, long first, long second, long third)
{
    register long number __asm__("$2") = which, error __asm__("$7");
    register long a0 __asm__("$4") = first, a1 __asm__("$5") = second, a2 __asm__("$6") = third;
    __asm__ volatile("syscall" : "+r"(number), "=r"(error) : "r"(a0), "r"(a1), "r"(a2)
                     : "$1", "$3", "$8", "$9", "$10", "$11", "$12", "$13", "$14", "$15", "$24", "$25", "hi", "lo", "memory");
    return error ? -1 : number;
}

static KIND void leave(int status)
{
    for (;;)
        system_call(4001, status, 0, 0);
}

static KIND void push(int value)
{
    if (depth == STACK)
        leave(2);
    values[depth++] = value;
}

static KIND int pop(void)
{
    if (depth == 0)
        leave(3);
    return values[--depth];
}

static KIND int add(int a, int b) { return (int)((unsigned)a + (unsigned)b); }
static KIND int subtract(int a, int b) { return (int)((unsigned)a - (unsigned)b); }
static KIND int multiply(int a, int b) { return (int)((unsigned)a * (unsigned)b); }
static KIND int divide(int a, int b) { return a / b; } /* by 0: a trap */
static KIND int at_address(int a, int b) { return *(volatile int *)(unsigned long)(unsigned)(a + b); }

static int (*const operations[])(int, int) = {add, subtract, multiply, divide, at_address};

static KIND int number(void)
{
    unsigned found = 0;
    while (at < size && input[at] >= '0' && input[at] <= '9')
        found = found * 10 + input[at++] - '0';
    return (int)found;
}

static KIND unsigned name(void)
{
    unsigned hash = 5381;
    for (; at < size && input[at] >= 'a' && input[at] <= 'z'; at++)
        hash = hash * 33 ^ input[at];
    return hash;
}

static KIND void loop(unsigned rounds)
{
    volatile unsigned sum = 0;
    for (unsigned i = 0; i < rounds; i++) /* more rounds than a counter can tell, for some */
        sum += i & 3 ? i : 1;
}

static KIND void value(void)
{
    unsigned char next = input[at];
    switch (next) {
    case '0': case '1': case '2': case '3': case '4': case '5': case '6': case '7': case '8': case '9':
        push(number());
        break;
    case '+': case '-': case '*': case '/': case '@': {
        static const char signs[] = "+-*/@";
        int b = pop(), a = pop();
        unsigned which = 0;
        while (signs[which] != (char)next)
            which++;
        push(operations[which](a, b));
        at++;
        break;
    }
    case '(':
        at++;
        lists++;
        while (at < size && input[at] != ')')
            value();
        at++;
        break;
    case '!': { /* a call of an operation, or of an address that is none */
        int which = pop();
        at++;
        push((which == 64 ? (int (*)(int, int))64 : operations[(unsigned)which % 3])((int)depth, 1));
        break;
    }
    case '#':
        at++;
        loop((unsigned)pop() & 1023);
        break;
    default:
        if (next >= 'a' && next <= 'z')
            push((int)(name() & 255));
        else
            at++;
    }
}

void __start(void)
{
    long bytes = system_call(4003, 0, (long)input, MOST);
    size = bytes < 0 ? 0 : (unsigned)bytes;
    while (at < size)
        value();
    leave(depth == 0 ? (int)lists & 1 : pop() & 63);
}
