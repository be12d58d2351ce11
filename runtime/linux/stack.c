/* The initial stack: argument strings, environment and auxiliary vector, as the kernel lays them out (fs/exec.c and
 * create_elf_tables of fs/binfmt_elf.c). Enters: the image and mr_options. Leaves: the first sp; mr_mmap_top below it.
 * The stack is begun before anything is loaded, so that nothing takes its place; it grows (memory/growing.c).
 */
#include "base/messages.h"
#include "base/options.h"
#include "cpu/model.h"
#include "linux/program.h"
#include "memory/values.h"

#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#define FIRST_STACK_BYTES (256u << 10) /* mapped at the start, whatever the limit is */
#define VERIFY_STACK_BYTES (64u << 20) /* at most, and mapped at the start, for it cannot grow */
#define LEAST_STRING_BYTES (128u << 10)
#define MOST_STRING_BYTES (6u << 20)
#define RANDOM_BYTES 16u
#define CLOCK_TICKS 100u

/* mmap_base of mm/util.c: between the highest mapping and the stack's top. Where the limit is larger than most of the address
 * space, or infinite, a third is left, where the kernel's other layout begins. */
#define LEAST_MMAP_GAP (128u << 20)
#define MOST_MMAP_GAP (MR_USER_END / 3 * 2)

uint32_t mr_auxiliary, mr_auxiliary_bytes;

static uint32_t stack_low;

/* The stack is filled downward from the top. */
struct builder {
    uint32_t low, sp;
};

static uint32_t between(uint64_t value, uint32_t least, uint32_t most)
{
    return (value < least ? least : value > most ? most : (uint32_t)value) & ~(MR_PAGE_BYTES - 1);
}

uint32_t mr_strings_most_bytes(void)
{
    return between(mr_stack_limit_bytes() / 4, LEAST_STRING_BYTES, MOST_STRING_BYTES);
}

static _Noreturn void no_room(void)
{
    mr_fail("the arguments and the environment are too long for the guest's stack: shorten them");
}

/* Reserves bytes on the stack and returns their guest address. Arguments may fill a quarter of it (fs/exec.c). */
static uint32_t push(struct builder *stack, const void *bytes, size_t size_bytes)
{
    if (size_bytes > stack->sp - stack->low)
        no_room();
    stack->sp -= (uint32_t)size_bytes;
    void *to = mr_guest_bytes(stack->sp, (uint32_t)size_bytes, MR_WRITE);
    if (!to) /* RLIMIT_AS */
        no_room();
    memcpy(to, bytes, size_bytes);
    return stack->sp;
}

static uint32_t push_string(struct builder *stack, const char *text)
{
    return push(stack, text, strlen(text) + 1);
}

static uint32_t push_random(struct builder *stack)
{
    uint8_t bytes[RANDOM_BYTES];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        memcpy(bytes, (const void *)getauxval(AT_RANDOM), sizeof bytes);
    return push(stack, bytes, sizeof bytes);
}

/* asm/hwcap.h: what the processor has, as /proc/cpuinfo says. */
static uint32_t hardware_capabilities(void)
{
    enum { HWCAP_MIPS16 = 1 << 3, HWCAP_DSP = 1 << 7, HWCAP_DSP2 = 1 << 8 };
    return (mr_cpu_lacks(MR_CPU_MIPS16) ? 0u : HWCAP_MIPS16) | (mr_cpu_lacks(MR_CPU_DSP) ? 0u : HWCAP_DSP) |
           (mr_cpu_lacks(MR_CPU_DSP2) ? 0u : HWCAP_DSP2);
}

/* A growing row of guest words in guest memory. */
static void put_word(uint32_t *at, uint32_t value)
{
    mr_poke32(*at, value);
    *at += 4;
}

static void put_auxiliary(uint32_t *at, const struct mr_image *image, uint32_t random, uint32_t name)
{
    const uint32_t vector[][2] = {
        {AT_HWCAP, hardware_capabilities()},
        {AT_PAGESZ, MR_PAGE_BYTES},
        {AT_CLKTCK, CLOCK_TICKS},
        {AT_PHDR, image->phdr},
        {AT_PHENT, image->phent},
        {AT_PHNUM, image->phnum},
        {AT_BASE, image->interpreter_base},
        {AT_FLAGS, 0},
        {AT_ENTRY, image->entry},
        {AT_UID, getuid()},
        {AT_EUID, geteuid()},
        {AT_GID, getgid()},
        {AT_EGID, getegid()},
        {AT_SECURE, (uint32_t)getauxval(AT_SECURE)},
        {AT_RANDOM, random},
        {AT_HWCAP2, 0},
        {AT_EXECFN, name},
        {AT_NULL, 0},
    };
    for (size_t i = 0; i < sizeof vector / sizeof *vector; i++) {
        put_word(at, vector[i][0]);
        put_word(at, vector[i][1]);
    }
}
#define AUXILIARY_WORDS 36u

static uint32_t count_strings(char *const *strings)
{
    uint32_t count = 0;
    while (strings && strings[count])
        count++;
    return count;
}

/* Pushes strings so that the first lies lowest, then returns the address of the first; they lie side by side. */
static uint32_t push_strings(struct builder *stack, char *const *strings, uint32_t count)
{
    for (uint32_t index = count; index-- > 0;)
        push_string(stack, strings[index]);
    return stack->sp;
}

static void put_pointers(uint32_t *at, char *const *strings, uint32_t count, uint32_t first)
{
    for (uint32_t index = 0; index < count; index++) {
        put_word(at, first);
        first += (uint32_t)strlen(strings[index]) + 1;
    }
    put_word(at, 0);
}

void mr_reserve_stack(void)
{
    uint64_t limit = mr_stack_limit_bytes();
    bool whole = mr_options.verify_fd >= 0;
    uint32_t size = between(limit, FIRST_STACK_BYTES, whole ? VERIFY_STACK_BYTES : FIRST_STACK_BYTES);
    stack_low = MR_USER_END - size;
    if (mr_map(stack_low, size, MR_READ | MR_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_GROWSDOWN, -1, 0, true) < 0)
        mr_fail("cannot map the guest's stack of %u KiB", size >> 10);
    uint64_t room = limit > MR_USER_END ? MR_USER_END : limit + MR_STACK_GUARD_BYTES;
    mr_mmap_top = MR_USER_END - between(room, LEAST_MMAP_GAP, MOST_MMAP_GAP);
}

uint32_t mr_build_stack(const struct mr_image *image)
{
    if (image->high > stack_low - MR_STACK_GUARD_BYTES)
        mr_fail("%s: is so large that no room is left for a stack", mr_options.program_path);
    struct builder stack = {MR_USER_END - mr_strings_most_bytes(), MR_USER_END - 4};
    uint32_t argc = (uint32_t)mr_options.guest_argc, envc = count_strings(mr_options.guest_envp);
    uint32_t name = push_string(&stack, mr_options.program_path);
    uint32_t environment = push_strings(&stack, mr_options.guest_envp, envc);
    uint32_t arguments = push_strings(&stack, mr_options.guest_argv, argc);
    uint32_t random = push_random(&stack);
    uint64_t row_bytes = 4 * ((uint64_t)argc + envc + 3 + AUXILIARY_WORDS);
    if (row_bytes + 16 > stack.sp - stack.low)
        no_room();
    uint32_t sp = (stack.sp - (uint32_t)row_bytes) & ~15u, at = sp;
    if (!mr_guest_bytes(sp, (uint32_t)row_bytes, MR_WRITE))
        no_room();
    put_word(&at, argc);
    put_pointers(&at, mr_options.guest_argv, argc, arguments);
    put_pointers(&at, mr_options.guest_envp, envc, environment);
    mr_auxiliary = at;
    put_auxiliary(&at, image, random, name);
    mr_auxiliary_bytes = at - mr_auxiliary;
    return sp;
}
