"""Reports: a run record becomes a tree of frozen values, and renderers turn the values into text.

tally.py reads the results once, and keeps none of them: a million may not fit into memory. run_report.py puts the
values together, from one module for each question: how often it passes and how much of that is known
(statistics/suites.py), which cases (tally.py), why not (failures.py), how fast (speed.py), and what a reader must be
told (anomalies.py, warnings.py). comparison.py sets several runs side by side, gate.py decides on a candidate.
Renderers: text.py, report_json.py, markdown.py, page.py (HTML), junit.py, trials_csv.py; files.py says which file is
whose. Nothing here reads or writes a file.
"""
