/* What SoftFloat and TestFloat want to know of the machine they are compiled for: MIPS32, either byte order. */
#ifdef __MIPSEL__
#define LITTLEENDIAN 1
#endif
#define INLINE static inline
#define INLINE_LEVEL 5
#define SOFTFLOAT_FAST_DIV64TO32
#define SOFTFLOAT_BUILTIN_CLZ 1
#include "opts-GCC.h"
