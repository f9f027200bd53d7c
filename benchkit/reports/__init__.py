"""Reports: a run record becomes a tree of frozen values, and renderers turn the values into text.

tally.py reads the results once, and keeps none of them: a million may not fit into memory. run_report.py puts the
values together, from one module for each question: how often it passes and how much of that is known
(statistics/suites.py), which cases (tally.py), why not (failures.py), how fast (speed.py), and what a reader must be
told (anomalies.py, warnings.py). comparison.py sets several runs side by side, gate.py decides on a candidate.

sections/ says each of these in blocks, once for text, Markdown and page; documents.py puts the sections in order, and
the layer render/ writes them. report_json.py, junit.py and trials_csv.py are made of the figures alone; files.py says
which file is whose. Nothing here reads or writes a file.

A new figure of a run: compute it (over cases with a range where trials are incomplete: statistics/suites.py), make it a
field of RunReport, write it in report_json.run_fields, and say it in a section.
"""
