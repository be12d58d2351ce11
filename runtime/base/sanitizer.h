/* Whether AddressSanitizer watches this host. */
#ifndef MR_BASE_SANITIZER_H
#define MR_BASE_SANITIZER_H

#if defined(__SANITIZE_ADDRESS__)
#define MR_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MR_ADDRESS_SANITIZER 1
#endif
#endif
#ifndef MR_ADDRESS_SANITIZER
#define MR_ADDRESS_SANITIZER 0
#endif

#endif
