"""The host: loading, memory, interpreter, baseline tier, system calls, signals, threads, stored code."""
