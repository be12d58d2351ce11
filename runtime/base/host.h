/* What the parts of the host share. One guest process, one address space, one `struct mr_state` per guest thread.
 *
 * The host maps the guest's 32-bit address space into one reserved window: guest address A is host address
 * mr_window + A, with the guest's own page protections. Lifted code of memory model `flat` has mr_window = 0 built in.
 */
#ifndef MR_HOST_H
#define MR_HOST_H

#include "mr_abi.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#define MR_FCSR_NAN2008 (1u << 18)
#define GPR(s, n) ((s)->gpr[n].value)

/* What all threads share and change: the guest's mappings and heap, its signal actions, remembered limits, the list of
 * threads. No guest memory may be accessed while it is held, since a fault there would abandon the frame that has it.
 * Reading one page's bits, dispatch entry or pointer to a page takes no lock. (memory.c) */
void mr_lock(void);
void mr_unlock(void);

/* ---- options (main.c) ---- */
struct mr_options {
    bool engine_interp;       /* no recompiled code */
    bool strace;              /* one line per system call on standard error */
    bool stats;               /* counters on standard error at the end */
    bool report;              /* registers and a disassembled line when a signal ends the guest */
    const char *library_path; /* the recompiled library, or NULL */
    const char *cache_path;   /* folder of mipsrec's cache, or NULL: wherever it is */
    const char *layers;       /* more folders like it, with colons between them, or NULL: as the environment says */
    const char *variant;      /* of the code in it, or NULL: the default */
    const char *compile_server; /* command that starts it (growth/aside.c), or NULL: none is asked */
    bool executed;            /* by a guest: no variable of the environment is for the host */
    const char *program_path; /* what was executed, as its caller calls it: a guest path, perhaps of a script */
    const char *program_name; /* what the guest sees as /proc/self/exe (program.c) */
    int program_fd, host_fd;  /* both opened by who executes this one, or -1 */
    const char *host_name;    /* how this host was called */
    char *host_words, *host_words_end; /* its whole command line, as the kernel laid it out */
    int guest_argc;
    char **guest_argv;
    char **guest_envp;        /* NULL-terminated */
    const char *call_function; /* run only this address (mipsrec call), or NULL */
    const char *profile_path; /* where samples go (profile.c), or NULL */
    uint32_t profile_rate;    /* of them in a second */
    bool dump_core;           /* when the host dies of a signal */
    bool registered;          /* the kernel starts this host for MIPS programs (binfmt_misc) */
    int verify_fd;            /* mipsrec verify: where its records go, or -1 */
    const char *gdb;          /* port or path at which the guest waits for a debugger, or NULL */
    const char *gdb_on_crash; /* the same for a guest that is about to die, or NULL */
    const char *gdb_handed_on; /* what the host before this one says of its debugger, or NULL */
    uint32_t verify_scan;     /* compare all memory every so many points; 0: now and then */
};
extern struct mr_options mr_options;

_Noreturn void mr_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints "mipsrec-host: ..." and exits with status 1. For errors of ours, never for guest behaviour. */

/* ---- guest memory (memory.c): the one door to it ---- */
/* Inaccessible, before and after the window. Lifted code adds displacements without wrapping at 32 bits, and may step
 * through memory so, ahead of an access that faults, as far as LLVM unrolls loops. */
#define MR_WINDOW_GUARD_BYTES ((uint64_t)16 << 20)

/* Bits of a page's entry. MR_SHARED: what other mappings of it write is seen there. */
enum { MR_READ = 1, MR_WRITE = 2, MR_EXEC = 4, MR_MAPPED = 8, MR_SHARED = 16 };

extern uint8_t *mr_window;            /* host address of guest address 0 */
extern uint8_t mr_pages[1u << 20];    /* MR_* bits of every guest page */
extern bool mr_big_endian;            /* byte order of the guest */

void mr_memory_reserve(bool identity); /* reserves the window; identity: at host address 0 */
/* The caller has mr_lock, once there are threads. All return 0 or a guest address on success, -errno (host numbering) on failure. Sizes are rounded up to pages. */
int64_t mr_map(uint32_t guest, uint32_t size_bytes, int prot, int host_flags, int fd, uint64_t offset, bool fixed);
int mr_unmap(uint32_t guest, uint32_t size_bytes);
int mr_protect(uint32_t guest, uint32_t size_bytes, int prot); /* prot: MR_READ | MR_WRITE | MR_EXEC */
/* As mremap(2); `to` is used only when fixed. The old range is gone when the address changes. */
int64_t mr_remap(uint32_t guest, uint32_t old_bytes, uint32_t new_bytes, bool may_move, bool fixed, uint32_t to);
/* The same with MREMAP_DONTUNMAP: the old range stays, without its contents. */
int64_t mr_remap_keeping(uint32_t guest, uint32_t size_bytes, bool fixed, uint32_t to);
/* Attaches a segment of System V shared memory as shmat(2) does, at an address that is a multiple of the alignment; 0: any.
 * It replaces what is there if `replaces`. */
int64_t mr_attach(int id, uint32_t guest, uint32_t alignment, uint32_t size_bytes, bool read_only, bool executable,
                  bool replaces);
int mr_detach(uint32_t guest, uint32_t size_bytes); /* what is left there of a segment that was attached at guest */
uint32_t mr_find_free(uint32_t size_bytes); /* address of a free range, the highest there is below mr_mmap_top, or 0 */
extern uint32_t mr_mmap_top;                /* where that search starts: below the stack and its guard */
void mr_memory_tables(struct mr_state *s);  /* model paged: makes s->read_pages and s->write_pages, kept up to date */
bool mr_accessible(uint32_t guest, uint32_t size_bytes, int prot); /* every page mapped with prot */

/* Host pointer to guest bytes that are all accessible with prot, or NULL (the caller answers EFAULT). Size 0 is fine. */
void *mr_guest_bytes(uint32_t guest, uint32_t size_bytes, int prot);
/* Host pointer to a guest string with its terminator inside readable memory, or NULL. */
const char *mr_guest_string(uint32_t guest);

/* Guest byte order, any alignment, plain host accesses: a fault raises the guest's signal (for the interpreter). */
static inline uint16_t mr_swap16(uint16_t v) { return mr_big_endian ? __builtin_bswap16(v) : v; }
static inline uint32_t mr_swap32(uint32_t v) { return mr_big_endian ? __builtin_bswap32(v) : v; }
static inline uint64_t mr_swap64(uint64_t v) { return mr_big_endian ? __builtin_bswap64(v) : v; }
/* Told of every store by mr_poke* and sc before it is made; NULL: nobody listens (verify/memory.c). */
extern void (*mr_store_watch)(uint32_t guest, uint32_t size_bytes);
static inline void mr_watch_store(uint32_t guest, uint32_t size_bytes)
{
    if (__builtin_expect(mr_store_watch != NULL, false))
        mr_store_watch(guest, size_bytes);
}

#define MR_DEFINE_ACCESS(bits, SWAP)                                                \
    static inline uint##bits##_t mr_peek##bits(uint32_t guest)                      \
    {                                                                               \
        uint##bits##_t value;                                                       \
        memcpy(&value, (const void *)((uintptr_t)mr_window + guest), sizeof value); \
        return SWAP(value);                                                         \
    }                                                                               \
    static inline void mr_poke##bits(uint32_t guest, uint##bits##_t value)          \
    {                                                                               \
        mr_watch_store(guest, sizeof value);                                        \
        value = SWAP(value);                                                        \
        memcpy((void *)((uintptr_t)mr_window + guest), &value, sizeof value);       \
    }

MR_DEFINE_ACCESS(8, )
MR_DEFINE_ACCESS(16, mr_swap16)
MR_DEFINE_ACCESS(32, mr_swap32)
MR_DEFINE_ACCESS(64, mr_swap64)

/* Stores into host-side images of guest structures, guest byte order. */
void mr_put16(void *to, uint16_t value);
void mr_put32(void *to, uint32_t value);
void mr_put64(void *to, uint64_t value);
uint16_t mr_get16(const void *from);
uint32_t mr_get32(const void *from);
uint64_t mr_get64(const void *from);

/* ---- loading (load.c, stack.c) ---- */
struct mr_image {
    uint32_t entry, phdr, phent, phnum; /* phdr: guest address of the program headers, or 0 */
    uint32_t start;                     /* where control begins: the interpreter's entry, or the program's */
    uint32_t interpreter_base;          /* load bias of the interpreter (AT_BASE), or 0 */
    uint32_t low, high;                 /* first and one past the last loaded byte */
    uint32_t bias;                      /* added to the addresses of an ET_DYN file */
    uint32_t flags;                     /* e_flags */
    uint32_t fp_abi;                    /* .MIPS.abiflags fp_abi, or 0 */
    bool nan2008;
    uint8_t identity[32];               /* BLAKE2b-256 of the file; set where somebody asks (mr_image_identify) */
    struct {
        uint32_t guest, size_bytes;
        uint64_t offset;
        int fd; /* open until mr_image_bind */
    } code[8];                          /* executable mappings of the program and its interpreter */
    uint32_t code_count;
};
void mr_load(const char *path, struct mr_image *image); /* fails with mr_fail on anything unfit */
void mr_image_identify(struct mr_image *image);         /* sets its identity; before mr_image_bind */
void mr_image_bind(struct mr_image *image);             /* binds code of the store to it; closes its files */
void mr_reserve_stack(void);                            /* before mr_load; sets mr_mmap_top */
uint32_t mr_build_stack(const struct mr_image *image);  /* returns the first sp */
extern uint32_t mr_brk_start; /* first page after the image */
extern bool mr_compressed_code; /* the program says that it holds MIPS16 or microMIPS code */

/* ---- libraries and control flow (library.c, dispatch.c) ---- */
bool mr_library_contains(uintptr_t host_pc);
uint32_t mr_library_guest_pc(uintptr_t host_pc); /* by the line table (lines.c); 0 when unknown */

/* Calls a lifted function, whose calling convention only its library knows. */
extern uint32_t (*mr_enter)(struct mr_state *s, mr_function function);
/* By pc >> 2, of every pc: the lifted function as a displacement from mr_fallback, 0 where there is none. */
extern int32_t *mr_dispatch;
extern uint8_t *mr_fallback; /* the start of all lifted code: a jump to the function that calls mr_call */
/* Whether the table lacks entries of a chunk of guest code that some module has; and puts them in (lifted/module.c). */
#define MR_CODE_CHUNK_SHIFT 16
extern uint8_t mr_code_pending[1u << (32 - MR_CODE_CHUNK_SHIFT)];
int32_t mr_dispatch_fill(uint32_t pc); /* returns the entry of pc then */
static inline mr_function mr_lookup(uint32_t pc)
{
    if ((pc & 3) != 0)
        return NULL;
    int32_t displacement = __atomic_load_n(&mr_dispatch[pc >> 2], __ATOMIC_RELAXED);
    if (displacement == 0 && __atomic_load_n(&mr_code_pending[pc >> MR_CODE_CHUNK_SHIFT], __ATOMIC_ACQUIRE) != 0)
        displacement = mr_dispatch_fill(pc);
    return displacement != 0 ? (mr_function)(uintptr_t)(mr_fallback + displacement) : NULL;
}

/* Runs from pc until pc == stop_pc, or until the guest's sp is above stop_sp after a jump; returns the pc then. */
uint32_t mr_run(struct mr_state *s, uint32_t pc, uint32_t stop_pc, uint32_t stop_sp);
/* Runs one instruction, with its delay slot; returns the pc to go on at. */
uint32_t mr_interpret_step(struct mr_state *s, uint32_t pc);
/* Runs the code that the baseline tier has of pc until it comes back; returns the pc to go on at. */
uint32_t mr_run_translated(struct mr_state *s, uint32_t pc);
/* Raises the address exceptions of jumps to misaligned places until a handler has a proper one; returns that. */
uint32_t mr_aligned(struct mr_state *s, uint32_t pc);

bool mr_has_delay_slot(uint32_t word); /* whether it is a branch or a jump */

/* The guest thread that the calling host thread runs, or NULL. */
extern _Thread_local struct mr_state *mr_current;
/* Runs guest thread s on the calling host thread from pc on, until mr_end_thread. Gives the host thread its alternate signal
 * stack and the point mr_restart comes back to; call it once per host thread, on a stack with a guard of MR_HOST_GUARD_BYTES
 * or more (host_stack.c, pthread_attr_setguardsize), so that overflow is the guest's SIGSEGV. */
void mr_run_thread(struct mr_state *s, uint32_t pc);
#define MR_HOST_GUARD_BYTES 0x100000u
/* Abandons every frame this guest thread has on the host stack, and returns from its mr_run_thread. Not for the main one. */
_Noreturn void mr_end_thread(struct mr_state *s);
/* Abandons every frame this guest thread has on the host stack and goes on at pc. The state must be complete. */
_Noreturn void mr_restart(struct mr_state *s, uint32_t pc);
/* Goes on at pc, or returns it, without frames of lifted code below, but for those that wait for the handler of a fault.
 * The state must be complete. */
uint32_t mr_leave_lifted(struct mr_state *s, uint32_t pc);
/* Under mr_lock, so that what another thread maps and binds there next stays. What lifted code was made of is no longer what
 * the guest has in [guest, guest + size_bytes): interpret from now on. */
void mr_code_forget(uint32_t guest, uint32_t size_bytes);
void mr_code_gone(uint32_t guest, uint32_t size_bytes); /* the same, where the mapping is gone or is another one */
void mr_code_flushed(uint32_t guest, uint32_t size_bytes); /* the guest says that it may have written code there */

/* ---- what recompiled code does through mr_abi.h, for the interpreter ---- */
void mr_ctc1(struct mr_state *s, uint32_t fs, uint32_t value);
/* Told of each value of the cycle counter, gives the one that the guest sees; NULL: nobody cares (verify.c). */
extern uint32_t (*mr_cycles_seen)(const struct mr_state *s, uint32_t cycles);

/* ---- the guest's end (fault.c, report.c) ---- */
void mr_faults_install(void); /* host handlers for SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP on an alternate stack */
/* Around execve: the next program finds these signals blocked or ignored as the guest has them; and it failed. */
void mr_faults_hand_on(void);
void mr_faults_take_back(void);
/* A synchronous signal: its MIPS number, si_code and si_addr, raised by the instruction at pc. Returns the pc to go on at,
 * that of the guest's handler; without a handler the guest dies. */
uint32_t mr_raise(struct mr_state *s, int mips_signal, int code, uint32_t pc, uint32_t address);
/* sys_signal.c: if the guest has a handler, makes its frame, puts the handler's pc in *new_pc and returns true. */
bool mr_signal_deliver(struct mr_state *s, int mips_signal, int code, uint32_t pc, uint32_t address, uint32_t *new_pc);
/* A signal the guest does not catch: optional report, then the host dies of the same signal. MIPS numbering. */
_Noreturn void mr_die_by_signal(struct mr_state *s, int mips_signal, uint32_t guest_pc, uint32_t address);
_Noreturn void mr_exit_guest(struct mr_state *s, int status); /* flushes --stats, exits */
void mr_report(struct mr_state *s, int mips_signal, uint32_t guest_pc, uint32_t address); /* to standard error */
void mr_disassemble(uint32_t pc, uint32_t word, char *text, size_t size_bytes);

struct mr_counters {
    uint64_t interpreted, interpreter_runs; /* instructions, and how often it began at one */
    uint64_t dispatches;                    /* functions called, and runs of the interpreter, by mr_run */
    uint64_t syscalls, unknown_syscalls, unknown_ioctls;
};
extern _Thread_local struct mr_counters mr_counters;
void mr_code_file_interpreted(uint32_t pc, uint64_t instructions); /* --stats: that end at pc (lifted/code_files.c) */
void mr_code_files_forked(void); /* --stats, in a new process: nothing has been counted */
extern struct mr_state *mr_main_state;

#endif
