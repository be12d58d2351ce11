#!/bin/sh
# `gcc -wrapper`: every other source file, by its name, becomes MIPS32 code instead of MIPS16e code.
case "$1" in
*/cc1)
    for word in "$@"; do
        case "$word" in
        ?*.c) source=${word##*/} ;;
        esac
    done
    sum=$(printf %s "$source" | cksum | cut -d ' ' -f 1)
    [ $((sum % 2)) = 0 ] && set -- "$@" -mno-mips16
    ;;
esac
exec "$@"
