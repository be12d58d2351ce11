// A handler of a fault throws to a landing pad that reads $f20, which the way without a fault writes before it is read.
#include <csignal>
#include <cstdio>

extern "C" __attribute__((noipa)) int faults(int *p)
{
    return *(volatile int *)p;
}

extern "C" __attribute__((noipa)) int guards(int *p, int x, int y)
{
    int found;
    asm volatile("mtc1 %0,$f0\n cvt.d.w $f20,$f0" : : "r"(x) : "$f20");
    if (y)
        asm volatile("addiu $2,$2,1" : : : "$2"); // ends a block
    try {
        found = faults(p);
        asm volatile("mov.d $f20,$f0" : : : "$f20");
        asm volatile("mfc1 %0,$f20\n addiu %0,$0,1" : "=r"(y));
        return found + y;
    } catch (int) {
        asm volatile("cvt.w.d $f20,$f20\n mfc1 %0,$f20" : "=r"(found));
        return found;
    }
}

static void handle(int)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    throw 1;
}

int main()
{
    int five = 5;
    signal(SIGSEGV, handle);
    std::printf("%x\n", guards(&five, 0x3f800000, 1));
    std::printf("%x\n", guards(nullptr, 0x3f800000, 1));
    std::printf("%x\n", guards(nullptr, 0x3f900000, 0));
}
