// Virtual calls without any run-time library: single and multiple inheritance, thunks, pointers to member functions.
#include "freestanding/out.h"

extern "C" void __cxa_pure_virtual() // called when a pure virtual function is, which never happens
{
    out_string("PURE VIRTUAL CALL\n");
}

namespace {

class Shape {
public:
    virtual uint32_t area() const = 0;
    virtual uint32_t corners() const { return 0; }
    virtual void grow(uint32_t by) = 0;
};

class Named {
public:
    explicit constexpr Named(uint32_t tag) : tag_(tag) {}
    virtual uint32_t name_hash() const { return mix32(tag_, 1); }

protected:
    uint32_t tag_;
};

class Rectangle : public Shape {
public:
    Rectangle(uint32_t width, uint32_t height) : width_(width), height_(height) {}
    uint32_t area() const override { return width_ * height_; }
    uint32_t corners() const override { return 4; }
    void grow(uint32_t by) override { width_ += by; }

protected:
    uint32_t width_, height_;
};

// name_hash and grow are reached through a second base: the compiler emits thunks that adjust `this`.
class Square : public Named, public Rectangle {
public:
    Square(uint32_t side, uint32_t tag) : Named(tag), Rectangle(side, side) {}
    uint32_t name_hash() const override { return mix32(tag_, area()); }
    void grow(uint32_t by) override { width_ = height_ += by; }
};

class Circle final : public Shape, public Named {
public:
    Circle(uint32_t radius, uint32_t tag) : Named(tag), radius_(radius) {}
    uint32_t area() const override { return radius_ * radius_ * 355 / 113; }
    uint32_t name_hash() const override { return mix32(tag_, radius_); }
    void grow(uint32_t by) override { radius_ = (radius_ + by) & 1023; }

private:
    uint32_t radius_;
};

// A visitor with double dispatch, the usual shape of compilers and interpreters.
class Number;
class Sum;
class Visitor {
public:
    virtual uint32_t visit(const Number &number) = 0;
    virtual uint32_t visit(const Sum &sum) = 0;
};

class Expression {
public:
    virtual uint32_t accept(Visitor &visitor) const = 0;
};

class Number : public Expression {
public:
    explicit Number(uint32_t value) : value(value) {}
    uint32_t accept(Visitor &visitor) const override { return visitor.visit(*this); }
    uint32_t value;
};

class Sum : public Expression {
public:
    Sum(const Expression &left, const Expression &right) : left(left), right(right) {}
    uint32_t accept(Visitor &visitor) const override { return visitor.visit(*this); }
    const Expression &left, &right;
};

class Evaluator : public Visitor {
public:
    uint32_t visit(const Number &number) override { return number.value; }
    uint32_t visit(const Sum &sum) override { return sum.left.accept(*this) + sum.right.accept(*this); }
};

class Hasher : public Visitor {
public:
    uint32_t visit(const Number &number) override { return mix32(number.value, 3); }
    uint32_t visit(const Sum &sum) override { return mix32(sum.left.accept(*this), sum.right.accept(*this)); }
};

uint32_t shapes_round(Shape *const *shapes, Named *const *names, uint32_t round)
{
    static uint32_t (Shape::*const questions[])() const = {&Shape::area, &Shape::corners};
    uint32_t hash = round;
    for (uint32_t i = 0; i < 4; i++) {
        shapes[(i + round) & 3]->grow((round ^ i) & 7);
        hash = mix32(hash, (shapes[i]->*questions[(round + i) & 1])());
        hash = mix32(hash, names[i & 1]->name_hash());
    }
    return hash;
}

} // namespace

int main(int argc, char **argv)
{
    uint32_t rounds = sample_begin(argc, argv, 200), hash = 0;
    Rectangle rectangle(3, 5), wide(100, 2);
    Square square(7, 11);
    Circle circle(9, 13);
    Shape *shapes[] = {&rectangle, &square, &circle, &wide};
    Named *names[] = {&square, &circle};
    for (uint32_t round = 0; round < rounds; round++)
        hash = mix32(hash, shapes_round(shapes, names, round));
    out_line("shapes", hash);

    Number one(1), two(2), three(hash & 0xff);
    Sum inner(two, three), outer(one, inner), whole(outer, inner);
    Evaluator evaluator;
    Hasher hasher;
    Visitor *visitors[] = {&evaluator, &hasher};
    for (uint32_t round = 0; round < rounds; round++) {
        three.value = round;
        hash = mix32(hash, whole.accept(*visitors[round & 1]));
    }
    out_line("visitors", hash);
    return sample_end(hash);
}
