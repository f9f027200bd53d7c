"""The rooms behind the doors.

Floors, from the ground up; a room imports only from its own floor above it in this list, or from floors below:

    basics       errors, values, canonical JSON, names, the clock; knows nothing of files or networks
    statistics   formulas over counts; exact fractions in, figures out
    pages        escaping, HTML, SVG charts, Markdown and CSV text; pure: values in, text out
    disk         the only floor that writes files
    trial_log    the trial log: its lines, its reader, its writer
    tasks        cases, the user's task, and the judgement of one output
    network      the only floor that opens sockets
    systems      who answers: the seam to the user's systems, and the baselines of the kit
    recordings   what a log amounts to: recordings, run records, digests
    running      what is left to run, and running it
    reports      run records -> report -> text and pages
    boards       many systems over a question pack: batches, traces, judges, standings
"""
from __future__ import annotations

VERSION = "1.0.0"
