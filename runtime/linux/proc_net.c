/* Tables of /proc/net for big-endian guests.
 *
 * The kernel prints an IPv4 address there, and each quarter of an IPv6 address, as the number that its bytes are on the
 * machine: 127.0.0.1 is 0100007F on a little-endian one and 7F000001 on a big-endian one. What it prints elsewhere
 * (ports, ipv6_route, if_inet6, mcfilter) is the same on both. Formats: net/ipv4/{fib_trie,tcp_ipv4,udp,raw,igmp,ipmr}.c,
 * net/ipv6/datagram.c and tcp_ipv6.c of Linux.
 */
#include "linux/proc_made.h"
#include "memory/values.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define WORD_DIGITS 8u

struct net_file {
    const char *name;
    uint32_t fields; /* bit N: field N of a line, counted from 0, is an address */
};

static const struct net_file files[] = {
    {"route", 1u << 1 | 1u << 2 | 1u << 7}, {"tcp", 1u << 1 | 1u << 2},      {"tcp6", 1u << 1 | 1u << 2},
    {"udp", 1u << 1 | 1u << 2},             {"udp6", 1u << 1 | 1u << 2},     {"udplite", 1u << 1 | 1u << 2},
    {"udplite6", 1u << 1 | 1u << 2},        {"raw", 1u << 1 | 1u << 2},      {"raw6", 1u << 1 | 1u << 2},
    {"icmp", 1u << 1 | 1u << 2},            {"icmp6", 1u << 1 | 1u << 2},    {"igmp", 1u << 0},
    {"ip_mr_vif", 1u << 7 | 1u << 8},       {"ip_mr_cache", 1u << 0 | 1u << 1},
};

static const struct net_file *find(const char *name)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (strcmp(name, files[i].name) == 0)
            return &files[i];
    return NULL;
}

bool mr_is_net_table(const char *name)
{
    return mr_big_endian && find(name) != NULL;
}

/* One or four words of hexadecimal digits, before a port or not; else (of a head line) it stays. */
static void swap_words(char *field, size_t length)
{
    size_t digits = 0;
    while (digits < length && isxdigit((unsigned char)field[digits]))
        digits++;
    if ((digits != WORD_DIGITS && digits != 4 * WORD_DIGITS) || (digits < length && field[digits] != ':'))
        return;
    for (char *word = field; word < field + digits; word += WORD_DIGITS) {
        char old[WORD_DIGITS];
        memcpy(old, word, sizeof old);
        for (size_t i = 0; i < WORD_DIGITS; i += 2)
            memcpy(word + i, old + WORD_DIGITS - 2 - i, 2);
    }
}

static void swap_line(char *line, uint32_t fields)
{
    static const char between[] = " \t\n";
    char *at = line + strspn(line, between);
    for (unsigned number = 0; *at && number < 32; number++) {
        size_t length = strcspn(at, between);
        if (fields >> number & 1)
            swap_words(at, length);
        at += length;
        at += strspn(at, between);
    }
}

void mr_write_net_table(FILE *to, FILE *from, const char *name)
{
    const struct net_file *file = find(strrchr(name, '/') + 1);
    char *line = NULL;
    size_t room = 0;
    while (from && file && getline(&line, &room, from) > 0) {
        swap_line(line, file->fields);
        fputs(line, to);
    }
    free(line);
}
