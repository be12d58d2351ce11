/* Checks recompiled libraries: that they are whole, of this version, and for this guest, machine and process.
 *
 * All checks read the file; nothing of it runs before they have passed. Those that need the guest wait until its image is
 * loaded (mr_library_open); the memory model must be known before there is a window to load it into (mr_library_examine).
 * Enters: a path. Leaves: an open library, or why it is unfit. The library that --library names must be fit; of others the
 * caller (store.c) keeps quiet.
 */
#include "lifted/library.h"

#include "base/checksum.h"
#include "base/host_thread.h"
#include "base/instructions.h"
#include "base/messages.h"
#include "base/options.h"
#include "cpu/fpu.h"
#include "cpu/model.h"
#include "host/host.h"
#include "lifted/caches.h"
#include "lifted/module.h"
#include "lifted/store.h"
#include "lifted/upcalls.h"
#include "memory/memory.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static struct mr_open_library *named; /* that of --library */

/* Returns a reason that lasts until the next one. */
__attribute__((format(printf, 1, 2))) static const char *reason(const char *format, ...)
{
    static _Thread_local char text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return text;
}

static const char *check_checksum(const struct mr_library_file *file)
{
    const uint8_t *footer = file->bytes + file->size_bytes - MR_FOOTER_BYTES;
    uint64_t expected;
    mr_library_file_read_all(file);
    memcpy(&expected, footer + 8, sizeof expected); /* of a little-endian host */
    if (mr_checksum(file->bytes, file->size_bytes - MR_FOOTER_BYTES) != expected)
        return "the library is damaged (its checksum is wrong); rebuild it";
    return NULL;
}

/* A copy of the producer's name that certainly ends. */
static const char *producer_of(const struct mr_library *table)
{
    static _Thread_local char name[sizeof table->producer + 1];
    memcpy(name, table->producer, sizeof table->producer);
    return name;
}

static const char *check_entry_count(const struct mr_open_library *library)
{
    size_t entries_bytes = library->table_bytes - sizeof *library->table;
    if (library->table->entry_count > entries_bytes / sizeof library->table->entries[0])
        return reason("the library is damaged (it says %u entries, but has room for %zu); rebuild it",
                      library->table->entry_count, entries_bytes / sizeof library->table->entries[0]);
    return NULL;
}

static const char *check_entries(const struct mr_library *table)
{
    for (uint32_t i = 0; i < table->entry_count; i++) {
        uint32_t pc = table->entries[i].guest_pc;
        if (!mr_may_be_code(pc) || pc >= 0x80000000u || (i > 0 && pc <= table->entries[i - 1].guest_pc))
            return reason("the library is damaged (entry %u is for guest pc 0x%08x); rebuild it", i, pc);
    }
    return NULL;
}

static const char *check_table(const struct mr_open_library *library)
{
    const struct mr_library *table = library->table;
    if (library->table_bytes < 2 * sizeof(uint32_t) || table->magic != MR_LIBRARY_MAGIC)
        return "not a library that mipsrec made (mr_library does not begin with its magic)";
    if (table->version != MR_LIBRARY_VERSION)
        return reason("the library has format version %u, this host reads version %u; rebuild it", table->version,
                      MR_LIBRARY_VERSION);
    if (library->table_bytes < sizeof *table)
        return "the library is damaged (mr_library is too short); rebuild it";
    if (table->layout != MR_STATE_LAYOUT)
        return reason("the library was made by %s for another layout of the guest's registers; rebuild it",
                      producer_of(table));
    if (table->memory_model > MR_THUNK)
        return reason("the library uses memory model %u, which this host does not know; rebuild it",
                      table->memory_model);
    if (table->call_model > MR_CALLS_INSTRUMENTED)
        return reason("the library uses call model %u, which this host does not know; rebuild it", table->call_model);
    return NULL;
}

const char *mr_library_check_file(struct mr_open_library *library, const char *path, bool whole)
{
    const char *wrong = mr_library_file_open(&library->file, path);
    if (wrong != NULL)
        return reason("cannot be used as a library: %s", wrong);
    struct mr_bytes constant = mr_library_file_symbol(&library->file, "mr_library", &library->table_address);
    if (constant.bytes == NULL)
        return "not a library that mipsrec made (it has no symbol mr_library)";
    if (memcmp(library->file.bytes + library->file.size_bytes - MR_FOOTER_BYTES, MR_FOOTER_MAGIC, 8) != 0)
        return "the library is truncated or was never finished (its footer is missing); rebuild it";
    library->table = (const struct mr_library *)(const void *)constant.bytes;
    library->table_bytes = constant.size_bytes;
    if (whole && (wrong = check_checksum(&library->file)) != NULL)
        return wrong;
    if ((wrong = check_table(library)) != NULL || (wrong = check_entry_count(library)) != NULL)
        return wrong;
    return whole ? check_entries(library->table) : NULL;
}

/* Whether code of a file may run, which the user has named: nobody else can have chosen what is in it (caches.c). What is not
 * there now is not looked for again: another user may show a file and hide it. */
static const char *check_trust(const char *path, char real[PATH_MAX])
{
    const char *wrong = mr_options.trust_library ? NULL : mr_distrust(path, real);
    struct stat status;
    if (wrong != NULL && stat(path, &status) != 0)
        return strerror(errno);
    if (wrong != NULL)
        return reason("%s, so its code does not run; make it anew where only you can write, or give --trust-library", wrong);
    return NULL;
}

struct mr_open_library *mr_library_examine(const char *path, bool to_run)
{
    static struct mr_open_library library;
    char real[PATH_MAX] = "";
    const char *wrong = to_run ? check_trust(path, real) : NULL;
    if (wrong == NULL) /* the real path is the one that was found right */
        wrong = mr_library_check_file(&library, *real != 0 ? real : path, true);
    if (wrong != NULL)
        mr_fail("%s: %s", path, wrong);
    return named = &library;
}

const char *mr_library_check_process(const struct mr_library *table)
{
    bool fr = mr_main_state->fr != 0, nan2008 = (mr_main_state->fcsr & MR_FCSR_NAN2008) != 0;
    if (table->fr != (uint32_t)fr)
        return reason("the library was made for floating-point mode FR=%u, but the program runs with FR=%u; rebuild it",
                      table->fr, (unsigned)fr);
    if (table->nan2008 != (uint32_t)nan2008)
        return "the library was made for another encoding of NaNs than the program's; rebuild it";
    if (table->cpu_level > mr_host_cpu_level()) {
        char name[MR_CPU_NAME_BYTES];
        mr_host_cpu_name(table->cpu_level, name);
        return reason("the library needs a processor of level %s, this one has level %u; rebuild it here, or with "
                      "--cpu generic", name, mr_host_cpu_level());
    }
    if (table->memory_model == MR_FLAT && mr_window != NULL)
        return "the library has memory model flat, which needs the guest's memory at host address 0, and here it is "
               "elsewhere; rebuild it with --memory paged";
    if (table->memory_model == MR_PAGED && mr_main_state->read_pages == NULL)
        return "the library has memory model paged, but the program runs without page tables; rebuild it";
    return NULL;
}

/* Prints a line that begins with a name; the maker of the file chose the text, which may have no end of its own. */
static void print_fact(const char *name, const char *text, size_t most_bytes)
{
    char whole[PATH_MAX], shown[4 * PATH_MAX + 8];
    snprintf(whole, sizeof whole, "%.*s", (int)most_bytes, text);
    mr_write_out(whole, shown, sizeof shown);
    printf("%-18s %s\n", name, shown);
}

void mr_library_describe(const char *path)
{
    static const char *const models[] = {MR_MEMORY_MODEL_NAMES};
    char cpu_name[MR_CPU_NAME_BYTES];
    const struct mr_open_library *library = mr_library_examine(path, false);
    const struct mr_library read = *library->table, *table = &read; /* others may write the file that is described */
    print_fact("path", path, PATH_MAX);
    print_fact("producer", table->producer, sizeof table->producer);
    print_fact("options", table->options, sizeof table->options);
    printf("memory             %s\n", table->memory_model < sizeof models / sizeof *models ? models[table->memory_model] : "?");
    mr_host_cpu_name(table->cpu_level, cpu_name);
    print_fact("cpu", cpu_name, sizeof cpu_name);
    print_fact("guest name", table->guest_name, sizeof table->guest_name);
    printf("guest identity     ");
    for (size_t i = 0; i < sizeof table->guest_identity; i++)
        printf("%02x", table->guest_identity[i]);
    printf("\nguest bias         0x%08x%s\nguest float        FR=%u\nentries            %u\nbytes              %zu\n",
           table->bias, table->relocatable != 0 ? " or any other" : "", table->fr, table->entry_count,
           library->file.size_bytes);
}

void mr_library_open(const char *path, const struct mr_image *image)
{
    const struct mr_library *table = named->table;
    if (memcmp(table->guest_identity, image->identity, sizeof image->identity) != 0)
        mr_fail("%s: the library was made for another program than %s; rebuild it", path, mr_options.program_path);
    if (table->relocatable == 0 && table->bias != image->bias)
        mr_fail("%s: the library was made for a program loaded at 0x%08x, but it was loaded at 0x%08x; rebuild it",
                path, table->bias, image->bias);
    const char *wrong = mr_library_check_process(table);
    enum mr_code_kind kind = mr_code_kind_of(1);
    if (wrong == NULL && kind == MR_COUNTING_CODE && table->counts == 0)
        wrong = "the library does not count decisions; rebuild it with --cover";
    if (wrong == NULL && kind == MR_NO_CODE)
        wrong = "recompiled code counts in all of its file, not in ranges alone; leave out the library or the ranges";
    if (wrong == NULL)
        wrong = mr_module_bind(named, image->bias - table->bias, mr_options.program_path);
    if (wrong != NULL && mr_cpu_lacks(named->modules)) /* it is fit for other processors */
        mr_store_refused(mr_options.program_path, wrong);
    else if (wrong != NULL)
        mr_fail("%s: %s", path, wrong);
}
