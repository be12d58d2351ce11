/* liblzma, of xz's source package, packing text at several levels and unpacking it again: match finders, a range coder. */
#include "packed_text.h"

#include <lzma.h>

static unsigned char packed[TEXT_SIZE + TEXT_SIZE / 100 + 600], unpacked[TEXT_SIZE];

/* Packs `text` and unpacks it; returns the packed size, 0 when that is not what it was. */
static size_t round_trip(uint32_t level)
{
    size_t packed_size = 0, read = 0, size = 0;
    uint64_t memory_limit = 1 << 28;
    if (lzma_easy_buffer_encode(level, LZMA_CHECK_CRC64, NULL, text, TEXT_SIZE, packed, &packed_size, sizeof packed)
            != LZMA_OK
        || lzma_stream_buffer_decode(&memory_limit, 0, NULL, packed, &read, packed_size, unpacked, &size, sizeof unpacked)
            != LZMA_OK
        || size != TEXT_SIZE || memcmp(unpacked, text, TEXT_SIZE))
        return 0;
    return packed_size;
}

int main(int argc, char **argv)
{
    static const uint32_t levels[] = {2, 0, 6, 1};
    uint32_t rounds = sample_begin(argc, argv, 3), hash = 0;
    size_t packed_size = 0;
    for (uint32_t round = 0; round < rounds; round++) {
        write_text(1 + round);
        packed_size = round_trip(levels[round % 4]);
        if (!packed_size) {
            out_string("xz failed\n");
            return 1;
        }
        hash = hash_bytes(hash, packed, (uint32_t)packed_size);
    }
    out_line_decimal("packed bytes", (int32_t)packed_size);
    return sample_end(hash);
}
