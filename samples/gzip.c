/*
 * gzip's own deflate and inflate, of its source package, packing text and unpacking it again.
 *
 * What gzip.c and util.c of the package have for them is here: buffers, and input and output, which are in memory.
 */
#include <stdlib.h>

#include <tailor.h>

#include <gzip.h>
#include <lzw.h>

#include "packed_text.h"

DECLARE(uch, inbuf, INBUFSIZ + INBUF_EXTRA);
DECLARE(uch, outbuf, OUTBUFSIZ + OUTBUF_EXTRA);
DECLARE(ush, d_buf, DIST_BUFSIZE);
DECLARE(uch, window, 2L * WSIZE);
DECLARE(ush, tab_prefix, 1L << BITS);

unsigned insize, inptr, outcnt;
off_t bytes_in, bytes_out, header_bytes, ifile_size = -1;
int rsync, level, test, quiet, exit_code, method = DEFLATED, ifd, ofd, save_orig_name, to_stdout;
struct timespec time_stamp;

static unsigned char unpacked[TEXT_SIZE];
static uint32_t text_used, packed_size, unpacked_size, wrong;

static int read_text(char *buffer, unsigned size)
{
    unsigned count = TEXT_SIZE - text_used < size ? TEXT_SIZE - text_used : size;
    memcpy(buffer, text + text_used, count);
    text_used += count;
    bytes_in += count;
    return (int)count;
}

int file_read(char *buffer, unsigned size)
{
    return read_text(buffer, size);
}

/* The packed text goes where unpacking takes it from. */
void flush_outbuf(void)
{
    if (packed_size + outcnt > INBUFSIZ)
        gzip_error("no room for what is packed");
    memcpy(inbuf + packed_size, outbuf, outcnt);
    packed_size += outcnt;
    outcnt = 0;
}

void flush_window(void)
{
    wrong |= unpacked_size + outcnt > TEXT_SIZE;
    if (!wrong)
        memcpy(unpacked + unpacked_size, window, outcnt);
    unpacked_size += outcnt;
    outcnt = 0;
}

int fill_inbuf(int eof_ok)
{
    if (!eof_ok)
        gzip_error("unexpected end of what is packed");
    return EOF;
}

void gzip_error(const char *message)
{
    out_string(message);
    out_char('\n');
    exit(1);
}

void xalloc_die(void)
{
    gzip_error("no memory");
}

static void pack(int pack_level)
{
    ush attributes = 0;
    insize = inptr = outcnt = text_used = packed_size = 0;
    bytes_in = bytes_out = 0;
    level = pack_level;
    read_buf = read_text;
    bi_init(NO_FILE);
    read_buf = read_text;
    ct_init(&attributes, &method);
    deflate(pack_level);
    flush_outbuf();
}

/* Returns whether unpacking gives the text. */
static int unpack_text(void)
{
    insize = packed_size;
    inptr = outcnt = unpacked_size = wrong = 0;
    return inflate() == 0 && !wrong && unpacked_size == TEXT_SIZE && !memcmp(unpacked, text, TEXT_SIZE);
}

int main(int argc, char **argv)
{
    uint32_t rounds = sample_begin(argc, argv, 3), hash = 0;
    for (uint32_t round = 0; round < rounds; round++) {
        write_text(1 + round);
        pack(1 + (int)(round * 4 + 5) % 9);
        hash = hash_bytes(hash, inbuf, packed_size);
        if (!unpack_text()) {
            out_string("gzip failed\n");
            return 1;
        }
    }
    out_line_decimal("packed bytes", (int32_t)packed_size);
    return sample_end(hash);
}
