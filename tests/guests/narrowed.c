/* Accesses of which LLVM makes ones of fewer bytes. Each is to a page that is opened by the handler of its fault, which
 * prints what it was told. The function then goes on, and prints what it found. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define APART __attribute__((noinline, noclone))
enum { PAGE_BYTES = 4096 };

static char *page;
static const char *name;

static void opens(int signal_number, siginfo_t *info, void *context)
{
    (void)context;
    static int count;
    printf("%s: signal %d code %d at %ld\n", name, signal_number, info->si_code, (long)((char *)info->si_addr - page));
    if (++count > 20)
        exit(1);
    mprotect(page, PAGE_BYTES, PROT_READ | PROT_WRITE);
}

APART static unsigned lowest(volatile unsigned *words, unsigned i) { return words[i & 15] & 127; }
APART static unsigned second(volatile unsigned *words, unsigned i) { return words[i & 15] >> 8 & 0xff; }
APART static unsigned third(volatile unsigned *words, unsigned i) { return words[i & 15] >> 16 & 0xff; }
APART static unsigned highest(volatile unsigned *words, unsigned i) { return words[i & 15] >> 24; }
APART static unsigned upper_half(volatile unsigned *words, unsigned i) { return words[i & 15] >> 16; }
APART static unsigned lower_half(volatile unsigned *words, unsigned i) { return words[i & 15] & 0xffff; }
APART static unsigned of_half(volatile unsigned short *halves, unsigned i) { return halves[i & 15] >> 8; }
APART static unsigned bit(volatile unsigned *words, unsigned i) { return (words[i & 15] & 0x40000) != 0 ? 3 : 4; }

APART static unsigned sets_a_byte(volatile unsigned *words, unsigned i)
{
    words[i & 15] = (words[i & 15] & ~0xff00u) | 0x4200u;
    return words[i & 15];
}

static void shut(const char *next)
{
    name = next;
    mprotect(page, PAGE_BYTES, PROT_NONE);
}

int main(void)
{
    struct sigaction action = {0};
    action.sa_sigaction = opens;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, NULL);
    page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    volatile unsigned *words = (volatile unsigned *)page;
    for (unsigned i = 0; i < 16; i++)
        words[i] = 0x11223344 * (i + 1);
#define TRY(function, type)                                          \
    do {                                                             \
        shut(#function);                                             \
        printf(#function ": %#x\n", function((type *)page, 5));      \
    } while (0)
    TRY(lowest, volatile unsigned);
    TRY(second, volatile unsigned);
    TRY(third, volatile unsigned);
    TRY(highest, volatile unsigned);
    TRY(upper_half, volatile unsigned);
    TRY(lower_half, volatile unsigned);
    TRY(of_half, volatile unsigned short);
    TRY(bit, volatile unsigned);
    TRY(sets_a_byte, volatile unsigned);
    return 0;
}
