/* Which processor this is, as the x86-64 psABI's microarchitecture levels count them. Enters: cpuid. Leaves: the level. */
#include "host/host.h"

#include <cpuid.h>
#include <stdio.h>

uint32_t mr_host_cpu_level(void)
{
    unsigned eax, ebx, ecx = 0, edx, extended_ecx = 0;
    __cpuid(1, eax, ebx, ecx, edx);
    if (__get_cpuid(0x80000001u, &eax, &ebx, &extended_ecx, &edx) == 0)
        extended_ecx = 0;
    bool cx16 = (ecx >> 13 & 1) != 0, movbe = (ecx >> 22 & 1) != 0, f16c = (ecx >> 29 & 1) != 0;
    bool lzcnt = (extended_ecx >> 5 & 1) != 0;
    if (!(cx16 && __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("sse4.2") &&
          __builtin_cpu_supports("popcnt")))
        return 1;
    if (!(movbe && f16c && lzcnt && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
          __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2")))
        return 2;
    if (!(__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
          __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
          __builtin_cpu_supports("avx512vl")))
        return 3;
    return 4;
}

void mr_host_cpu_name(uint32_t level, char name[MR_CPU_NAME_BYTES])
{
    if (level > 1)
        snprintf(name, MR_CPU_NAME_BYTES, "x86-64-v%u", level);
    else
        snprintf(name, MR_CPU_NAME_BYTES, "x86-64");
}
