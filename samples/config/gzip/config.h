/* What configure of gzip would find, as far as packing and unpacking in memory ask. */
#define _GNU_SOURCE 1
#define STDC_HEADERS 1
#define HAVE_UNISTD_H 1
#define HAVE_STRING_H 1
#define _GL_ATTRIBUTE_CONST __attribute__((const))
#define _GL_ATTRIBUTE_PURE __attribute__((pure))
#define _GL_ATTRIBUTE_MALLOC __attribute__((malloc))
#define FALLTHROUGH __attribute__((fallthrough))
#define ATTRIBUTE_NONSTRING __attribute__((nonstring))
