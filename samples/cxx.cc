// The C++ library at work: containers, strings, streams, virtual calls, templates, lambdas, dynamic_cast, exceptions.
// Prints through iostream; the argument is the number of rounds.
#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <iomanip>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <numeric>
#include <queue>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

uint32_t mix(uint32_t hash, uint32_t value)
{
    hash = (hash ^ value) * 16777619u;
    return hash ^ (hash >> 15);
}

class Random {
public:
    explicit Random(uint32_t seed) : state_(seed) {}

    uint32_t below(uint32_t limit)
    {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 17;
        state_ ^= state_ << 5;
        return (state_ >> 8) % limit;
    }

private:
    uint32_t state_;
};

const std::string text = "the recompiler reads the program and the program never knows that the recompiler has read it";

std::string word_counts()
{
    std::map<std::string, uint32_t> counts;
    std::istringstream words(text);
    for (std::string word; words >> word;)
        counts[word]++;
    std::ostringstream line;
    for (const auto &[word, count] : counts)
        if (count > 1)
            line << word << '=' << count << ' ';
    return line.str();
}

// ---- virtual calls and run-time types ----

class Animal {
public:
    virtual ~Animal() = default;
    virtual std::string sound() const = 0;
    virtual uint32_t legs() const { return 4; }
};

class Dog : public virtual Animal {
public:
    std::string sound() const override { return "woof"; }
};

class Bird : public virtual Animal {
public:
    std::string sound() const override { return "tweet"; }
    uint32_t legs() const override { return 2; }
};

class Chimera : public Dog, public Bird { // a diamond: one Animal, reached through virtual bases
public:
    std::string sound() const override { return Dog::sound() + Bird::sound(); }
    uint32_t legs() const override { return 6; }
};

uint32_t zoo(Random &random)
{
    std::vector<std::unique_ptr<Animal>> animals;
    uint32_t hash = 0;
    for (uint32_t i = 0; i < 20; i++) {
        switch (random.below(3)) {
        case 0: animals.push_back(std::make_unique<Dog>()); break;
        case 1: animals.push_back(std::make_unique<Bird>()); break;
        default: animals.push_back(std::make_unique<Chimera>());
        }
    }
    for (const auto &animal : animals) {
        hash = mix(hash, animal->legs() + static_cast<uint32_t>(animal->sound().size()));
        hash = mix(hash, dynamic_cast<const Dog *>(animal.get()) != nullptr);
        if (const auto *bird = dynamic_cast<const Bird *>(animal.get()))
            hash = mix(hash, bird->legs());
    }
    return hash;
}

// ---- containers ----

using Edges = std::list<std::pair<uint32_t, uint32_t>>;

void add_edge(Edges &edges, Random &random)
{
    uint32_t to = random.below(100); // a statement each: the order of arguments' evaluation is the compiler's choice
    uint32_t length = 1 + random.below(50);
    edges.emplace_back(to, length);
}

// Shortest paths in a random graph with a priority queue.
uint32_t shortest_paths(Random &random)
{
    constexpr uint32_t count = 100;
    std::vector<Edges> edges(count);
    for (uint32_t i = 0; i < count * 4; i++)
        add_edge(edges[i % count], random);
    std::vector<uint32_t> distance(count, ~0u);
    using Entry = std::pair<uint32_t, uint32_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    distance[0] = 0;
    queue.emplace(0, 0);
    while (!queue.empty()) {
        auto [near, at] = queue.top();
        queue.pop();
        if (near > distance[at])
            continue;
        for (const auto &[to, length] : edges[at]) {
            if (near + length < distance[to]) {
                distance[to] = near + length;
                queue.emplace(distance[to], to);
            }
        }
    }
    return std::accumulate(distance.begin(), distance.end(), 0u, mix);
}

uint32_t containers(Random &random)
{
    std::unordered_map<uint32_t, std::string> names;
    std::set<uint32_t> ordered;
    std::deque<uint32_t> window;
    uint32_t hash = 0;
    for (uint32_t i = 0; i < 300; i++) {
        uint32_t key = random.below(200);
        names[key] += static_cast<char>('a' + i % 26);
        ordered.insert(key * 2654435761u);
        window.push_back(key);
        if (window.size() > 20)
            window.pop_front();
        hash = mix(hash, *std::max_element(window.begin(), window.end()));
    }
    std::vector<std::pair<uint32_t, std::string>> sorted(names.begin(), names.end());
    std::sort(sorted.begin(), sorted.end(), [](const auto &a, const auto &b) {
        return a.second != b.second ? a.second < b.second : a.first < b.first;
    });
    for (const auto &[key, name] : sorted)
        hash = mix(mix(hash, key), static_cast<uint32_t>(name.size()) * 256 + static_cast<uint8_t>(name.back()));
    return std::accumulate(ordered.begin(), ordered.end(), hash, mix);
}

uint32_t parse_or_throw(const std::string &number)
{
    size_t used = 0;
    unsigned long value = std::stoul(number, &used);
    if (used != number.size())
        throw std::invalid_argument("rubbish after " + number.substr(0, used));
    return static_cast<uint32_t>(value);
}

std::string parse_all()
{
    std::ostringstream line;
    for (const char *number : {"17", "12x", "", "99999999999999999999999", "4294967295"}) {
        try {
            line << parse_or_throw(number) << ' ';
        } catch (const std::invalid_argument &error) {
            line << "invalid ";
        } catch (const std::out_of_range &) {
            line << "out-of-range ";
        }
    }
    return line.str();
}

} // namespace

int main(int argc, char **argv)
{
    uint32_t rounds = argc > 1 ? parse_or_throw(argv[1]) : 5, hash = 0;
    Random random(271828182);
    for (uint32_t round = 0; round < rounds; round++) {
        hash = mix(hash, zoo(random));
        hash = mix(hash, shortest_paths(random));
        hash = mix(hash, containers(random));
    }
    std::cout << word_counts() << '\n' << parse_all() << '\n';
    std::cout << std::fixed << std::setprecision(6) << 1.0 / 3.0 << ' ' << std::scientific << 12345.678 << ' ' << std::boolalpha
              << (hash != 0) << ' ' << std::setw(8) << std::setfill('*') << 42 << '\n';
    std::array<double, 4> values{2.5, -1.25, 1e10, 0.1};
    std::sort(values.begin(), values.end());
    for (double value : values)
        std::cout << std::defaultfloat << value << ' ';
    std::cout << "\nchecksum " << std::hex << std::setw(8) << std::setfill('0') << hash << std::endl;
    return 0;
}
