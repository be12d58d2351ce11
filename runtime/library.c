/* Opens a recompiled library: checks that it is whole, of this version and for this guest, then enters its functions in the
 * dispatch table.
 *
 * All checks read the file; nothing of it runs before they have passed. Those that need the guest wait until its image is
 * loaded (mr_library_open); the memory model must be known before there is a window to load it into (mr_library_examine).
 * Enters: a path. Leaves: a filled dispatch table, and where the library's code is in memory.
 */
#include "checksum.h"
#include "control.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

struct mr_library_file mr_library_file;
uintptr_t mr_library_bias;

static const struct mr_library *in_file; /* the constant in the mapped file; its functions are not to be called */
static uintptr_t code_low, code_high;    /* executable bytes of the loaded library */

static void check_footer(const char *path)
{
    const struct mr_library_file *file = &mr_library_file;
    const uint8_t *footer = file->bytes + file->size_bytes - MR_FOOTER_BYTES;
    uint64_t expected = 0;
    if (memcmp(footer, MR_FOOTER_MAGIC, 8) != 0)
        mr_fail("%s: the library is truncated or was never finished (its footer is missing); rebuild it", path);
    for (int i = 7; i >= 0; i--)
        expected = expected << 8 | footer[8 + i];
    if (mr_checksum(file->bytes, file->size_bytes - MR_FOOTER_BYTES) != expected)
        mr_fail("%s: the library is damaged (its checksum is wrong); rebuild it", path);
}

/* A copy of the producer's name that certainly ends. */
static const char *producer_of(const struct mr_library *library)
{
    static char name[sizeof library->producer + 1];
    memcpy(name, library->producer, sizeof library->producer);
    return name;
}

static void check_entries(const char *path, size_t size_bytes)
{
    size_t entries_bytes = size_bytes - sizeof *in_file;
    if (in_file->entry_count > entries_bytes / sizeof in_file->entries[0])
        mr_fail("%s: the library is damaged (it says %u entries, but has room for %zu); rebuild it", path,
                in_file->entry_count, entries_bytes / sizeof in_file->entries[0]);
    for (uint32_t i = 0; i < in_file->entry_count; i++) {
        uint32_t pc = in_file->entries[i].guest_pc;
        if ((pc & 3) != 0 || pc >= 0x80000000u || (i > 0 && pc <= in_file->entries[i - 1].guest_pc))
            mr_fail("%s: the library is damaged (entry %u is for guest pc 0x%08x); rebuild it", path, i, pc);
    }
}

enum mr_memory_model mr_library_examine(const char *path)
{
    const char *reason = mr_library_file_open(&mr_library_file, path);
    if (reason != NULL)
        mr_fail("cannot use the library %s: %s", path, reason);
    struct mr_bytes constant = mr_library_file_symbol(&mr_library_file, "mr_library");
    if (constant.bytes == NULL)
        mr_fail("%s: not a library that mipsrec made (it has no symbol mr_library)", path);
    check_footer(path);
    in_file = (const struct mr_library *)(const void *)constant.bytes;
    if (constant.size_bytes < 2 * sizeof(uint32_t) || in_file->magic != MR_LIBRARY_MAGIC)
        mr_fail("%s: not a library that mipsrec made (mr_library does not begin with its magic)", path);
    if (in_file->version != MR_LIBRARY_VERSION)
        mr_fail("%s: the library has format version %u, this host reads version %u; rebuild it", path,
                in_file->version, MR_LIBRARY_VERSION);
    if (constant.size_bytes < sizeof *in_file)
        mr_fail("%s: the library is damaged (mr_library is too short); rebuild it", path);
    if (in_file->layout != MR_STATE_LAYOUT)
        mr_fail("%s: the library was made by %s for another layout of the guest's registers; rebuild it", path,
                producer_of(in_file));
    if (in_file->memory_model > MR_THUNK)
        mr_fail("%s: the library uses memory model %u, which this host does not know; rebuild it", path,
                in_file->memory_model);
    check_entries(path, constant.size_bytes);
    return (enum mr_memory_model)in_file->memory_model;
}

#if defined(__x86_64__)
/* The x86-64 psABI's microarchitecture level of this processor, 1 to 4. */
static uint32_t host_cpu_level(void)
{
    unsigned eax, ebx, ecx = 0, edx, extended_ecx = 0;
    __cpuid(1, eax, ebx, ecx, edx);
    if (__get_cpuid(0x80000001u, &eax, &ebx, &extended_ecx, &edx) == 0)
        extended_ecx = 0;
    bool cx16 = (ecx >> 13 & 1) != 0, movbe = (ecx >> 22 & 1) != 0, f16c = (ecx >> 29 & 1) != 0;
    bool lzcnt = (extended_ecx >> 5 & 1) != 0;
    if (!(cx16 && __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("sse4.2") &&
          __builtin_cpu_supports("popcnt")))
        return 1;
    if (!(movbe && f16c && lzcnt && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
          __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2")))
        return 2;
    if (!(__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
          __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
          __builtin_cpu_supports("avx512vl")))
        return 3;
    return 4;
}
#else
static uint32_t host_cpu_level(void)
{
    return 0;
}
#endif

static void check_guest(const char *path, const struct mr_image *image)
{
    bool fr = mr_image_fr(image);
    if (memcmp(in_file->guest_identity, image->identity, sizeof image->identity) != 0)
        mr_fail("%s: the library was made for another program than %s; rebuild it", path, mr_options.program_path);
    if (in_file->bias != image->bias)
        mr_fail("%s: the library was made for a program loaded at 0x%08x, but it was loaded at 0x%08x; rebuild it",
                path, in_file->bias, image->bias);
    if (in_file->fr != (uint32_t)fr)
        mr_fail("%s: the library was made for floating-point mode FR=%u, but the program runs with FR=%u; rebuild it",
                path, in_file->fr, (unsigned)fr);
    if (in_file->cpu_level > host_cpu_level())
        mr_fail("%s: the library needs a processor of level x86-64-v%u, this one has level %u; rebuild it here, or with "
                "--cpu generic", path, in_file->cpu_level, host_cpu_level());
    if (in_file->memory_model == MR_FLAT && mr_window != NULL)
        mr_fail("%s: the library has memory model flat, which needs the guest's memory at host address 0, and here it "
                "is elsewhere; rebuild it with --memory paged", path);
}

void mr_library_describe(const char *path)
{
    static const char *const models[] = {"flat", "paged", "thunk"};
    enum mr_memory_model model = mr_library_examine(path);
    char options[sizeof in_file->options + 1] = {0};
    memcpy(options, in_file->options, sizeof in_file->options);
    printf("path               %s\nproducer           %s\noptions            %s\nmemory             %s\n", path,
           producer_of(in_file), options, models[model]);
    if (in_file->cpu_level > 1)
        printf("cpu                x86-64-v%u\n", in_file->cpu_level);
    else
        printf("cpu                %s\n", in_file->cpu_level == 1 ? "x86-64" : "generic");
    printf("guest identity     ");
    for (size_t i = 0; i < sizeof in_file->guest_identity; i++)
        printf("%02x", in_file->guest_identity[i]);
    printf("\nguest bias         0x%08x\nguest float        FR=%u\nentries            %u\nbytes              %zu\n",
           in_file->bias, in_file->fr, in_file->entry_count, mr_library_file.size_bytes);
}

static int find_code(struct dl_phdr_info *info, size_t size_bytes, void *anchor)
{
    (void)size_bytes;
    uintptr_t wanted = (uintptr_t)anchor;
    bool found = false;
    for (unsigned i = 0; i < info->dlpi_phnum; i++)
        found |= info->dlpi_phdr[i].p_type == PT_LOAD &&
                 wanted - (info->dlpi_addr + info->dlpi_phdr[i].p_vaddr) < info->dlpi_phdr[i].p_memsz;
    if (!found)
        return 0;
    mr_library_bias = info->dlpi_addr;
    code_low = UINTPTR_MAX;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t low = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type != PT_LOAD || (segment->p_flags & PF_X) == 0)
            continue;
        code_low = low < code_low ? low : code_low;
        code_high = low + segment->p_memsz > code_high ? low + segment->p_memsz : code_high;
    }
    return 1;
}

static uintptr_t follow(const int32_t *displacement)
{
    return (uintptr_t)displacement + (uintptr_t)(intptr_t)*displacement;
}

static void enter_functions(const struct mr_library *library)
{
    uint32_t count = library->entry_count;
    if (count == 0)
        return;
    mr_enter = (uint32_t (*)(struct mr_state *, mr_function))follow(&library->enter);
    mr_fallback = (uint8_t *)follow(&library->fallback);
    mr_dispatch_open(library->entries[0].guest_pc, library->entries[count - 1].guest_pc + 4);
    for (uint32_t i = 0; i < count; i++) {
        const struct mr_entry *entry = &library->entries[i];
        mr_dispatch[entry->guest_pc >> 2] = (int32_t)(follow(&entry->function) - (uintptr_t)mr_fallback);
    }
}

void mr_library_open(const char *path, const struct mr_image *image)
{
    char with_slash[4096];
    if (in_file == NULL)
        mr_library_examine(path);
    check_guest(path, image);
    /* dlopen looks for a name without a slash elsewhere. */
    snprintf(with_slash, sizeof with_slash, "%s%s", strchr(path, '/') == NULL ? "./" : "", path);
    void *handle = dlopen(with_slash, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL)
        mr_fail("cannot load the library %s: %s", path, dlerror());
    void *library = dlsym(handle, "mr_library");
    if (library == NULL)
        mr_fail("cannot load the library %s: %s", path, dlerror());
    dl_iterate_phdr(find_code, library);
    enter_functions(library);
}

bool mr_library_contains(uintptr_t host_pc)
{
    return host_pc >= code_low && host_pc < code_high;
}

uint32_t mr_library_guest_pc(uintptr_t host_pc)
{
    return mr_library_contains(host_pc) ? mr_lines_find(host_pc - mr_library_bias) : 0;
}

bool mr_library_tells_of_calls(void)
{
    static const char thunked[] = "--calls thunked", watched[] = "--calls watched";
    const void *options = in_file->options;
    size_t size_bytes = sizeof in_file->options;
    return memmem(options, size_bytes, thunked, sizeof thunked - 1) != NULL ||
           memmem(options, size_bytes, watched, sizeof watched - 1) != NULL;
}
