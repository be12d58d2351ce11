/* What configure of jq would find, as far as the workload asks: no regular expressions, no functions of libm. */
#define _GNU_SOURCE 1
#define HAVE_MKSTEMP 1
#define HAVE_MEMMEM 1
#define HAVE_ISATTY 1
#define HAVE_ALLOCA_H 1
#define HAVE_GMTIME_R 1
#define HAVE_TIMEGM 1
#define HAVE_STRPTIME 1
#define HAVE_STRFTIME 1
#define HAVE_TM_TM_GMT_OFF 1
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define IEEE_MC68k 1
#else
#define IEEE_8087 1
#endif

/* A static program has no list of users, and the linker would warn of it. */
#include <pwd.h>
#define getpwuid(user) ((struct passwd *)0)
