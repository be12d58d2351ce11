/* Threads: what they compute, wait for and share. Each way to use them prints lines that are always the same. */
#include "threads.h"

#include <sys/mman.h>

#define WORKERS 4

void *start(void *(*body)(void *), uintptr_t argument)
{
    pthread_t thread;
    int error = pthread_create(&thread, NULL, body, (void *)argument);
    if (error) {
        printf("pthread_create: %s\n", strerror(error));
        exit(1);
    }
    return (void *)thread;
}

uintptr_t join(void *thread)
{
    void *result;
    int error = pthread_join((pthread_t)thread, &result);
    return error ? (uintptr_t)-1 : (uintptr_t)result;
}

static void run_all(void *(*body)(void *))
{
    void *threads[WORKERS];
    for (uintptr_t i = 0; i < WORKERS; i++)
        threads[i] = start(body, i);
    for (int i = 0; i < WORKERS; i++)
        join(threads[i]);
}

/* ---- values ---- */

void *square(void *argument)
{
    uintptr_t value = (uintptr_t)argument;
    if (value % 2)
        pthread_exit((void *)(value * value));
    return (void *)(value * value);
}

static void values(void)
{
    void *threads[20];
    for (uintptr_t i = 0; i < COUNT(threads); i++)
        threads[i] = start(square, i);
    for (int i = 0; i < (int)COUNT(threads); i++)
        printf("%d ", (int)join(threads[i]));
    int sum = 0;
    for (uintptr_t i = 0; i < 200; i++) /* one after another */
        sum += (int)join(start(square, i % 10));
    printf("\n%d\n", sum);
}

/* ---- a queue of one, with a mutex and two conditions ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static int place; /* 0: empty */
#define PIECES 2000

static void *produce(void *unused)
{
    for (int piece = 1; piece <= PIECES; piece++) {
        pthread_mutex_lock(&mutex);
        while (place)
            pthread_cond_wait(&emptied, &mutex);
        place = piece;
        pthread_cond_signal(&filled);
        pthread_mutex_unlock(&mutex);
    }
    return unused;
}

static void *consume(void *unused)
{
    uintptr_t sum = 0;
    (void)unused;
    for (int round = 0; round < PIECES; round++) {
        pthread_mutex_lock(&mutex);
        while (!place)
            pthread_cond_wait(&filled, &mutex);
        sum += (uintptr_t)place;
        place = 0;
        pthread_cond_signal(&emptied);
        pthread_mutex_unlock(&mutex);
    }
    return (void *)sum;
}

static void queue(void)
{
    void *producer = start(produce, 0), *consumer = start(consume, 0);
    printf("%d\n", (int)join(consumer));
    join(producer);
    struct timespec past = {1, 0};
    pthread_mutex_lock(&mutex);
    printf("%d\n", pthread_cond_timedwait(&filled, &mutex, &past) == ETIMEDOUT);
    pthread_mutex_unlock(&mutex);
}

/* ---- what each has for itself, and how they come together ---- */

static __thread int own = 7;
static pthread_key_t key;
static pthread_barrier_t barrier;
static atomic_int serial;
atomic_int destroyed;
static int owns[WORKERS];
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int initialised;

void destroy(void *value)
{
    destroyed += (int)(uintptr_t)value;
}

static void initialise(void)
{
    initialised++;
}

static void *use_own(void *argument)
{
    int number = (int)(uintptr_t)argument;
    double fraction = 1.0 / (number + 3);
    pthread_setspecific(key, (void *)(uintptr_t)(number + 1));
    for (int round = 0; round < 50; round++) {
        own += number + 1;
        pthread_once(&once, initialise);
        serial += pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
        fraction = fraction * 3 + errno;
        fraction -= (int)fraction;
    }
    owns[number] = own + (int)(uintptr_t)pthread_getspecific(key) + (fraction >= 0 && fraction < 1);
    return NULL;
}

static void locals(void)
{
    pthread_key_create(&key, destroy);
    pthread_barrier_init(&barrier, NULL, WORKERS);
    errno = 0;
    run_all(use_own);
    for (int i = 0; i < WORKERS; i++)
        printf("%d ", owns[i]);
    printf("%d %d %d %d\n", own, serial, destroyed, initialised);
}

/* ---- words that all change ---- */

static atomic_uint total, flips, busy;
static atomic_ushort half;
static unsigned guarded, greatest;
static _Atomic uint64_t wide; /* by a lock of libatomic, on this machine */
#define ROUNDS 20000

static void *hammer(void *argument)
{
    unsigned number = (unsigned)(uintptr_t)argument;
    for (unsigned round = 0; round < ROUNDS; round++) {
        total += number + 1;
        flips ^= 1u << (round % 32);
        half += 1;
        wide += 0x100000001;
        while (atomic_exchange_explicit(&busy, 1, memory_order_acquire)) /* a lock by hand */
            sched_yield();
        guarded++;
        atomic_store_explicit(&busy, 0, memory_order_release);
        unsigned seen = __atomic_load_n(&greatest, __ATOMIC_RELAXED);
        while (seen < round * WORKERS + number &&
               !__atomic_compare_exchange_n(&greatest, &seen, round * WORKERS + number, 0, __ATOMIC_SEQ_CST,
                                            __ATOMIC_SEQ_CST))
            ;
    }
    return NULL;
}

static void atomics(void)
{
    run_all(hammer);
    printf("%u %x %u %u %u %llx\n", total, flips, half, guarded, greatest, (unsigned long long)wide);
}

/* One thread waits in a loop for what another one writes, without calls. */
static volatile int ball;

static void *play(void *argument)
{
    int mine = (int)(uintptr_t)argument;
    for (int round = 0; round < 20; round++) {
        while (ball != mine)
            ;
        ball = !mine;
    }
    return NULL;
}

static void spinning(void)
{
    void *other = start(play, 1);
    play((void *)0);
    join(other);
    printf("%d\n", ball);
}

/* ---- memory ---- */

static void *allocate(void *argument)
{
    unsigned number = (unsigned)(uintptr_t)argument, wrong = 0;
    for (unsigned round = 1; round <= 150; round++) {
        size_t size = 4096 * (1 + (round * 7 + number) % 40);
        unsigned char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        unsigned char *piece = malloc(size / 3);
        memset(pages, (int)round, size);
        memset(piece, (int)number, size / 3);
        if (round % 3 == 0)
            pages = mremap(pages, size, size + 8192, MREMAP_MAYMOVE);
        mprotect(pages, 4096, PROT_READ);
        wrong += pages[0] != round % 256 || pages[size - 1] != round % 256 || piece[size / 6] != number;
        munmap(pages, round % 3 ? size : size + 8192);
        free(piece);
    }
    return (void *)(uintptr_t)wrong;
}

static void memory(void)
{
    void *threads[WORKERS];
    for (uintptr_t i = 0; i < WORKERS; i++)
        threads[i] = start(allocate, i);
    for (int i = 0; i < WORKERS; i++)
        printf("%d ", (int)join(threads[i]));
    printf("\n");
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    static const struct {
        const char *name;
        void (*run)(void);
    } ways[] = {{"values", values}, {"queue", queue}, {"locals", locals}, {"atomics", atomics}, {"spinning", spinning},
                {"memory", memory}, {"signals", signals}, {"cancels", cancels},
                {"owners", owners}, {"spawns", spawns}};
    for (size_t i = 0; i < COUNT(ways); i++)
        if (strcmp(way, ways[i].name) == 0)
            ways[i].run();
    if (strcmp(way, "processes") == 0)
        processes(argv[0]);
    ends(way);
    return 0;
}
