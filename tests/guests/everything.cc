// All that a C++ program asks of its surroundings at once: exceptions across frames (also through libc's frames),
// iostream, map, string, setjmp and longjmp, qsort callbacks, virtual calls, static constructors, atexit.
#include <algorithm>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

std::string trail;

class Guard {
public:
    explicit Guard(char name) : name_(name) { trail += name_; }
    ~Guard() { trail += static_cast<char>(name_ - 'a' + 'A'); }

private:
    char name_;
};

struct Announce {
    Announce() { std::cout << "constructed before main\n"; }
    ~Announce() { std::cout << "destroyed after main\n" << std::flush; }
} announce;

struct Fault : std::runtime_error {
    Fault(const std::string &what, int code) : std::runtime_error(what), code(code) {}
    int code;
};

// Values in callee-saved registers of both kinds live across the call.
__attribute__((noinline)) double dive(int depth, int goal, double sum)
{
    Guard guard(static_cast<char>('a' + depth));
    double kept = sum * 1.25 + depth;
    if (depth == goal) {
        if (goal % 3 == 0)
            throw Fault("fault at " + std::to_string(goal), goal);
        if (goal % 3 == 1)
            throw goal;
        throw std::string("string ") + std::to_string(goal);
    }
    double below = dive(depth + 1, goal, kept);
    return below + kept;
}

__attribute__((noinline)) int catch_some(int goal)
{
    Guard guard('z');
    int before = goal * 3;
    try {
        dive(0, goal, 0.5);
    } catch (const Fault &fault) {
        return before + fault.code + static_cast<int>(std::string(fault.what()).size());
    } catch (int number) {
        if (number > 6)
            throw std::out_of_range("rethrown " + std::to_string(number));
        return before + number;
    }
    return -1;
}

void exceptions()
{
    for (int goal = 0; goal < 9; goal++) {
        trail.clear();
        try {
            std::cout << goal << ": " << catch_some(goal);
        } catch (const std::exception &error) {
            std::cout << "exception " << error.what();
        } catch (const std::string &text) {
            std::cout << "text " << text;
        }
        std::cout << ' ' << trail << '\n';
    }
}

void containers()
{
    std::map<std::string, std::vector<int>> index;
    std::istringstream words("the quick brown fox jumps over the lazy dog and the fox runs over the hill");
    int position = 0;
    for (std::string word; words >> word; position++)
        index[word].push_back(position);
    for (const auto &[word, places] : index)
        std::cout << std::setw(6) << std::left << word << std::setw(3) << std::right << places.size() << ' '
                  << places.back() << '\n';
    std::cout << std::fixed << std::setprecision(3) << 2.0 / 3 << ' ' << std::hex << std::showbase << 48879 << ' '
              << std::scientific << 12345.678 << std::dec << std::defaultfloat << ' ' << 1e100 << '\n';
}

int calls_left;
std::jmp_buf escape;

int compare(const void *left, const void *right)
{
    int a = *static_cast<const int *>(left), b = *static_cast<const int *>(right);
    if (calls_left-- == 0)
        std::longjmp(escape, 5);
    return (a > b) - (a < b);
}

void sort_until(const int (&numbers)[50], int limit)
{
    int sorted[50];
    std::copy(std::begin(numbers), std::end(numbers), sorted);
    calls_left = limit;
    int jumped = setjmp(escape);
    if (jumped == 0) {
        std::qsort(sorted, 50, sizeof *sorted, compare);
        std::cout << "sorted " << sorted[0] << ' ' << sorted[25] << ' ' << sorted[49] << ' '
                  << std::is_sorted(std::begin(sorted), std::end(sorted)) << '\n';
    } else {
        std::cout << "left by longjmp with " << jumped << '\n';
    }
}

void callbacks()
{
    int numbers[50];
    uint32_t seed = 1;
    for (int &number : numbers)
        number = static_cast<int>((seed = seed * 1103515245 + 12345) >> 8 & 0xfff);
    sort_until(numbers, 10);
    sort_until(numbers, 100000);
    std::function<int(int)> chain = [](int x) { return x + 1; };
    for (int i = 0; i < 5; i++)
        chain = [chain, i](int x) { return chain(x * 2) + i; };
    std::cout << "chain " << chain(3) << '\n';
}

// setjmp and exceptions in turn in the same frame.
int mixture()
{
    volatile int rounds = 0, caught = 0;
    int jumped = setjmp(escape);
    try {
        if (jumped >= 3)
            throw Fault("enough", jumped);
        rounds = rounds + 1;
        dive(0, 1 + rounds, rounds);
    } catch (const Fault &fault) {
        if (fault.code == jumped)
            return rounds * 100 + caught * 10 + fault.code;
        caught = caught + 1;
    } catch (...) {
        caught = caught + 1;
    }
    std::longjmp(escape, jumped + 1);
}

struct Shape {
    virtual ~Shape() = default;
    virtual double area() const = 0;
};
struct Square : virtual Shape {
    explicit Square(double side) : side(side) {}
    double area() const override { return side * side; }
    double side;
};
struct Circle : virtual Shape {
    explicit Circle(double radius) : radius(radius) {}
    double area() const override { return 3.25 * radius * radius; }
    double radius;
};

double shapes()
{
    std::vector<std::unique_ptr<Shape>> all;
    for (int i = 1; i < 6; i++) {
        if (i & 1)
            all.push_back(std::make_unique<Square>(i));
        else
            all.push_back(std::make_unique<Circle>(i * 0.5));
    }
    double sum = 0;
    for (const auto &shape : all)
        sum += dynamic_cast<const Circle *>(shape.get()) ? shape->area() * 2 : shape->area();
    return sum;
}

} // namespace

int main()
{
    std::atexit([] { std::puts("atexit"); });
    exceptions();
    containers();
    callbacks();
    std::cout << "mixture " << mixture() << '\n' << "shapes " << shapes() << '\n' << std::flush;
    std::vector<int> empty;
    try {
        return empty.at(3);
    } catch (const std::out_of_range &) {
        return 7;
    }
}
