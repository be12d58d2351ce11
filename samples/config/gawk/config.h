/* What configure of gawk would find, as far as the workload asks: no shared extensions, sockets, message catalogues. */
#define _GNU_SOURCE 1
#define GAWK 1
#define STDC_HEADERS 1
#define PACKAGE "gawk"
#define PACKAGE_STRING "GNU Awk"
#define PACKAGE_BUGREPORT ""
#define VERSION "5.2.1"
#define DEFPATH "."
#define DEFLIBPATH "."
#define SHLIBEXT "so"
#define LOCALEDIR "/"
#define GETGROUPS_T gid_t
#define GETPGRP_VOID 1
#define SIZEOF_UNSIGNED_INT __SIZEOF_INT__
#define SIZEOF_UNSIGNED_LONG __SIZEOF_LONG__

#define HAVE_FCNTL_H 1
#define HAVE_INTTYPES_H 1
#define HAVE_LIMITS_H 1
#define HAVE_LOCALE_H 1
#define HAVE_STDINT_H 1
#define HAVE_STRINGS_H 1
#define HAVE_STRING_H 1
#define HAVE_SYS_IOCTL_H 1
#define HAVE_SYS_PARAM_H 1
#define HAVE_SYS_SELECT_H 1
#define HAVE_SYS_TIME_H 1
#define HAVE_SYS_WAIT_H 1
#define HAVE_TERMIOS_H 1
#define HAVE_UNISTD_H 1

#define HAVE_DECL_ISBLANK 1
#define HAVE_FMOD 1
#define HAVE_FWRITE_UNLOCKED 1
#define HAVE_GETGROUPS 1
#define HAVE_INLINE 1
#define HAVE_ISBLANK 1
#define HAVE_ISINF 1
#define HAVE_ISNAN 1
#define HAVE_MEMCMP 1
#define HAVE_MEMCPY 1
#define HAVE_MEMMOVE 1
#define HAVE_MEMSET 1
#define HAVE_MKTIME 1
#define HAVE_SETENV 1
#define HAVE_SETLOCALE 1
#define HAVE_SETSID 1
#define HAVE_SIGPROCMASK 1
#define HAVE_SNPRINTF 1
#define HAVE_STRCASECMP 1
#define HAVE_STRCHR 1
#define HAVE_STRCOLL 1
#define HAVE_STRERROR 1
#define HAVE_STRFTIME 1
#define HAVE_STRNCASECMP 1
#define HAVE_STRSIGNAL 1
#define HAVE_STRTOD 1
#define HAVE_STRTOUL 1
#define HAVE_STRUCT_STAT_ST_BLKSIZE 1
#define HAVE_SYSTEM 1
#define HAVE_TIMEGM 1
#define HAVE_TZSET 1
#define HAVE_UINTMAX_T 1
#define HAVE_USLEEP 1
#define HAVE_WAITPID 1
#define PRINTF_HAS_A_FORMAT 1
#define PRINTF_HAS_F_FORMAT 1
#define TIME_T_IN_SYS_TYPES_H 1

#include <stdbool.h>

#include <custom.h>
