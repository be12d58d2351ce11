"""Which instructions of a program and its libraries ran, for people: `mipsrec run --coverage FILE`.

    marks.py   reads what the host has marked: for each file of the guest, the instructions that ran
    drcov.py   writes and reads drcov files, which Ghidra, IDA and Binary Ninja show
    lcov.py    writes lcov's trace files, of source lines

Not done here: counting. An instruction ran or did not; `mipsrec profile` says how often.
"""
