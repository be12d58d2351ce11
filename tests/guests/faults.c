/* What a program that catches its faults is told, as Linux tells it on MIPS; and an access repeated after its handler. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static sigjmp_buf before;
static siginfo_t told;
static volatile int handled;
static volatile int *page;

static void leave(int number, siginfo_t *info, void *context)
{
    (void)context;
    told = *info;
    handled++;
    siglongjmp(before, number);
}

static void open_page(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    told = *info;
    handled++;
    mprotect((void *)page, 4096, PROT_READ | PROT_WRITE);
}

static void catch(int number, void (*handler)(int, siginfo_t *, void *))
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(number, &action, NULL);
}

/* The address is told as far as it does not depend on where things are. */
#define TRY(name, expected_address, statement)                                                       \
    do {                                                                                             \
        int number = sigsetjmp(before, 1);                                                           \
        if (number == 0) {                                                                           \
            statement;                                                                               \
            puts(name ": nothing");                                                                  \
        } else {                                                                                     \
            printf(name ": signal %d code %d, address %s\n", number, told.si_code,                   \
                   told.si_code <= 0                                                    ? "none"     \
                   : told.si_addr == (void *)(unsigned long)(expected_address)          ? "right"    \
                                                                                        : "wrong");  \
        }                                                                                            \
    } while (0)

__attribute__((noipa)) int poke(volatile int *at, int value)
{
    *at = value;
    return value + 1;
}

__attribute__((noipa)) static int recurse(int depth)
{
    volatile char room[1000];
    room[0] = (char)depth;
    return recurse(depth + 1) + room[0];
}

static void instructions(void)
{
    TRY("load", 0x120, (void)*(volatile int *)0x120);
    TRY("store", 0x7ffffff0, *(volatile int *)0x7ffffff0 = 1);
    TRY("kernel half", 0, (void)*(volatile int *)0x90000000); /* do_ade: no address */
    TRY("fetch", 0x2000, ((void (*)(void))0x2000)());
    TRY("odd fetch", 0, ((void (*)(void))0x2002)());
    TRY("trap", 0, __asm__ volatile("teq $0, $0"));
    TRY("reserved", 0, __asm__ volatile(".word 0xfc000000"));
    TRY("sent", 0, raise(SIGSEGV));
    TRY("sent to all", 0, kill(getpid(), SIGFPE));
    for (volatile int i = 0; i < 3000; i++)
        if (sigsetjmp(before, 1) == 0)
            *(volatile int *)0x10 = 0;
    printf("handled %d\n", handled);
}

int main(void)
{
    static char stack[65536];
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    setvbuf(stdout, NULL, _IONBF, 0);
    for (int number = 1; number < 32; number++)
        if (number != SIGKILL && number != SIGSTOP)
            catch (number, leave);
    instructions();

    page = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    catch (SIGSEGV, open_page);
    int result = poke(page + 3, 77);
    printf("poke %d, page %d, handled %d, signal %d code %d, address %s\n", result, page[3], handled, told.si_signo,
           told.si_code, told.si_addr == (void *)(page + 3) ? "right" : "wrong");

    sigaltstack(&alternate, NULL);
    catch (SIGSEGV, leave);
    for (volatile int i = 0; i < 2; i++)
        printf("recursion %s\n", sigsetjmp(before, 1) == 0 ? (recurse(0), "ends") : "overflows");
    signal(SIGSEGV, SIG_DFL);
    *(volatile int *)0x20 = 0;
    return 0;
}
