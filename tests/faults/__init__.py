"""The parts of the campaign: faults that are brought about on purpose, and what must hold after each of them.

    found.py         values: a part, a turn of it, what it found
    oracle.py        what a log holds and what must hold between two moments, told without the kit's own reader
    scene.py         a folder, a server that always answers alike, bench.py as a process and in this one
    bent.py          bench.py on a machine where one thing is bent: no sync, no locks, a clock that jumps
    mounts.py        disks that are made for one turn: a small one, a read-only one, one whose device can be copied
    small.py         recording in this process, thousands of times a minute
    killed.py, boards.py, cut.py, altered.py, power.py, signalled.py, full.py, changed.py, company.py: the parts
"""
