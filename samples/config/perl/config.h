/*
 * What configure of perl would find: the package's own uconfig.h, which asks for little, with types as they are here.
 * Integers have 64 bits for all targets, as in Debian's perl.
 */
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

#include <uconfig.h>

#undef LONGSIZE
#undef PTRSIZE
#undef SSize_t
#undef Uid_t
#undef Gid_t
#undef Signal_t
#undef MEM_ALIGNBYTES
#undef BYTEORDER
#define LONGSIZE __SIZEOF_LONG__
#define PTRSIZE __SIZEOF_POINTER__
#define SSize_t ssize_t
#define Uid_t uid_t
#define Gid_t gid_t
#define Signal_t void
#define MEM_ALIGNBYTES 8
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define BYTEORDER 0x87654321
#else
#define BYTEORDER 0x12345678
#endif

#define HAS_PIPE 1
#define I_FCNTL 1
#define I_SYS_WAIT 1
#define USE_PERLIO 1
#define USE_64_BIT_INT 1
#define HAS_QUAD 1
#define HAS_LONG_LONG 1
#define Quad_t int64_t
#define Uquad_t uint64_t
#define QUADKIND 4
#define I64TYPE int64_t
#define U64TYPE uint64_t
#define I64SIZE 8
#define U64SIZE 8
#define LONGLONGSIZE 8

#undef I32TYPE
#undef U32TYPE
#undef IVTYPE
#undef UVTYPE
#undef IVSIZE
#undef UVSIZE
#undef NV_PRESERVES_UV_BITS
#undef NV_ZERO_IS_ALLBITS_ZERO
#undef IVdf
#undef UVuf
#undef UVof
#undef UVxf
#undef UVXf
#define I32TYPE int
#define U32TYPE unsigned int
#define IVTYPE long long
#define UVTYPE unsigned long long
#define IVSIZE 8
#define UVSIZE 8
#define NV_PRESERVES_UV_BITS 53
#define NV_ZERO_IS_ALLBITS_ZERO 1
#define IVdf "lld"
#define UVuf "llu"
#define UVof "llo"
#define UVxf "llx"
#define UVXf "llX"

/* Names are hashed in the same way in every run. */
#define NO_HASH_SEED 1
