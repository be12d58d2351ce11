// Faults whose handler throws, or looks at ra. Each line says what a landing pad of the function of the fault, or of its
// caller, found in the registers that callees preserve, in floating-point ones and in memory.
// Compile with -O2 -fnon-call-exceptions -fasynchronous-unwind-tables -fno-optimize-sibling-calls.
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <ucontext.h>

#define APART __attribute__((noinline, noclone))

namespace {

int *volatile nowhere;
volatile int sink;
int found;
double found_double;
uint32_t found_ra;
int page[5] = {1, 2, 3, 4, 5};

void thrower(int, siginfo_t *, void *context)
{
    found_ra = static_cast<ucontext_t *>(context)->uc_mcontext.gregs[31];
    throw 1;
}

struct Guard {
    int &value;
    ~Guard() { found += value; }
};

struct DoubleGuard {
    double value;
    ~DoubleGuard() { found_double += value; }
};

APART int add(int value, int more) { return value + more; }
APART int leaf(volatile int *from) { return *from + 1; }
APART int leaf_store(volatile int *to, int value) { *to = value; return value; }

// The value is in a register that callees preserve: set at the entry, changed between a call and the access.
APART int by_load(volatile int *from, int value)
{
    int kept = value;
    Guard guard{kept};
    kept = add(kept, 3);
    kept ^= 0x100;
    int loaded = *from;
    kept ^= 0x100;
    return kept + loaded;
}

APART int by_store(volatile int *to, int value)
{
    int kept = value;
    Guard guard{kept};
    kept = value + 1;
    *to = value;
    kept = value + 2;
    sink = kept;
    *to = value;
    return kept;
}

APART int by_leaf(volatile int *from, int value)
{
    int kept = value;
    Guard guard{kept};
    kept = value * 3;
    kept += leaf(from);
    kept += leaf_store(from, kept);
    return kept;
}

APART int in_loop(volatile int *from, int count)
{
    int kept = 0;
    Guard guard{kept};
    for (int at = 0; at < count; at++) {
        volatile int *place = at < 4 ? from + at : nowhere;
        kept += *place;
    }
    kept = -1;
    return kept;
}

APART double by_double(volatile int *from, double value)
{
    DoubleGuard guard{value * 1.5};
    return guard.value + *from;
}

APART int recursive(volatile int *from, int depth, int value)
{
    int kept = value * depth;
    Guard guard{kept};
    if (depth == 0)
        return *from;
    kept = recursive(from, depth - 1, value) + kept;
    return kept;
}

APART int calls_leaf(volatile int *from) { return leaf(from) * 3; }
APART int calls_in_loop(volatile int *from, int count)
{
    int sum = 0;
    for (int n = 0; n < count; n++)
        sum += leaf(from) ^ n;
    return sum;
}

template <class Body> APART void caught(const char *name, Body body)
{
    found = 0;
    found_double = 0;
    try {
        body();
        std::printf("%s: not caught\n", name);
    } catch (int) {
        std::printf("%s: %d %g\n", name, found, found_double);
    }
}

template <class Function> void says_ra(const char *name, Function function)
{
    std::printf("%s: ra %s\n", name, found_ra - reinterpret_cast<uintptr_t>(function) < 160 ? "of the call" : "of another");
}

} // namespace

int main()
{
    struct sigaction action = {};
    action.sa_sigaction = thrower;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, nullptr);
    for (int n = 0; n < 2; n++) {
        caught("load", [n] { sink = by_load(nowhere, 100 + n); });
        caught("store", [n] { sink = by_store(nowhere, 200 + n); });
        caught("leaf", [n] { sink = by_leaf(nowhere, 300 + n); });
        caught("loop", [] { sink = in_loop(page, 6); });
        caught("double", [n] { sink = static_cast<int>(by_double(nowhere, 2.0 + n)); });
        caught("recursive", [n] { sink = recursive(nowhere, 3, 10 + n); });
        caught("call", [] { sink = calls_leaf(nowhere); });
        says_ra("call", calls_leaf);
        caught("calls", [] { sink = calls_in_loop(nowhere, 3); });
        says_ra("calls", calls_in_loop);
    }
}
