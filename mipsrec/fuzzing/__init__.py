"""Campaigns of AFL++ on a MIPS program, and its crashes, sorted (`mipsrec fuzz`).

    afl.py         AFL++ on this machine: its programs, their environment, why one gave up
    children.py    processes that end with this one
    findings.py    the folder of a campaign
    campaign.py    afl-fuzz in several processes, from the start to the end
    crash.py       one input that crashes: the signal, the host's report, the functions
    triage.py      groups of crashes, one folder for each

Enters: a program, and where its input goes. Leaves: the folder of a campaign. Not done here: fuzzing, which is
AFL++'s; recompiling the program.
"""
