/* bzip2's library, of its source package, packing text and unpacking it again: sorting, prefix codes. */
#include "packed_text.h"

#include <bzlib.h>

static char packed[TEXT_SIZE + TEXT_SIZE / 100 + 600], unpacked[TEXT_SIZE];

void bz_internal_error(int code)
{
    out_line_decimal("internal error", code);
}

int main(int argc, char **argv)
{
    uint32_t rounds = sample_begin(argc, argv, 1), hash = 0;
    unsigned packed_size = 0, size = 0;
    for (uint32_t round = 0; round < rounds; round++) {
        write_text(1 + round);
        packed_size = sizeof packed;
        size = sizeof unpacked;
        if (BZ2_bzBuffToBuffCompress(packed, &packed_size, (char *)text, TEXT_SIZE, 1 + round % 9, 0, 0) != BZ_OK
            || BZ2_bzBuffToBuffDecompress(unpacked, &size, packed, packed_size, 0, 0) != BZ_OK
            || size != TEXT_SIZE || memcmp(unpacked, text, TEXT_SIZE)) {
            out_string("bzip2 failed\n");
            return 1;
        }
        hash = hash_bytes(hash, (unsigned char *)packed, packed_size);
    }
    out_line_decimal("packed bytes", (int32_t)packed_size);
    return sample_end(hash);
}
