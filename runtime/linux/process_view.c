/* How other processes see this one: under the guest's name, with the guest's arguments and environment.
 *
 * The kernel is told that the arguments and the environment are the strings on the guest's stack (PR_SET_MM_MAP). So
 * /proc/PID/cmdline shows them as on a MIPS machine, also after the program has changed them there. Where the kernel was
 * built without CONFIG_CHECKPOINT_RESTORE, they are copied over the host's own arguments, as far as there is room.
 */
#include "base/kernel_proc.h"
#include "base/options.h"
#include "linux/program.h"
#include "memory/values.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

struct mr_guest_strings mr_guest_strings;

/* ---- where the strings are ---- */

/* The pointers from *at on, up to a null one: the first string and the end of the last, or twice the same. Leaves *at behind
 * them. The strings lie side by side. */
static void find_strings(uint32_t *at, uint32_t *first, uint32_t *end)
{
    uint32_t pointer = 0, last = 0;
    *first = 0;
    while (mr_read32(*at, &pointer) == 0 && pointer != 0) {
        *first = *first ? *first : pointer;
        last = pointer;
        *at += 4;
    }
    *at += 4;
    const char *text = last ? mr_guest_string(last) : NULL;
    *end = text ? last + (uint32_t)strlen(text) + 1 : *first;
}

/* ---- telling the kernel ---- */

/* Fields of /proc/PID/stat, counted from 1: see proc_pid_stat(5). */
enum { START_CODE = 26, END_CODE = 27, START_STACK = 28, START_DATA = 45, END_DATA = 46, START_BRK = 47, STAT_FIELDS = 52 };

/* Reads the numbers of the host's own line. */
static bool read_stat(unsigned long long field[STAT_FIELDS + 1])
{
    char text[1024], path[MR_PROC_ROOM];
    int proc = mr_proc_at(path, "self/stat"), fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[length < 0 ? 0 : length] = 0;
    char *at = strrchr(text, ')'); /* ends the name, field 2 */
    if (at == NULL)
        return false;
    at += strlen(") S"); /* field 3 is a letter */
    for (int i = 4; i <= STAT_FIELDS; i++)
        field[i] = strtoull(at, &at, 10);
    return field[START_CODE] > 1; /* else the kernel hides it */
}

static uint64_t host_address(uint32_t guest)
{
    return (uintptr_t)mr_window + (uint64_t)guest;
}

static bool tell_kernel(void)
{
    unsigned long long field[STAT_FIELDS + 1];
    if (!read_stat(field))
        return false;
    const struct prctl_mm_map map = {
        .start_code = field[START_CODE],
        .end_code = field[END_CODE],
        .start_data = field[START_DATA],
        .end_data = field[END_DATA],
        .start_brk = field[START_BRK],
        .brk = (uintptr_t)sbrk(0),
        .start_stack = field[START_STACK],
        .arg_start = host_address(mr_guest_strings.arguments),
        .arg_end = host_address(mr_guest_strings.arguments_end),
        .env_start = host_address(mr_guest_strings.environment),
        .env_end = host_address(mr_guest_strings.environment_end),
        .exe_fd = (uint32_t)-1,
    };
    return prctl(PR_SET_MM, PR_SET_MM_MAP, &map, sizeof map, 0) == 0;
}

/* Without it. Where the guest's are shorter, they seem to end with empty ones. */
static void overwrite_arguments(void)
{
    size_t room = (size_t)(mr_options.host_words_end - mr_options.host_words);
    uint32_t length = mr_guest_strings.arguments_end - mr_guest_strings.arguments;
    const void *from = mr_guest_bytes(mr_guest_strings.arguments, length, MR_READ);
    memset(mr_options.host_words, 0, room);
    if (from)
        memcpy(mr_options.host_words, from, length < room ? length : room);
}

/* The last component of the path that was executed, as begin_new_exec of fs/exec.c sets it. The kernel cuts it off. */
static void set_task_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    prctl(PR_SET_NAME, slash ? slash + 1 : path);
}

void mr_process_show(uint32_t sp)
{
    uint32_t at = sp + 4;
    mr_guest_strings.stack = sp;
    find_strings(&at, &mr_guest_strings.arguments, &mr_guest_strings.arguments_end);
    find_strings(&at, &mr_guest_strings.environment, &mr_guest_strings.environment_end);
    if (mr_guest_strings.environment == 0)
        mr_guest_strings.environment = mr_guest_strings.environment_end = mr_guest_strings.arguments_end;
    set_task_name(mr_options.program_path);
    if (!tell_kernel())
        overwrite_arguments();
}
