// Loads and stores of consecutive words, which may be done as vectors or may not: memory overlaps, registers and bases
// change in between, a trap stands between two stores. Writes what memory and the registers hold after each.
typedef unsigned word;
static word memory[64], registers[8];

// Each gets a pointer into the memory in a0 and in a1, and may use v0, v1 and t0 to t7.
#define WAYS(way)                                                                                                      \
    way(copy, "lw $t0,0($a1); lw $t1,4($a1); lw $t2,8($a1); lw $t3,12($a1);"                                           \
              "sw $t0,0($a0); sw $t1,4($a0); sw $t2,8($a0); sw $t3,12($a0)")                                           \
    way(stepped, "lw $t0,0($a1); addiu $a0,$a0,16; addiu $a1,$a1,16; lw $t1,-12($a1); lw $t2,-8($a1); lw $t3,-4($a1);" \
                 "sw $t0,-16($a0); sw $t1,-12($a0); sw $t2,-8($a0); sw $t3,-4($a0)")                                   \
    way(in_loop, "addiu $v1,$a1,48; 1: lw $t0,0($a1); addiu $a0,$a0,16; addiu $a1,$a1,16; lw $t3,-12($a1);"            \
                 "lw $t2,-8($a1); lw $t1,-4($a1); sw $t0,-16($a0); sw $t3,-12($a0); sw $t2,-8($a0);"                   \
                 "bne $a1,$v1,1b; sw $t1,-4($a0)")                                                                     \
    way(eight, "lw $t0,0($a1); lw $t1,4($a1); lw $t2,8($a1); lw $t3,12($a1); lw $t4,16($a1); lw $t5,20($a1);"          \
               "lw $t6,24($a1); lw $t7,28($a1); sw $t0,0($a0); sw $t1,4($a0); sw $t2,8($a0); sw $t3,12($a0);"          \
               "sw $t4,16($a0); sw $t5,20($a0); sw $t6,24($a0); sw $t7,28($a0)")                                       \
    way(changed, "lw $t0,0($a1); lw $t1,4($a1); lw $t2,8($a1); lw $t3,12($a1); addiu $t2,$t2,1;"                       \
                 "sw $t0,0($a0); sw $t1,4($a0); sw $t2,8($a0); sw $t3,12($a0)")                                        \
    way(base_lost, "addu $t1,$a1,$zero; lw $t0,0($t1); lw $t1,4($t1); lw $t2,8($a1); lw $t3,12($a1);"                  \
                   "sw $t0,0($a0); sw $t1,4($a0); sw $t2,8($a0); sw $t3,12($a0)")                                      \
    way(base_last, "addu $t3,$a1,$zero; lw $t0,0($t3); lw $t1,4($t3); lw $t2,8($t3); lw $t3,12($t3);"                  \
                   "sw $t0,0($a0); sw $t1,4($a0); sw $t2,8($a0); sw $t3,12($a0)")                                      \
    way(base_moved, "lw $t0,0($a1); lw $t1,4($a1); addu $a1,$a1,$v0; lw $t2,8($a1); lw $t3,12($a1);"                   \
                    "sw $t0,0($a0); sw $t1,4($a0); sw $t2,8($a0); sw $t3,12($a0)")                                     \
    way(stored_between, "lw $t0,0($a1); lw $t1,4($a1); sw $v0,8($a1); lw $t2,8($a1); lw $t3,12($a1);"                  \
                        "sw $t0,0($a0); sw $t1,4($a0); sw $t2,8($a0); sw $t3,12($a0)")                                 \
    way(read_between, "lw $t0,0($a1); lw $t1,4($a1); addu $t4,$t1,$t2; lw $t2,8($a1); addu $t5,$t2,$t0;"               \
                      "lw $t3,12($a1); sw $t0,0($a0); sw $t1,4($a0); sw $t2,8($a0); sw $t3,12($a0)")                   \
    way(order, "lw $t0,0($a1); lw $t1,4($a1); lw $t2,8($a1); lw $t3,12($a1);"                                          \
               "sw $t0,0($a0); sw $t2,4($a0); sw $t1,8($a0); sw $t3,12($a0)")                                          \
    way(own_base, "lw $t0,0($a1); lw $t1,4($a1); lw $t2,8($a1); lw $t3,12($a1); addiu $a0,$a0,4;"                      \
                  "sw $t0,0($a0); sw $t1,4($a0); sw $t2,8($a0); sw $t3,12($a0)")                                       \
    way(fill, "sw $v0,0($a0); sw $v0,4($a0); sw $v0,8($a0); sw $v0,12($a0)")                                           \
    way(fill_five, "sw $v0,4($a0); sw $v0,8($a0); sw $v0,12($a0); sw $v0,16($a0); sw $v0,20($a0)")                     \
    way(fill_gap, "sw $v0,0($a0); sw $v0,4($a0); sw $v0,12($a0); sw $v0,16($a0)")                                      \
    way(fill_base, "sw $a0,0($a0); sw $a0,4($a0); sw $a0,8($a0); b 1f; sw $a0,12($a0); 1: sw $zero,0($a0);"            \
                   "sw $zero,4($a0); sw $zero,8($a0); sw $zero,12($a0)")                                               \
    way(twice, "lw $t0,0($a1); lw $t1,4($a1); lw $t2,8($a1); lw $t3,12($a1); sw $t0,0($a0); sw $t1,4($a0);"            \
               "sw $t2,8($a0); sw $t3,12($a0); sw $t0,32($a0); sw $t1,36($a0); sw $t2,40($a0); sw $t3,44($a0)")        \
    way(likely, "beql $v0,$zero,1f; sw $v0,12($a0); sw $v0,0($a0); sw $v0,4($a0); sw $v0,8($a0); bnel $v0,$v0,1f;"     \
                "sw $v0,12($a0); 1: nop")

#define CODE(name, text)                                                                                               \
    __asm__(".set noreorder\n.text\n.globl w_" #name "\n.ent w_" #name "\nw_" #name ":\n" text "\n"                    \
            "    lui $v1, %hi(registers)\n    addiu $v1, $v1, %lo(registers)\n"                                        \
            "    sw $t3, 12($v1)\n    sw $t1, 4($v1)\n    sw $t0, 0($v1)\n    sw $t2, 8($v1)\n"                        \
            "    sw $t7, 28($v1)\n    sw $t5, 20($v1)\n    sw $t4, 16($v1)\n    sw $t6, 24($v1)\n"                     \
            "    jr $ra\n    nop\n.end w_" #name "\n.set reorder\n");                                                  \
    word w_##name(word *to, const word *from);
WAYS(CODE)

#define POINTER(name, text) w_##name,
static word (*const ways[])(word *, const word *) = {WAYS(POINTER)};

static void put(const void *from, unsigned size)
{
    register int v0 __asm__("$2") = 4004;
    register int a0 __asm__("$4") = 1;
    register const void *a1 __asm__("$5") = from;
    register unsigned a2 __asm__("$6") = size;
    register int a3 __asm__("$7");
    __asm__ volatile("syscall"
                     : "+r"(v0), "=r"(a3)
                     : "r"(a0), "r"(a1), "r"(a2)
                     : "memory", "$1", "$3", "$8", "$9", "$10", "$11", "$12", "$13", "$14", "$15", "$24", "$25");
}

void __start(void)
{
    static const signed char distances[] = {0, 1, 2, 3, 4, 8, -1, -2, -4, 20};
    for (unsigned way = 0; way < sizeof ways / sizeof *ways; way++)
        for (unsigned number = 0; number < sizeof distances; number++) {
            for (word index = 0; index < 64; index++)
                memory[index] = 0x01020304 * (index + 1);
            word *from = (word *)((char *)memory + 64 + (number & 3));
            __asm__ volatile("" : : : "$8", "$9", "$10", "$11", "$12", "$13", "$14", "$15");
            ways[way](from + distances[number], from);
            put(memory, sizeof memory);
            put(registers, sizeof registers);
        }
    register int v0 __asm__("$2") = 4001;
    register int a0 __asm__("$4") = 0;
    __asm__ volatile("syscall" : : "r"(v0), "r"(a0));
    __builtin_unreachable();
}
