/* Asks a fork server for one process after the other, as AFL++ does, and prints how many inputs a second it has had.
 *
 *     fuzz_client SECONDS memory|file INPUT... -- COMMAND
 *
 * Inputs are taken in turn. `memory`: they are handed over in shared memory. `file`: in a file, whose name takes the place of @@ in
 * the command. The map is cleared before each input and read behind it. The first half second does not count.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAP_BYTES = 65536, INPUT_BYTES = 1 << 20, MOST_INPUTS = 64, WORDS_FD = 198, ANSWERS_FD };
#define SHARES_INPUTS 0x81000000u /* FS_OPT_ENABLED and FS_OPT_SHDMEM_FUZZ of AFL++'s types.h, without the lowest bit */

static struct {
    uint8_t *bytes;
    uint32_t size_bytes;
} inputs[MOST_INPUTS];

static void end(const char *why)
{
    fprintf(stderr, "fuzz_client: %s\n", why);
    exit(1);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void *share(const char *variable, size_t size_bytes)
{
    char text[16];
    int number = shmget(IPC_PRIVATE, size_bytes, 0600);
    void *at = number < 0 ? (void *)-1 : shmat(number, NULL, 0);
    if (at == (void *)-1)
        end("no shared memory");
    shmctl(number, IPC_RMID, NULL); /* it stays while it is attached, and Linux lets others attach it */
    snprintf(text, sizeof text, "%d", number);
    setenv(variable, text, 1);
    return at;
}

static uint32_t hear(int answers)
{
    uint32_t word;
    if (read(answers, &word, sizeof word) != sizeof word)
        end("the fork server has ended");
    return word;
}

static void tell(int words, uint32_t word)
{
    if (write(words, &word, sizeof word) != sizeof word)
        end("the fork server does not listen");
}

static pid_t start(char **command, int input, int *words, int *answers)
{
    int to[2], from[2];
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0)
        end("no pipe");
    pid_t server = fork();
    if (server == 0) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        dup2(to[0], WORDS_FD), dup2(from[1], ANSWERS_FD);
        dup2(input, 0), dup2(null, 1), dup2(null, 2);
        execvp(command[0], command);
        _exit(127);
    }
    close(to[0]), close(from[1]);
    *words = to[1], *answers = from[0];
    return server;
}

static int read_inputs(char **names)
{
    int count = 0;
    for (; names[count] != NULL && strcmp(names[count], "--") != 0 && count < MOST_INPUTS; count++) {
        FILE *file = fopen(names[count], "rb");
        if (file == NULL)
            end("an input cannot be read");
        inputs[count].bytes = malloc(INPUT_BYTES);
        inputs[count].size_bytes = (uint32_t)fread(inputs[count].bytes, 1, INPUT_BYTES, file);
        fclose(file);
    }
    return count;
}

int main(int argc, char **words_given)
{
    if (argc < 6)
        end("usage: fuzz_client SECONDS memory|file INPUT... -- COMMAND");
    double seconds = atof(words_given[1]);
    int in_memory = strcmp(words_given[2], "memory") == 0, count = read_inputs(words_given + 3), words, answers;
    char **command = words_given + 3 + count + 1, name[] = "/tmp/fuzz_client.XXXXXX";
    int file = mkostemp(name, O_CLOEXEC);
    if (count == 0 || file < 0)
        end("no input, or no file for it");
    for (char **word = command; *word != NULL; word++)
        *word = strcmp(*word, "@@") == 0 ? name : *word;
    uint64_t *map = share("__AFL_SHM_ID", MAP_BYTES);
    uint8_t *memory = share("__AFL_SHM_FUZZ_ID", sizeof(uint32_t) + INPUT_BYTES);
    pid_t server = start(command, file, &words, &answers);
    uint32_t hello = hear(answers);
    if ((hello & SHARES_INPUTS) == SHARES_INPUTS)
        tell(words, hello);
    double begin = now() + 0.5, time;
    unsigned long done = 0, made = 0, crashed = 0, met = 0;
    uint32_t last = 0;
    for (unsigned long turn = 0; (time = now()) < begin + seconds; turn++) {
        const uint8_t *bytes = inputs[turn % (unsigned)count].bytes;
        uint32_t size_bytes = inputs[turn % (unsigned)count].size_bytes;
        memset(map, 0, MAP_BYTES);
        if (in_memory) {
            memcpy(memory, &size_bytes, sizeof size_bytes);
            memcpy(memory + sizeof size_bytes, bytes, size_bytes);
        } else if (pwrite(file, bytes, size_bytes, 0) != (ssize_t)size_bytes || ftruncate(file, size_bytes) != 0 ||
                   lseek(file, 0, SEEK_SET) != 0) {
            end("the file of the input cannot be written");
        }
        tell(words, 0);
        uint32_t process = hear(answers), status = hear(answers);
        for (unsigned i = 0; i < MAP_BYTES / sizeof *map; i++)
            met += map[i] != 0;
        if (time < begin)
            continue;
        made += process != last, done++, crashed += WIFSIGNALED(status);
        last = process;
    }
    kill(server, SIGKILL);
    unlink(name);
    printf("%.0f inputs/s, %lu processes, %lu crashes\n", (double)done / seconds, made, crashed);
    return met == 0 ? 1 : 0; /* nothing is counted: it is not the program */
}
