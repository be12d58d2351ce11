"""What the host instructions of a running program are (`mipsrec profile --mix`).

    ptrace.py      a thread that is stopped, and single steps
    running.py     a process from outside: its memory, mappings and threads, and the guest's state
    windows.py     runs of single steps at random times
    landmarks.py   places on a thread's way that tell where the guest is
    counts.py      what was stepped through, as counts
    guest_code.py  the guest instruction that host code is of
    guest_way.py   how many guest instructions a way through host code is
    report.py      the counts as text, and as data for JSON

Enters: a process that runs. Leaves: counts, and text of them. What depends on the processor is in
target/running_code.py. Not looked at: processes that the program forks or executes.
"""
