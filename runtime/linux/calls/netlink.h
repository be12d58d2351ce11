/* What netlink messages consist of, as tables: netlink_tables.c; netlink.c walks through them. */
#ifndef MR_NETLINK_H
#define MR_NETLINK_H

#include <stdbool.h>
#include <stdint.h>

struct mr_netlink_schema;

/* What an attribute holds: a structure or a number (layout), attributes after it (nested), or, with neither, bytes that are
 * the same on both sides: text, hardware addresses, what is in network order. */
struct mr_netlink_attribute {
    uint16_t type;
    const char *layout;
    const struct mr_netlink_schema *nested;
};

/* Attributes whose contents depend on a name in the attribute before them, such as the kind of a device. */
struct mr_netlink_kind {
    uint16_t name_type; /* of the attribute with the name */
    const char *name;
    struct mr_netlink_attribute data;
};

struct mr_netlink_schema {
    const struct mr_netlink_attribute *rows; /* ends with a row of type MR_NETLINK_END */
    struct mr_netlink_attribute others;      /* what all types without a row are: lists */
    const struct mr_netlink_schema *more;    /* where to look for them first, or NULL */
    const struct mr_netlink_kind *kinds;     /* ends with a null name */
    uint32_t name_types;                     /* bit n: attribute n is such a name, and n + 1 what depends on it */
    bool records;                            /* no attributes, but records as those of struct rtnexthop */
};
#define MR_NETLINK_END 0xffff

/* A kind of message: its fixed part and the attributes after it. */
struct mr_netlink_message {
    uint8_t protocol;
    uint16_t first, last; /* types */
    int family;           /* the first byte of the fixed part; MR_ANY_FAMILY: all */
    enum { MR_BOTH_WAYS, MR_FROM_GUEST, MR_TO_GUEST } direction;
    const char *layout;
    const struct mr_netlink_schema *attributes;
};
#define MR_ANY_FAMILY (-1)

extern const struct mr_netlink_message mr_netlink_messages[]; /* ends with a null layout; the first that fits counts */
extern const struct mr_netlink_schema mr_netlink_error_attributes;

#endif
