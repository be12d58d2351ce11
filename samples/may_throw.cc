// Virtual calls that may throw, and seldom do: readers in layers, formulas of a sheet. About one call in 10,000 throws.
//
// Objects with destructors live over the calls: each call has a landing pad, and an exception runs destructors in each
// frame on its way. What costs is the code of calls that may throw, not throwing.
#include "freestanding/out.h"

#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace {

// ---- what is held over calls: buffers of a pool, and marks ----

class Pool {
public:
    static constexpr uint32_t size = 16;

    explicit Pool(uint32_t buffers) : words_(buffers * size)
    {
        while (buffers--)
            free_.push_back(buffers);
    }

    uint32_t take()
    {
        if (free_.empty())
            throw std::length_error("no buffer is free");
        uint32_t buffer = free_.back();
        free_.pop_back();
        return buffer;
    }

    void give_back(uint32_t buffer) { free_.push_back(buffer); }
    uint32_t *words(uint32_t buffer) { return &words_[buffer * size]; }
    size_t free_count() const { return free_.size(); }

private:
    std::vector<uint32_t> words_, free_;
};

class Buffer {
public:
    explicit Buffer(Pool &pool) : pool_(pool), number_(pool.take()) {}
    ~Buffer() { pool_.give_back(number_); }
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;

    void append(uint32_t word)
    {
        if (size_ == Pool::size)
            throw std::length_error("the buffer is full");
        pool_.words(number_)[size_++] = word;
    }

    const uint32_t *begin() const { return pool_.words(number_); }
    const uint32_t *end() const { return begin() + size_; }

private:
    Pool &pool_;
    uint32_t number_, size_ = 0;
};

class Level {
public:
    explicit Level(uint32_t &depth) : depth_(depth) { depth_++; }
    ~Level() { depth_--; }
    Level(const Level &) = delete;
    Level &operator=(const Level &) = delete;

private:
    uint32_t &depth_;
};

// ---- readers: each gets from the one below what it makes its own words of ----

struct Damaged : std::runtime_error {
    Damaged(const char *what, uint32_t place) : std::runtime_error(what), place(place) {}
    uint32_t place;
};

struct TooLong : Damaged {
    using Damaged::Damaged;
};

class Reader {
public:
    virtual ~Reader() = default;
    virtual uint32_t next() = 0;
};

// Packets of 31 bytes and their sum, one of two hundred damaged. One byte of eight has its upper bit set.
class Line : public Reader {
public:
    uint32_t next() override
    {
        if (++place_ % 32 == 0)
            return std::exchange(sum_, 0) + (random32(&random_) % 200 == 0);
        uint32_t choice = random32(&random_), byte = (choice >> 8 & 0x7f) | (choice >> 20 & 7 ? 0 : 0x80);
        sum_ += byte;
        return byte;
    }

private:
    uint32_t random_ = 2654435769u, place_ = 0, sum_ = 0;
};

class Packets : public Reader {
public:
    Packets(Reader &line, uint32_t &depth) : line_(line), depth_(depth) {}

    uint32_t next() override
    {
        Level level(depth_);
        if (++place_ % 32 == 0 && line_.next() != std::exchange(sum_, 0))
            throw Damaged("the sum is another", place_);
        place_ += place_ % 32 == 0;
        uint32_t byte = line_.next();
        sum_ += byte;
        return byte;
    }

private:
    Reader &line_;
    uint32_t &depth_, place_ = 0, sum_ = 0;
};

// Numbers of seven bits a byte, the upper bit of all but the last byte set.
class Numbers : public Reader {
public:
    Numbers(Reader &bytes, uint32_t &depth) : bytes_(bytes), depth_(depth) {}

    uint32_t next() override
    {
        Level level(depth_);
        uint32_t number = 0, count = 0, byte;
        do {
            if (count == 5)
                throw TooLong("a number has too many bytes", number);
            byte = bytes_.next();
            number |= (byte & 0x7f) << (7 * count++ % 28);
        } while (byte & 0x80);
        return number;
    }

private:
    Reader &bytes_;
    uint32_t &depth_;
};

// Records of up to seven numbers, read into a buffer, for a record may end early.
class Records : public Reader {
public:
    Records(Reader &numbers, Pool &pool) : numbers_(numbers), pool_(pool) {}

    uint32_t next() override
    {
        Buffer record(pool_);
        for (uint32_t left = numbers_.next() % 7 + 1; left; left--)
            record.append(numbers_.next());
        uint32_t hash = 0;
        for (uint32_t number : record)
            hash = mix32(hash, number);
        return hash;
    }

private:
    Reader &numbers_;
    Pool &pool_;
};

// ---- a sheet of formulas ----

struct NoValue : std::logic_error {
    NoValue(const char *what, uint32_t cell) : std::logic_error(what), cell(cell) {}
    uint32_t cell;
};

class Sheet;

class Formula {
public:
    virtual ~Formula() = default;
    virtual int32_t value(Sheet &sheet) const = 0;
};

class Sheet {
public:
    static constexpr uint32_t row = 12, rows = 4;

    explicit Sheet(Pool &pool) : pool(pool) {}

    int32_t at(uint32_t cell)
    {
        Level level(depth);
        if (depth > rows)
            throw NoValue("the cell depends on itself", cell);
        return formulas.at(cell)->value(*this);
    }

    Pool &pool;
    std::vector<std::unique_ptr<Formula>> formulas;
    int32_t given[row] = {};
    uint32_t depth = 0;
};

class Input : public Formula {
public:
    explicit Input(uint32_t place) : place_(place) {}
    int32_t value(Sheet &sheet) const override { return sheet.given[place_]; }

private:
    uint32_t place_;
};

class Pair : public Formula {
public:
    Pair(uint32_t left, uint32_t right) : left(left), right(right) {}

protected:
    uint32_t left, right;
};

class Difference : public Pair {
public:
    using Pair::Pair;
    int32_t value(Sheet &sheet) const override { return sheet.at(left) - sheet.at(right); }
};

class Quotient : public Pair {
public:
    using Pair::Pair;
    int32_t value(Sheet &sheet) const override
    {
        int32_t divisor = sheet.at(right);
        if (!divisor)
            throw NoValue("division by zero", right);
        return sheet.at(left) * 16 / divisor;
    }
};

class Middle : public Pair {
public:
    using Pair::Pair;
    int32_t value(Sheet &sheet) const override
    {
        Buffer values(sheet.pool);
        int64_t sum = 0;
        values.append(static_cast<uint32_t>(sheet.at(left)));
        values.append(static_cast<uint32_t>(sheet.at(right)));
        values.append(static_cast<uint32_t>(sheet.at((left + right) / 2)));
        for (uint32_t value : values)
            sum += static_cast<int32_t>(value);
        return static_cast<int32_t>(sum / 3);
    }
};

class Choice : public Pair {
public:
    using Pair::Pair;
    int32_t value(Sheet &sheet) const override
    {
        int32_t first = sheet.at(left);
        return first & 1 ? first : sheet.at(right);
    }
};

void fill(Sheet &sheet, uint32_t *random)
{
    for (uint32_t cell = 0; cell < Sheet::row * Sheet::rows; cell++) {
        uint32_t below = cell / Sheet::row * Sheet::row - Sheet::row, choice = random32(random) >> 4;
        uint32_t place = choice % Sheet::row, beside = (place + 1 + (choice >> 8) % (Sheet::row - 1)) % Sheet::row;
        uint32_t left = below + place, right = below + beside;
        std::unique_ptr<Formula> formula;
        if (cell < Sheet::row)
            formula = std::make_unique<Input>(cell);
        else if (choice >> 16 & 1)
            formula = std::make_unique<Middle>(left, right);
        else if (choice >> 17 & 1)
            formula = std::make_unique<Difference>(left, right);
        else if (choice >> 18 & 1)
            formula = std::make_unique<Quotient>(left, right);
        else
            formula = std::make_unique<Choice>(left, right);
        sheet.formulas.push_back(std::move(formula));
    }
}

uint32_t sheet_round(Sheet &sheet, uint32_t *random, uint32_t hash, uint32_t &thrown)
{
    for (int32_t &input : sheet.given)
        input = static_cast<int32_t>(random32(random) >> 8 & 0x3fff) - 0x1000;
    for (uint32_t cell = Sheet::row; cell < Sheet::row * Sheet::rows; cell++) {
        try {
            hash = mix32(hash, static_cast<uint32_t>(sheet.at(cell)));
        } catch (const NoValue &error) {
            hash = mix32(hash, error.cell + cell);
            thrown++;
        }
    }
    return hash;
}

uint32_t record_round(Reader &records, uint32_t hash, uint32_t &thrown)
{
    for (uint32_t i = 0; i < 80; i++) {
        try {
            hash = mix32(hash, records.next());
        } catch (const TooLong &error) {
            hash = mix32(hash, ~error.place);
            thrown++;
        } catch (const Damaged &error) {
            hash = mix32(hash, error.place);
            thrown++;
        }
    }
    return hash;
}

} // namespace

int main(int argc, char **argv)
{
    uint32_t rounds = sample_begin(argc, argv, 60), random = 4101842887u, depth = 0, thrown[2] = {};
    uint32_t read = 1, computed = 2;
    Pool pool(12);
    Line line;
    Packets packets(line, depth);
    Numbers numbers(packets, depth);
    Records records(numbers, pool);
    for (uint32_t round = 0; round < rounds; round++) {
        Sheet sheet(pool);
        fill(sheet, &random);
        read = record_round(records, read, thrown[0]);
        for (uint32_t i = 0; i < 5; i++)
            computed = sheet_round(sheet, &random, computed, thrown[1]);
    }
    out_line("records", read);
    out_line_decimal("records damaged", static_cast<int32_t>(thrown[0]));
    out_line("sheets", computed);
    out_line_decimal("cells without a value", static_cast<int32_t>(thrown[1]));
    out_line_decimal("buffers free", static_cast<int32_t>(pool.free_count()));
    out_line_decimal("depth", static_cast<int32_t>(depth));
    return sample_end(mix32(read, computed));
}
