"""Reports: a run record becomes a tree of frozen values, and renderers turn the values into text.

tally.py reads the results once; run_report.py puts the values together with those of failures.py, speed.py and
warnings.py. comparison.py sets several runs side by side, and verdicts.py says what comes of it, the gate included.
sections/ says each of these in blocks, once for every format; documents.py puts the sections in order. report_json.py,
junit.py and trials_csv.py are made of the figures alone; files.py says which file is whose.

A new figure of a run: compute it (over cases with a range where trials are incomplete: statistics/suites.py), make it a
field of RunReport, write it in report_json.run_fields, and say it in a section.
"""
