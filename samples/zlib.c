/* zlib, of its source package, packing text at several levels and unpacking it again: hash chains, prefix codes, CRC. */
#include "packed_text.h"

#include <zlib.h>

static unsigned char packed[TEXT_SIZE + TEXT_SIZE / 100 + 600], unpacked[TEXT_SIZE];

int main(int argc, char **argv)
{
    static const int levels[] = {6, 1, 9, 4};
    uint32_t rounds = sample_begin(argc, argv, 4), hash = 0;
    uLongf packed_size = 0, size = 0;
    for (uint32_t round = 0; round < rounds; round++) {
        write_text(1 + round);
        packed_size = sizeof packed;
        size = sizeof unpacked;
        if (compress2(packed, &packed_size, text, TEXT_SIZE, levels[round % 4]) != Z_OK
            || uncompress(unpacked, &size, packed, packed_size) != Z_OK
            || size != TEXT_SIZE || memcmp(unpacked, text, TEXT_SIZE)) {
            out_string("zlib failed\n");
            return 1;
        }
        hash = hash_bytes(hash, packed, (uint32_t)packed_size);
        hash = mix32(hash, (uint32_t)crc32(0, unpacked, TEXT_SIZE));
    }
    out_line_decimal("packed bytes", (int32_t)packed_size);
    return sample_end(hash);
}
