/* zstd's library, of its source package, packing text at several levels and unpacking it again. */
#include "packed_text.h"

#include <zstd.h>

static unsigned char packed[TEXT_SIZE + TEXT_SIZE / 100 + 600], unpacked[TEXT_SIZE];

int main(int argc, char **argv)
{
    static const int levels[] = {3, 1, 9, 6};
    uint32_t rounds = sample_begin(argc, argv, 4), hash = 0;
    size_t packed_size = 0;
    for (uint32_t round = 0; round < rounds; round++) {
        write_text(1 + round);
        packed_size = ZSTD_compress(packed, sizeof packed, text, TEXT_SIZE, levels[round % 4]);
        if (ZSTD_isError(packed_size)
            || ZSTD_decompress(unpacked, sizeof unpacked, packed, packed_size) != TEXT_SIZE
            || memcmp(unpacked, text, TEXT_SIZE)) {
            out_string("zstd failed\n");
            return 1;
        }
        hash = mix32(hash, (uint32_t)packed_size);
    }
    out_line_decimal("packed bytes", (int32_t)packed_size);
    return sample_end(hash_bytes(hash, packed, (uint32_t)packed_size));
}
