/* One fault of the heap for each number; 0 has none. The native build under AddressSanitizer finds the same ones. */
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEPT __attribute__((noinline, noclone))

struct node {
    int value[4];
};

static volatile int sum;

KEPT static char *make(unsigned size_bytes) { return malloc(size_bytes); }
KEPT static void drop(void *block) { free(block); }
KEPT static void store(volatile char *at) { *at = 1; }
KEPT static void load(volatile char *at) { sum += *at; }
KEPT static void store_word(volatile int *at) { *at = 1; }
KEPT static void store_double(volatile double *at) { *at = 1.5; }

/* No allocator's, in spite of its name. */
KEPT static int cfree(int *numbers, int number) { numbers[1] = number; return number; }

static void *work(void *seed)
{
    for (int i = 0; i < 2000; i++) {
        char *block = make((unsigned)(i % 90 + 1));
        memset(block, (int)(size_t)seed, (size_t)(i % 90 + 1));
        drop(realloc(block, (size_t)(i % 50 + 1)));
    }
    return NULL;
}

/* Uses all of the allocator's functions as they are meant. */
static void behave(void)
{
    pthread_t threads[3];
    void *aligned = NULL;
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, work, (void *)(size_t)(i + 1));
    for (int i = 1; i < 3000; i += 7) {
        char *block = make((unsigned)i), *zeros = calloc((size_t)i, 3);
        memset(block, 'a', (size_t)i - 1);
        block[i - 1] = 0;
        for (int k = 0; k < 3 * i; k++)
            sum += zeros[k];
        block = realloc(block, (size_t)(2 * i));
        sum += (int)strlen(block) - (i - 1) + (strchr(block, 'b') != NULL) + (int)strcspn(block, "bcd") - (i - 1);
        drop(block);
        drop(zeros);
    }
    for (unsigned alignment = 8; alignment <= 4096; alignment *= 2) {
        sum += posix_memalign(&aligned, alignment, 100) + (int)((size_t)aligned % alignment);
        memset(aligned, 0, malloc_usable_size(aligned) < 100 ? 0 : 100);
        drop(aligned);
        aligned = memalign(alignment, 33);
        sum += (int)((size_t)aligned % alignment);
        drop(aligned);
    }
    char *large = make(1000000);
    large[0] = large[999999] = 1;
    drop(large);
    for (unsigned i = 1; i < 300; i++) { /* 11 GB in all, of which one block at a time lives */
        large = make(i << 18);
        sum += large == NULL;
        store(large);
        drop(large);
    }
#ifdef __mips__
    aligned = memalign(24, 10); /* becomes 32; AddressSanitizer refuses it */
    sum += aligned == NULL || (size_t)aligned % 32 != 0;
    drop(aligned);
#endif
    int numbers[2];
    sum += cfree(numbers, 3) - numbers[1];
    drop(NULL);
    sum += calloc(0x10001, 0x10000) != NULL && sizeof(size_t) == 4;
    pid_t child = fork();
    if (child == 0) {
        drop(make(10));
        _exit(sum);
    }
    int status = 1;
    waitpid(child, &status, 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    printf("behaved %d %d\n", sum, status);
}

int main(int argc, char **argv)
{
    int local;
    char *block = make(21);
    struct node *nodes = calloc(4, sizeof *nodes);
    strcpy(block, "hello");
    switch (argc > 1 ? atoi(argv[1]) : 0) {
    case 0: behave(); break;
    case 1: store(block + 21); break;
    case 2: load(block - 1); break;
    case 3: drop(block); load(block + 3); break;
    case 4: drop(block); drop(block); break;
    case 5: drop(block + 8); break;
    case 6: store_word(&nodes[4].value[0]); break;
    case 7: sum += (int)read(open("/dev/zero", O_RDONLY), block, 30); break;
    case 8: store((char *)memalign(64, 100) + 100); break;
    case 9: memcpy(block + 10, "0123456789abcdef", (size_t)argc + 10); break;
    case 10: store(make(300000) + 300000); break;
    case 11: drop((char *)&local); break;
    case 12: store_double((double *)(void *)make(20) + 2); break;
    case 13: block = realloc(block, 5); load(block + 5); break;
    case 14: drop(block); sum += (int)write(1, block, 4); break;
    case 15: sum += (int)readv(open("/dev/zero", O_RDONLY), &(struct iovec){block, 30}, 1); break;
    case 16: drop(block); sum += (int)writev(1, &(struct iovec){block, 4}, 1); break;
    default: break;
    }
    printf("end\n");
    return 0;
}
