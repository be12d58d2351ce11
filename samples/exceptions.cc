// Exceptions: across many frames with destructors on the way, by base class, rethrown, nested, from constructors and
// callbacks, through function-try-blocks and catch-all handlers.
#include "freestanding/out.h"

#include <algorithm>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

uint32_t trail; // checksum of everything that happens, in its order

void mark(uint32_t value) { trail = mix32(trail, value); }

class Guard {
public:
    explicit Guard(uint32_t tag) : tag_(tag) { mark(tag * 2); }
    ~Guard() { mark(tag_ * 2 + 1); }
    Guard(const Guard &) = delete;
    Guard &operator=(const Guard &) = delete;

private:
    uint32_t tag_;
};

struct Fault : std::runtime_error {
    Fault(const std::string &what, uint32_t code) : std::runtime_error(what), code(code) {}
    uint32_t code;
};

struct DeepFault : Fault {
    using Fault::Fault;
};

struct Tag {
    int32_t value;
};

// Every frame has a guard to be destroyed; doubles and integers live across the call sit in callee-saved registers.
double descend(uint32_t depth, uint32_t goal, double sum)
{
    Guard guard(depth);
    double kept = sum * 1.5 + depth;
    if (depth == goal) {
        switch (goal % 4) {
        case 0: throw Fault("fault " + std::to_string(goal), goal);
        case 1: throw DeepFault("deep fault " + std::to_string(goal), goal);
        case 2: throw Tag{static_cast<int32_t>(goal)};
        default: throw std::out_of_range("range");
        }
    }
    double result = descend(depth + 1, goal, kept);
    return result + kept;
}

// Catches some kinds and lets others pass; the frames below it go on with what the handlers return.
uint32_t catch_some(uint32_t goal)
{
    Guard guard(100);
    uint32_t before = goal * 7;
    try {
        descend(0, goal, 0.25);
    } catch (const DeepFault &fault) {
        mark(fault.code);
        return before + 1;
    } catch (const Fault &fault) {
        mark(fault.code + static_cast<uint32_t>(std::string(fault.what()).size()));
        throw; // the same object goes on
    } catch (Tag &tag) {
        tag.value = -tag.value;
        throw;
    }
    return before;
}

uint32_t catch_rest(uint32_t goal)
{
    try {
        return catch_some(goal);
    } catch (const Tag &tag) {
        return static_cast<uint32_t>(tag.value);
    } catch (const std::runtime_error &error) {
        return static_cast<uint32_t>(std::string(error.what()).back());
    } catch (...) {
        return 99;
    }
}

// Members already built are destroyed when a later one throws; the handler of the whole constructor turns the exception.
class Assembly {
public:
    explicit Assembly(uint32_t bad)
    try : first_(bad == 1 ? throw Tag{1} : 201), second_(bad == 2 ? throw Tag{2} : 202), text_(bad == 3 ? throw Tag{3} : "built") {
        mark(static_cast<uint32_t>(text_.size()));
    } catch (const Tag &tag) {
        throw Fault("assembly", static_cast<uint32_t>(tag.value));
    }

private:
    Guard first_, second_;
    std::string text_;
};

uint32_t nested(uint32_t depth)
{
    try {
        try {
            if (depth == 0)
                throw std::logic_error("bottom");
            return nested(depth - 1);
        } catch (...) {
            std::throw_with_nested(Fault("level", depth));
        }
    } catch (const Fault &) {
        if (depth < 5)
            throw;
        uint32_t levels = 0;
        std::exception_ptr current = std::current_exception();
        while (current) {
            try {
                std::rethrow_exception(current);
            } catch (const std::nested_exception &inner) {
                levels++;
                current = inner.nested_ptr();
            } catch (const std::exception &) {
                current = nullptr;
            }
        }
        return levels;
    }
}

// Out of a lambda, through std::function and an algorithm of the library.
uint32_t from_callbacks(uint32_t limit)
{
    const std::vector<uint32_t> numbers{5, 3, 9, 1, 7, 2, 8};
    uint32_t sum = 0;
    std::function<void(uint32_t)> visit = [&](uint32_t number) {
        Guard guard(number);
        if ((sum += number) > limit * 4)
            throw Tag{static_cast<int32_t>(sum * 10 + number)};
    };
    try {
        std::for_each(numbers.begin(), numbers.end(), visit);
    } catch (const Tag &tag) {
        return static_cast<uint32_t>(tag.value);
    }
    return sum;
}

uint32_t library_throws()
{
    uint32_t caught = 0;
    try {
        mark(std::vector<int>(3).at(3) + 0u);
    } catch (const std::out_of_range &) {
        caught |= 1;
    }
    try {
        mark(static_cast<uint32_t>(std::stoi("not a number")));
    } catch (const std::invalid_argument &) {
        caught |= 2;
    }
    try {
        mark(static_cast<uint32_t>(std::string("abc").substr(4).size()));
    } catch (const std::exception &) {
        caught |= 4;
    }
    return caught;
}

} // namespace

int main(int argc, char **argv)
{
    uint32_t rounds = sample_begin(argc, argv, 12), results = 0;
    for (uint32_t round = 0; round < rounds; round++) {
        results = mix32(results, catch_rest(round % 40));
        results = mix32(results, from_callbacks(round));
        try {
            Assembly assembly(round % 4);
        } catch (const Fault &fault) {
            results = mix32(results, fault.code);
        }
    }
    out_line("results", results);
    out_line("trail", trail);
    out_line_decimal("levels", static_cast<int32_t>(nested(5)));
    out_line_decimal("thrown by the library", static_cast<int32_t>(library_throws()));
    return sample_end(mix32(results, trail));
}
