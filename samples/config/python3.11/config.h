/*
 * What configure of Python would find: what it finds natively, in pyconfig.h of the package's folder, with sizes and
 * the byte order asked of the compiler, and without what only some targets have.
 */
#include <pyconfig.h>

#undef SIZEOF_LONG
#undef SIZEOF_LONG_DOUBLE
#undef SIZEOF_OFF_T
#undef SIZEOF_PTHREAD_T
#undef SIZEOF_SIZE_T
#undef SIZEOF_TIME_T
#undef SIZEOF_UINTPTR_T
#undef SIZEOF_VOID_P
#undef ALIGNOF_LONG
#undef ALIGNOF_SIZE_T
#undef ALIGNOF_MAX_ALIGN_T
#define SIZEOF_LONG __SIZEOF_LONG__
#define SIZEOF_LONG_DOUBLE __SIZEOF_LONG_DOUBLE__
#define SIZEOF_OFF_T 8
#define SIZEOF_PTHREAD_T __SIZEOF_POINTER__
#define SIZEOF_SIZE_T __SIZEOF_SIZE_T__
#define SIZEOF_TIME_T __SIZEOF_LONG__
#define SIZEOF_UINTPTR_T __SIZEOF_POINTER__
#define SIZEOF_VOID_P __SIZEOF_POINTER__
#define ALIGNOF_LONG __SIZEOF_LONG__
#define ALIGNOF_SIZE_T __SIZEOF_SIZE_T__
#define ALIGNOF_MAX_ALIGN_T __BIGGEST_ALIGNMENT__
#undef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64

#undef DOUBLE_IS_LITTLE_ENDIAN_IEEE754
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define WORDS_BIGENDIAN 1
#define DOUBLE_IS_BIG_ENDIAN_IEEE754 1
#else
#define DOUBLE_IS_LITTLE_ENDIAN_IEEE754 1
#endif

#undef HAVE_GCC_ASM_FOR_X64
#undef HAVE_GCC_ASM_FOR_X87
#undef HAVE_GCC_UINT128_T

/* Large numbers have the same digits for all targets, as in later versions. */
#define PYLONG_BITS_IN_DIGIT 30

/* A static program loads no modules, and asks no name service. */
#undef HAVE_DYNAMIC_LOADING
#undef HAVE_GETGROUPLIST
#undef HAVE_INITGROUPS

/* What the makefile of the package defines. */
#define ABIFLAGS ""
#define EXEC_PREFIX "/usr"
#define MULTIARCH "none"
#define PLATLIBDIR "lib"
#define PREFIX "/usr"
#define PYTHONFRAMEWORK ""
#define PYTHONPATH ""
#define VERSION "3.11"
#define VPATH ""
