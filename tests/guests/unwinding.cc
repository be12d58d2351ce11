// Ways out of deep calls, while all saved registers hold something: exceptions, longjmp, a jump out of a handler, other
// contexts, a backtrace. Each way goes through functions that call themselves directly, each other, through a pointer
// and through a table of virtual functions. What is printed is checked against a native build.
//
// With an argument: `depth N` recurses N deep in each way and comes back; `overflow` recurses without an end, first with
// a handler on a stack of its own, then without one; `again N` leaves the same frame's calls N times each way, and lets two
// contexts take turns; then how much memory the process had at most, in kilobytes, goes to standard error. `stays N` calls a
// function that a signal interrupts in a system call, and then loops N times.
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

namespace {

enum class Exit { Return, Throw, Longjmp, Signal, Switch, Trace };

Exit way_out;
uint32_t bottom_reached, destroyed, traced;
std::jmp_buf place;
sigjmp_buf signal_place;
ucontext_t main_context, other_context;
alignas(16) char other_stack[1 << 16];
volatile uint32_t mask = 0x9e3779b9;

uint32_t mix(uint32_t hash, uint32_t value)
{
    return (hash ^ value) * 16777619u + (hash >> 15);
}

_Unwind_Reason_Code count_frame(_Unwind_Context *, void *)
{
    traced++;
    return _URC_NO_REASON;
}

void handler(int)
{
    siglongjmp(signal_place, 1);
}

__attribute__((noinline)) uint32_t bottom(uint32_t value)
{
    bottom_reached++;
    switch (way_out) {
    case Exit::Return:
        break;
    case Exit::Throw:
        throw value;
    case Exit::Longjmp:
        std::longjmp(place, 1);
    case Exit::Signal:
        raise(SIGUSR1);
        break;
    case Exit::Switch:
        swapcontext(&other_context, &main_context);
        break;
    case Exit::Trace:
        _Unwind_Backtrace(count_frame, nullptr);
        break;
    }
    return value ^ mask;
}

struct Guard {
    ~Guard() { destroyed++; }
};

// Eight values that are needed after the call, and so in saved registers, or on the stack where those are too few.
#define KEEP(value) \
    uint32_t a = value ^ mask, b = a * 3 + mask, c = b ^ (a >> 3), d = c + mask * 5, e = d ^ b, f = e + c * 7, g = f ^ mask, \
             h = g + a
#define KEPT(value) mix(mix(mix(mix(value, a ^ b), c ^ d), e ^ f), g ^ h)

__attribute__((noinline)) uint32_t direct(uint32_t depth, uint32_t value)
{
    if (!depth)
        return bottom(value);
    KEEP(value);
    uint32_t found = direct(depth - 1, h);
    return KEPT(found);
}

__attribute__((noinline)) uint32_t odd(uint32_t depth, uint32_t value);

__attribute__((noinline)) uint32_t even(uint32_t depth, uint32_t value)
{
    if (!depth)
        return bottom(value);
    Guard guard;
    KEEP(value);
    uint32_t found = odd(depth - 1, g);
    return KEPT(found);
}

__attribute__((noinline)) uint32_t odd(uint32_t depth, uint32_t value)
{
    if (!depth)
        return bottom(value);
    KEEP(value);
    try {
        uint32_t found = even(depth - 1, f);
        return KEPT(found);
    } catch (uint32_t thrown) { // the saved registers of this frame, as the unwinder found them
        throw KEPT(thrown);
    }
}

using Function = uint32_t (*)(uint32_t, uint32_t);

uint32_t first(uint32_t depth, uint32_t value);
uint32_t second(uint32_t depth, uint32_t value);
Function functions[] = {first, second, first, second};

__attribute__((noinline)) uint32_t first(uint32_t depth, uint32_t value)
{
    if (!depth)
        return bottom(value);
    KEEP(value);
    uint32_t found = functions[a & 3](depth - 1, e);
    return KEPT(found);
}

// It needs few registers, and calls as its last deed.
__attribute__((noinline)) uint32_t second(uint32_t depth, uint32_t value)
{
    if (!depth)
        return bottom(value);
    return functions[value >> 4 & 3](depth - 1, mix(value, depth));
}

class Walker {
public:
    virtual ~Walker() = default;
    virtual uint32_t walk(Walker *other, uint32_t depth, uint32_t value) = 0;
};

class Left : public Walker {
public:
    uint32_t walk(Walker *other, uint32_t depth, uint32_t value) override
    {
        if (!depth)
            return bottom(value);
        KEEP(value);
        uint32_t found = other->walk(this, depth - 1, d + steps_);
        steps_++;
        return KEPT(found);
    }

private:
    uint32_t steps_ = 0;
};

class Right : public Walker {
public:
    uint32_t walk(Walker *other, uint32_t depth, uint32_t value) override
    {
        if (!depth)
            return bottom(value);
        uint32_t found = other->walk(this, depth - 1, value + 1);
        return mix(found, depth);
    }
};

uint32_t through_table(uint32_t depth, uint32_t value)
{
    Left left;
    Right right;
    Walker *walkers[] = {&left, &right};
    return walkers[mask & 1]->walk(walkers[~mask & 1], depth, value);
}

const struct {
    const char *name;
    Function function;
} recursions[] = {{"direct", direct}, {"mutual", even}, {"pointer", first}, {"virtual", through_table}};

Function entered;
uint32_t entered_depth, entered_result;

void other_main()
{
    entered_result = entered(entered_depth, 77);
}

uint32_t leave(Function function, uint32_t depth, Exit exit)
{
    KEEP(depth);
    way_out = exit;
    volatile uint32_t found = 1;
    switch (exit) {
    case Exit::Throw:
        try {
            found = function(depth, h);
        } catch (uint32_t thrown) {
            found = thrown;
        }
        break;
    case Exit::Longjmp:
        if (!setjmp(place))
            found = function(depth, h);
        break;
    case Exit::Signal:
        if (!sigsetjmp(signal_place, 1))
            found = function(depth, h);
        break;
    case Exit::Switch:
        getcontext(&other_context);
        other_context.uc_stack.ss_sp = other_stack;
        other_context.uc_stack.ss_size = sizeof other_stack;
        other_context.uc_link = &main_context;
        makecontext(&other_context, other_main, 0);
        entered = function;
        entered_depth = depth;
        swapcontext(&main_context, &other_context); // until the bottom
        way_out = Exit::Return;
        found = function(depth / 2, f); // the same functions meanwhile
        swapcontext(&main_context, &other_context); // back up to the end
        found = mix(found, entered_result);
        break;
    case Exit::Trace:
        traced = 0;
        found = function(depth, h);
        if (function != first) // how many frames `second` leaves is the compiler's to say
            found = mix(found, traced >= depth);
        break;
    case Exit::Return:
        found = function(depth, h);
    }
    return KEPT(found);
}

void overflow_handler(int number, siginfo_t *, void *)
{
    siglongjmp(signal_place, number);
}

void overflow(bool caught)
{
    if (caught) {
        static char stack[1 << 16];
        stack_t alternate = {};
        alternate.ss_sp = stack;
        alternate.ss_size = sizeof stack;
        sigaltstack(&alternate, nullptr);
        struct sigaction action = {};
        action.sa_sigaction = overflow_handler;
        action.sa_flags = SA_ONSTACK | SA_SIGINFO;
        sigaction(SIGSEGV, &action, nullptr);
    }
    way_out = Exit::Return;
    for (const auto &recursion : recursions) {
        KEEP(bottom_reached);
        volatile int number = sigsetjmp(signal_place, 1);
        if (!number)
            recursion.function(~0u, h);
        std::printf("%s %s %08x\n", recursion.name, number == SIGSEGV ? "overflows" : "returns", KEPT(bottom_reached));
        std::fflush(stdout);
    }
    std::signal(SIGSEGV, SIG_DFL);
    std::printf("%08x\n", even(~0u, 1));
}

// As `leave`, into one frame again and again; `kept` and the saved registers outlive it.
uint32_t again(Function function, Exit exit, uint32_t goal)
{
    KEEP(goal);
    static uint32_t kept;
    static volatile uint32_t rounds;
    kept = 1;
    rounds = 0;
    way_out = exit;
    if (exit == Exit::Signal)
        sigsetjmp(signal_place, 1);
    else
        setjmp(place);
    kept = KEPT(kept);
    if (rounds++ < goal)
        kept = function(40, kept);
    return KEPT(kept);
}

// The same, out of calls of the very function that has the frame.
__attribute__((noinline, noclone)) uint32_t again_in_itself(uint32_t depth, uint32_t goal)
{
    KEEP(depth);
    static uint32_t kept;
    static volatile uint32_t rounds;
    if (depth == 40) {
        kept = 1;
        rounds = 0;
        setjmp(place);
        kept = KEPT(kept);
        if (rounds++ == goal)
            return kept;
    } else if (!depth) {
        std::longjmp(place, 1);
    }
    uint32_t found = again_in_itself(depth - 1, goal);
    return KEPT(found);
}

ucontext_t turns[2];
alignas(16) char turn_stacks[2][1 << 16];
uint32_t turns_left, taken;

__attribute__((noinline)) void pass_on(uint32_t self)
{
    swapcontext(&turns[self], turns_left ? &turns[!self] : &main_context);
    taken = mix(taken, self); // not the last deed: it returns to its caller
}

void take_turns()
{
    uint32_t self = turns_left & 1;
    KEEP(self);
    while (turns_left) {
        turns_left--;
        pass_on(self);
        taken = KEPT(taken);
    }
    setcontext(&main_context);
}

void begin_turns(uint32_t self)
{
    getcontext(&turns[self]);
    turns[self].uc_stack.ss_sp = turn_stacks[self];
    turns[self].uc_stack.ss_size = sizeof turn_stacks[self];
    makecontext(&turns[self], take_turns, 0);
}

void count_signal(int)
{
    taken++;
}

__attribute__((noinline)) void in_system_call()
{
    kill(getpid(), SIGUSR1); // control goes to the handler from there
    taken += 2; // not the last deed: it returns to its caller
}

__attribute__((noinline)) uint32_t stays(uint32_t rounds)
{
    std::signal(SIGUSR1, count_signal);
    in_system_call();
    uint32_t found = taken;
    for (uint32_t round = 0; round < rounds; round++)
        found = (found ^ mask) * 5;
    return found;
}

void print_most_memory()
{
    char line[200];
    FILE *status = std::fopen("/proc/self/status", "r");
    while (status && std::fgets(line, sizeof line, status))
        if (!std::strncmp(line, "VmHWM:", 6))
            std::fprintf(stderr, "%ld", std::strtol(line + 6, nullptr, 10));
}

void all_again(uint32_t goal)
{
    std::signal(SIGUSR1, handler);
    for (const auto &recursion : recursions)
        for (Exit exit : {Exit::Longjmp, Exit::Signal}) {
            uint32_t found = again(recursion.function, exit, goal);
            std::printf("%s %u: %08x %u\n", recursion.name, static_cast<uint32_t>(exit), found, bottom_reached);
        }
    std::printf("in itself %08x\n", again_in_itself(40, goal));
    turns_left = goal * 10 | 1;
    begin_turns(0);
    begin_turns(1);
    swapcontext(&main_context, &turns[1]);
    std::printf("turns %08x\n", taken);
    print_most_memory();
}

} // namespace

int main(int count, char **words)
{
    if (count > 2 && !std::strcmp(words[1], "again")) {
        all_again(std::strtoul(words[2], nullptr, 10));
        return 0;
    }
    if (count > 1 && !std::strcmp(words[1], "overflow")) {
        overflow(true);
        return 1;
    }
    if (count > 2 && !std::strcmp(words[1], "stays")) {
        std::printf("%08x\n", stays(std::strtoul(words[2], nullptr, 10)));
        return 0;
    }
    if (count > 2) {
        for (const auto &recursion : recursions)
            std::printf("%s %08x\n", recursion.name, leave(recursion.function, std::strtoul(words[2], nullptr, 10), Exit::Return));
        return 0;
    }
    std::signal(SIGUSR1, handler);
    for (const auto &recursion : recursions)
        for (uint32_t exit = 0; exit <= static_cast<uint32_t>(Exit::Trace); exit++)
            for (uint32_t depth : {0, 1, 2, 7, 60}) {
                uint32_t found = leave(recursion.function, depth, static_cast<Exit>(exit));
                std::printf("%s %u %u: %08x %u %u\n", recursion.name, exit, depth, found, bottom_reached, destroyed);
            }
    return 0;
}
