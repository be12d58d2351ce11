/* MIPS16e code and MIPS32 code that call each other: branches, jump tables, constants near the code, frames. */
#define SHORT __attribute__((mips16, noinline))
#define LONG __attribute__((nomips16, noinline))

LONG static unsigned long_leaf(unsigned a, unsigned b) { return a * 31 + b; }
SHORT static unsigned short_leaf(unsigned a, unsigned b) { return (a * 33) ^ b; }
static unsigned (*const leaves[])(unsigned, unsigned) = {long_leaf, short_leaf};
SHORT static unsigned never(unsigned a) { return leaves[a & 1](a, 1) + 12345678; }

SHORT static unsigned calls(unsigned a)
{
    unsigned kept[40], hash = 0;
    for (unsigned i = 0; i < 40; i++)
        kept[i] = a * i + ((i << 3) ^ a);
    for (int i = 0; i < 40; i++)
        hash = hash * 31 + kept[(i * 7) % 40] + long_leaf(kept[i], 1) + leaves[i & 1](a, 2);
    if (hash == 17)
        return never(hash);
    switch (hash & 7) {
    case 0: return hash + 5;
    case 1: return hash * 3;
    case 2: return hash ^ 0x1234;
    case 3: return hash - 77;
    case 4: return hash >> 3;
    case 5: return hash / 10;
    case 6: return hash % 1000;
    default: return hash;
    }
}

int main(void)
{
    unsigned sum = 1;
    for (unsigned i = 0; i < 4; i++)
        sum += calls(i);
    return (int)(sum & 127);
}
