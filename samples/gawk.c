/*
 * gawk, of its source package, running a program over text that it makes: fields, arrays, regular expressions, functions.
 *
 * The package's own main is called gawk_main here. The program prints what it found, since gawk ends by itself.
 */
#include "freestanding/out.h"

#include <stdio.h>

#undef main
int gawk_main(int argc, char **argv);

static char program[] =
    "function random(below) { seed = (seed * 16807) % 2147483647; return int(seed / 8) % below }\n"
    "function mix(value,    i) { hash = (hash * 31 + value) % 4294967291; return hash }\n"
    "function word(    text, length_left) {\n"
    "  text = ''\n"
    "  for (length_left = 1 + random(4); length_left > 0; length_left--)\n"
    "    text = text substr('bdfklmnprst', 1 + random(11), 1) substr('aeiou', 1 + random(5), 1)\n"
    "  return text\n"
    "}\n"
    "function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) }\n"
    /* a line of a log: date, address, path, status, size */
    "function line(number) {\n"
    "  return sprintf('2024-%02d-%02d 10.%d.%d.%d \\'GET /%s/%s.html\\' %d %d', 1 + random(12), 1 + random(28), random(256),\n"
    "                 random(256), random(256), word(), word(), random(10) ? 200 : 404, random(100000))\n"
    "}\n"
    /* what a report on a log does */
    "function account(    path, parts, count) {\n"
    "  requests[$5]++; bytes[substr($1, 1, 7)] += $6\n"
    "  if ($4 !~ /^\\/[bdf][aeiou]+.*\\.html.$/) other++\n"
    "  path = $4; gsub(/[aeiou][bdf]/, '<&>', path); count = split(path, parts, /[\\/.<>]+/)\n"
    "  mix(length(path) * 8 + count); seen[parts[2]] = seen[parts[2]] ',' NF\n"
    "  if (match($0, /10\\.([0-9]+)\\.[0-9]+/)) mix(RSTART + RLENGTH)\n"
    "  $2 = toupper($4); mix(length($0)); mix(index($0, 'TA'))\n"
    "}\n"
    "BEGIN {\n"
    "  seed = 20011; hash = 7\n"
    "  for (round = 1; round <= size; round++) {\n"
    "    for (number = 1; number <= 400; number++) { $0 = line(number); account() }\n"
    "    mix(fib(15)); count = asorti(seen, order)\n"
    "    for (i = 1; i <= count; i++) mix(length(seen[order[i]]) + index('bdfklmnprst', substr(order[i], 1, 1)))\n"
    "    delete seen\n"
    "  }\n"
    "  for (i = 1; i <= 12; i++) mix(bytes[sprintf('2024-%02d', i)])\n"
    "  printf 'found %d, missing %d, other %d\\nchecksum %08x\\n', requests[200], requests[404], other, hash\n"
    "}\n";

int main(int argc, char **argv)
{
    char size[32];
    char *arguments[] = {"gawk", "-v", size, program, NULL};
    snprintf(size, sizeof size, "size=%u", (unsigned)sample_begin(argc, argv, 1));
    /* Quotes are single in the text above, for a C string to be read by people. */
    for (char *c = program; *c; c++)
        if (*c == '\'')
            *c = '"';
    return gawk_main(4, arguments);
}
