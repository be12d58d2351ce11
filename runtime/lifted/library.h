/* What a recompiled library exports: one constant `mr_library`. mipsrec/linking.py writes it; library.c checks it. */
#ifndef MR_LIBRARY_H
#define MR_LIBRARY_H

#include <stdint.h>

#define MR_LIBRARY_MAGIC 0x4352494du /* "MIRC" */
#define MR_LIBRARY_VERSION 3u
#define MR_LIBRARY_SEGMENTS 4u

enum mr_memory_model { MR_FLAT = 0, MR_PAGED = 1, MR_THUNK = 2 };

struct mr_entry {
    uint32_t guest_pc;
    int32_t function; /* host code, as a displacement from the address of this field */
};

/* An executable part of the guest's file: it is mapped from `offset` of the file to `guest`, plus the delta. */
struct mr_library_segment {
    uint32_t guest, offset, size_bytes;
};

struct mr_library {
    uint32_t magic, version;
    uint32_t layout;         /* MR_STATE_LAYOUT the code was made for */
    uint32_t memory_model;
    uint32_t cpu_level;      /* 1: any x86-64, 2, 3, 4: x86-64-vN; 0 on other machines */
    uint32_t bias;           /* load bias of an ET_DYN guest that guest pcs here include */
    uint32_t fr;             /* Status.FR the code was made for */
    uint32_t nan2008;        /* whether the code was made for NaNs of IEEE 754-2008 */
    uint32_t relocatable;    /* 1: the guest's file may be loaded with any bias (see delta) */
    uint32_t entry_count;
    int32_t enter;           /* mr_enter, as a displacement from the address of this field */
    int32_t fallback;        /* the lifted function that calls mr_call, likewise */
    int32_t delta;           /* of relocatable code, likewise: a word, to be the actual bias minus `bias` */
    int32_t pcs, pcs_end;    /* likewise: guest pcs that the delta is to be added to; from the field `pcs` both */
    struct mr_library_segment segments[MR_LIBRARY_SEGMENTS]; /* those that are not used have no bytes */
    uint8_t guest_identity[32]; /* BLAKE2b-256 of the guest's file */
    char producer[64];       /* "mipsrec 0.1.0", NUL-padded */
    char options[64];        /* "--opt 2 --cpu x86-64-v3 --memory flat --calls direct", NUL-padded */
    struct mr_entry entries[]; /* entry_count of them, sorted by guest_pc */
};

#endif
