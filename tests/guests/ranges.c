/* Ranges of addresses that are not one mapping: what mremap, mprotect, msync, mincore do up to a hole, and what they answer. */
#include "show.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define PAGE 4096ul
#define ALL (~0ul & ~(PAGE - 1)) /* the most whole pages */
#define GROWS_UP 0x02000000
#ifdef __mips__
#define GROWS_DOWN_MAP 0x1000
#else
#define GROWS_DOWN_MAP 0x100
#endif

static int file;

/* Pages as the letters tell: w r n anonymous and private, in mappings of their own; s of the file, shared; f of the file, which
 * must not be written; . a hole. There are holes before and after. */
static char *pages(const char *letters)
{
    size_t count = strlen(letters);
    char *at = (char *)mmap(NULL, (count + 2) * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + PAGE;
    munmap(at - PAGE, (count + 2) * PAGE);
    int read_only = open("f", O_RDONLY);
    for (size_t i = 0; i < count; i++) {
        int prot = letters[i] == 'w' || letters[i] == 's' ? PROT_READ | PROT_WRITE : letters[i] == 'n' ? PROT_NONE : PROT_READ;
        int fd = letters[i] == 's' ? file : letters[i] == 'f' ? read_only : -1;
        if (letters[i] != '.')
            mmap(at + i * PAGE, PAGE, prot, MAP_FIXED | (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED), fd, i * PAGE);
    }
    close(read_only);
    return at;
}

/* What each page allows now, in the same letters: '.' may be none at all. */
static void tell(char *at, int count)
{
    int ends[2];
    pipe(ends);
    for (int i = 0; i < count; i++, at += PAGE) {
        int readable = write(ends[1], at, 1) == 1, writable = readable && read(ends[0], at, 1) == 1;
        char byte;
        if (readable && !writable)
            read(ends[0], &byte, 1);
        putchar(writable ? 'w' : readable ? 'r' : '.');
    }
    putchar('\n');
    close(ends[0]);
    close(ends[1]);
}

/* None of them may work. The C library does not hand on all. */
#define MOVES(at, old, new, flags, ...) SHOW(syscall(SYS_mremap, at, old, new, flags, ##__VA_ARGS__))

static void remap_where_nothing_is(void)
{
    char *hole = pages("."), *at = pages("w.");
    for (int flags = 0; flags <= MREMAP_MAYMOVE; flags += MREMAP_MAYMOVE) {
        MOVES(hole, PAGE, PAGE, flags);
        MOVES(hole, PAGE, 2 * PAGE, flags);
        MOVES(hole, 2 * PAGE, PAGE, flags);
        MOVES(hole, ALL, PAGE, flags);
        MOVES(hole, 0, PAGE, flags);
        MOVES(hole + 1, PAGE, PAGE, flags);
        MOVES(at, ALL, PAGE, flags); /* less, and where that ends is no address */
        MOVES(at, 0, PAGE, flags);   /* again, what is private */
        MOVES(at, PAGE, 0, flags);
        MOVES(at, PAGE, ~0ul, flags);
    }
    MOVES((void *)ALL, PAGE, PAGE, 0);
    SHOW((char *)mremap(at, 2 * PAGE, 2 * PAGE, 0) - at); /* nobody looks at the rest */
    SHOW((char *)mremap(at, 3 * PAGE, PAGE, 0) - at);
    MOVES(at, 2 * PAGE, 3 * PAGE, MREMAP_MAYMOVE);
    MOVES(hole, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);
    MOVES(at, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);
    MOVES(at, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP | MREMAP_FIXED, at + 1);
    MOVES(at, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP | MREMAP_FIXED, at);
    tell(at, 2);
}

static void remap_several(void)
{
    char *at = pages("wr.w"), *to = pages("ww");
    MOVES(at, 2 * PAGE, 3 * PAGE, 0);
    MOVES(at, 2 * PAGE, 3 * PAGE, MREMAP_MAYMOVE);
    MOVES(at, 2 * PAGE, 4 * PAGE, 0);
    MOVES(at, 2 * PAGE, 3 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to);
    MOVES(at, PAGE, 2 * PAGE, 0);
    tell(at, 4);
    SHOW((char *)mremap(at, 4 * PAGE, PAGE, 0) - at); /* which takes away all kinds */
    tell(at, 4);
    SHOW((char *)mremap(at, PAGE, 2 * PAGE, 0) - at);
    tell(at, 4);
}

static void remap_again(void)
{
    char *at = pages("ss"), *other;
    MOVES(at, 0, PAGE, 0);
    other = mremap(at + PAGE, 0, PAGE, MREMAP_MAYMOVE);
    strcpy(other, "seen in both");
    puts(at + PAGE);
    char *to = pages("w");
    SHOW((char *)mremap(at + PAGE, 0, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to) - to);
    puts(to);
    munmap(at, 2 * PAGE);
    puts(other);
    tell(other, 1);
}

static void protect_parts(void)
{
    char *at = pages("wrf.w");
    SHOW(mprotect(at, 5 * PAGE, PROT_READ | PROT_WRITE));
    tell(at, 5); /* what comes before the one that may not is changed */
    SHOW(mprotect(at + PAGE, 3 * PAGE, PROT_READ));
    tell(at, 5);
    SHOW(mprotect(at, ALL, PROT_READ));
    SHOW(mprotect(at, ~0ul, PROT_READ));
    SHOW(mprotect(at, ALL, 0x100));
    SHOW(mprotect(at + 1, 0, PROT_READ));
    SHOW(mprotect(at + 3 * PAGE, PAGE, PROT_READ));
    SHOW(mprotect(at + 3 * PAGE, 0, PROT_READ));
    tell(at, 5);
}

static void protect_growing(void)
{
    char *at = pages("wwww."), *low = at, on_stack[1];
    char *page = (char *)((uintptr_t)on_stack & ~(PAGE - 1));
    SHOW(mprotect(page, PAGE, PROT_READ | PROT_WRITE | PROT_GROWSDOWN));
    SHOW(mprotect(page, PAGE, PROT_READ | PROT_WRITE | GROWS_UP));
    SHOW(mprotect(at, PAGE, PROT_READ | PROT_GROWSDOWN));
    SHOW(mprotect(at, PAGE, PROT_READ | GROWS_UP));
    SHOW(mprotect(at, PAGE, PROT_READ | PROT_GROWSDOWN | GROWS_UP));
    SHOW(mprotect(at - PAGE, PAGE, PROT_READ | PROT_GROWSDOWN));
    SHOW(mprotect(at - PAGE, 2 * PAGE, PROT_READ | PROT_GROWSDOWN));
    SHOW(mprotect(at - PAGE, 2 * PAGE, PROT_READ | GROWS_UP));
    tell(at, 5);
    SHOW(mmap(NULL, PAGE, PROT_READ, MAP_SHARED | MAP_ANONYMOUS | GROWS_DOWN_MAP, -1, 0) == MAP_FAILED);
    mmap(at + PAGE, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | GROWS_DOWN_MAP, -1, 0);
    SHOW(mprotect(at + 2 * PAGE, PAGE, PROT_READ | PROT_GROWSDOWN));
    tell(at, 5);
}

static void sync_and_look(void)
{
    unsigned char in_core[8] = {9, 9, 9, 9, 9, 9, 9, 9};
    char *at = pages("sr.s"), back[20] = "";
    strcpy(at + 3 * PAGE, "behind a hole");
    SHOW(msync(at, 4 * PAGE, MS_SYNC));
    pread(file, back, 14, 3 * PAGE);
    puts(back);
    SHOW(msync(at, 2 * PAGE - 1, MS_SYNC));
    SHOW(msync(at + 2 * PAGE, PAGE, MS_ASYNC));
    SHOW(msync(at, ~0ul, MS_SYNC)); /* rounds up to 0 */
    SHOW(msync(at, ALL, MS_SYNC));
    SHOW(msync(at + 1, PAGE, MS_SYNC));
    SHOW(msync(at, PAGE, MS_SYNC | MS_ASYNC));
    SHOW(msync(at + 2 * PAGE, 0, MS_SYNC));
    SHOW(mincore(at, 4 * PAGE, in_core));
    printf("%d %d\n", in_core[0] & 1, in_core[2]);
    SHOW(mincore(at, 2 * PAGE - 1, in_core));
    SHOW(mincore(at, ALL, in_core));
    SHOW(mincore(at, ~0ul, in_core));
    SHOW(mincore(at + 1, ALL, in_core));
    SHOW(mincore(at, PAGE, BAD));
    SHOW(mincore(at + 2 * PAGE, PAGE, BAD));
    SHOW(mincore(at, 0, in_core));
    SHOW(madvise(at, 4 * PAGE, MADV_DONTFORK));
    SHOW(madvise(at, 4 * PAGE, MADV_DOFORK));
}

int main(void)
{
    file = open("f", O_RDWR | O_CREAT, 0600);
    ftruncate(file, 8 * PAGE);
    remap_where_nothing_is();
    remap_several();
    remap_again();
    protect_parts();
    protect_growing();
    sync_and_look();
    return 0;
}
